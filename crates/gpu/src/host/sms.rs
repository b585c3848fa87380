//! The SMs of a GPU, in a group for each thread.
//!
//! A step runs only SMs that are awake: an SM says when it has something to do again, and what
//! comes from outside (a block, a reply, credits that it waits for) wakes it before. Which thread
//! runs an SM cannot matter, because an SM touches nothing but itself.

use super::backend_task::BackendTask;
use super::balancer::LoadBalancer;
use super::exchange::Turn;
use super::group::{SmGroup, Step};
use super::sm_set::SmSet;
use super::undelivered::UndeliveredCounts;
use super::workers::Workers;
use std::cmp::Reverse;
use std::sync::Arc;
use warploom_base::{Cycle, bits, each_member};
use warploom_exec::{DeviceMemory, StoredLines};
use warploom_mem::Reply;
use warploom_sm::{Outgoing, SettledUpTo, Sm, SmEvents, SmStatus, WindowRun};

/// The SMs of the only thread, which need no exchange.
pub(crate) struct SingleThreaded<'a> {
    group: &'a mut SmGroup,
    statuses: &'a mut [SmStatus],
}

impl SingleThreaded<'_> {
    /// A reply for an SM, which sees it from cycle `at` on.
    #[inline]
    pub fn reply(&mut self, index: usize, at: Cycle, reply: &Reply) {
        self.statuses[index].add_replies(1, at);
        self.group.own(index).receive_reply(at, reply);
    }

    /// Replies that an SM has not taken.
    #[inline]
    pub fn undelivered(&self, index: usize) -> u32 {
        self.statuses[index].undelivered
    }

    /// The status of an SM.
    #[inline]
    pub fn status(&self, index: usize) -> SmStatus {
        self.statuses[index]
    }

    /// Runs an SM in a window, and calls `sent` on its requests.
    pub fn run_window(
        &mut self,
        turn: &Turn,
        settled: &SettledUpTo,
        memory: &DeviceMemory,
        sent: impl FnMut(&Outgoing),
    ) -> WindowRun {
        let sm = self.group.own(turn.sm);
        let run = sm.run_window((turn.from, turn.to), turn.known, settled, memory);
        self.statuses[turn.sm] = run.status;
        if run.status.events.sent() {
            sm.take_sent(sent);
        }
        run
    }
}

/// The SMs of a GPU.
pub(crate) struct SmArray {
    /// By thread.
    groups: Vec<SmGroup>,
    workers: Workers,
    balancer: LoadBalancer,
    /// By SM: the thread that runs it.
    homes: Vec<usize>,
    /// SMs that ran in the last step.
    ran: SmSet,
    /// Those of them that have sent packets, where there is one thread.
    senders: SmSet,
    /// Room for the turns of a step of several threads.
    turns: Vec<Turn>,
    /// By SM: its status after its last run, and what has woken it since.
    statuses: Vec<SmStatus>,
    /// What happened in any SM in the last step.
    events: SmEvents,
    /// Replies that SMs have not taken, for a thread that runs the memory backend.
    undelivered: Arc<UndeliveredCounts>,
}

impl SmArray {
    /// `sms`, run by `threads` threads, the caller's among them.
    pub fn new(mut sms: Vec<Sm>, threads: usize) -> Self {
        let count = sms.len();
        let threads = threads.clamp(1, count.max(1));
        let mut groups = Vec::with_capacity(threads);
        let undelivered = Arc::new(UndeliveredCounts::new(count));
        for thread in (0..threads).rev() {
            let first = count * thread / threads;
            let own = sms.split_off(first);
            groups.push(SmGroup::new(first, own, Arc::clone(&undelivered)));
        }
        groups.reverse();
        let home = |sm| groups.iter().position(|group| group.range().contains(&sm));
        Self {
            homes: (0..count).filter_map(home).collect(),
            groups,
            workers: Workers::new(threads - 1),
            balancer: LoadBalancer::new(threads),
            ran: SmSet::new(count),
            senders: SmSet::new(count),
            turns: Vec::with_capacity(count),
            statuses: vec![SmStatus::default(); count],
            events: SmEvents::default(),
            undelivered,
        }
    }

    /// Number of SMs.
    pub fn len(&self) -> usize {
        self.statuses.len()
    }

    /// Wakes an SM in cycle `at` if it sleeps longer.
    #[inline]
    pub fn wake(&mut self, index: usize, at: Cycle) {
        self.statuses[index].wake(at);
    }

    /// Gives an SM credits of before cycle `now`.
    #[inline]
    pub fn credit(&mut self, index: usize, now: Cycle, flits: u32) {
        match self.homes[index] {
            0 => self.groups[0].own(index).link.add_credits(flits),
            home => self.groups[home].send_credits(index, flits, 0),
        }
        self.statuses[index].wake_for_credits(now);
    }

    /// Gives an SM credits from cycle `at` on. The SM may not have come to that cycle.
    #[inline]
    pub fn credit_from(&mut self, index: usize, at: Cycle, flits: u32) {
        match self.homes[index] {
            0 => self.groups[0].own(index).link.add_credits_from(at, flits),
            home => self.groups[home].send_credits(index, flits, at),
        }
        self.statuses[index].wake_for_credits(at);
    }

    /// The first cycle in which an SM has something to do.
    pub fn next_wake(&self) -> Cycle {
        let wakes = self.statuses.iter().map(|status| status.wake_at);
        wakes.min().unwrap_or(Cycle::MAX)
    }

    /// An SM, with what came for it.
    #[inline]
    pub fn get(&mut self, index: usize) -> &mut Sm {
        self.groups[self.homes[index]].sm(index)
    }

    /// An SM, without what came for it since it ran.
    #[inline]
    pub fn look(&self, index: usize) -> &Sm {
        self.groups[self.homes[index]].see(index)
    }

    /// The same, to change what does not depend on what came: stores and loads.
    #[inline]
    pub fn touch(&mut self, index: usize) -> &mut Sm {
        self.groups[self.homes[index]].touch(index)
    }

    /// Marks the loads that have to be repeated: see [`Sm::mark_conflicts`]. Returns whether there
    /// are any. Does not look at an SM of another thread that is known to have none.
    pub fn mark_conflicts(
        &mut self,
        began: Cycle,
        of: (Cycle, Cycle),
        stored: &StoredLines,
    ) -> bool {
        let mut any = false;
        for index in 0..self.len() {
            let group = &self.groups[self.homes[index]];
            if self.homes[index] == 0 || group.loaded(index).meet(stored.pages()) {
                any |= self.touch(index).mark_conflicts(began, of, stored);
            }
        }
        any
    }

    /// A reply for an SM, which sees it from cycle `at` on.
    #[inline]
    pub fn reply(&mut self, index: usize, at: Cycle, reply: &Reply) {
        self.statuses[index].add_replies(1, at);
        match self.homes[index] {
            0 => self.groups[0].own(index).receive_reply(at, reply),
            home => self.groups[home].send_reply(at, reply),
        }
    }

    /// Calls `f` on the requests of the last step, in the order of each SM.
    pub fn for_each_request(&mut self, mut f: impl FnMut(usize, &Outgoing)) {
        if let [group] = &mut self.groups[..] {
            each_member!(self.senders, index => {
                group.own(index).take_sent(|packet| f(index, packet));
            });
            return;
        }
        for (thread, group) in self.groups.iter_mut().enumerate() {
            group.for_each_request(thread > 0, &mut f);
        }
    }

    /// Calls `f` on every SM, in order.
    pub fn for_each(&mut self, mut f: impl FnMut(usize, &mut Sm)) {
        for index in 0..self.len() {
            f(index, self.get(index));
        }
    }

    /// SMs that ran in the last step.
    #[inline]
    pub fn ran(&self) -> &SmSet {
        &self.ran
    }

    /// An SM's status after its last run.
    #[inline]
    pub fn status(&self, index: usize) -> SmStatus {
        self.statuses[index]
    }

    /// By SM: replies that it has not taken, where there are several threads.
    #[inline]
    pub fn undelivered(&self) -> Option<impl Iterator<Item = u32>> {
        let counts = self.statuses.iter().map(|status| status.undelivered);
        (self.groups.len() > 1).then_some(counts)
    }

    /// What happened in any SM in the last step.
    #[inline]
    pub fn events(&self) -> SmEvents {
        self.events
    }

    /// The SMs of the only thread, if there is one.
    #[inline]
    pub fn single_threaded(&mut self) -> Option<SingleThreaded<'_>> {
        let statuses = &mut self.statuses;
        match &mut self.groups[..] {
            [group] => Some(SingleThreaded { group, statuses }),
            _ => None,
        }
    }

    /// True if there is one thread.
    #[inline]
    pub fn is_single_threaded(&self) -> bool {
        self.groups.len() == 1
    }

    /// Runs the SMs that are awake from `from` to `to`, and `beside` on the caller's thread
    /// meanwhile: before the SMs, which are handed over, where there is no other thread.
    pub fn run(
        &mut self,
        (from, to): (Cycle, Cycle),
        memory: &DeviceMemory,
        beside: impl FnOnce(Option<SingleThreaded<'_>>),
    ) {
        for (index, statuses) in self.statuses.chunks(64).enumerate() {
            // Branch-free: which SMs are awake follows no pattern.
            let awake = statuses.iter().map(|status| status.wake_at < to);
            self.ran.set_word(index, bits(awake));
        }
        if !self.is_single_threaded() {
            return self.run_threads((from, to), memory, || beside(None));
        }
        beside(self.single_threaded());
        self.events = SmEvents::default();
        for (index, statuses) in self.statuses.chunks_mut(64).enumerate() {
            let awake = (64 * index, self.ran.word(index));
            let (events, senders) = self.groups[0].run_awake((from, to), memory, awake, statuses);
            self.events |= events;
            self.senders.set_word(index, senders);
        }
    }

    /// Runs the SMs of a step on several threads.
    fn run_threads(
        &mut self,
        (from, to): (Cycle, Cycle),
        memory: &DeviceMemory,
        beside: impl FnOnce(),
    ) {
        self.balance();
        let mut turns = std::mem::take(&mut self.turns);
        turns.clear();
        each_member!(self.ran, sm => { turns.push(Turn { sm, from, to, known: from }); });
        self.order(&mut turns);
        self.turns = turns;
        let step = Step {
            settled: None,
            memory,
        };
        let Self {
            groups, workers, ..
        } = self;
        // Without workers nothing shows who has too much to do.
        if let Some(waited) = workers.run(&step, groups, beside, |_| ()) {
            self.balancer.note_step(waited);
        }
    }

    /// True if another thread can run the memory backend.
    #[inline]
    pub fn can_lend_backend(&self) -> bool {
        self.workers.are_awake()
    }

    /// Between steps: a thread that has too much to do gives an SM to another.
    pub fn balance(&mut self) {
        if self.workers.are_awake()
            && let Some((giver, taker)) = self.balancer.due(self.workers.waited())
        {
            self.move_sm(giver, taker);
        }
    }

    /// Runs the turns of a round on all threads, each its own SMs. Calls `f` on each finished run,
    /// and `sent` on the requests.
    pub fn run_round(
        &mut self,
        settled: SettledUpTo,
        turns: &mut [Turn],
        memory: &DeviceMemory,
        mut f: impl FnMut(usize, &WindowRun),
        mut sent: impl FnMut(usize, &Outgoing),
    ) {
        self.order(turns);
        let step = Step {
            settled: Some(settled),
            memory,
        };
        let Self {
            groups,
            workers,
            statuses,
            ..
        } = self;
        let mut note = |group: &mut SmGroup, posted| {
            for (index, run) in group.end() {
                statuses[index] = run.status;
                f(index, &run);
            }
            group.for_each_request(posted, &mut sent);
        };
        // What its own SMs have sent, while the stepping thread would wait for others.
        workers.run(&step, groups, || (), |own| note(own, false));
        let others = groups.iter_mut().skip(1);
        others.for_each(|group| note(group, true));
    }

    /// A worker runs the memory backend meanwhile, for the window after the one that began in cycle
    /// `began`.
    pub fn lend_backend(&mut self, mut task: BackendTask, began: Cycle) {
        task.follow(Arc::clone(&self.undelivered), began);
        self.workers.give_task(task);
    }

    /// Waits for the memory backend.
    pub fn take_backend(&mut self) -> BackendTask {
        self.workers.take_task()
    }

    /// A window of some cycles is over.
    pub fn end_window(&mut self, cycles: Cycle) {
        if self.is_single_threaded() {
            return;
        }
        let cycles = cycles as u32;
        if let Some(own) = self.workers.end_window(cycles) {
            self.balancer
                .note_window(cycles, own, self.workers.waited());
        }
    }

    /// The step is over: reads the statuses of the SMs that ran in it.
    pub fn end_step(&mut self) {
        // A single thread writes them where they are.
        if self.is_single_threaded() {
            return;
        }
        self.events = SmEvents::default();
        for group in &mut self.groups {
            for (index, run) in group.end() {
                self.statuses[index] = run.status;
                self.events |= run.status.events;
            }
        }
    }

    /// Divides turns, which are in order of SMs, among groups. SMs with most replies run first:
    /// whoever runs the memory backend may wait until they have taken some.
    fn order(&mut self, turns: &mut [Turn]) {
        let mut rest = turns;
        for group in &mut self.groups {
            let end = group.range().end;
            let (own, others) = rest.split_at_mut(rest.partition_point(|turn| turn.sm < end));
            own.sort_unstable_by_key(|turn| (Reverse(self.statuses[turn.sm].undelivered), turn.sm));
            group.order(own);
            rest = others;
        }
    }

    /// Moves an SM from a thread to another. Threads between them pass one on.
    fn move_sm(&mut self, giver: usize, taker: usize) {
        let back = taker < giver;
        let (first, last) = (giver.min(taker), giver.max(taker));
        if self.groups[giver].range().is_empty() {
            return;
        }
        let pass = |at: usize, groups: &mut [SmGroup]| {
            if let [left, right] = &mut groups[at..at + 2] {
                left.move_sm(right, back);
            }
        };
        if back {
            (first..last)
                .rev()
                .for_each(|at| pass(at, &mut self.groups));
        } else {
            (first..last).for_each(|at| pass(at, &mut self.groups));
        }
        for (thread, group) in self.groups.iter().enumerate() {
            self.homes[group.range()].fill(thread);
        }
    }
}

#[cfg(test)]
mod tests;
