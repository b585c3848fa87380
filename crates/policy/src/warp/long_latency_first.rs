//! Warps that stalled longest first (Do et al. 2017, section 4.2, Algorithm 1).
//!
//! Every hardware warp has a counter of the stall cycles in which a control hazard, a data hazard
//! or a full pipe kept its next instruction from issuing, over the warp's life. A stall cycle is
//! one in which the scheduler finds no ready instruction (section 4.2); settings count others too.
//! Warps are sorted by it in descending order, within blocks (oldest block first) or over the
//! scheduler's warps; ties go to the older warp. A cycle's stalls count from the next cycle on, as
//! GPGPU-Sim sorts before it looks at the warps. The sort takes the place of the baseline's and
//! costs no cycles (the paper's "Hardware Overhead").

use super::{
    OrderCounters, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, holds, only, warps_of,
};
use crate::facts::warps;
use crate::{Facts, Part, PolicyFacts};
use std::cmp::Reverse;
use warploom_base::WarpSlot;
use warploom_config::{LongLatencyFirstSettings, SortScope, StallCount};
use warploom_state::State;
use warploom_stats::declare_stats;

declare_stats! {
    /// Counters of the scheduler `long-latency-first`.
    pub struct StallCounters in "warp_policy" {
        /// Cycles that warps' stall counters counted (long-latency-first).
        pub stall_cycles: u64 = Cycles;
    }
}

/// Scheduler of `long-latency-first`: most stalled first.
#[derive(Clone, Debug, State)]
pub struct LongLatencyFirst {
    #[state(fixed)]
    settings: LongLatencyFirstSettings,
    /// Stall counter of each warp, by slot, without its limit. That of a warp in `stalled` lacks
    /// `cycles`, modulo 2^64.
    stalls: [u64; WarpMask::BITS as usize],
    /// Warps that stalled in the last cycle that counted. Mostly the same warps stall for long, so
    /// that counters change only where a warp begins or ends to stall.
    stalled: WarpMask,
    /// Number of these warps.
    stalling: u64,
    /// Number of cycles that counted so far.
    cycles: u64,
    /// True if the last choice was not the oldest warp.
    reorders: bool,
    order: OrderCounters,
    counters: StallCounters,
}

impl PolicyFacts for LongLatencyFirst {
    const FACTS: Facts = Facts {
        about: "Warps that stalled for most cycles first, within a block or over the scheduler.",
        source: "Do et al. 2017, Algorithm 1",
        state: "warps x counter_bits: a stall counter each",
        bits: |spec| {
            let settings: LongLatencyFirstSettings = spec.sm.warp_scheduler.settings();
            warps(spec) * u64::from(settings.counter_bits)
        },
        // Section 4.2: one counter a warp.
        bits_on_gtx480: 48 * 32,
        part: Part::Sm,
        complexity: "linear in warps: one pass for the largest, one to count",
    };
}

impl LongLatencyFirst {
    /// A scheduler whose stall counters are 0.
    pub fn new(settings: LongLatencyFirstSettings) -> Self {
        Self {
            settings,
            stalls: [0; WarpMask::BITS as usize],
            stalled: 0,
            stalling: 0,
            cycles: 0,
            reorders: false,
            order: OrderCounters::default(),
            counters: StallCounters::default(),
        }
    }

    /// Counts cycles in which these warps stalled.
    #[inline]
    fn count(&mut self, stalled: WarpMask, cycles: u64) {
        let changed = self.stalled ^ stalled;
        if changed != 0 {
            self.change(changed & stalled, changed & !stalled);
        }
        self.cycles += cycles;
        self.counters.stall_cycles += cycles * self.stalling;
    }

    /// Notes that some warps begin to stall and others stall no longer.
    fn change(&mut self, begin: WarpMask, end: WarpMask) {
        for slot in warps_of(begin) {
            let stalls = &mut self.stalls[slot.index()];
            *stalls = stalls.wrapping_sub(self.cycles);
        }
        for slot in warps_of(end) {
            let stalls = &mut self.stalls[slot.index()];
            *stalls = stalls.wrapping_add(self.cycles);
        }
        self.stalled = self.stalled & !end | begin;
        self.stalling = u64::from(self.stalled.count_ones());
    }

    /// Value of a warp's stall counter.
    #[inline]
    fn stalls(&self, slot: WarpSlot) -> u64 {
        let so_far = if holds(self.stalled, slot) {
            self.cycles
        } else {
            0
        };
        let stalls = self.stalls[slot.index()].wrapping_add(so_far);
        stalls.min((1 << self.settings.counter_bits) - 1)
    }

    /// Rank of a warp: the smallest rank comes first.
    #[inline]
    fn rank(&self, view: &WarpView<'_>, slot: WarpSlot) -> (u64, Reverse<u64>, u64) {
        let w = slot.index();
        let block = match self.settings.scope {
            SortScope::Block => view.block_age[w],
            SortScope::Sm => 0,
        };
        (block, Reverse(self.stalls(slot)), view.age[w])
    }

    /// The first of some warps in the order, of which `oldest` is the oldest. Its block is the
    /// oldest, too.
    fn first(&self, view: &WarpView<'_>, ready: WarpMask, oldest: WarpSlot) -> WarpSlot {
        let among = match self.settings.scope {
            SortScope::Block => ready & view.of_block(oldest),
            SortScope::Sm => ready,
        };
        let (mut first, mut most) = (oldest, self.stalls(oldest));
        warps_of(among & !only(oldest)).for_each(|slot| {
            let stalls = self.stalls(slot);
            let older = || view.age[slot.index()] < view.age[first.index()];
            if stalls > most || stalls == most && older() {
                (first, most) = (slot, stalls);
            }
        });
        first
    }

    /// The part of `stalled` that the scheduler came to before it issued from `picked`.
    fn examined(
        &self,
        view: &WarpView<'_>,
        stalled: WarpMask,
        picked: Option<WarpSlot>,
    ) -> WarpMask {
        let Some(picked) = picked else { return stalled };
        let last = self.rank(view, picked);
        let before = |slot: &WarpSlot| self.rank(view, *slot) < last;
        warps_of(stalled)
            .filter(before)
            .fold(0, |mask, slot| mask | 1 << slot.index())
    }
}

impl WarpScheduler for LongLatencyFirst {
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        // Without counters either scope comes down to the oldest warp: a block's warps start
        // together.
        let oldest = view.oldest(ready)?;
        let first = self.first(view, ready, oldest);
        self.reorders = first != oldest;
        Some(first)
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    #[inline]
    fn wants_stalled(&self) -> bool {
        true
    }

    fn end_cycles(
        &mut self,
        view: &WarpView<'_>,
        stalled: WarpMask,
        picked: Option<WarpSlot>,
        cycles: u64,
    ) {
        let counted = match self.settings.count {
            StallCount::StallCycles if picked.is_some() => return,
            StallCount::StallCycles | StallCount::All => stalled,
            StallCount::Examined => self.examined(view, stalled, picked),
        };
        self.count(counted, cycles);
    }

    fn on_issue(&mut self, _slot: WarpSlot) {
        self.order.reorderings += u64::from(self.reorders);
    }

    fn on_start(&mut self, slot: WarpSlot) {
        self.change(0, self.stalled & only(slot));
        self.stalls[slot.index()] = 0;
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            order: self.order.clone(),
            stalls: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
