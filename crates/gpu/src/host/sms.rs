//! The SMs of a GPU, in a group for each thread.
//!
//! A step runs only SMs that are awake. An outcome says when the SM has something to do again, and
//! input from outside (a block, a reply, credits that it waits for) wakes it before. Which thread
//! runs an SM cannot matter, because an SM accesses nothing but itself.

use super::backend_task::BackendTask;
use super::exchange::Turn;
use super::group::{SmGroup, Step};
use super::untaken::UntakenCounts;
use super::workers::Workers;
use std::sync::Arc;
use warploom_base::{BitSet, Cycle, bits, each_member};
use warploom_exec::{DeviceMemory, StoredLines};
use warploom_mem::Reply;
use warploom_sm::{Outcome, Outgoing, Reason, SettledUpTo, Sm, SmEvents};
use warploom_state::{Io, State, StateError, each};

/// The SMs of a GPU.
pub(crate) struct SmArray {
    /// Group of each thread.
    groups: Vec<SmGroup>,
    workers: Workers,
    /// By SM: the thread that runs it.
    homes: Vec<usize>,
    /// SMs that ran in the last step.
    ran: BitSet,
    /// SMs that have sent packets in the last step, where there is one thread.
    senders: BitSet,
    /// Room for the turns of a step of several threads.
    turns: Vec<Turn>,
    /// By SM: outcome of its last run, with input that has come since.
    outcomes: Vec<Outcome>,
    /// Events of all SMs in the last step.
    events: SmEvents,
    /// Counts of the replies that SMs have not taken, for a worker that runs the memory backend.
    untaken: Arc<UntakenCounts>,
}

/// The SMs, and the outcomes of their last runs, whatever the number of threads.
impl State for SmArray {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        io.same(self.len() as u64)?;
        for index in 0..self.len() {
            self.get(index).state(io)?;
        }
        each(self.outcomes.iter_mut(), io)?;
        self.events.state(io)
    }
}

impl SmArray {
    /// `sms`, run by `threads` threads, the caller's among them.
    pub fn new(mut sms: Vec<Sm>, threads: usize) -> Self {
        let count = sms.len();
        let threads = threads.clamp(1, count.max(1));
        let mut groups = Vec::with_capacity(threads);
        let untaken = Arc::new(UntakenCounts::new(count));
        for thread in (0..threads).rev() {
            let first = count * thread / threads;
            let own = match first {
                0 => std::mem::take(&mut sms),
                _ => sms.split_off(first),
            };
            groups.push(SmGroup::new(first, own, Arc::clone(&untaken)));
        }
        groups.reverse();
        let home = |sm| groups.iter().position(|group| group.range().contains(&sm));
        Self {
            homes: (0..count).filter_map(home).collect(),
            groups,
            workers: Workers::new(threads - 1),
            ran: BitSet::new(count),
            senders: BitSet::new(count),
            turns: Vec::with_capacity(count),
            outcomes: vec![Outcome::default(); count],
            events: SmEvents::default(),
            untaken,
        }
    }

    /// Number of all SMs.
    pub fn len(&self) -> usize {
        self.outcomes.len()
    }

    /// Wakes an SM in cycle `at` if it sleeps longer.
    #[inline]
    pub fn wake(&mut self, index: usize, at: Cycle) {
        self.outcomes[index].wake(at);
    }

    /// Gives an SM credits of before cycle `now`.
    #[inline]
    pub fn credit(&mut self, index: usize, now: Cycle, flits: u32) {
        match self.homes[index] {
            0 => self.groups[0].own(index).link.add_credits(flits),
            home => self.groups[home].send_credits(index, flits, 0),
        }
        self.outcomes[index].wake_for_credits(now);
    }

    /// Gives an SM credits from cycle `at` on. The SM may not have come to that cycle.
    #[inline]
    pub fn credit_from(&mut self, index: usize, at: Cycle, flits: u32) {
        match self.homes[index] {
            0 => self.groups[0].own(index).link.add_credits_from(at, flits),
            home => self.groups[home].send_credits(index, flits, at),
        }
        self.outcomes[index].wake_for_credits(at);
    }

    /// The first cycle in which an SM has something to do.
    pub fn next_wake(&self) -> Cycle {
        let wakes = self.outcomes.iter().map(|outcome| outcome.wake_at);
        wakes.min().unwrap_or(Cycle::MAX)
    }

    /// An SM, with all messages.
    #[inline]
    pub fn get(&mut self, index: usize) -> &mut Sm {
        self.groups[self.homes[index]].sm(index)
    }

    /// An SM, without messages since its last run.
    #[inline]
    pub fn look(&self, index: usize) -> &Sm {
        self.groups[self.homes[index]].look(index)
    }

    /// `look`, to change state that does not depend on messages: stores and loads.
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

    /// Sends a reply to an SM, which sees it from cycle `at` on.
    #[inline]
    pub fn reply(&mut self, index: usize, at: Cycle, reply: &Reply) {
        self.outcomes[index].add_replies(1, at);
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

    /// Calls `f` on every SM in order, with its number.
    pub fn for_each(&mut self, mut f: impl FnMut(usize, &mut Sm)) {
        for index in 0..self.len() {
            f(index, self.get(index));
        }
    }

    /// SMs that ran in the last step.
    #[inline]
    pub fn ran(&self) -> &BitSet {
        &self.ran
    }

    /// Outcome of the last run of an SM.
    #[inline]
    pub fn outcome(&self, index: usize) -> &Outcome {
        &self.outcomes[index]
    }

    /// Outcome of the last run of an SM, to be changed.
    #[inline]
    pub fn outcome_mut(&mut self, index: usize) -> &mut Outcome {
        &mut self.outcomes[index]
    }

    /// Outcomes of the last runs of all SMs, to be changed.
    #[inline]
    pub fn outcomes_mut(&mut self) -> &mut [Outcome] {
        &mut self.outcomes
    }

    /// Puts all SMs at the beginning of a window.
    pub fn begin_window(&mut self, now: Cycle) {
        for outcome in &mut self.outcomes {
            (outcome.at, outcome.reason) = (now, Reason::Reached);
        }
    }

    /// By SM: number of replies that it has not taken, where there are several threads.
    #[inline]
    pub fn untaken(&self) -> Option<impl Iterator<Item = u32>> {
        let counts = self.outcomes.iter().map(|outcome| outcome.untaken);
        (self.groups.len() > 1).then_some(counts)
    }

    /// Events of all SMs in the last step.
    #[inline]
    pub fn events(&self) -> SmEvents {
        self.events
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
        beside: impl FnOnce(Option<&mut Self>),
    ) {
        for (index, outcomes) in self.outcomes.chunks(64).enumerate() {
            // Branch-free: which SMs are awake follows no pattern.
            let awake = outcomes.iter().map(|outcome| outcome.wake_at < to);
            self.ran.set_word(index, bits(awake));
        }
        if !self.is_single_threaded() {
            return self.run_threads((from, to), memory, || beside(None));
        }
        beside(Some(self));
        self.events = SmEvents::default();
        for (index, outcomes) in self.outcomes.chunks_mut(64).enumerate() {
            let awake = (64 * index, self.ran.word(index));
            let (events, senders) = self.groups[0].run_awake((from, to), memory, awake, outcomes);
            self.events = self.events.with(events);
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
        let mut turns = std::mem::take(&mut self.turns);
        turns.clear();
        each_member!(self.ran, sm => { turns.push(Turn { sm, from, to, known: from }); });
        self.order(&turns);
        self.turns = turns;
        let step = Step {
            settled: None,
            memory,
        };
        let Self {
            groups, workers, ..
        } = self;
        workers.run(&step, groups, beside, |_| ());
    }

    /// True if another thread can run the memory backend.
    #[inline]
    pub fn can_lend_backend(&self) -> bool {
        self.workers.are_awake()
    }

    /// Runs the turns of a round on all threads, each its own SMs. Calls `f` on each outcome, and
    /// `sent` on the requests.
    pub fn run_round(
        &mut self,
        settled: SettledUpTo,
        turns: &[Turn],
        memory: &DeviceMemory,
        mut f: impl FnMut(usize, &Outcome),
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
            outcomes,
            ..
        } = self;
        let mut note = |group: &mut SmGroup, posted| {
            for (index, run) in group.end() {
                outcomes[index] = run;
                f(index, &run);
            }
            group.for_each_request(posted, &mut sent);
        };
        // The stepping thread takes the requests of its own SMs instead of waiting for workers.
        workers.run(&step, groups, || (), |own| note(own, false));
        let others = groups.iter_mut().skip(1);
        others.for_each(|group| note(group, true));
    }

    /// Lends the memory backend to a worker, for the window after the one that began in cycle
    /// `began`.
    pub fn lend_backend(&mut self, mut task: BackendTask, began: Cycle) {
        task.follow(Arc::clone(&self.untaken), began);
        self.workers.give_task(task);
    }

    /// Waits for the memory backend.
    pub fn take_backend(&mut self) -> BackendTask {
        self.workers.take_task()
    }

    /// Ends a window of some cycles.
    pub fn end_window(&mut self, cycles: Cycle) {
        if !self.is_single_threaded() {
            self.workers.end_window(cycles as u32);
        }
    }

    /// Ends a step: reads the outcomes of the SMs that ran in it.
    pub fn end_step(&mut self) {
        // A single thread has written them already.
        if self.is_single_threaded() {
            return;
        }
        self.events = SmEvents::default();
        for group in &mut self.groups {
            for (index, run) in group.end() {
                self.outcomes[index] = run;
                self.events = self.events.with(run.events);
            }
        }
    }

    /// Divides turns, which are in the order of SMs, among groups.
    fn order(&mut self, turns: &[Turn]) {
        let mut rest = turns;
        for group in &mut self.groups {
            let end = group.range().end;
            let (own, others) = rest.split_at(rest.partition_point(|turn| turn.sm < end));
            group.order(own);
            rest = others;
        }
    }
}

#[cfg(test)]
mod tests;
