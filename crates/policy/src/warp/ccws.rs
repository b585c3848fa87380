//! Cache-conscious wavefront scheduling (Rogers et al., MICRO 2012): warps that lose their own
//! lines of L1D to others keep the right to load, until the lines fit.
//!
//! Every warp has an array of victim tags, which get the lines that it brought into L1D when they
//! leave, and a score. A read that misses L1D and finds its line among the warp's own victim tags
//! has lost locality: the warp's score becomes the lost-locality detected score (LLDS)
//!
//! ```text
//! cutoff = running warps x base score
//! LLDS   = victim tag hits / instructions issued x K x cutoff
//! ```
//!
//! A score loses a point a cycle until it is the base score again. Warps in descending order of
//! their scores may load until the sum of their scores reaches the cutoff. So without lost locality
//! all warps may load, and each point above the base score takes one away from the warps at the end
//! of the order. A warp that may not load still issues all other instructions. Among the warps that
//! can issue, the order is greedy, then oldest.
//!
//! The page `docs/policies-compared.md` lists what the paper leaves open. Each scheduler has scores
//! of its own, for its own warps.

use super::victim_tags::VictimTags;
use super::{
    Gto, L1dEvent, L1dOutcome, NextInst, Progress, ReadyWarps, Screened, WarpMask,
    WarpPolicyCounters, WarpScheduler, WarpView, holds, only, warps_of,
};
use crate::facts::{schedulers, warps, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use std::cmp::Reverse;
use warploom_base::WarpSlot;
use warploom_config::{CcwsSettings, GpuSpec};
use warploom_state::{State, Value};
use warploom_stats::declare_stats;

declare_stats! {
    /// Counters of schedulers with victim tags.
    pub struct VictimTagCounters in "warp_policy" {
        /// Reads that missed L1D on a line that the same warp had brought in and lost (ccws,
        /// daws).
        pub victim_tag_hits: u64 = Events;
        /// Times that a warp's next load was held back for a cycle (ccws, daws).
        pub loads_held_back: u64 = Events;
    }
}

/// Scheduler of `ccws`: loads for the warps that lose most locality.
#[derive(Clone, Debug, State)]
pub struct Ccws {
    order: Gto,
    /// Warps of the scheduler that have not exited.
    running: WarpMask,
    /// Warps whose score is above the base score, in descending order of scores; of equal scores
    /// the lower slot first.
    raised: Vec<WarpSlot>,
    /// Number of cycles so far.
    now: u64,
    /// Warps that may load, before cycle `settled_until`.
    loaders: WarpMask,
    /// Cycle until which `loaders` holds, unless scores or running warps change before.
    settled_until: u64,
    #[state(fixed)]
    settings: CcwsSettings,
    /// Sums over the running warps.
    hits: u64,
    issued: u64,
    /// By slot, as far as warps have started.
    warps: Vec<LostLocality>,
    counters: VictimTagCounters,
}

/// Lost locality of a warp.
#[derive(Clone, Debug, Value)]
struct LostLocality {
    tags: VictimTags,
    /// Cycle in which the score is the base score again, if it is above.
    until: u64,
    hits: u64,
    issued: u64,
}

impl PolicyFacts for Ccws {
    const FACTS: Facts = Facts {
        about: "Greedy then oldest; loads only from the warps that lose most of their own lines of \
                L1D, as many as the lost locality leaves.",
        source: "CCWS: Rogers et al., MICRO 2012, and its author's simulator",
        state: "warps x (victim tags of 40-bit addresses + score + 2 x 32: hits and instructions) \
                + L1D lines x log2(warps): who brought it in + the last warp",
        bits,
        // A set of 8 tags of 40 - 7 - 1 = 32 bits, valid bits, a pointer of 3; a score up to
        // 8 x 24 x 100 = 19200 in 15 bits; 32 x 4 lines; the order of gto.
        bits_on_gtx480: 48 * (2 * (8 * 33 + 3) + 15 + 64) + 128 * 6 + 2 * (5 + 1),
        part: Part::Sm,
        complexity: "warps times their logarithm when a score is raised or limited",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: CcwsSettings = spec.sm.warp_scheduler.settings();
    let tags = VictimTags::bits(spec, settings.victim_sets, settings.victim_ways);
    let most = u64::from(settings.k) * u64::from(settings.base_score) * warps_a_scheduler(spec);
    let lines = u64::from(spec.l1d.sets) * u64::from(spec.l1d.ways);
    let order = schedulers(spec) * (bits_for(warps_a_scheduler(spec)) + 1);
    warps(spec) * (tags + bits_for(most + 1) + 64) + lines * bits_for(warps(spec)) + order
}

impl Ccws {
    /// A scheduler that has seen no lost locality.
    pub fn new(settings: CcwsSettings) -> Self {
        Self {
            order: Gto::default(),
            running: 0,
            raised: Vec::with_capacity(WarpMask::BITS as usize),
            now: 0,
            loaders: 0,
            settled_until: 0,
            settings,
            hits: 0,
            issued: 0,
            warps: Vec::new(),
            counters: VictimTagCounters::default(),
        }
    }

    fn base(&self) -> u64 {
        self.settings.base_score.into()
    }

    /// Sum of scores that the warps which may load reach.
    fn cutoff(&self) -> u64 {
        u64::from(self.running.count_ones()) * self.base()
    }

    /// Points of the lost locality, of which each instruction issued takes an equal share.
    fn points(&self) -> u64 {
        self.hits * u64::from(self.settings.k) * self.cutoff()
    }

    /// The lost-locality detected score.
    fn detected(&self) -> u64 {
        self.points().checked_div(self.issued).unwrap_or(0)
    }

    /// Score of a warp, which falls by a point in each cycle.
    fn score(&self, slot: WarpSlot) -> u64 {
        self.base() + self.warps[slot.index()].until.saturating_sub(self.now)
    }

    /// Notes that a read of a warp missed L1D.
    fn missed(&mut self, slot: WarpSlot, line: u64) {
        let warp = &mut self.warps[slot.index()];
        if !warp.tags.has(line) {
            return;
        }
        warp.hits += 1;
        self.hits += 1;
        self.counters.victim_tag_hits += 1;
        self.warps[slot.index()].until = self.now + self.detected().saturating_sub(self.base());
        if !self.raised.contains(&slot) {
            self.raised.push(slot);
        }
        self.sort();
    }

    /// Brings the raised warps into their order.
    fn sort(&mut self) {
        let until = |slot: &WarpSlot| self.warps[slot.index()].until;
        // A stable sort would allocate memory.
        self.raised
            .sort_unstable_by_key(|slot| (Reverse(until(slot)), slot.0));
        self.drop_lowered();
        self.settled_until = self.now;
    }

    /// Removes the warps whose score is the base score. They are the last ones.
    fn drop_lowered(&mut self) {
        let is_raised = |slot: &WarpSlot| self.warps[slot.index()].until > self.now;
        while self.raised.last().is_some_and(|slot| !is_raised(slot)) {
            self.raised.pop();
        }
    }

    /// Lets `cycles` cycles pass, at least one. In each a score first loses a point, and then may
    /// not be above what is detected, which is the same in all of them.
    fn decay(&mut self, cycles: u64) {
        let highest = self.raised.first().map_or(0, |slot| self.score(*slot) - 1);
        // The same as `highest > detected`, without a division in each cycle.
        if highest * self.issued > self.points() {
            self.limit();
        }
        self.now += cycles;
        self.drop_lowered();
    }

    /// Limits the scores of the next cycle to what is detected.
    fn limit(&mut self) {
        let most = self.now + 1 + self.detected().saturating_sub(self.base());
        for slot in &self.raised {
            let until = &mut self.warps[slot.index()].until;
            *until = most.min(*until);
        }
        self.sort();
    }

    /// Finds the warps that may load: those with raised scores, then the others by slot, until
    /// their scores reach the cutoff.
    fn find_loaders(&mut self) {
        let (mut sum, mut count, mut loaders) = (0, 0, 0);
        for slot in &self.raised {
            if sum >= self.cutoff() {
                break;
            }
            loaders |= only(*slot);
            sum += self.score(*slot);
            count += 1;
        }
        let left = self.cutoff().saturating_sub(sum);
        let (others, needed) = (self.running & !loaders, left.div_ceil(self.base()));
        let first = warps_of(others).take(needed as usize);
        self.loaders = first.fold(loaders, |mask, slot| mask | only(slot));
        // With these warps, the scores exceed the cutoff by this much.
        let spare = sum + needed * self.base() - self.cutoff();
        self.settled_until = self.now.saturating_add(self.settled_for(spare, count));
    }

    /// Number of cycles in which the warps that may load stay the same: until the raised ones among
    /// them, `count` warps that lose a point a cycle each, have lost more than the `spare` points,
    /// or until a score is no longer raised.
    fn settled_for(&self, spare: u64, count: u64) -> u64 {
        let lowered = |slot: &WarpSlot| self.warps[slot.index()].until - self.now;
        let lowered = self.raised.last().map_or(u64::MAX, lowered);
        let short = spare
            .checked_div(count)
            .map_or(u64::MAX, |cycles| cycles + 1);
        lowered.min(short)
    }

    /// The warps that may load in this cycle.
    fn loaders(&mut self) -> WarpMask {
        if self.settled_until <= self.now {
            self.find_loaders();
        }
        self.loaders
    }

    /// Makes room for the warp of a slot.
    fn make_room(&mut self, slot: WarpSlot) {
        let (sets, ways) = (self.settings.victim_sets, self.settings.victim_ways);
        let places = self.warps.len().max(slot.index() + 1);
        self.warps.resize_with(places, || LostLocality {
            tags: VictimTags::new(sets, ways),
            until: 0,
            hits: 0,
            issued: 0,
        });
    }

    /// Gives a warp the base score.
    fn lower(&mut self, slot: WarpSlot) {
        self.raised.retain(|other| *other != slot);
        self.warps[slot.index()].until = 0;
        self.settled_until = self.now;
    }
}

impl WarpScheduler for Ccws {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        self.order.pick(view, ready)
    }

    fn wants_l1d(&self) -> bool {
        true
    }

    fn on_l1d(&mut self, event: &L1dEvent) {
        match *event {
            L1dEvent::Evict { owner, line } if holds(self.running, owner) => {
                self.warps[owner.index()].tags.insert(line);
            }
            L1dEvent::Read {
                warp,
                line,
                outcome: L1dOutcome::Miss,
                ..
            } if holds(self.running, warp) => self.missed(warp, line),
            L1dEvent::Write { line, .. } => {
                for slot in warps_of(self.running) {
                    self.warps[slot.index()].tags.remove(line);
                }
            }
            _ => {}
        }
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    fn wants_progress(&self) -> bool {
        true
    }

    /// True while a warp loses locality. Otherwise every warp may load.
    fn has_gate(&self) -> bool {
        !self.raised.is_empty()
    }

    fn screen(&mut self, _view: &WarpView<'_>, ready: ReadyWarps) -> Screened {
        let held = ready.loads & !self.loaders();
        Screened {
            admitted: ready.all & !held,
            held,
        }
    }

    fn admits(&mut self, _view: &WarpView<'_>, next: &NextInst) -> bool {
        let loads = next.access.is_some_and(|access| access.may_load_from_l1d());
        let admitted = !loads || self.raised.is_empty() || holds(self.loaders(), next.slot);
        self.counters.loads_held_back += u64::from(!admitted);
        admitted
    }

    /// The cycles in which the same warps may load.
    fn holds_for(&self) -> u64 {
        self.settled_until.saturating_sub(self.now)
    }

    #[inline]
    fn end_cycles(
        &mut self,
        view: &WarpView<'_>,
        _stalled: WarpMask,
        _picked: Option<WarpSlot>,
        cycles: u64,
    ) {
        self.counters.loads_held_back += view.held_warps() * cycles;
        if self.raised.is_empty() {
            self.now += cycles;
        } else {
            self.decay(cycles);
        }
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.order.on_issue(slot);
    }

    /// Counts all instructions that the warp issued in the cycle. A warp that has exited with them
    /// has taken its count away.
    fn on_progress(&mut self, slot: WarpSlot, progress: &Progress) {
        if holds(self.running, slot) {
            let issued = u64::from(progress.issued);
            self.warps[slot.index()].issued += issued;
            self.issued += issued;
        }
    }

    fn on_start(&mut self, slot: WarpSlot) {
        self.make_room(slot);
        self.running |= only(slot);
        self.lower(slot);
        let warp = &mut self.warps[slot.index()];
        warp.tags.clear();
        (warp.hits, warp.issued) = (0, 0);
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        self.running &= !only(slot);
        self.lower(slot);
        let warp = &self.warps[slot.index()];
        self.hits -= warp.hits;
        self.issued -= warp.issued;
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            victim_tags: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
