//! The SMs of a GPU, in a crew for each thread.
//!
//! A step runs only SMs that are awake: an SM says when it has something to do again, and what
//! comes from outside (a block, a reply, credits it waits for) wakes it before. Which thread runs
//! an SM cannot matter, because an SM in a step touches nothing but itself.

use crate::balance::Balance;
use crate::crew::{Crew, Step};
use crate::lead::FarEnd;
use crate::workers::Workers;
use std::ops::Range;
use warploom_base::{Cycle, each_bit};
use warploom_exec::DeviceMemory;
use warploom_mem::Request;
use warploom_sm::{Arrival, Flags, News, Outgoing, Sm};

/// The SMs of a GPU.
pub(crate) struct SmArray {
    /// By thread.
    crews: Vec<Crew>,
    workers: Workers,
    balance: Balance,
    /// By SM: the thread that runs it.
    homes: Vec<usize>,
    /// SMs that ran in the last step, in order: so many of these.
    awake: Box<[u32]>,
    ran: usize,
    /// Which of them sent packets, where there is one crew: bits by their turn, 64 a word.
    senders: Box<[u64]>,
    /// By SM: its news at the end of the last step that it ran in. It may have been told to wake
    /// before since.
    news: Vec<News>,
    /// What any of those that ran in the last step has.
    flags: Flags,
}

impl SmArray {
    /// `sms`, run by `threads` threads, the caller's among them.
    pub fn new(mut sms: Vec<Sm>, threads: usize) -> Self {
        let count = sms.len();
        let threads = threads.clamp(1, count.max(1));
        let mut crews = Vec::with_capacity(threads);
        for thread in (0..threads).rev() {
            let first = count * thread / threads;
            crews.push(Crew::new(first, sms.split_off(first), count));
        }
        crews.reverse();
        let home = |sm| crews.iter().position(|crew| crew.range().contains(&sm));
        Self {
            homes: (0..count).filter_map(home).collect(),
            crews,
            workers: Workers::new(threads - 1),
            balance: Balance::new(threads),
            awake: vec![0; count].into(),
            ran: 0,
            senders: vec![0; count.div_ceil(64)].into(),
            news: vec![News::default(); count],
            flags: Flags::default(),
        }
    }

    /// SMs.
    pub fn len(&self) -> usize {
        self.news.len()
    }

    /// Wakes an SM in cycle `at` if it sleeps longer.
    #[inline]
    pub fn wake(&mut self, index: usize, at: Cycle) {
        self.news[index].wake(at);
    }

    /// An SM has got credits before cycle `now`.
    #[inline]
    pub fn credit(&mut self, index: usize, now: Cycle, flits: u32) {
        self.send(index, Arrival::Credits(flits));
        self.news[index].wake_for_credits(now);
    }

    /// The first cycle in which an SM has something to do.
    pub fn next_wake(&self) -> Cycle {
        let wakes = self.news.iter().map(|news| news.wake_at);
        wakes.min().unwrap_or(Cycle::MAX)
    }

    /// One SM.
    #[inline]
    pub fn get(&mut self, index: usize) -> &mut Sm {
        self.crews[self.homes[index]].sm(index)
    }

    /// Something for an SM over its links; it has it when it runs or anybody looks at it.
    #[inline]
    fn send(&mut self, index: usize, arrival: Arrival) {
        match self.homes[index] {
            0 => self.crews[0].sm(index).receive(arrival),
            home => self.crews[home].send(index, arrival),
        }
    }

    /// A reply for an SM, which sees it from cycle `at` on.
    #[inline]
    pub fn reply(&mut self, index: usize, at: Cycle, reply: &Request) {
        self.wake(index, at);
        match self.homes[index] {
            0 => self.crews[0].sm(index).receive_reply(at, reply),
            home => self.crews[home].send(index, Arrival::Reply(at, *reply)),
        }
    }

    /// Takes the packets that SMs sent in the last step: each SM's in their order.
    pub fn for_each_sent(&mut self, mut f: impl FnMut(usize, &Outgoing)) {
        if let [crew] = &mut self.crews[..] {
            let awake = self.awake[..self.ran].chunks(64);
            for (awake, senders) in awake.zip(&self.senders) {
                each_bit!(*senders, turn => { crew.take_sent(awake[turn] as usize, &mut f); });
            }
            return;
        }
        for (thread, crew) in self.crews.iter_mut().enumerate() {
            crew.for_each_sent(thread > 0, &mut f);
        }
    }

    /// Calls `f` on every SM, in order.
    pub fn for_each(&mut self, mut f: impl FnMut(usize, &mut Sm)) {
        for index in 0..self.len() {
            f(index, self.get(index));
        }
    }

    /// How many SMs ran in the last step.
    #[inline]
    pub fn ran(&self) -> usize {
        self.ran
    }

    /// The `turn`-th of them, in order of their numbers, and what it had for the others.
    #[inline]
    pub fn news(&self, turn: usize) -> (usize, News) {
        let index = self.awake[turn] as usize;
        (index, self.news[index])
    }

    /// What any of them had for the others.
    #[inline]
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Runs the SMs that are awake from `from` to `to`, and `beside` on the caller's thread
    /// meanwhile.
    pub fn run(&mut self, from: Cycle, to: Cycle, memory: &DeviceMemory, beside: impl FnOnce()) {
        let mut ran = 0;
        for (index, news) in (0..).zip(&self.news) {
            // Which of them are awake follows no pattern: nothing here depends on a guess.
            self.awake[ran] = index;
            ran += usize::from(news.wake_at < to);
        }
        self.ran = ran;
        let step = Step { from, to, memory };
        if let [crew] = &mut self.crews[..] {
            beside();
            self.flags = Flags::default();
            for (awake, senders) in self.awake[..ran].chunks(64).zip(&mut self.senders) {
                let flags;
                (flags, *senders) = crew.run_alone(step, awake, &mut self.news);
                self.flags |= flags;
            }
            return;
        }
        if ran == 0 {
            self.crews.iter_mut().for_each(Crew::forget_ahead);
            return beside();
        }
        if !self.are_ahead()
            && let Some((giver, taker)) = self.balance.due(self.workers.waited())
        {
            self.shift(giver, taker);
        }
        self.order();
        // Without workers nothing shows who has too much to do.
        if let Some(waited) = self.workers.run(step, &mut self.crews, beside) {
            self.balance.note(waited);
        }
    }

    /// Some SMs have run the next cycle already: it has to be a step of its own.
    #[inline]
    pub fn are_ahead(&self) -> bool {
        self.crews.iter().any(Crew::is_ahead)
    }

    /// SMs can run ahead of each other.
    #[inline]
    pub fn can_sprint(&self) -> bool {
        self.workers.can_sprint() && !self.are_ahead()
    }

    /// By thread: the numbers of its SMs.
    pub fn crews(&self) -> impl Iterator<Item = Range<usize>> {
        self.crews.iter().map(Crew::range)
    }

    /// SMs run ahead from cycle `from` to `end` at most. Returns the cycle in which they meet: the
    /// SMs of the last step are those that ran in the one before and whose crews have not run it
    /// already.
    pub fn sprint(
        &mut self,
        (from, end): (Cycle, Cycle),
        memory: &DeviceMemory,
        far: &mut impl FarEnd,
    ) -> Cycle {
        if let Some((giver, taker)) = self.balance.due(self.workers.waited()) {
            self.shift(giver, taker);
        }
        for crew in &mut self.crews {
            crew.begin_sprint(&self.news);
        }
        let step = Step {
            from,
            to: end,
            memory,
        };
        let (met, waits) = self.workers.sprint(step, &mut self.crews, &self.homes, far);
        self.balance.note_cycles((met - from) as u32, waits);
        self.end_sprint(met);
        met
    }

    fn end_sprint(&mut self, met: Cycle) {
        self.flags = Flags::default();
        self.ran = 0;
        for (crew, mail) in self.crews.iter_mut().zip(self.workers.mails()) {
            let flags = crew.end_sprint(met, mail, &mut self.news);
            self.flags |= flags;
            if crew.is_ahead() {
                continue;
            }
            for &(number, _) in &mail.outbox(met - 1).ran {
                self.awake[self.ran] = number;
                self.ran += 1;
            }
        }
    }

    /// Repeats the loads of cycle `at` of the crews that have run the next step already, or of
    /// those that have not.
    pub fn repeat_loads(&mut self, at: Cycle, memory: &DeviceMemory, of_ahead: bool) {
        for crew in &mut self.crews {
            if crew.is_ahead() == of_ahead {
                crew.repeat_loads(at, memory);
            }
        }
    }

    /// The step that ran last is over: `f` hears of the SMs that ran in it, by number, with their
    /// news.
    pub fn end_step(&mut self, mut f: impl FnMut(usize, News)) {
        if self.crews.len() == 1 {
            for &number in &self.awake[..self.ran] {
                f(number as usize, self.news[number as usize]);
            }
            return;
        }
        self.flags = Flags::default();
        // What crews say is of the last step in which any SM ran.
        if self.ran == 0 {
            return;
        }
        for crew in &mut self.crews {
            for (index, news) in crew.end_step() {
                self.news[index] = news;
                self.flags |= news.flags;
                f(index, news);
            }
        }
    }

    /// Tells each crew which of its SMs run.
    fn order(&mut self) {
        let mut rest = &self.awake[..self.ran];
        let Some((last, crews)) = self.crews.split_last_mut() else {
            unreachable!("the stepping thread has a crew");
        };
        for crew in crews {
            let end = crew.range().end;
            let (its, others) = rest.split_at(rest.partition_point(|sm| (*sm as usize) < end));
            crew.order(its);
            rest = others;
        }
        last.order(rest);
    }

    /// One SM less for a thread, one more for another. Threads between them pass one on.
    fn shift(&mut self, giver: usize, taker: usize) {
        let back = taker < giver;
        let (first, last) = (giver.min(taker), giver.max(taker));
        if self.crews[giver].range().is_empty() {
            return;
        }
        let pass = |at: usize, crews: &mut [Crew]| {
            if let [left, right] = &mut crews[at..at + 2] {
                left.shift(right, back);
            }
        };
        if back {
            (first..last).rev().for_each(|at| pass(at, &mut self.crews));
        } else {
            (first..last).for_each(|at| pass(at, &mut self.crews));
        }
        for (thread, crew) in self.crews.iter().enumerate() {
            self.homes[crew.range()].fill(thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use warploom_base::{KernelSlot, SmId};
    use warploom_config::{GpuSpec, preset};
    use warploom_mem::{AccessKind, Request};
    use warploom_policy::OwnPolicies;

    const SMS: usize = 5;
    /// Alone, fewer than the SMs, as many, more.
    const THREADS: [usize; 4] = [1, 3, SMS, 9];

    fn spec() -> GpuSpec {
        preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn array(threads: usize) -> SmArray {
        let sm = |id| Sm::new(&spec(), SmId::new(id), &OwnPolicies::default());
        SmArray::new((0..SMS).map(sm).collect(), threads)
    }

    /// One step; which SMs ran in it.
    fn step(sms: &mut SmArray, from: Cycle, to: Cycle) -> Vec<usize> {
        let mut memory = DeviceMemory::new(1 << 16);
        let at = memory.alloc(0, 16).expect("room");
        memory.fill(0, at, 7, 16).expect("it is there");
        let mut beside = 0;
        sms.run(from, to, &memory, || beside += 1);
        sms.end_step(|_, _| ());
        assert_eq!(beside, 1, "the caller's own work is done once");
        let mut bytes = [0; 16];
        memory.read(0, at, &mut bytes).expect("memory is back");
        assert_eq!(bytes, [7; 16]);
        (0..sms.ran()).map(|turn| sms.news(turn).0).collect()
    }

    /// SMs begin awake; one without work sleeps until it is woken, and then runs in the step that
    /// reaches that cycle, not in the one before.
    #[test]
    fn an_sm_runs_from_the_cycle_it_is_woken_for() {
        for threads in THREADS {
            let mut sms = array(threads);
            assert_eq!(step(&mut sms, 0, 4), [0, 1, 2, 3, 4]);
            assert_eq!(sms.next_wake(), Cycle::MAX);
            sms.wake(3, 9);
            sms.wake(1, 8);
            sms.wake(1, 20);
            assert_eq!(sms.next_wake(), 8, "a later call does not put it off");
            assert_eq!(step(&mut sms, 4, 8), [0; 0]);
            assert_eq!(step(&mut sms, 8, 9), [1]);
            assert_eq!(sms.next_wake(), 9);
            assert_eq!(step(&mut sms, 9, 10), [3]);
        }
    }

    /// Every SM runs every cycle of a step once, whoever runs it. An SM without blocks counts a
    /// slot a scheduler and cycle.
    #[test]
    fn a_step_runs_each_sm_once() {
        let schedulers = u64::from(spec().sm.schedulers);
        for threads in THREADS {
            let mut sms = array(threads);
            for round in 0..50 {
                // SMs may change threads before any step.
                let (giver, taker) = (round as usize % sms.crews.len(), 7 % sms.crews.len());
                sms.shift(giver, taker);
                (0..SMS).for_each(|sm| sms.wake(sm, 3 * round));
                assert_eq!(step(&mut sms, 3 * round, 3 * round + 3).len(), SMS);
            }
            let mut seen = Vec::new();
            sms.for_each(|index, sm| {
                assert_eq!(sm.counters.inactive_slots, 150 * schedulers);
                seen.push(index);
            });
            assert_eq!(seen, [0, 1, 2, 3, 4]);
        }
    }

    /// When the caller's own work panics, workers are done before anybody looks at their SMs.
    #[test]
    fn a_panic_of_the_caller_waits_for_workers() {
        let schedulers = u64::from(spec().sm.schedulers);
        for threads in THREADS {
            let mut sms = array(threads);
            let memory = DeviceMemory::new(1 << 16);
            let ours = || sms.run(0, 1000, &memory, || panic!("ours"));
            assert!(catch_unwind(AssertUnwindSafe(ours)).is_err());
            for crew in sms.crews.iter_mut().skip(1) {
                for number in crew.range() {
                    let slots = crew.sm(number).counters.inactive_slots;
                    assert_eq!(slots, 1000 * schedulers);
                }
            }
        }
    }

    /// A bug in a stage shows as its panic on the caller's thread, not as a hang.
    #[test]
    fn a_panic_comes_to_the_caller() {
        let nobodys = Request {
            addr: 0,
            byte_mask: 1,
            issued_at: 0,
            returned_at: 0,
            token: u32::MAX,
            bytes: 32,
            sm: SmId(0),
            kind: AccessKind::GlobalRead,
            sectors: 1,
            kernel: KernelSlot(0),
            asid: 0,
        };
        for threads in THREADS {
            let mut sms = array(threads);
            sms.for_each(|_, sm| sm.link.deliver(0, &nobodys));
            let run = AssertUnwindSafe(|| step(&mut sms, 0, 10));
            assert!(catch_unwind(run).is_err(), "{threads} threads");
        }
    }
}
