//! Two-level scheduling: only warps of a small group issue.
//!
//! The setting `outer` selects the group:
//!
//! - `groups` (Narasiman et al., MICRO 2011, section 3.2): fixed groups of neighbouring warps. A
//!   group issues until all of its warps wait. Then the next group in round robin follows that has
//!   a warp which does not wait.
//! - `queue` (GPGPU-Sim's `two_level_active`; active and pending warps as in Gebhart et al., ISCA
//!   2011): a warp that waits goes to the tail of a queue, and the warp at its head takes the place
//!   in the group.
//! - `oldest`: as `queue`, but the oldest warp of the queue takes the place.
//!
//! A warp waits when it is at a barrier or its next instruction needs an outstanding load. The
//! setting `inner` is the order within the group.

use super::{
    WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, holds, next_after, only, warps_of,
};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use std::collections::VecDeque;
use warploom_base::WarpSlot;
use warploom_config::{GpuSpec, InnerOrder, OuterOrder, TwoLevelSettings};
use warploom_state::State;
use warploom_stats::declare_stats;

declare_stats! {
    /// Counters of schedulers that let a group of warps issue.
    pub struct GroupCounters in "warp_policy" {
        /// Times that a warp, or a group, lost its place among those that may issue, or in front of
        /// others (two-level, locality, owl).
        pub group_changes: u64 = Events;
    }
}

/// Scheduler of `two-level`: two-level scheduling.
#[derive(Clone, Debug, State)]
pub struct TwoLevel {
    #[state(fixed)]
    settings: TwoLevelSettings,
    active: WarpMask,
    /// Warps outside the group (`queue` and `oldest`).
    pending: VecDeque<WarpSlot>,
    /// Mask of the warps in `pending`.
    queued: WarpMask,
    /// Number of the group that has its turn (`groups`).
    turn: u32,
    last: WarpSlot,
    counters: GroupCounters,
}

impl PolicyFacts for TwoLevel {
    const FACTS: Facts = Facts {
        about: "Only a group of warps issues; one that waits makes room, or its group does.",
        source: "Gebhart et al., ISCA 2011, as GPGPU-Sim `two_level_active` (queue, oldest); \
                 Narasiman et al., MICRO 2011 (groups)",
        state: "schedulers x (the last warp + for groups the turn, else a bit a warp and a queue \
                of warps)",
        bits,
        // 24 bits of membership, a queue of 24 warps, the last one.
        bits_on_gtx480: 2 * (24 + 24 * 5 + 5),
        part: Part::Sm,
        complexity: "linear in warps when one waits, else constant",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: TwoLevelSettings = spec.sm.warp_scheduler.settings();
    let warps = warps_a_scheduler(spec);
    let groups = match settings.outer {
        OuterOrder::Groups => bits_for(warps.div_ceil(u64::from(settings.active_warps))),
        OuterOrder::Queue | OuterOrder::Oldest => warps + warps * bits_for(warps),
    };
    schedulers(spec) * (groups + bits_for(warps))
}

impl TwoLevel {
    /// A scheduler whose group is empty.
    pub fn new(settings: TwoLevelSettings) -> Self {
        Self {
            settings,
            active: 0,
            pending: VecDeque::with_capacity(64),
            queued: 0,
            turn: 0,
            last: WarpSlot(63),
            counters: GroupCounters::default(),
        }
    }

    fn is_full(&self) -> bool {
        self.active.count_ones() >= self.settings.active_warps
    }

    fn demote(&mut self, blocked: WarpMask) {
        let leaving = self.active & blocked;
        if leaving == 0 {
            return;
        }
        self.counters.group_changes += u64::from(leaving.count_ones());
        self.pending.extend(warps_of(leaving));
        self.queued |= leaving;
        self.active &= !blocked;
    }

    /// True if the group has no room, or no warp of the queue could join it.
    fn has_no_change(&self, blocked: WarpMask) -> bool {
        self.queued & !blocked == 0 || self.is_full()
    }

    /// Moves a warp that is no longer in the queue into the group.
    fn join(&mut self, slot: WarpSlot) {
        self.queued &= !only(slot);
        self.active |= only(slot);
    }

    /// Fills the group from the queue. Each warp of the queue comes to its head once, and those
    /// that wait go to its tail, so that a queue from which no warp is taken stays as it is.
    fn promote_in_turn(&mut self, blocked: WarpMask) {
        if self.has_no_change(blocked) {
            return;
        }
        for _ in 0..self.pending.len() {
            if self.is_full() {
                return;
            }
            let Some(slot) = self.pending.pop_front() else {
                return;
            };
            if holds(blocked, slot) {
                self.pending.push_back(slot);
            } else {
                self.join(slot);
            }
        }
    }

    fn promote_oldest(&mut self, view: &WarpView<'_>, blocked: WarpMask) {
        while !self.has_no_change(blocked) {
            let free = self.pending.iter().enumerate();
            let free = free.filter(|(_, slot)| !holds(blocked, **slot));
            let Some((at, slot)) = free.min_by_key(|(_, slot)| view.age[slot.index()]) else {
                return;
            };
            let slot = *slot;
            self.pending.remove(at);
            self.join(slot);
        }
    }

    /// Keeps the turn of a group until none of its warps can go on.
    fn take_turns(&mut self, view: &WarpView<'_>, free: WarpMask) {
        let size = self.settings.active_warps;
        let groups = view.own.count_ones().div_ceil(size);
        self.active = group(view.own, self.turn, size);
        let others = (1..groups).map(|step| (self.turn + step) % groups);
        let able = |turn: &u32| group(view.own, *turn, size) & free != 0;
        if self.active & free == 0
            && let Some(turn) = others.into_iter().find(able)
        {
            self.turn = turn;
            self.active = group(view.own, turn, size);
            self.counters.group_changes += 1;
        }
    }
}

/// The `turn`th group of `size` slots of a mask.
fn group(own: WarpMask, turn: u32, size: u32) -> WarpMask {
    let first = (turn * size) as usize;
    warps_of(own)
        .skip(first)
        .take(size as usize)
        .fold(0, |mask, slot| mask | 1 << slot.index())
}

impl WarpScheduler for TwoLevel {
    fn begin_cycle(&mut self, view: &WarpView<'_>) {
        let blocked = view.waiting | view.long_wait;
        match self.settings.outer {
            OuterOrder::Groups => self.take_turns(view, view.own & view.live & !blocked),
            OuterOrder::Queue => {
                self.demote(blocked);
                self.promote_in_turn(blocked);
            }
            OuterOrder::Oldest => {
                self.demote(blocked);
                self.promote_oldest(view, blocked);
            }
        }
    }

    fn wants_cycles(&self) -> bool {
        true
    }

    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let ready = ready & self.active;
        let last_goes_on = holds(ready, self.last);
        match self.settings.inner {
            InnerOrder::Grr | InnerOrder::Gto if last_goes_on => Some(self.last),
            InnerOrder::Lrr | InnerOrder::Grr => next_after(ready, self.last),
            InnerOrder::Gto | InnerOrder::Oldest => view.oldest(ready),
        }
    }

    /// The group changes only with the view.
    fn holds_for(&self) -> u64 {
        u64::MAX
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = slot;
    }

    fn on_start(&mut self, slot: WarpSlot) {
        if self.settings.outer == OuterOrder::Groups {
            return;
        }
        if self.is_full() {
            self.pending.push_back(slot);
            self.queued |= only(slot);
        } else {
            self.active |= only(slot);
        }
    }

    fn on_exit(&mut self, slot: WarpSlot) {
        self.active &= !only(slot);
        self.queued &= !only(slot);
        self.pending.retain(|s| *s != slot);
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            groups: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
