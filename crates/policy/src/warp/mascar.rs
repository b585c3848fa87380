//! Memory-aware scheduling (Mascar: Sethia et al., HPCA 2015): while memory is saturated, one warp
//! owns the path to memory, and the others compute.
//!
//! With memory saturated, the accesses of all warps proceed at once, and none of them has all its
//! data. Mascar lets one warp, the owner, issue its accesses until it needs their results. Then its
//! data come together, it computes, and the next owner's accesses overlap with that. The other
//! warps issue everything but accesses to memory.
//!
//! Memory is saturated while L1D has fewer free MSHR entries than a reserve, or while L1D or the
//! network refuses the next access. Otherwise the order is greedy, then oldest, for all warps. The
//! owner goes first. It stays the owner until it exits, waits at a barrier, or needs the result of
//! an outstanding load. The next owner is the oldest warp that could issue an access.
//!
//! These are the scheduler and the detection of saturation. The paper's second part, the
//! re-execution of accesses that the cache refused, is not implemented. The page
//! `docs/policies-compared.md` lists what was chosen. Each scheduler has an owner.

use super::{
    Gto, MemoryUse, NextInst, ReadyWarps, Screened, WarpMask, WarpPolicyCounters, WarpScheduler,
    WarpView, holds, only,
};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_config::MascarSettings;
use warploom_state::State;
use warploom_stats::declare_stats;

declare_stats! {
    /// Counters of the scheduler `mascar`.
    pub struct OwnerCounters in "warp_policy" {
        /// Choices of a warp that owns the path to memory (mascar).
        pub owners: u64 = Events;
        /// Scheduler cycles with saturated memory (mascar).
        pub saturated_cycles: u64 = Cycles;
        /// Times that a warp's next access to memory was held back for a cycle (mascar).
        pub accesses_held_back: u64 = Events;
    }
}

/// Scheduler of `mascar`: one warp's accesses at a time while memory is saturated.
#[derive(Clone, Debug, State)]
pub struct Mascar {
    order: Gto,
    #[state(fixed)]
    settings: MascarSettings,
    /// True while memory is saturated.
    saturated: bool,
    /// True if `saturated` has changed since the last cycle ended.
    changed: bool,
    /// Mask of the warp that owns the path to memory; 0 if none does.
    owner: WarpMask,
    counters: OwnerCounters,
}

impl PolicyFacts for Mascar {
    const FACTS: Facts = Facts {
        about: "Greedy then oldest; while memory is saturated, accesses come from one warp at a \
                time, until it needs their results.",
        source: "Mascar (its scheduler): Sethia et al., HPCA 2015",
        state: "schedulers x 2 x (log2(warps of one) + 1): the owner and the last warp \
                + 1: saturation",
        bits: |spec| schedulers(spec) * 2 * (bits_for(warps_a_scheduler(spec)) + 1) + 1,
        bits_on_gtx480: 2 * 2 * (5 + 1) + 1,
        part: Part::Sm,
        complexity: "linear in ready warps",
    };
}

impl Mascar {
    /// A scheduler that has seen no saturation.
    pub fn new(settings: MascarSettings) -> Self {
        Self {
            order: Gto::default(),
            settings,
            saturated: false,
            changed: false,
            owner: 0,
            counters: OwnerCounters::default(),
        }
    }

    /// Makes the oldest warp of a mask the owner, unless there is one.
    fn choose_owner(&mut self, view: &WarpView<'_>, from: WarpMask) {
        if self.owner != 0 {
            return;
        }
        if let Some(oldest) = view.oldest(from) {
            self.owner = only(oldest);
            self.counters.owners += 1;
        }
    }
}

impl WarpScheduler for Mascar {
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let owner = ready & self.owner;
        let first = self.saturated && owner != 0;
        self.order.pick(view, if first { owner } else { ready })
    }

    fn wants_memory_use(&self) -> bool {
        true
    }

    fn on_memory_use(&mut self, used: &MemoryUse) {
        let reserve = self.settings.reserved_misses;
        let few = used.free_misses.is_some_and(|free| free < reserve);
        let saturated = used.refuses || few;
        self.changed |= saturated != self.saturated;
        self.saturated = saturated;
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    fn has_gate(&self) -> bool {
        self.saturated
    }

    /// An owner that waits or needs the result of a load is the owner no longer.
    fn begin_cycle(&mut self, view: &WarpView<'_>) {
        self.owner &= view.live & !view.waiting & !view.long_wait;
    }

    fn screen(&mut self, view: &WarpView<'_>, ready: ReadyWarps) -> Screened {
        self.choose_owner(view, ready.accesses);
        let held = ready.accesses & !self.owner;
        Screened {
            admitted: ready.all & !held,
            held,
        }
    }

    fn admits(&mut self, view: &WarpView<'_>, next: &NextInst) -> bool {
        let accesses = next.access.is_some_and(|access| access.may_go_to_memory());
        if !self.saturated || !accesses {
            return true;
        }
        self.choose_owner(view, only(next.slot));
        holds(self.owner, next.slot)
    }

    /// The owner changes only with the view and the ready warps.
    fn holds_for(&self) -> u64 {
        if self.changed { 0 } else { u64::MAX }
    }

    fn end_cycles(
        &mut self,
        view: &WarpView<'_>,
        _stalled: WarpMask,
        _picked: Option<WarpSlot>,
        cycles: u64,
    ) {
        self.changed = false;
        self.counters.saturated_cycles += u64::from(self.saturated) * cycles;
        self.counters.accesses_held_back += u64::from(view.held.count_ones()) * cycles;
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.order.on_issue(slot);
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        self.owner &= !only(slot);
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            owner: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
