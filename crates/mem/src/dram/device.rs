//! The DRAM itself: the fixed delay before it, scheduler, banks and data pipe.
//!
//! It runs with its channel, or some cycles ahead of it: it knows what comes to it for as long as
//! the fixed delay. What comes out of it waits in the data pipe for the channel to come to the
//! cycle in which it does; what the channel needs to know of the scheduler is kept by cycle.

use super::DramCounters;
use super::banks::Banks;
use super::detail::{Detail, DramDetail};
use super::inside::{Pending, Ticket};
use super::pipe::DataPipe;
use super::scheduler::Scheduler;
use super::tally::Tally;
use warploom_base::{Cycle, TimedQueue};
use warploom_config::{DramScheduler, DramSpec, ModelStyle};

/// More command cycles than it may be ahead of its channel.
pub(super) const MOST_AHEAD: usize = 256;

/// For what the scheduler has room: a bit for reads, and one for writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room(u8);

impl Room {
    /// For nothing.
    pub(super) const NONE: Self = Self(0);

    #[inline]
    fn of(scheduler: &Scheduler) -> Self {
        let bit = |is_write| u8::from(!scheduler.is_full(is_write)) << u8::from(is_write);
        Self(bit(false) | bit(true))
    }

    #[inline]
    pub(super) fn is_for(self, is_write: bool) -> bool {
        self.0 >> u8::from(is_write) & 1 != 0
    }
}

/// The DRAM of a channel.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Device {
    /// Command cycles so far.
    now: u64,
    /// Before this command cycle nothing happens but for what leaves the delay.
    calm_until: u64,
    /// Core cycle before which nothing leaves the delay.
    leaves_at: Cycle,
    /// For what the scheduler has room.
    room: Room,
    /// Requests in the fixed delay, with the core cycle at which they leave it.
    delayed: TimedQueue<Pending>,
    pipe: DataPipe,
    /// By command cycle, of those that it is ahead: for what the scheduler has room then, when the
    /// channel takes what L2 sends.
    rooms: Box<[Room; MOST_AHEAD]>,
    banks: Banks,
    scheduler: Scheduler,
    /// The command cycle after the last that was not calm.
    calm_from: u64,
    /// Cycles with a command.
    commands: u64,
    /// Requests in the scheduler.
    waiting: Tally,
    /// All but what the others have.
    counters: DramCounters,
    /// The bank that is looked at first changes with each request scheduled.
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
            rooms: Box::new([room; MOST_AHEAD]),
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

    /// It has run cycle `now` already.
    #[inline]
    pub(super) fn is_ahead_of(&self, now: u64) -> bool {
        self.now > now
    }

    /// Cycles in which nothing happens have passed up to cycle `now`, unless it is ahead.
    #[inline]
    pub(super) fn come_to(&mut self, now: u64) {
        self.now = self.now.max(now);
    }

    /// Nothing happens in its next cycle.
    #[inline]
    fn is_calm(&self, now_core: Cycle) -> bool {
        self.now < self.calm_until && now_core < self.leaves_at
    }

    /// It has run up to command cycle `end`, or nothing happens until then, which is in core cycle
    /// `now_core`.
    #[inline]
    pub(super) fn is_calm_until(&self, end: u64, now_core: Cycle) -> bool {
        self.now >= end || end <= self.calm_until && now_core < self.leaves_at
    }

    /// For what the scheduler has room in cycle `now`, its channel's next.
    #[inline]
    pub(super) fn room_in(&self, now: u64) -> Room {
        if self.is_ahead_of(now) {
            self.rooms[now as usize % MOST_AHEAD]
        } else {
            self.room
        }
    }

    /// Passes the cycles up to command cycle `end`, which is before core cycle `end_core`, if
    /// nothing happens in them. Returns whether that is so.
    pub(super) fn try_rest_until(&mut self, end: u64, end_core: Cycle) -> bool {
        let rests = end <= self.calm_until && end_core <= self.leaves_at;
        if rests {
            for now in self.now..end {
                self.rooms[now as usize % MOST_AHEAD] = self.room;
            }
            self.come_to(end);
        }
        rests
    }

    /// Runs ahead of its channel: as many command cycles as `ticks` says in each core cycle from
    /// `from` on, but for the first `done` of them.
    // Out of line, because all else is in it and it is called from two places.
    #[inline(never)]
    pub(super) fn run(&mut self, from: Cycle, ticks: &[u32], mut done: u64) {
        for (now_core, &ticks) in (from..).zip(ticks) {
            let before = done.min(ticks.into());
            done -= before;
            self.run_in(now_core, u64::from(ticks) - before);
        }
    }

    /// Runs so many command cycles in core cycle `now_core`.
    #[inline(always)]
    fn run_in(&mut self, now_core: Cycle, cycles: u64) {
        for _ in 0..cycles {
            let at = self.now as usize % MOST_AHEAD;
            if self.is_calm(now_core) {
                self.rooms[at] = self.room;
                self.now += 1;
                continue;
            }
            self.work(now_core);
            self.rooms[at] = self.room;
            self.end_cycle(now_core);
        }
    }

    /// The first part of a cycle: a bank gets work, and commands go out.
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

    /// The second: a request leaves the fixed delay.
    #[inline(always)]
    pub(super) fn end_cycle(&mut self, now_core: Cycle) {
        self.now += 1;
        self.leave_delay(now_core);
        self.look_ahead();
    }

    /// Gives at most one bank work.
    #[inline(always)]
    fn schedule(&mut self, now_core: Cycle) {
        if self.waiting.count() == 0 {
            return;
        }
        let (idle, first) = (self.banks.idle(), self.banks.first());
        let taken = self.scheduler.take(idle, first, self.banks.rows());
        // What is left when one is taken has been before the last came, one at most a cycle.
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

    /// A request waits for its bank, to be scheduled from the next cycle on.
    pub(super) fn enter(&mut self, pending: Pending) {
        self.scheduler.push(pending);
        self.waiting.add(self.now);
        self.room = Room::of(&self.scheduler);
    }

    /// A request enters the fixed delay, which it leaves in core cycle `arrives_at`.
    #[inline]
    pub(super) fn delay(&mut self, arrives_at: Cycle, pending: Pending) {
        if self.delayed.is_empty() && self.room != Room::NONE {
            self.leaves_at = arrives_at;
        }
        self.delayed.push(arrives_at, pending);
    }

    /// One request leaves the fixed delay.
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

    /// Finds how long nothing will happen.
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

    /// The data pipe stands still in its next cycle.
    #[inline(never)]
    pub(super) fn stand(&mut self) {
        let counts = &mut self.detail.counts;
        self.banks.settle_bus(self.now, &self.pipe, counts);
        self.pipe.stand();
    }

    /// See [`DataPipe::take_returned`].
    #[inline]
    pub(super) fn take_returned(&mut self, now: u64) -> Option<Ticket> {
        self.pipe.take_returned(now)
    }

    /// See [`DataPipe::take_ended`].
    #[inline]
    pub(super) fn take_ended(&mut self, now: u64) -> Option<Ticket> {
        self.pipe.take_ended(now)
    }

    /// The request that comes out of it next.
    #[inline]
    pub(super) fn next_out(&self) -> Option<Ticket> {
        self.pipe.next()
    }

    /// The cycle in which that does.
    #[inline]
    pub(super) fn next_out_at(&self) -> u64 {
        self.pipe.taken_at()
    }

    /// Requests in the fixed delay.
    #[inline]
    pub(super) fn delayed(&self) -> usize {
        self.delayed.len()
    }

    /// Core cycle from which the oldest of those may leave it.
    #[inline]
    pub(super) fn leaves_delay_at(&self) -> Option<Cycle> {
        self.delayed.due_at()
    }

    /// Counters of `now` command cycles.
    pub(super) fn counters(&self, now: u64) -> DramCounters {
        let mut counters = self.counters;
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

    /// More of them.
    pub(super) fn detail(&self, now: u64) -> DramDetail {
        let mut all = self.detail.all();
        let columns = self.counters.columns();
        self.banks.sum_up((now, columns), &self.pipe, &mut all);
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

    /// It does not rest in its next cycle.
    pub(super) fn wake(&mut self) {
        self.calm_until = 0;
    }
}
