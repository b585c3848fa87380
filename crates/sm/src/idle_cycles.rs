//! Cycles in which a scheduler issues nothing, one like the other. The policy is told of the first
//! one at once, and of the others together, before anything else that it is told or asked.

use crate::warps::Warps;
use warploom_base::Cycle;
use warploom_policy::{WarpMask, WarpTable, WarpView};

/// The warps of a cycle in which a policy issues nothing. Where they are the same in two cycles
/// that follow each other without an event between them, the policy does the same.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Idle {
    pub live: WarpMask,
    pub waiting: WarpMask,
    pub long_wait: WarpMask,
    /// Warps of the scheduler that could not issue their decoded instruction, if the policy uses
    /// them.
    pub stalled: WarpMask,
    /// Warps of the scheduler that could, and that the policy let not issue.
    pub held: WarpMask,
}

/// The cycles since the last one that was not like the one before.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct IdleCycles {
    /// False if the last cycle was another one.
    pub any: bool,
    /// The warps of the first of them.
    pub first: Idle,
    /// Number of those of which the policy has not been told.
    pub untold: Cycle,
    /// Cycle in which the policy must be asked again although nothing changes; the last one if no
    /// warp is ready.
    pub until: Cycle,
}

impl IdleCycles {
    /// Lets a cycle pass if it is like the one before and the policy would let no warp issue
    /// again. Returns false if the policy must be asked. `idle` is asked only after a cycle in
    /// which nothing issued.
    #[inline(always)]
    pub(crate) fn passes<const FEW: bool>(
        &mut self,
        now: Cycle,
        idle: impl FnOnce() -> Idle,
    ) -> bool {
        if now >= self.until {
            return false;
        }
        let same = self.first.is_same::<FEW>(&idle());
        self.untold += Cycle::from(same);
        same
    }

    /// Notes that the policy has been told of a cycle and may let warps issue from `until` on.
    #[inline]
    pub(crate) fn begin(&mut self, first: &Idle, until: Cycle) {
        (self.any, self.first) = (true, *first);
        (self.untold, self.until) = (0, until);
    }

    /// Notes a cycle of another kind.
    #[inline]
    pub(crate) fn end(&mut self) {
        debug_assert_eq!(self.untold, 0, "the policy is told first");
        (self.any, self.until) = (false, 0);
    }
}

impl Idle {
    /// A cycle in which a scheduler issues nothing, and in which the warps of `held` could issue.
    /// The policy uses the stalls of the warps of `stalls_of`.
    #[inline(always)]
    pub(crate) fn of(warps: &Warps, stalls_of: WarpMask, held: WarpMask) -> Self {
        let waiting = warps.waiting();
        Self {
            live: warps.running(),
            waiting,
            long_wait: warps.long_wait.mask(),
            stalled: stalls_of & warps.buffered & !waiting & !held,
            held,
        }
    }

    /// True if a policy is told the same of two cycles. `FEW` says that the SM has at most 64 warp
    /// slots.
    #[inline(always)]
    pub(crate) fn is_same<const FEW: bool>(&self, other: &Self) -> bool {
        let masks = |idle: &Self| {
            let Self {
                live,
                waiting,
                long_wait,
                stalled,
                held,
            } = *idle;
            [live, waiting, long_wait, stalled, held]
        };
        let pairs = masks(self).into_iter().zip(masks(other));
        if FEW {
            pairs.fold(0, |all, (a, b)| all | (a ^ b) as u64) == 0
        } else {
            pairs.fold(0, |all, (a, b)| all | (a ^ b)) == 0
        }
    }

    /// The view of a policy before it lets no warp issue.
    #[inline]
    pub(crate) fn view(self, own: WarpMask, table: &WarpTable) -> WarpView<'_> {
        WarpView {
            own,
            live: self.live,
            waiting: self.waiting,
            long_wait: self.long_wait,
            held: 0,
            table,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles pass until the policy must be asked again, and only while its warps are the same,
    /// also those in slots from 64 on.
    #[test]
    fn equal_cycles_pass_until_the_policy_must_be_asked() {
        let idle = Idle {
            live: 1 << 70 | 0b11,
            held: 0b10,
            ..Idle::default()
        };
        let changed = [
            Idle { live: 0b11, ..idle },
            Idle {
                waiting: 1 << 100,
                ..idle
            },
            Idle { held: 0, ..idle },
        ];
        let mut cycles = IdleCycles::default();
        assert!(!cycles.passes::<false>(5, || idle), "no cycle before");
        cycles.begin(&idle, 9);
        assert!(cycles.passes::<false>(6, || idle));
        for other in changed {
            assert!(!cycles.passes::<false>(7, || other), "{other:?}");
        }
        assert!(cycles.passes::<false>(8, || idle));
        assert!(!cycles.passes::<false>(9, || idle), "must be asked");
        assert_eq!(cycles.untold, 2);
    }

    /// On an SM of 64 slots the upper halves of masks do not count.
    #[test]
    fn few_warps_are_compared_by_half_a_mask() {
        let idle = |waiting| Idle {
            waiting,
            ..Idle::default()
        };
        assert!(idle(1 << 64).is_same::<true>(&idle(0)));
        assert!(!idle(1 << 63).is_same::<true>(&idle(0)));
        assert!(!idle(1 << 64).is_same::<false>(&idle(0)));
    }
}
