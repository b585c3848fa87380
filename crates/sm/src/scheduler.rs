//! A warp scheduler: its warps, its policy, and issue slots that are taken
//! (docs/model/sm.md, Issue).

use crate::counters::SlotCause;
use crate::issue_slots::IssueSlots;
use crate::next_accesses::NextAccesses;
use crate::pipe::Pipe;
use warploom_base::{Cycle, WarpSlot};
use warploom_config::GpuSpec;
use warploom_policy::{CustomPolicies, WarpMask, WarpPolicy, WarpScheduler};
use warploom_state::State;

/// A warp scheduler of an SM. Small fields come first, because a policy takes the room of the
/// largest one.
#[derive(State)]
#[repr(C, align(64))]
pub(crate) struct Scheduler {
    /// Slots that the scheduler serves.
    pub own: WarpMask,
    /// True if the policy must see every cycle, or some warps issue after all others.
    pub wants_cycles: bool,
    /// Cause for which it issues nothing while the SM is at rest.
    pub resting: SlotCause,
    /// Warps that could issue and that the policy let not issue in cycle `held_at`. While the SM is
    /// at rest or sleeps, the policy goes on holding them back.
    pub held: WarpMask,
    /// Cycle in which `held` was noted.
    pub held_at: Cycle,
    /// Cycles to come that belong to instructions which have issued.
    pub slots: IssueSlots,
    /// Cycle from which it issues the next memory instruction.
    pub memory_from: Cycle,
    /// Cycles from a memory instruction to the next one.
    memory_cycles: Cycle,
    /// Next instructions, for the policy's gate.
    pub next: NextAccesses,
    /// Policy that picks the warp.
    pub policy: WarpPolicy,
}

impl Scheduler {
    /// Notes that a warp came into a slot.
    pub(crate) fn starts(&mut self, slot: WarpSlot) {
        self.held = 0;
        self.next.forget(slot);
        self.policy.on_start(slot);
    }

    /// Notes that an instruction of `latency` cycles issues to a pipe, which takes `further` issue
    /// slots after this one.
    #[inline]
    pub(crate) fn issues(&mut self, now: Cycle, pipe: Pipe, (further, latency): (u8, u16)) {
        self.slots.take(now, further, latency);
        if pipe == Pipe::Mem {
            self.memory_from = now + self.memory_cycles;
        }
    }

    /// Notes that the warp in a slot has exited, or that its context was switched out.
    pub(crate) fn exits(&mut self, slot: WarpSlot) {
        self.held = 0;
        self.policy.on_exit(slot);
    }
}

/// Warp schedulers of an SM; warp slot w belongs to scheduler w modulo their number.
pub(crate) fn schedulers(
    spec: &GpuSpec,
    slots: usize,
    policies: &CustomPolicies,
) -> Vec<Scheduler> {
    let n = spec.sm.schedulers.max(1) as usize;
    let own = |s: usize| (s..slots).step_by(n).fold(0, |mask, slot| mask | 1 << slot);
    let scheduler = |s| {
        let policy = policies.warp_policy(spec);
        Scheduler {
            own: own(s),
            wants_cycles: policy.wants_cycles(),
            resting: SlotCause::NoWarp,
            held: 0,
            held_at: 0,
            slots: IssueSlots::default(),
            memory_from: 0,
            memory_cycles: spec.sm.memory_issue_cycles.into(),
            next: NextAccesses::default(),
            policy,
        }
    };
    (0..n).map(scheduler).collect()
}
