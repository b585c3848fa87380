//! Cycles in which an SM has nothing to do, or only its load/store unit has. A cycle in which
//! nothing can happen is not run. Where everything but the load/store unit is at rest, only that
//! unit runs until something ends there.
//!
//! Invariant: counters are as if every cycle had been run in full.

use crate::counters::{MemoryBlocker, PipeBlocker, ResultSource, SlotCause};
use crate::ldst::L1dUse;
use crate::scheduler::{Scheduler, tell_passed};
use crate::sm::Sm;
use crate::warps::Slots;
use warploom_base::Cycle;
use warploom_policy::WarpMask;

impl Sm {
    /// The next cycle, from `now` on, in which anything can happen.
    #[inline(always)]
    pub(crate) fn sleeps_until(&self, now: Cycle) -> Cycle {
        // In most cycles there is something to do: the cheap questions come first.
        let awake = self.link.has_arrived(now) || self.ldst.has_taken_in();
        if awake || self.units.has_finished(now) {
            now
        } else {
            self.next_event(now)
        }
    }

    /// `sleeps_until` where the answers to the cheap questions are no.
    #[inline(never)]
    fn next_event(&self, now: Cycle) -> Cycle {
        if !self.is_quiet() {
            return now;
        }
        let or_never = |event: Option<Cycle>| event.unwrap_or(Cycle::MAX);
        let mut next = or_never(self.link.next_arrival());
        next = next.min(or_never(self.ldst.next_event()));
        next = next.min(self.front.next_line());
        next = next.min(or_never(self.starts.front().map(|s| s.at)));
        next = next.min(or_never(self.units.next_write_back(now)));
        next = next.min(self.held_until);
        if let Some(context) = &self.context {
            next = next.min(or_never(context.next_event()));
        }
        next.max(now)
    }

    /// State that must not change in a cycle that could have been skipped.
    pub(crate) fn footprint(&self) -> ([WarpMask; 5], [u64; 8]) {
        let w = &self.warps;
        let c = &self.collectors;
        let masks = [w.live, w.buffered, w.clear, w.fetching, w.at_barrier].map(Slots::mask);
        let counts = [
            self.counters.warp_instructions,
            self.link.outgoing.len() as u64,
            self.link.untaken() as u64,
            self.flights.used() as u64,
            self.ldst.insts.used() as u64,
            c.input.len() as u64,
            c.output.len() as u64,
            self.context.as_ref().map_or(0, |c| c.counters.bytes),
        ];
        (masks, counts)
    }

    /// True if nothing can happen before an event whose time is known: either there is nothing to
    /// do, or everything was tried in the last cycle and cannot go on before such an event.
    fn is_quiet(&self) -> bool {
        self.ldst.is_quiet(&self.link)
            && self.front.sends_nothing(&self.link)
            && (self.at_rest
                || self.ldst.l1d_use != L1dUse::Empties
                    && self.context.as_ref().is_none_or(|c| c.is_quiet())
                    && self.moves_nothing())
            && self.parked_loads_wait()
    }

    /// True if neither fetch nor schedulers nor collectors have anything to do.
    fn moves_nothing(&self) -> bool {
        // The rarest condition comes first.
        let w = &self.warps;
        let clear = w.buffered & w.clear & !w.waiting();
        let nobody_issues = |s: usize| {
            let Scheduler { own, held, .. } = self.schedulers[s];
            let own = clear & own & !held;
            (own == 0 || self.with_free_pipe::<false>(s, own) == 0) && !self.has_taken_slots(s)
        };
        self.collectors.is_stalled(!self.ldst.can_accept())
            && w.astray() == 0
            && w.to_reclaim() == 0
            && self.front.is_quiet(self.wanting_fetch())
            && (0..self.schedulers.len()).all(nobody_issues)
    }

    /// Ends a cycle in which nothing issued. If fetch, schedulers and collectors have nothing to
    /// do, they are at rest until input comes.
    #[inline]
    pub(crate) fn come_to_rest(&mut self) {
        if self.can_rest() {
            self.at_rest = true;
            for s in 0..self.schedulers.len() {
                let cause = self.idle_cause(s);
                self.schedulers[s].resting = cause;
                if cause == SlotCause::ExecutionDependence {
                    self.schedulers[s].resting_on = self.resting_source(s);
                }
                debug_assert!(
                    cause != SlotCause::ExecutionPipe
                        || self.pipe_blocker(s, self.clear_warps(s)) == PipeBlocker::LoadStore
                );
                debug_assert!(
                    cause != SlotCause::MemoryPipe
                        || self.memory_blocker(s) == MemoryBlocker::LoadStore
                );
            }
        }
    }

    /// True if they have nothing to do, and no tracer has to see every cycle.
    fn can_rest(&self) -> bool {
        self.moves_nothing() && self.context.is_none() && self.tracer.is_none()
    }

    /// Counts the cycles at rest that are not yet counted.
    #[inline]
    pub(crate) fn count_rested(&mut self) {
        if self.rested != 0 {
            let cycles = std::mem::take(&mut self.rested);
            self.count_residents(cycles);
            self.count_rest(cycles);
        }
    }

    /// Lets `cycles` cycles at rest pass. Nothing that policies see changes while an SM rests, so
    /// that cycles after the first one are like it.
    #[inline]
    pub(crate) fn rest_for(&mut self, cycles: Cycle) {
        let is_first = self.rested == 0;
        self.rested += cycles;
        if is_first || self.issues_plainly {
            return self.tell_idle(cycles);
        }
        let Self {
            schedulers, warps, ..
        } = self;
        for scheduler in schedulers.iter_mut().filter(|s| s.wants_cycles) {
            scheduler.pass_again(warps, cycles);
        }
    }

    /// Tells the policies that are told of every cycle that `cycles` cycles have passed in which no
    /// warp was ready but those that the policy holds back, and no buffer held the wrong path.
    #[inline]
    pub(crate) fn tell_idle(&mut self, cycles: u64) {
        if !self.issues_plainly && self.schedulers.iter().any(|s| s.wants_cycles) {
            if self.warps.slots() <= u64::BITS as usize {
                self.tell_idle_of::<true>(cycles);
            } else {
                self.tell_idle_of::<false>(cycles);
            }
        }
    }

    /// `FEW` says that the SM has at most 64 warp slots.
    #[inline(never)]
    fn tell_idle_of<const FEW: bool>(&mut self, cycles: u64) {
        let Self {
            schedulers, warps, ..
        } = self;
        for scheduler in schedulers.iter_mut().filter(|s| s.wants_cycles) {
            scheduler.pass::<FEW>(warps, cycles);
        }
    }

    /// Tells policies of all cycles that have passed.
    #[inline]
    pub(crate) fn tell_passed(&mut self) {
        tell_passed(&mut self.schedulers, &self.warps.table);
    }

    /// Tells policies of all cycles that have passed, before counters are read or state is saved.
    #[inline]
    pub(crate) fn end_idle_cycles(&mut self) {
        if self.issues_plainly {
            return;
        }
        for scheduler in &mut self.schedulers {
            if scheduler.wants_cycles {
                scheduler.tell_passed(&self.warps.table);
                scheduler.idle.end();
            }
        }
    }

    /// Counts `cycles` cycles of schedulers that are or were at rest.
    pub(crate) fn count_rest(&mut self, cycles: u64) {
        for scheduler in &self.schedulers {
            let c = &mut self.counters;
            c.slots[scheduler.resting as usize] += cycles;
            // At rest no register behind the collectors is full but that of the load/store unit.
            match scheduler.resting {
                SlotCause::ExecutionDependence => {
                    c.execution_dependence_slots[scheduler.resting_on as usize] += cycles;
                }
                SlotCause::MemoryPipe => {
                    c.memory_pipe_slots[MemoryBlocker::LoadStore as usize] += cycles;
                }
                SlotCause::ExecutionPipe => {
                    c.execution_pipe_slots[PipeBlocker::LoadStore as usize] += cycles;
                }
                _ => {}
            }
        }
    }

    /// True if nothing moves, and schedulers issue nothing for the same reasons as when they came
    /// to rest.
    pub(crate) fn rests(&self) -> bool {
        let same = |s: usize| {
            let Scheduler {
                resting,
                resting_on,
                ..
            } = self.schedulers[s];
            let on = self.resting_source(s);
            resting == self.idle_cause(s)
                && (resting != SlotCause::ExecutionDependence || resting_on == on)
        };
        self.can_rest() && (0..self.schedulers.len()).all(same)
    }

    /// Where the results come from for which the warps of a scheduler wait, if no instruction waits
    /// for a function unit.
    fn resting_source(&self, s: usize) -> ResultSource {
        self.result_source(s, self.valid_warps(s), Cycle::MAX)
    }

    /// Warps of a scheduler that have a decoded instruction and do not wait at a barrier.
    fn valid_warps(&self, s: usize) -> WarpMask {
        self.schedulers[s].own & self.warps.buffered & !self.warps.waiting()
    }

    /// Warps of a scheduler whose next instruction has its operands.
    fn clear_warps(&self, s: usize) -> WarpMask {
        self.valid_warps(s) & self.warps.clear
    }

    /// The reason why a scheduler does not issue whose ready warps, if there are any, are held
    /// back.
    fn idle_cause(&self, s: usize) -> SlotCause {
        let Scheduler { own, held, .. } = self.schedulers[s];
        if held != 0 {
            return SlotCause::Policy;
        }
        let valid = self.valid_warps(s);
        self.why_not(own, valid, valid & self.warps.clear)
    }

    /// Counts `cycles` cycles in which nothing happened.
    pub(crate) fn account(&mut self, cycles: u64) {
        self.ldst_retries(cycles * u64::from(self.mem_unit_ports));
        if self.at_rest {
            debug_assert!(self.rests(), "{} is not at rest", self.id);
            return self.rest_for(cycles);
        }
        self.count_residents(cycles);
        for s in 0..self.schedulers.len() {
            let cause = self.idle_cause(s);
            self.counters.slots[cause as usize] += cycles;
            let of = (self.valid_warps(s), self.clear_warps(s));
            self.count_stalls((s, cause), of, (Cycle::MAX, cycles));
        }
        self.tell_idle(cycles);
    }
}
