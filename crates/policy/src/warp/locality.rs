//! Locality-aware warp scheduling (Chen, NTU thesis 2016, section 3.4): a two-level scheduler whose
//! inner level prefers warps that share cache lines with the last warp.
//!
//! Only warps of the active group issue. The last warp continues as long as it can (greedy).
//! Otherwise the warp of the group with the most locality with the last one issues; ties go to the
//! oldest. A warp that waits for memory or at a barrier leaves the group. Of the pending warps that
//! do not wait, the one with the most locality with the group takes its place. Warps without
//! locality could starve. So a warp has priority over all others when more than 2 N blocks have
//! started on the SM after the warp's block, where N is the most blocks that an SM holds.
//!
//! The setting `work_conserving` is not in the thesis: another ready warp may issue when no warp of
//! the active group can.
//!
//! The table of pairs has one byte per pair, so counts of common sub-regions saturate at 255. The
//! setting `ideal_warps` removes this limit and uses the finest regions.

use super::{
    GroupCounters, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, holds, only, warps_of,
};
use crate::facts::{schedulers, warps};
use crate::range::shared_regions;
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_config::{GpuSpec, WarpLocalitySettings};
use warploom_state::{State, Value};
use warploom_stats::declare_stats;

/// Largest count in an entry of the table of pairs.
const MOST_COUNTED: u32 = 255;

declare_stats! {
    /// Counters of `locality`, beside those of its group.
    pub struct LocalityCounters in "warp_policy" {
        /// Warps that left the active group because they waited (locality).
        pub demotions: u64 = Events;
        /// Warps that came into the active group before an older one, for their locality with it
        /// (locality).
        pub promotions: u64 = Events;
    }
}

/// The state for which the group was filled: running and blocked warps, and the number of starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
struct Filled {
    live: WarpMask,
    blocked: WarpMask,
    starts: u64,
}

impl Filled {
    /// The group has to be filled.
    const NOT: Self = Self {
        live: 0,
        blocked: 0,
        starts: u64::MAX,
    };

    /// The state for which a group is to be filled.
    #[inline]
    fn of(view: &WarpView<'_>) -> Self {
        Self {
            live: view.live,
            blocked: view.waiting | view.long_wait,
            starts: view.starts(),
        }
    }
}

/// Warp scheduler of an active group: the last warp, then the one with the most locality with it.
#[derive(Clone, Debug, State)]
pub struct Locality {
    #[state(fixed)]
    settings: WarpLocalitySettings,
    active: WarpMask,
    /// Number of warps in `active`.
    members: u32,
    last: WarpSlot,
    /// The table of pairs, by slots of both warps.
    pairs: Vec<u16>,
    /// Warps whose pairs with each other are in the table.
    known: WarpMask,
    filled_for: Filled,
    /// Warps whose blocks are old enough for priority.
    late: WarpMask,
    groups: GroupCounters,
    counters: LocalityCounters,
}

impl PolicyFacts for Locality {
    const FACTS: Facts = Facts {
        about: "Only a group of warps issues: the last one, then the one that shares most lines \
                with it; who waits makes room for the pending warp that shares most with the group.",
        source: "Chen, NTU thesis 2016, section 3.4",
        state: "warps x warps / 2 x 8 (table of pairs) + warps x arrays x (log2(regions) + \
                sub-regions) + schedulers x (last warp + a bit a warp)",
        bits,
        // Table 5.2: a byte a pair, and five arrays of 10 + 16 bits a warp; the group.
        bits_on_gtx480: 48 * 48 / 2 * 8 + 48 * 5 * 26 + 2 * (6 + 48),
        part: Part::Sm,
        complexity: "linear in warps, in warps x group when one waits",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: WarpLocalitySettings = spec.sm.warp_scheduler.settings();
    let settings = settings.resolved();
    let warps = warps(spec);
    let range = u64::from(settings.arrays) * u64::from(settings.region_bits + settings.sub_regions);
    warps * warps / 2 * 8 + warps * range + schedulers(spec) * (bits_for(warps) + warps)
}

impl Locality {
    /// A scheduler with an empty group.
    pub fn new(settings: WarpLocalitySettings) -> Self {
        Self {
            settings,
            active: 0,
            members: 0,
            last: WarpSlot(63),
            pairs: Vec::new(),
            known: 0,
            filled_for: Filled::NOT,
            late: 0,
            groups: GroupCounters::default(),
            counters: LocalityCounters::default(),
        }
    }

    /// Enters the pairs of the scheduler's running warps that are not in the table.
    #[inline]
    fn know(&mut self, view: &WarpView<'_>) {
        if view.own & view.live & !self.known != 0 {
            self.learn(view);
        }
    }

    #[cold]
    fn learn(&mut self, view: &WarpView<'_>) {
        let slots = view.slots() as usize;
        self.pairs.resize(slots * slots, 0);
        let running = view.own & view.live;
        for a in warps_of(running & !self.known) {
            for b in warps_of(running) {
                let locality = self.look_up(view, a, b) as u16;
                self.pairs[a.index() * slots + b.index()] = locality;
                self.pairs[b.index() * slots + a.index()] = locality;
            }
        }
        // Pairs with a warp that has ended meanwhile are not entered.
        self.known = running;
    }

    /// Locality of two warps from the ranges that they access: the contents of their entry.
    fn look_up(&self, view: &WarpView<'_>, a: WarpSlot, b: WarpSlot) -> u32 {
        let shared = match (view.ranges.get(a.index()), view.ranges.get(b.index())) {
            (Some(a), Some(b)) => shared_regions(a, b),
            _ => 0,
        };
        if self.settings.ideal {
            shared
        } else {
            shared.min(MOST_COUNTED)
        }
    }

    /// The warp of a mask with most locality with the warps of a group; ties go to the oldest. All
    /// of them run.
    fn closest(
        &mut self,
        view: &WarpView<'_>,
        mask: WarpMask,
        group: WarpMask,
    ) -> Option<WarpSlot> {
        if mask & mask.wrapping_sub(1) == 0 {
            return warps_of(mask).next();
        }
        self.know(view);
        let slots = view.slots() as usize;
        best(view, mask, |slot| {
            let pairs = &self.pairs[slot.index() * slots..][..slots];
            warps_of(group)
                .map(|other| u32::from(pairs[other.index()]))
                .sum()
        })
    }

    /// The warp of a mask with most locality with the last warp, which may have exited; ties go to
    /// the oldest.
    fn next(&mut self, view: &WarpView<'_>, mask: WarpMask) -> Option<WarpSlot> {
        if mask & mask.wrapping_sub(1) == 0 {
            return warps_of(mask).next();
        }
        if !holds(view.live, self.last) {
            // Its slot may have the range of the next warp already.
            return best(view, mask, |slot| self.look_up(view, slot, self.last));
        }
        self.know(view);
        let slots = view.slots() as usize;
        let pairs = &self.pairs[self.last.index() * slots..][..slots];
        best(view, mask, |slot| pairs[slot.index()].into())
    }

    fn demote(&mut self, blocked: WarpMask) {
        let leaving = self.active & blocked;
        if leaving == 0 {
            return;
        }
        let number = leaving.count_ones();
        self.counters.demotions += u64::from(number);
        self.groups.group_changes += u64::from(number);
        self.members -= number;
        self.active &= !blocked;
    }

    /// Fills the group. Each time, the pending warp that shares most with the group's warps joins.
    fn promote(&mut self, view: &WarpView<'_>, blocked: WarpMask) {
        while self.members < self.settings.active_warps {
            let pending = view.own & view.live & !blocked & !self.active;
            let Some(next) = self.closest(view, pending, self.active) else {
                return;
            };
            self.counters.promotions += u64::from(Some(next) != view.oldest(pending));
            self.active |= only(next);
            self.members += 1;
        }
    }

    /// Fills the group, and finds the warps that have priority.
    #[inline(never)]
    fn fill(&mut self, view: &WarpView<'_>, to_fill_for: Filled) {
        let before = (self.filled_for.live, self.filled_for.starts);
        if before != (to_fill_for.live, to_fill_for.starts) {
            self.late = late(view);
        }
        self.filled_for = to_fill_for;
        self.demote(to_fill_for.blocked);
        self.promote(view, to_fill_for.blocked);
    }

    /// The warp that issues unless the last one goes on.
    #[inline(never)]
    fn pick_another(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let starved = ready & self.late;
        if starved != 0 {
            return view.oldest(starved);
        }
        let active = ready & self.active;
        let candidates = if active == 0 && self.settings.work_conserving {
            ready
        } else {
            active
        };
        self.next(view, candidates)
    }
}

/// The warp of a mask with the largest value; ties go to the oldest.
#[inline]
fn best(view: &WarpView<'_>, mask: WarpMask, value: impl Fn(WarpSlot) -> u32) -> Option<WarpSlot> {
    let (mut most, mut among) = (0, 0);
    warps_of(mask).for_each(|slot| {
        let value = value(slot);
        if value > most {
            (most, among) = (value, 0);
        }
        if value == most {
            among |= only(slot);
        }
    });
    view.oldest(among)
}

/// Warps of the SM whose block is old enough for priority.
fn late(view: &WarpView<'_>) -> WarpMask {
    let newest = warps_of(view.live)
        .map(|slot| view.block_serial[slot.index()])
        .max();
    let late = |slot: &WarpSlot| {
        let age = newest.unwrap_or(0) - view.block_serial[slot.index()];
        age > 2 * u64::from(view.max_blocks)
    };
    warps_of(view.live)
        .filter(late)
        .fold(0, |mask, slot| mask | only(slot))
}

impl WarpScheduler for Locality {
    #[inline]
    fn begin_cycle(&mut self, view: &WarpView<'_>) {
        let now = Filled::of(view);
        if self.filled_for != now {
            self.fill(view, now);
        }
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    fn wants_ranges(&self) -> bool {
        true
    }

    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        if ready & self.late == 0 && holds(ready & self.active, self.last) {
            return Some(self.last);
        }
        self.pick_another(view, ready)
    }

    /// Group and starved warps change only with the view.
    fn holds_for(&self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = slot;
    }

    /// Another warp in the slot has pairs of its own.
    fn on_start(&mut self, slot: WarpSlot) {
        self.known &= !only(slot);
        self.filled_for = Filled::NOT;
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        self.members -= u32::from(holds(self.active, slot));
        self.active &= !only(slot);
        self.filled_for = Filled::NOT;
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            groups: self.groups.clone(),
            locality: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
