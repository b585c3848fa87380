//! Warps that stalled longest first (Do et al. 2017, section 4.2, Algorithm 1).
//!
//! Every hardware warp has a counter of the stall cycles in which a control hazard, a data hazard
//! or a full pipe kept its next instruction from issuing, over the warp's life. A stall cycle is
//! one in which the scheduler finds no ready instruction (section 4.2); settings count others too.
//! Warps are sorted by it in descending order, within blocks (oldest block first) or over the
//! scheduler's warps; ties go to the older warp. A cycle's stalls count from the next cycle on, as
//! GPGPU-Sim sorts before it looks at the warps. The sort takes the place of the baseline's and
//! costs no cycles (the paper's "Hardware Overhead").

use super::{OrderCounters, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, warps_of};
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
    /// Stall counter of each warp, by slot.
    stalls: [u64; WarpMask::BITS as usize],
    /// Warps that stalled in the last cycles, and the number of these, which their counters lack.
    /// Mostly the same warps stall for long, and are counted together.
    uncounted: (WarpMask, u64),
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
            uncounted: (0, 0),
            reorders: false,
            order: OrderCounters::default(),
            counters: StallCounters::default(),
        }
    }

    /// Brings the stall counters up to date.
    fn count(&mut self) {
        let (stalled, cycles) = std::mem::take(&mut self.uncounted);
        let most = (1 << self.settings.counter_bits) - 1;
        for slot in warps_of(stalled) {
            let stalls = &mut self.stalls[slot.index()];
            *stalls = stalls.saturating_add(cycles).min(most);
        }
    }

    /// Rank of a warp: the smallest rank comes first. The counters must be up to date.
    fn rank(&self, view: &WarpView<'_>, slot: WarpSlot) -> (u64, Reverse<u64>, u64) {
        let w = slot.index();
        let block = match self.settings.scope {
            SortScope::Block => view.block_age[w],
            SortScope::Sm => 0,
        };
        (block, Reverse(self.stalls[w]), view.age[w])
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
        self.count();
        let first = warps_of(ready).min_by_key(|slot| self.rank(view, *slot));
        // Without counters either scope comes down to the oldest warp: a block's warps start
        // together.
        self.reorders = first != view.oldest(ready);
        first
    }

    fn wants_cycles(&self) -> bool {
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
            StallCount::Examined => {
                self.count();
                self.examined(view, stalled, picked)
            }
        };
        self.counters.stall_cycles += cycles * u64::from(counted.count_ones());
        if self.uncounted.0 != counted {
            self.count();
        }
        self.uncounted = (counted, self.uncounted.1 + cycles);
    }

    fn on_issue(&mut self, _slot: WarpSlot) {
        self.order.reorderings += u64::from(self.reorders);
    }

    fn on_start(&mut self, slot: WarpSlot) {
        self.count();
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
