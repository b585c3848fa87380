//! Divergence-aware warp scheduling (Rogers et al., MICRO 2013): as many warps load in loops as
//! have room in L1D for what they will use again.
//!
//! Where `ccws` waits until locality is lost, this predicts which lines a warp needs in a loop. The
//! first warps that run through a loop tell which of its loads find lines again that they read
//! before, in L1D or among the lines that the warp lost, which of these lose their lines, and which
//! are divergent, so that lanes read lines of their own. A warp in the loop then needs a line for
//! each coalesced one of these loads, and for each divergent one as many lines a lane that is
//! active as the load has read. The oldest warps in loops may load as long as the sum of their
//! lines fits a part of L1D. A warp in a loop for which there is no room issues everything but
//! loads through L1D. Warps outside of loops, and in loops that lose nothing, may issue everything.
//! Among the warps that can issue, the order is greedy, then oldest.
//!
//! A loop is found when a warp goes back in its kernel with lanes that were active before. The page
//! `docs/policies-compared.md` lists what was chosen. Each scheduler has a table of its own, and an
//! equal part of L1D.

use super::loop_table::{Found, Limits, LoopTable, Place};
use super::victim_tags::VictimTags;
use super::{
    Gto, L1dEvent, L1dOutcome, NextInst, Progress, ReadyWarps, Screened, VictimTagCounters,
    WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, holds, only, warps_of,
};
use crate::facts::{schedulers, warps, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{LaneMask, Pc, WarpSlot};
use warploom_config::{DawsSettings, GpuSpec};
use warploom_state::{State, Value};
use warploom_stats::declare_stats;

declare_stats! {
    /// Counters of the scheduler `daws`.
    pub struct LoopCounters in "warp_policy" {
        /// Loops that schedulers found (daws).
        pub loops: u64 = Events;
    }
}

/// Scheduler of `daws`: loads in loops from the warps whose lines fit L1D.
#[derive(Clone, Debug, State)]
pub struct Daws {
    order: Gto,
    #[state(fixed)]
    settings: DawsSettings,
    table: LoopTable,
    /// Running warps, the oldest first.
    queue: Vec<WarpSlot>,
    running: WarpMask,
    /// By slot, as far as warps have started.
    warps: Vec<Iterating>,
    /// Warps in loops for whose lines there is no room.
    held: WarpMask,
    /// Warps that waited when `held` was found; `None` if footprints have changed since.
    held_for: Option<WarpMask>,
    /// Number of cycles so far.
    now: u64,
    victim_tags: VictimTagCounters,
    loops: LoopCounters,
}

/// A warp, and the loop that it is in.
#[derive(Clone, Debug, Value)]
struct Iterating {
    tags: VictimTags,
    /// Next instruction, and the lanes that execute it.
    at: Option<(Place, LaneMask)>,
    /// Number of the smallest loop around it.
    within: Option<usize>,
    /// Lines that the warp needs in the loop.
    footprint: u32,
}

/// Cycles of which one lets all warps load. A warp that waits for what another one computes may
/// fill L1D, so that the other one would wait for ever.
const OPEN_EVERY: u64 = 1 << 16;

impl PolicyFacts for Daws {
    const FACTS: Facts = Facts {
        about: "Greedy then oldest; in loops, loads from the oldest warps whose reused lines fit \
                L1D together.",
        source: "DAWS: Rogers et al., MICRO 2013",
        state: "warps x (victim tags of 40-bit addresses + 32: next instruction + 32: lanes \
                + log2(loads x 32 + 1): lines) + L1D lines x log2(warps): who brought it in \
                + schedulers x (loops x 2 x 32: ends + loads x (32: address + 6 x 16: counts + 1: \
                loses lines + warps of the scheduler: counted) + 16: cycles + the last warp)",
        bits,
        // A set of 8 tags of 40 - 7 - 1 = 32 bits, valid bits, a pointer of 3; up to 512 lines in
        // 10 bits; 32 x 4 lines; 4 loops, 16 loads; the order of gto.
        bits_on_gtx480: 48 * (2 * (8 * 33 + 3) + 64 + 10)
            + 128 * 6
            + 2 * (4 * 64 + 16 * (32 + 6 * 16 + 1 + 24) + 16 + 5 + 1),
        part: Part::Sm,
        complexity: "warps when one of them goes back, leaves a loop, loses lanes or waits",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: DawsSettings = spec.sm.warp_scheduler.settings();
    let (loops, loads) = (u64::from(settings.loops), u64::from(settings.loads));
    let tags = VictimTags::bits(spec, settings.victim_sets, settings.victim_ways);
    let lines = u64::from(spec.l1d.sets) * u64::from(spec.l1d.ways);
    let last = bits_for(warps_a_scheduler(spec)) + 1;
    let load = 32 + 6 * 16 + 1 + warps_a_scheduler(spec);
    warps(spec) * (tags + 64 + bits_for(loads * 32 + 1))
        + lines * bits_for(warps(spec))
        + schedulers(spec) * (loops * 64 + loads * load + bits_for(OPEN_EVERY) + last)
}

impl Daws {
    /// A scheduler that knows no loops.
    pub fn new(settings: DawsSettings) -> Self {
        let limits = Limits {
            loops: settings.loops as usize,
            loads: settings.loads as usize,
            coalesced: settings.coalesced_accesses.into(),
            reuse_percent: settings.reuse_percent.into(),
            lost_percent: settings.lost_percent.into(),
            measured: settings.measured_lines,
        };
        Self {
            order: Gto::default(),
            settings,
            table: LoopTable::new(limits),
            queue: Vec::with_capacity(WarpMask::BITS as usize),
            running: 0,
            warps: Vec::new(),
            held: 0,
            held_for: None,
            now: 0,
            victim_tags: VictimTagCounters::default(),
            loops: LoopCounters::default(),
        }
    }

    /// Lines of L1D that the scheduler's warps may fill.
    fn capacity(&self, view: &WarpView<'_>) -> u64 {
        let part = u64::from(view.own.count_ones()) * u64::from(self.settings.l1d_percent);
        u64::from(view.l1d_lines) * part / (100 * view.slots())
    }

    /// Finds the warps in loops for whose lines there is no room. Warps that wait count nothing, so
    /// that those for which they wait may load.
    fn find_held(&mut self, view: &WarpView<'_>) {
        let capacity = self.capacity(view);
        let (mut sum, mut is_full) = (0, false);
        self.held = 0;
        for slot in &self.queue {
            let lines = u64::from(self.warps[slot.index()].footprint);
            if lines == 0 || holds(view.waiting, *slot) {
                continue;
            }
            is_full |= sum != 0 && sum + lines > capacity;
            sum += lines;
            self.held |= if is_full { only(*slot) } else { 0 };
        }
        self.held_for = Some(view.waiting);
    }

    /// True in the cycles in which all warps may load.
    fn is_open(&self) -> bool {
        self.now.is_multiple_of(OPEN_EVERY)
    }

    /// Notes where a warp is. Predicts the lines that it needs if it is in another loop than
    /// before, has other lanes, or begins another iteration.
    fn place(&mut self, slot: WarpSlot, at: Option<(Place, LaneMask)>, begins: bool) {
        let within = at.and_then(|(place, _)| self.table.around(place));
        let lanes = |at: Option<(Place, LaneMask)>| at.map(|(_, lanes)| lanes);
        let warp = &mut self.warps[slot.index()];
        let same = !begins && warp.within == within && lanes(warp.at) == lanes(at);
        (warp.at, warp.within) = (at, within);
        if same {
            return;
        }
        let lines = match (within, lanes(at)) {
            (Some(nth), Some(lanes)) => self.table.footprint(nth, lanes),
            _ => 0,
        };
        if warp.footprint != lines {
            warp.footprint = lines;
            self.held_for = None;
        }
    }

    /// Notes the instructions that a warp has issued, from `first` on. Returns true if the last of
    /// them went back: another iteration of a loop begins. Where paths diverge, the lanes of
    /// another path may go on further back, which is no loop.
    fn issued(&mut self, slot: WarpSlot, first: (Place, LaneMask), progress: &Progress) -> bool {
        let ((kernel, Pc(pc)), active) = first;
        for nth in 0..progress.issued {
            self.table.executed((kernel, Pc(pc + nth)), slot, active);
        }
        let tail = Pc(pc + progress.issued.saturating_sub(1));
        let back = progress.next.filter(|next| *next <= tail);
        match back {
            Some(head) if progress.lanes & active != 0 => {
                let is_new = self.table.goes_back(kernel, head, tail);
                self.loops.loops += u64::from(is_new);
                true
            }
            _ => false,
        }
    }

    /// Notes a read of a warp.
    fn read(&mut self, slot: WarpSlot, pc: Pc, line: u64, outcome: L1dOutcome) {
        let warp = &self.warps[slot.index()];
        let Some(((kernel, _), lanes)) = warp.at else {
            return;
        };
        let found = match outcome {
            L1dOutcome::Hit => Found::Present,
            L1dOutcome::Miss if warp.tags.has(line) => Found::Lost,
            L1dOutcome::Miss => Found::Absent,
            L1dOutcome::Merged | L1dOutcome::SectorMiss => Found::Coming,
        };
        self.victim_tags.victim_tag_hits += u64::from(found == Found::Lost);
        self.table.accessed((kernel, pc), (slot, lanes), found);
    }

    /// Makes room for the warp of a slot.
    fn make_room(&mut self, slot: WarpSlot) {
        let (sets, ways) = (self.settings.victim_sets, self.settings.victim_ways);
        let places = self.warps.len().max(slot.index() + 1);
        self.warps.resize_with(places, || Iterating {
            tags: VictimTags::new(sets, ways),
            at: None,
            within: None,
            footprint: 0,
        });
    }
}

impl WarpScheduler for Daws {
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
                pc,
                line,
                outcome,
            } if holds(self.running, warp) => self.read(warp, pc, line, outcome),
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

    fn has_gate(&self) -> bool {
        self.held != 0 && !self.is_open()
    }

    #[inline]
    fn begin_cycle(&mut self, view: &WarpView<'_>) {
        if self.held_for != Some(view.waiting) {
            self.find_held(view);
        }
    }

    fn screen(&mut self, _view: &WarpView<'_>, ready: ReadyWarps) -> Screened {
        let held = if self.is_open() {
            0
        } else {
            ready.loads & self.held
        };
        Screened {
            admitted: ready.all & !held,
            held,
        }
    }

    fn admits(&mut self, _view: &WarpView<'_>, next: &NextInst) -> bool {
        let loads = next.access.is_some_and(|access| access.may_load_from_l1d());
        let admitted = !loads || self.is_open() || !holds(self.held, next.slot);
        self.victim_tags.loads_held_back += u64::from(!admitted);
        admitted
    }

    fn holds_for(&self) -> u64 {
        let left = OPEN_EVERY - self.now % OPEN_EVERY;
        if self.held_for.is_none() || left == OPEN_EVERY {
            0
        } else {
            left
        }
    }

    fn end_cycles(
        &mut self,
        view: &WarpView<'_>,
        _stalled: WarpMask,
        _picked: Option<WarpSlot>,
        cycles: u64,
    ) {
        self.victim_tags.loads_held_back += view.held_warps() * cycles;
        self.now += cycles;
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.order.on_issue(slot);
    }

    fn on_progress(&mut self, slot: WarpSlot, progress: &Progress) {
        let first = self.warps[slot.index()].at;
        let begins = first.is_some_and(|first| self.issued(slot, first, progress));
        let next = progress.next.map(|pc| (progress.kernel, pc));
        self.place(slot, next.map(|place| (place, progress.lanes)), begins);
    }

    fn on_start(&mut self, slot: WarpSlot) {
        self.make_room(slot);
        self.queue.push(slot);
        self.running |= only(slot);
        self.warps[slot.index()].tags.clear();
        self.place(slot, None, false);
    }

    /// The loops are those of the kernels that run: without a warp, none is known.
    fn on_exit(&mut self, slot: WarpSlot) {
        self.queue.retain(|other| *other != slot);
        self.running &= !only(slot);
        self.place(slot, None, false);
        self.held_for = None;
        if self.running == 0 {
            self.table.clear();
        }
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            victim_tags: self.victim_tags.clone(),
            loops: self.loops.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
