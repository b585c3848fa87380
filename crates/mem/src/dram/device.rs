//! DRAM device of a channel: fixed delay, scheduler, banks and data pipe.

use super::DramCounters;
use super::banks::Banks;
use super::detail::{Detail, DramDetail};
use super::in_flight::{Pending, Ticket};
use super::pipe::DataPipe;
use super::scheduler::Scheduler;
use super::tally::Tally;
use warploom_base::{Cycle, TimedQueue};
use warploom_config::{DramScheduler, DramSpec, ModelStyle};
use warploom_state::{State, Value};

/// Room of the scheduler: one bit for reads, and one for writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(super) struct Room(u8);

impl Room {
    /// Room for neither reads nor writes.
    pub(super) const NONE: Self = Self(0);

    #[inline]
    fn of(scheduler: &Scheduler) -> Self {
        let bit = |is_write| u8::from(!scheduler.is_full(is_write)) << u8::from(is_write);
        Self(bit(false) | bit(true))
    }

    /// True if there is room for a write, or for a read.
    #[inline]
    pub(super) fn is_for(self, is_write: bool) -> bool {
        self.0 >> u8::from(is_write) & 1 != 0
    }
}

/// DRAM device of a channel.
#[derive(Clone, Debug, State)]
#[repr(C, align(64))]
pub(super) struct Device {
    /// Command cycles so far.
    now: u64,
    /// Command cycle before which nothing happens, requests that leave the delay apart.
    calm_until: u64,
    /// Core cycle before which nothing leaves the delay.
    leaves_at: Cycle,
    /// Room of the scheduler now.
    room: Room,
    /// Requests in the fixed delay, with the core cycle at which they leave it.
    delayed: TimedQueue<Pending>,
    pipe: DataPipe,
    banks: Banks,
    scheduler: Scheduler,
    /// Command cycle after the last one in which something happened.
    calm_from: u64,
    /// Number of cycles with a command.
    commands: u64,
    /// Requests in the scheduler.
    waiting: Tally,
    /// Statistics that the other fields do not give.
    counters: DramCounters,
    /// True if the first bank of the order changes with each request scheduled.
    takes_turns: bool,
    detail: Detail,
}

impl Device {
    pub(super) fn new(spec: &DramSpec, style: ModelStyle) -> Self {
        let banks = Banks::new(spec, style);
        let scheduler = Scheduler::new(spec);
        let room = Room::of(&scheduler);
        Self {
            now: 0,
            calm_until: Cycle::MAX,
            leaves_at: Cycle::MAX,
            room,
            delayed: TimedQueue::new(64),
            pipe: DataPipe::new(banks.timing().cl),
            banks,
            scheduler,
            calm_from: 0,
            commands: 0,
            waiting: Tally::default(),
            counters: DramCounters::default(),
            takes_turns: spec.scheduler == DramScheduler::FrFcfs,
            detail: Detail::new(spec.banks),
        }
    }

    /// Command cycles so far.
    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// Counts command cycles in which nothing happens.
    #[inline]
    pub(super) fn skip(&mut self, cycles: u64) {
        self.now += cycles;
    }

    /// True if nothing happens in the device's next cycle.
    #[inline]
    pub(super) fn is_calm(&self, now_core: Cycle) -> bool {
        self.now < self.calm_until && now_core < self.leaves_at
    }

    /// True if nothing happens before command cycle `end`, which is in core cycle `now_core`.
    #[inline]
    pub(super) fn is_calm_until(&self, end: u64, now_core: Cycle) -> bool {
        end <= self.calm_until && now_core < self.leaves_at
    }

    /// Number of command cycles before `limit` in which nothing happens, requests that leave the
    /// delay apart, and the core cycle before which none does. Without limit, the largest number.
    #[inline]
    pub(super) fn calm(&self, limit: u64) -> (u64, Cycle) {
        let until = self.calm_until.min(limit);
        let cycles = match until {
            u64::MAX => u64::MAX,
            _ => until.saturating_sub(self.now),
        };
        (cycles, self.leaves_at)
    }

    /// Room of the scheduler.
    #[inline]
    pub(super) fn room(&self) -> Room {
        self.room
    }

    /// Runs the first part of a cycle: a bank gets work, and commands are issued.
    #[inline(always)]
    pub(super) fn work(&mut self, now_core: Cycle) {
        self.schedule(now_core);
        let Self {
            now,
            banks,
            pipe,
            counters,
            detail,
            ..
        } = self;
        self.commands += u64::from(banks.issue(*now, pipe, (counters, detail)));
    }

    /// Runs the second part of a cycle: a request leaves the fixed delay.
    #[inline(always)]
    pub(super) fn end_cycle(&mut self, now_core: Cycle) {
        self.now += 1;
        self.leave_delay(now_core);
        self.look_ahead();
    }

    /// Gives work to at most one bank.
    #[inline(always)]
    fn schedule(&mut self, now_core: Cycle) {
        if self.waiting.count() == 0 {
            return;
        }
        let (idle, first) = (self.banks.idle(), self.banks.first());
        let taken = self.scheduler.take(idle, first, self.banks.rows());
        // After a request was taken, the same number waited before the last one came, at most one a
        // cycle: it has been noted then.
        if taken.is_none() || self.calm_from < self.now {
            self.counters.queue_max.note(self.waiting.count());
        }
        if let Some(pending) = taken {
            self.waiting.remove(self.now);
            self.room = Room::of(&self.scheduler);
            self.assign(&pending, now_core);
        }
    }

    #[inline(always)]
    fn assign(&mut self, pending: &Pending, now_core: Cycle) {
        let now = self.now;
        let counts = &mut self.detail.counts;
        self.banks.settle_bus(now, &self.pipe, counts);
        let hit = self.banks.assign(pending, now);
        self.counters.assigned(pending, hit, now_core);
        self.detail.assigned(pending, hit, now, now_core);
        if self.takes_turns {
            self.banks.turn();
        }
    }

    /// Adds a request to the scheduler, which may choose it from the next cycle on.
    pub(super) fn enter(&mut self, pending: Pending) {
        self.scheduler.push(pending);
        self.waiting.add(self.now);
        self.room = Room::of(&self.scheduler);
    }

    /// Adds a request to the fixed delay, which it leaves in core cycle `arrives_at`.
    #[inline]
    pub(super) fn delay(&mut self, arrives_at: Cycle, pending: Pending) {
        if self.delayed.is_empty() && self.room != Room::NONE {
            self.leaves_at = arrives_at;
        }
        self.delayed.push(arrives_at, pending);
    }

    /// Moves one request from the fixed delay into the scheduler, if one is due and has room.
    #[inline(always)]
    fn leave_delay(&mut self, now_core: Cycle) {
        if self.room == Room::NONE {
            return;
        }
        let Some(pending) = self.delayed.due(now_core) else {
            return;
        };
        if self.room.is_for(pending.ticket.kind.is_write()) {
            let pending = Pending {
                arrived_at: now_core,
                ..*pending
            };
            self.enter(pending);
            self.delayed.drop_oldest();
            self.counters.requests += 1;
        }
    }

    /// Finds the cycles before which nothing happens.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        self.calm_from = self.now;
        self.leaves_at = match self.room {
            Room::NONE => Cycle::MAX,
            _ => self.delayed.due_or_never(),
        };
        self.calm_until = match self.scheduler.may_give(self.banks.idle()) {
            true => 0,
            false => self.banks.wakes_at(),
        };
    }

    /// Stalls the data pipe in its next cycle.
    #[inline(never)]
    pub(super) fn stand(&mut self) {
        let counts = &mut self.detail.counts;
        self.banks.settle_bus(self.now, &self.pipe, counts);
        self.pipe.stand();
    }

    /// Calls [`DataPipe::take_returned`] of the pipe.
    #[inline]
    pub(super) fn take_returned(&mut self) -> Option<Ticket> {
        self.pipe.take_returned(self.now)
    }

    /// Calls [`DataPipe::take_ended`] of the pipe.
    #[inline]
    pub(super) fn take_ended(&mut self) -> Option<Ticket> {
        self.pipe.take_ended(self.now)
    }

    /// Request that leaves the device next.
    #[inline]
    pub(super) fn next_out(&self) -> Option<Ticket> {
        self.pipe.next()
    }

    /// Command cycle in which the next request leaves the device.
    #[inline]
    pub(super) fn next_out_at(&self) -> u64 {
        self.pipe.taken_at()
    }

    /// Number of requests in the fixed delay.
    #[inline]
    pub(super) fn delayed(&self) -> usize {
        self.delayed.len()
    }

    /// Core cycle from which the oldest request may leave the fixed delay.
    #[inline]
    pub(super) fn leaves_delay_at(&self) -> Option<Cycle> {
        self.delayed.due_at()
    }

    /// Statistics so far that are summed over channels.
    pub(super) fn counters(&self) -> DramCounters {
        let (now, mut counters) = (self.now, self.counters);
        if self.calm_from < now {
            counters.queue_max.note(self.waiting.count());
        }
        DramCounters {
            cycles: now,
            idle_commands: now - self.commands,
            active_cycles: self.banks.active_cycles(now),
            data_cycles: self.banks.timing().burst * counters.columns(),
            queue_occupancy: self.waiting.sum(now),
            ..counters
        }
    }

    /// Statistics so far that results have by channel only.
    pub(super) fn detail(&self) -> DramDetail {
        let mut all = self.detail.all();
        let columns = self.counters.columns();
        self.banks.sum_up((self.now, columns), &self.pipe, &mut all);
        all
    }
}

#[cfg(test)]
impl Device {
    pub(super) fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    pub(super) fn timing(&self) -> super::timing::Timing {
        *self.banks.timing()
    }

    /// Makes the next cycle one in which something may happen.
    pub(super) fn wake(&mut self) {
        self.calm_until = 0;
    }
}
