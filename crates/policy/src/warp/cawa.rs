//! Criticality-aware warp scheduling (Lee et al., ISCA 2015): the warp that will end last goes
//! first, and goes on as long as it can.
//!
//! The criticality of a warp is the time that it still needs, as far as its own past tells, and the
//! time that it has lost:
//!
//! ```text
//! criticality = instructions left x mean cycles per instruction + stall cycles
//! ```
//!
//! Instructions left are those in program order from the warp's next instruction to the end of its
//! kernel. A branch back adds the instructions of the loop's body, and a branch forward removes
//! those that it skips. The mean is over the warp's life. Stall cycles are those between two issues
//! of the warp. The warp with the greatest criticality goes first; ties go to the older warp. These
//! are the predictor and the scheduler of the paper (CPL and gCAWS). Its cache prioritisation
//! (CACP) is the replacement policy `cacp` of L1D, which asks this scheduler which warps are
//! critical: those of greater criticality than half of their block. The page
//! `docs/policies-compared.md` lists what the paper leaves open.

use super::{
    OrderCounters, Progress, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, holds, only,
    warps_of,
};
use crate::facts::{schedulers, warps, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use std::cmp::Reverse;
use warploom_base::WarpSlot;
use warploom_config::CawaSettings;
use warploom_state::{State, Value};

/// Width of each of a warp's counters in the count of bits.
const COUNTER_BITS: u64 = 32;

/// Scheduler of `cawa`: the most critical warp first.
#[derive(Clone, Debug, State)]
pub struct Cawa {
    /// The warp that issued last.
    last: Option<WarpSlot>,
    /// True if the last choice was not the oldest warp.
    reorders: bool,
    /// Number of cycles so far.
    now: u64,
    warps: Box<[History]>,
    order: OrderCounters,
    #[state(fixed)]
    settings: CawaSettings,
}

/// History of a warp, since its start.
#[derive(Clone, Copy, Default, Debug, Value)]
struct History {
    /// Cycle in which the warp started.
    started: u64,
    /// Cycle of the warp's last issue, or of its start.
    issued_at: u64,
    /// Instructions that it has issued.
    issued: u64,
    /// Cycles between its issues.
    stalls: u64,
    /// Instructions left in program order.
    left: u64,
}

impl History {
    /// Criticality in cycle `now`.
    fn criticality(&self, now: u64) -> u64 {
        let needed = self.left * (now - self.started);
        needed.checked_div(self.issued).unwrap_or(0) + self.stalls
    }

    /// True if the criticality in cycle `now` is `least` or more. Costs no division, unlike the
    /// criticality. A warp that has issued nothing may reach any.
    fn may_reach(&self, least: u64, now: u64) -> bool {
        let needed = self.left * (now - self.started);
        let least = u128::from(least.saturating_sub(self.stalls)) * u128::from(self.issued);
        u128::from(needed) >= least
    }

    /// Criticality as of the warp's last issue.
    fn last_criticality(&self) -> u64 {
        self.criticality(self.issued_at)
    }
}

impl PolicyFacts for Cawa {
    const FACTS: Facts = Facts {
        about: "The warp with most work left and most stalls first, as long as it can issue.",
        source: "CAWA (CPL and gCAWS): Lee et al., ISCA 2015",
        state: "warps x 5 x 32: start, last issue, instructions issued and left, stalls \
                + schedulers x (cycles, the last warp)",
        bits: |spec| {
            let last = bits_for(warps_a_scheduler(spec)) + 1;
            warps(spec) * 5 * COUNTER_BITS + schedulers(spec) * (COUNTER_BITS + last)
        },
        bits_on_gtx480: 48 * 160 + 2 * (32 + 5 + 1),
        part: Part::Sm,
        complexity: "a product for each ready warp, unless the last one goes on",
    };
}

impl Cawa {
    /// A scheduler that has no warps.
    pub fn new(settings: CawaSettings) -> Self {
        Self {
            settings,
            last: None,
            reorders: false,
            now: 0,
            warps: vec![History::default(); WarpMask::BITS as usize].into(),
            order: OrderCounters::default(),
        }
    }

    /// The most critical of some warps, of which `oldest` is the oldest.
    fn most_critical(&self, view: &WarpView<'_>, ready: WarpMask, oldest: WarpSlot) -> WarpSlot {
        let criticality = |slot: WarpSlot| self.warps[slot.index()].criticality(self.now);
        let rank = |slot: WarpSlot, criticality| (criticality, Reverse(view.age[slot.index()]));
        let (mut first, mut most) = (oldest, criticality(oldest));
        warps_of(ready & !only(oldest)).for_each(|slot| {
            if self.warps[slot.index()].may_reach(most, self.now) {
                let criticality = criticality(slot);
                if rank(slot, criticality) > rank(first, most) {
                    (first, most) = (slot, criticality);
                }
            }
        });
        first
    }
}

impl WarpScheduler for Cawa {
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let oldest = view.oldest(ready)?;
        let first = match self.last {
            Some(last) if holds(ready, last) => last,
            _ => self.most_critical(view, ready, oldest),
        };
        self.reorders = first != oldest;
        Some(first)
    }

    /// Criticality as of the warp's last issue, so that it depends on issues alone.
    fn criticality(&self, warp: WarpSlot) -> u64 {
        self.warps[warp.index()].last_criticality()
    }

    /// True if enough of the warps of the block are less critical.
    fn is_critical(&self, own: u64, block: &mut dyn Iterator<Item = u64>) -> bool {
        let (mut all, mut less) = (0, 0);
        block.for_each(|other| {
            all += 1;
            less += u32::from(other < own);
        });
        less > 0 && less * 100 >= all * self.settings.critical_percent
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    fn wants_progress(&self) -> bool {
        true
    }

    fn end_cycles(
        &mut self,
        _view: &WarpView<'_>,
        _stalled: WarpMask,
        _picked: Option<WarpSlot>,
        cycles: u64,
    ) {
        self.now += cycles;
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = Some(slot);
        self.order.reorderings += u64::from(self.reorders);
        let warp = &mut self.warps[slot.index()];
        warp.stalls += (self.now - warp.issued_at).saturating_sub(1);
        warp.issued_at = self.now;
        warp.issued += 1;
    }

    fn on_progress(&mut self, slot: WarpSlot, progress: &Progress) {
        self.warps[slot.index()].left = progress.left.into();
    }

    fn on_start(&mut self, slot: WarpSlot) {
        self.warps[slot.index()] = History {
            started: self.now,
            issued_at: self.now,
            ..History::default()
        };
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            order: self.order.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
