//! A warp scheduler: its warps, its policy, and issue slots that are taken
//! (docs/model/sm.md, Issue).

use crate::counters::{ResultSource, SlotCause};
use crate::idle_cycles::{Idle, IdleCycles};
use crate::issue_slots::IssueSlots;
use crate::next_accesses::NextAccesses;
use crate::pipe::Pipe;
use crate::warps::Warps;
use warploom_base::{Cycle, WarpSlot};
use warploom_config::{GpuSpec, SmSpec};
use warploom_policy::{CustomPolicies, WarpMask, WarpPolicy, WarpScheduler, WarpTable};
use warploom_state::State;

/// A warp scheduler of an SM. What every one needs comes first, because a policy takes the room of
/// the largest one.
#[derive(State)]
#[repr(C, align(64))]
pub(crate) struct Scheduler {
    /// Slots that the scheduler serves.
    pub own: WarpMask,
    /// True if the policy must see every cycle, or some warps issue after all others.
    pub wants_cycles: bool,
    /// True if the policy is told of the places of warps that issue.
    #[state(fixed)]
    pub wants_progress: bool,
    /// Cause for which it issues nothing while the SM is at rest.
    pub resting: SlotCause,
    /// Where the results come from for which its warps wait at rest, if that is the cause.
    pub resting_on: ResultSource,
    /// True if instructions take further issue slots, or keep those behind them waiting.
    #[state(fixed)]
    spaces_issues: bool,
    /// Slots of warps whose stalls the policy uses: all of `own`, or none.
    #[state(fixed)]
    pub stalls_of: WarpMask,
    /// Policy that picks the warp. It begins in the line that every cycle reads.
    pub policy: WarpPolicy,
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
    /// Last answer of the policy to which warps may send misses, unless it may have changed since.
    #[state(scratch)]
    may_miss: Option<WarpMask>,
    /// Cycles in which it issues nothing.
    #[state(scratch)]
    pub idle: IdleCycles,
}

impl Scheduler {
    /// Warps whose loads may send misses, as the policy says.
    #[inline]
    pub(crate) fn may_miss(&self) -> WarpMask {
        let known = self.may_miss.filter(|_| self.wants_cycles);
        debug_assert!(known.is_none_or(|known| known == self.policy.may_miss()));
        known.unwrap_or_else(|| self.policy.may_miss())
    }

    /// The same, remembered until the policy is told of something. A policy that is not told of
    /// every cycle is asked each time.
    #[inline]
    pub(crate) fn ask_may_miss(&mut self) -> WarpMask {
        let may_miss = self.may_miss();
        self.may_miss = Some(may_miss);
        may_miss
    }

    /// Notes that the policy is told of something, or asked, so that its answers may change.
    #[inline]
    pub(crate) fn forget_answers(&mut self) {
        self.may_miss = None;
    }

    /// Notes that a warp came into a slot. The policy has been told of all cycles before.
    pub(crate) fn starts(&mut self, slot: WarpSlot) {
        self.held = 0;
        self.idle.end();
        self.next.forget(slot);
        self.forget_answers();
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

    /// True if an instruction takes one issue slot, and the policy is not told of places.
    pub(crate) fn issues_singly(&self) -> bool {
        !self.wants_progress && !self.spaces_issues
    }

    /// Notes that the warp in a slot has exited, or that its context was switched out. The policy
    /// has been told of all cycles before.
    pub(crate) fn exits(&mut self, slot: WarpSlot) {
        self.held = 0;
        self.idle.end();
        self.forget_answers();
        self.policy.on_exit(slot);
    }
}

/// Cycles in which no warp issues.
impl Scheduler {
    /// Tells the policy of all cycles that have passed.
    #[inline]
    pub(crate) fn tell_passed(&mut self, table: &WarpTable) {
        if self.idle.untold != 0 {
            self.tell_untold(table);
        }
    }

    #[inline(never)]
    fn tell_untold(&mut self, table: &WarpTable) {
        let cycles = std::mem::take(&mut self.idle.untold);
        let idle = self.idle.first;
        self.tell(&idle, cycles, table);
    }

    /// Tells the policy of `cycles` cycles.
    fn tell(&mut self, idle: &Idle, cycles: Cycle, table: &WarpTable) {
        let view = idle.view(self.own, table);
        let warps = (idle.stalled, idle.held);
        self.forget_answers();
        self.policy.pass_cycles(view, warps, cycles);
    }

    /// Lets `cycles` cycles pass in which no warp issues. The policy is told of them now, unless
    /// they are like the last one.
    #[inline(always)]
    pub(crate) fn pass<const FEW: bool>(&mut self, warps: &Warps, cycles: Cycle) {
        if self.idle.any && self.idle.first.is_same::<FEW>(&self.idles(warps)) {
            self.idle.untold += cycles;
        } else {
            // Made anew, so that it need not be in memory before.
            let idle = self.idles(warps);
            self.pass_others(&idle, cycles, &warps.table);
        }
    }

    /// `pass` for a cycle in which no warp is ready.
    #[inline(always)]
    pub(crate) fn pass_unready<const FEW: bool>(&mut self, warps: &Warps) {
        let stalls_of = self.stalls_of;
        if self.idle.any && (self.idle.first).is_same::<FEW>(&Idle::of(warps, stalls_of, 0)) {
            self.idle.untold += 1;
        } else {
            self.pass_others(&Idle::of(warps, stalls_of, 0), 1, &warps.table);
        }
    }

    /// `pass` for cycles that are like the one before, in which no warp issued either.
    #[inline]
    pub(crate) fn pass_again(&mut self, warps: &Warps, cycles: Cycle) {
        if self.idle.any {
            debug_assert!(self.idle.first.is_same::<false>(&self.idles(warps)));
            self.idle.untold += cycles;
        } else {
            self.pass::<false>(warps, cycles);
        }
    }

    /// A cycle in which no warp is ready but those that the policy holds back.
    #[inline(always)]
    fn idles(&self, warps: &Warps) -> Idle {
        let held = self.held & warps.buffered & !warps.waiting();
        Idle::of(warps, self.stalls_of, held)
    }

    #[inline(never)]
    pub(crate) fn pass_others(&mut self, idle: &Idle, cycles: Cycle, table: &WarpTable) {
        self.tell_passed(table);
        self.tell(idle, cycles, table);
        let until = if idle.held == 0 { Cycle::MAX } else { 0 };
        self.idle.begin(idle, until);
    }

    /// Tells the policy of all cycles that have passed, before an event by which it may let a warp
    /// issue that it holds back.
    #[inline]
    pub(crate) fn before_event(&mut self, table: &WarpTable) {
        self.tell_passed(table);
        self.forget_answers();
        if self.idle.until != Cycle::MAX {
            self.idle.until = 0;
        }
    }
}

/// Tells policies of all cycles that have passed.
#[inline]
pub(crate) fn tell_passed(schedulers: &mut [Scheduler], table: &WarpTable) {
    let tell = |scheduler: &mut Scheduler| scheduler.tell_passed(table);
    schedulers.iter_mut().for_each(tell);
}

/// Tells policies of all cycles that have passed if their choices may have changed with them.
pub(crate) fn tell_changing(schedulers: &mut [Scheduler], table: &WarpTable) {
    let may_change = |s: &&mut Scheduler| s.idle.untold >= s.policy.holds_for();
    let changing = schedulers.iter_mut().filter(may_change);
    changing.for_each(|scheduler| scheduler.tell_passed(table));
}

/// True if an SM has at most 64 warp slots, and issues one instruction of a warp in a cycle, which
/// takes one issue slot of its scheduler.
pub(crate) fn issues_singly(sm: &SmSpec, schedulers: &[Scheduler]) -> bool {
    sm.max_threads / 32 <= u64::BITS
        && sm.max_issue_per_warp <= 1
        && schedulers.iter().all(Scheduler::issues_singly)
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
            wants_progress: policy.wants_progress(),
            stalls_of: if policy.wants_stalled() { own(s) } else { 0 },
            resting: SlotCause::NoWarp,
            resting_on: ResultSource::Arithmetic,
            spaces_issues: spec.sm.machine_instructions || spec.sm.memory_issue_cycles > 1,
            policy,
            held: 0,
            held_at: 0,
            slots: IssueSlots::default(),
            memory_from: 0,
            memory_cycles: spec.sm.memory_issue_cycles.into(),
            next: NextAccesses::default(),
            may_miss: None,
            idle: IdleCycles::default(),
        }
    };
    (0..n).map(scheduler).collect()
}
