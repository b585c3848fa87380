//! Memory-aware scheduling (Mascar: Sethia et al., HPCA 2015): while memory is saturated, one warp
//! owns the path to memory, and the others compute.
//!
//! With memory saturated, the accesses of all warps proceed at once, and none of them has all its
//! data. Mascar lets one warp, the owner, issue its accesses until it needs their results. Then its
//! data come together, it computes, and the next owner's accesses overlap with that. The other
//! warps issue everything but accesses to memory, and loads after everything else: these may hit
//! L1D, but may not miss it.
//!
//! A load that L1D refuses, or that may not miss and would, is parked: it waits in a queue beside
//! the load/store unit and is executed again, while later accesses go by (the paper's
//! re-execution). A warp has one parked load, and its next access waits for it.
//!
//! Memory is saturated while L1D has fewer free MSHR entries than a reserve, or while L1D or the
//! network refuses the next access. Otherwise the order is greedy, then oldest, for all warps. The
//! owner goes first. It stays the owner until it exits, waits at a barrier, or needs the result of
//! an outstanding load. The next owner is the oldest warp that could issue an access.
//!
//! The page `docs/policies-compared.md` lists what was chosen. Each scheduler has an owner.

use super::{
    Gto, MemoryAccess, MemoryUse, NextInst, ReadyWarps, Screened, WarpMask, WarpPolicyCounters,
    WarpScheduler, WarpView, holds, only,
};
use crate::facts::{schedulers, warps, warps_a_scheduler};
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

/// Words of a parked load: its instruction, and an address for each lane.
const PARKED_WORDS: u64 = 33;

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
    /// Warps that have a parked load.
    parked: WarpMask,
    /// True if another load can be parked.
    can_park: bool,
    /// True if the scheduler has to be told of every cycle since the last change of these.
    watches: bool,
    /// Warps that may issue a load in this cycle although another one is the owner.
    late: WarpMask,
    counters: OwnerCounters,
}

impl PolicyFacts for Mascar {
    const FACTS: Facts = Facts {
        about: "Greedy then oldest; while memory is saturated, accesses come from one warp at a \
                time, until it needs their results.",
        source: "Mascar: Sethia et al., HPCA 2015",
        state: "schedulers x 2 x (log2(warps of one) + 1): the owner and the last warp \
                + 1: saturation + entries x (log2(warps) + 33 x 32): a parked load's warp, \
                instruction and addresses",
        bits: |spec| {
            let settings: MascarSettings = spec.sm.warp_scheduler.settings();
            let entry = bits_for(warps(spec)) + PARKED_WORDS * 32;
            let parked = u64::from(settings.reexecution_entries) * entry;
            schedulers(spec) * 2 * (bits_for(warps_a_scheduler(spec)) + 1) + 1 + parked
        },
        bits_on_gtx480: 2 * 2 * (5 + 1) + 1 + 32 * (6 + 33 * 32),
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
            parked: 0,
            can_park: false,
            watches: false,
            late: 0,
            counters: OwnerCounters::default(),
        }
    }

    /// True if memory is saturated under such a use.
    #[inline]
    fn saturates(&self, used: &MemoryUse) -> bool {
        let reserve = self.settings.reserved_misses;
        used.refuses || used.free_misses.is_some_and(|free| free < reserve)
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
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let owner = ready & self.owner;
        if self.saturated && owner != 0 {
            return self.order.pick(view, owner);
        }
        let early = ready & !self.late;
        self.order
            .pick(view, if early != 0 { early } else { ready })
    }

    fn parks(&self) -> u32 {
        self.settings.reexecution_entries
    }

    fn may_miss(&self) -> WarpMask {
        if self.saturated { self.owner } else { !0 }
    }

    fn wants_memory_use(&self) -> bool {
        true
    }

    #[inline]
    fn minds_memory_use(&self, used: &MemoryUse) -> bool {
        let known = (self.saturated, self.parked, self.can_park);
        known != (self.saturates(used), used.parked, used.can_park)
            || self.watches != self.wants_cycles()
    }

    fn on_memory_use(&mut self, used: &MemoryUse) {
        let before = (self.saturated, self.parked, self.can_park);
        self.saturated = self.saturates(used);
        self.changed |= before != (self.saturated, used.parked, used.can_park);
        self.late &= if self.saturated { !0 } else { 0 };
        (self.parked, self.can_park) = (used.parked, used.can_park);
        self.watches = self.wants_cycles();
    }

    /// Without saturation, parked loads and an owner, the order is that of `gto`.
    fn wants_cycles(&self) -> bool {
        self.has_gate() || self.owner != 0
    }

    fn has_gate(&self) -> bool {
        self.saturated || self.parked != 0
    }

    /// An owner that waits or needs the result of a load is the owner no longer.
    fn begin_cycle(&mut self, view: &WarpView<'_>) {
        self.owner &= view.live & !view.waiting & !view.long_wait;
        self.late = 0;
    }

    fn screen(&mut self, view: &WarpView<'_>, ready: ReadyWarps) -> Screened {
        let free = ready.accesses & !self.parked;
        let mut held = ready.accesses & self.parked;
        if self.saturated {
            self.choose_owner(view, free);
            let late = if self.can_park { ready.loads } else { 0 };
            self.late = free & late & !self.owner;
            held |= free & !self.owner & !self.late;
        }
        Screened {
            admitted: ready.all & !held,
            held,
        }
    }

    fn admits(&mut self, view: &WarpView<'_>, next: &NextInst) -> bool {
        let accesses = next.access.is_some_and(|access| access.may_go_to_memory());
        if !accesses || !self.has_gate() {
            return true;
        }
        if holds(self.parked, next.slot) || !self.saturated {
            return !holds(self.parked, next.slot);
        }
        self.choose_owner(view, only(next.slot));
        let loads = next.access.is_some_and(MemoryAccess::may_load_from_l1d);
        holds(self.owner, next.slot) || self.can_park && loads
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
        self.counters.accesses_held_back += view.held_warps() * cycles;
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
