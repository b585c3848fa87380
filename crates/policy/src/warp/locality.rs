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
    GroupCounters, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, holds, warps_of,
};
use crate::facts::{schedulers, warps};
use crate::range::shared_regions;
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_config::{GpuSpec, WarpLocalitySettings};
use warploom_state::State;
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

/// Warp scheduler of an active group: the last warp, then the one with the most locality with it.
#[derive(Clone, Debug, State)]
pub struct Locality {
    #[state(fixed)]
    settings: WarpLocalitySettings,
    active: WarpMask,
    last: WarpSlot,
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
            last: WarpSlot(63),
            groups: GroupCounters::default(),
            counters: LocalityCounters::default(),
        }
    }

    /// Locality of two warps of the SM, as in their entry of the table of pairs.
    fn locality(&self, view: &WarpView<'_>, a: WarpSlot, b: WarpSlot) -> u32 {
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

    fn demote(&mut self, blocked: WarpMask) {
        let leaving = self.active & blocked;
        self.counters.demotions += u64::from(leaving.count_ones());
        self.groups.group_changes += u64::from(leaving.count_ones());
        self.active &= !blocked;
    }

    /// Fills the group. Each time, the pending warp that shares most with the group's warps joins.
    fn promote(&mut self, view: &WarpView<'_>, blocked: WarpMask) {
        while self.active.count_ones() < self.settings.active_warps {
            let pending = view.own & view.live & !blocked & !self.active;
            let with_group = |slot: &WarpSlot| -> u32 {
                warps_of(self.active)
                    .map(|other| self.locality(view, *slot, other))
                    .sum()
            };
            let Some(next) = best(view, pending, with_group) else {
                return;
            };
            self.counters.promotions += u64::from(Some(next) != view.oldest(pending));
            self.active |= 1 << next.index();
        }
    }

    /// Ready warps whose block is old enough for priority.
    fn starved(view: &WarpView<'_>, ready: WarpMask) -> WarpMask {
        let newest = warps_of(view.live)
            .map(|slot| view.block_serial[slot.index()])
            .max();
        let late = |slot: &WarpSlot| {
            let age = newest.unwrap_or(0) - view.block_serial[slot.index()];
            age > 2 * u64::from(view.max_blocks)
        };
        warps_of(ready)
            .filter(late)
            .fold(0, |mask, slot| mask | 1 << slot.index())
    }
}

/// The warp of a mask with the greatest value; ties go to the oldest.
fn best(view: &WarpView<'_>, mask: WarpMask, value: impl Fn(&WarpSlot) -> u32) -> Option<WarpSlot> {
    let age = |slot: &WarpSlot| std::cmp::Reverse(view.age[slot.index()]);
    warps_of(mask).max_by_key(|slot| (value(slot), age(slot)))
}

impl WarpScheduler for Locality {
    fn begin_cycle(&mut self, view: &WarpView<'_>) {
        let blocked = view.waiting | view.long_wait;
        self.demote(blocked);
        self.promote(view, blocked);
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    fn wants_ranges(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let starved = Self::starved(view, ready);
        if starved != 0 {
            return view.oldest(starved);
        }
        let active = ready & self.active;
        if holds(active, self.last) {
            return Some(self.last);
        }
        let candidates = if active == 0 && self.settings.work_conserving {
            ready
        } else {
            active
        };
        best(view, candidates, |slot| {
            self.locality(view, *slot, self.last)
        })
    }

    /// Group and starved warps change only with the view.
    fn holds_for(&self) -> u64 {
        u64::MAX
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = slot;
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        self.active &= !(1 << slot.index());
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            groups: self.groups.clone(),
            locality: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
