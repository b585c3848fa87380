//! The SMs of a GPU, in a crew for each thread.
//!
//! A step runs only SMs that are awake: an SM says when it has something to do again, and what
//! comes from outside (a block, a reply, credits it waits for) wakes it before. Which thread runs
//! an SM cannot matter, because an SM in a step touches nothing but itself.

use crate::backlog::Backlogs;
use crate::balance::Balance;
use crate::crew::{Crew, Reached, Step, Turn};
use crate::memory::{Errand, Parcel};
use crate::workers::Workers;
use std::cmp::Reverse;
use std::sync::Arc;
use warploom_base::{Cycle, bits, each_member};
use warploom_exec::{DeviceMemory, StoredLines};
use warploom_mem::Reply;
use warploom_sm::{Arrival, Flags, News, Others, Outgoing, Sm};

/// Some SMs, by number.
#[derive(Debug)]
pub(crate) struct Numbers(Box<[u64]>);

impl Numbers {
    /// None, of so many.
    fn new(sms: usize) -> Self {
        Self(vec![0; sms.div_ceil(64)].into())
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// For `each_member`.
    #[inline]
    pub fn words(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        self.0[index]
    }
}

/// The SMs of the only thread.
pub(crate) struct Alone<'a> {
    crew: &'a mut Crew,
    news: &'a mut [News],
}

impl Alone<'_> {
    /// See [`SmArray::reply`].
    #[inline]
    pub fn reply(&mut self, index: usize, at: Cycle, reply: &Reply) {
        self.news[index].reply(at);
        self.crew.own(index).receive_reply(at, reply);
    }

    /// Replies that an SM has not taken.
    #[inline]
    pub fn untaken(&self, index: usize) -> u32 {
        self.news[index].waiting
    }

    /// See [`SmArray::news`].
    #[inline]
    pub fn news(&self, index: usize) -> News {
        self.news[index]
    }

    /// Runs an SM as far as it can be run: see [`Sm::run_on`]. Takes what it sends. Returns how
    /// far, what it [waits for](Sm::waits_for), and what it has for others.
    pub fn run_on(
        &mut self,
        turn: &Turn,
        others: &Others,
        memory: &DeviceMemory,
        sent: impl FnMut(&Outgoing),
    ) -> (Cycle, Option<Cycle>, Flags) {
        let (sm, news) = (self.crew.own(turn.sm), &mut self.news[turn.sm]);
        let end = sm.run_on((turn.from, turn.to), &turn.far, others, memory);
        *news = sm.news(end);
        if news.flags.sent() {
            sm.take_sent(sent);
        }
        (end, sm.waits_for(), news.flags)
    }
}

/// The SMs of a GPU.
pub(crate) struct SmArray {
    /// By thread.
    crews: Vec<Crew>,
    workers: Workers,
    balance: Balance,
    /// By SM: the thread that runs it.
    homes: Vec<usize>,
    /// SMs that ran in the last step.
    ran: Numbers,
    /// Which of them sent packets, where there is one crew.
    senders: Numbers,
    /// SMs that run in a step, in order, where there are several crews.
    awake: Vec<u32>,
    /// By SM: its news at the end of the last step that it ran in. It may have been told to wake
    /// before since.
    news: Vec<News>,
    /// What any of those that ran in the last step has.
    flags: Flags,
    /// What SMs have not taken, for a thread that runs the back of the memory system.
    backlogs: Arc<Backlogs>,
}

impl SmArray {
    /// `sms`, run by `threads` threads, the caller's among them.
    pub fn new(mut sms: Vec<Sm>, threads: usize) -> Self {
        let count = sms.len();
        let threads = threads.clamp(1, count.max(1));
        let mut crews = Vec::with_capacity(threads);
        let backlogs = Arc::new(Backlogs::new(count));
        for thread in (0..threads).rev() {
            let first = count * thread / threads;
            crews.push(Crew::new(
                first,
                sms.split_off(first),
                Arc::clone(&backlogs),
            ));
        }
        crews.reverse();
        let home = |sm| crews.iter().position(|crew| crew.range().contains(&sm));
        Self {
            homes: (0..count).filter_map(home).collect(),
            crews,
            workers: Workers::new(threads - 1),
            balance: Balance::new(threads),
            ran: Numbers::new(count),
            senders: Numbers::new(count),
            awake: Vec::with_capacity(count),
            news: vec![News::default(); count],
            flags: Flags::default(),
            backlogs,
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
        match self.homes[index] {
            0 => self.crews[0].own(index).link.add_credits(flits),
            home => self.crews[home].send(index, Arrival::Credits(flits)),
        }
        self.news[index].wake_for_credits(now);
    }

    /// An SM gets credits before cycle `at`, which it may not have come to.
    #[inline]
    pub fn credit_from(&mut self, index: usize, at: Cycle, flits: u32) {
        match self.homes[index] {
            0 => self.crews[0].own(index).link.add_credits_from(at, flits),
            home => self.crews[home].send(index, Arrival::CreditsFrom(at, flits)),
        }
        self.news[index].wake_for_credits(at);
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

    /// One SM, to look at, without what came for it since it ran.
    #[inline]
    pub fn look(&self, index: usize) -> &Sm {
        self.crews[self.homes[index]].see(index)
    }

    /// The same, for what what came makes no difference to: its stores and loads.
    #[inline]
    pub fn touch(&mut self, index: usize) -> &mut Sm {
        self.crews[self.homes[index]].touch(index)
    }

    /// Finds the loads that have to be repeated: see [`Sm::find_loads`]. Returns whether there are
    /// any. Looks at no SM of another thread that is known to have none.
    pub fn find_loads(&mut self, from: Cycle, of: (Cycle, Cycle), stored: &StoredLines) -> bool {
        let mut any = false;
        for index in 0..self.len() {
            let crew = &self.crews[self.homes[index]];
            if self.homes[index] == 0 || crew.loaded(index).meet(stored.pages()) {
                any |= self.touch(index).find_loads(from, of, stored);
            }
        }
        any
    }

    /// A reply for an SM, which sees it from cycle `at` on. It has it when it runs or anybody looks
    /// at it.
    #[inline]
    pub fn reply(&mut self, index: usize, at: Cycle, reply: &Reply) {
        self.news[index].reply(at);
        match self.homes[index] {
            0 => self.crews[0].own(index).receive_reply(at, reply),
            home => self.crews[home].send(index, Arrival::Reply(at, *reply)),
        }
    }

    /// What the back of the memory system has brought along for the first worker's SMs.
    pub fn take_parcel(&mut self, parcel: &mut Parcel) {
        if parcel.sms() == self.crews[1].range() {
            for (index, count, first) in parcel.brings() {
                self.news[index].replies(count, first);
            }
            self.crews[1].send_all(parcel.contents());
        } else {
            // One of them has been passed on meanwhile.
            parcel
                .replies()
                .for_each(|(sm, at, reply)| self.reply(sm, at, reply));
        }
        parcel.empty();
    }

    /// Takes the packets that SMs sent in the last step: each SM's in their order.
    pub fn for_each_sent(&mut self, mut f: impl FnMut(usize, &Outgoing)) {
        if let [crew] = &mut self.crews[..] {
            each_member!(self.senders, index => { crew.take_sent(index, &mut f); });
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

    /// SMs that ran in the last step.
    #[inline]
    pub fn ran(&self) -> &Numbers {
        &self.ran
    }

    /// What an SM had for the others at the end of the last step that it ran in.
    #[inline]
    pub fn news(&self, index: usize) -> News {
        self.news[index]
    }

    /// By SM: replies that it has not taken, where other threads run SMs.
    #[inline]
    pub fn waiting(&self) -> Option<impl Iterator<Item = u32>> {
        let waiting = self.news.iter().map(|news| news.waiting);
        (self.crews.len() > 1).then_some(waiting)
    }

    /// What any of them had for the others.
    #[inline]
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// The SMs of the only thread, if there is one.
    #[inline]
    pub fn alone(&mut self) -> Option<Alone<'_>> {
        let news = &mut self.news;
        match &mut self.crews[..] {
            [crew] => Some(Alone { crew, news }),
            _ => None,
        }
    }

    /// There is one thread.
    #[inline]
    pub fn are_alone(&self) -> bool {
        self.crews.len() == 1
    }

    /// Runs the SMs that are awake from `from` to `to`, and `beside` on the caller's thread
    /// meanwhile: before SMs run, which are handed over, where there is no other thread.
    pub fn run(
        &mut self,
        from: Cycle,
        to: Cycle,
        memory: &DeviceMemory,
        beside: impl FnOnce(Option<Alone<'_>>),
    ) {
        for (awake, news) in self.ran.0.iter_mut().zip(self.news.chunks(64)) {
            // Which of them are awake follows no pattern: nothing here depends on a guess.
            *awake = bits(news.iter().map(|news| news.wake_at < to));
        }
        let step = Step {
            from,
            to,
            round: None,
            memory,
        };
        if let [crew] = &mut self.crews[..] {
            let news = &mut self.news;
            beside(Some(Alone { crew, news }));
            self.flags = Flags::default();
            for (index, news) in self.news.chunks_mut(64).enumerate() {
                let awake = (64 * index, self.ran.0[index]);
                let (flags, senders) = crew.run_alone(step, awake, news);
                self.flags |= flags;
                self.senders.0[index] = senders;
            }
            return;
        }
        if self.ran.is_empty() {
            return beside(None);
        }
        if let Some((giver, taker)) = self.balance.due(self.workers.waited()) {
            self.shift(giver, taker);
        }
        self.order();
        // Without workers nothing shows who has too much to do.
        if let Some(waited) = self
            .workers
            .run(step, &mut self.crews, || beside(None), |_| ())
        {
            self.balance.note(waited);
        }
    }

    /// Another thread can run the back of the memory system.
    #[inline]
    pub fn can_send_back(&self) -> bool {
        self.workers.are_awake()
    }

    /// A thread that has too much to do gives an SM to another.
    pub fn even_out(&mut self) {
        if self.can_send_back()
            && let Some((giver, taker)) = self.balance.due(self.workers.waited())
        {
            self.shift(giver, taker);
        }
    }

    /// Where there are several threads, each runs its SMs of a round, as `turns` says, in order of
    /// SMs. Calls `f` on those that ran, with where they are, and what they have for others; then
    /// `sent` on what they have sent.
    pub fn run_round(
        &mut self,
        others: Others,
        turns: &mut [Turn],
        memory: &DeviceMemory,
        mut f: impl FnMut(usize, &Reached, Flags),
        mut sent: impl FnMut(usize, &Outgoing),
    ) {
        let mut rest = turns;
        for crew in &mut self.crews {
            let end = crew.range().end;
            let (its, others) = rest.split_at_mut(rest.partition_point(|turn| turn.sm < end));
            // Whoever runs the back of the memory system may wait for what those have taken that
            // have most to take.
            its.sort_unstable_by_key(|turn| (Reverse(self.news[turn.sm].waiting), turn.sm));
            crew.order_round(its);
            rest = others;
        }
        let step = Step {
            from: others.began,
            to: others.began,
            round: Some(others),
            memory,
        };
        let Self {
            crews,
            workers,
            news,
            ..
        } = self;
        let mut note = |crew: &mut Crew, posted| {
            for (index, reached, new) in crew.end_round() {
                news[index] = new;
                f(index, &reached, new.flags);
            }
            crew.for_each_sent(posted, &mut sent);
        };
        // What its own SMs have had, while it would wait for others.
        workers.run(step, crews, || (), |own| note(own, false));
        let others = crews.iter_mut().skip(1);
        others.for_each(|crew| note(crew, true));
    }

    /// Another thread runs the back of the memory system meanwhile, for the spell behind the one
    /// that began in cycle `began`.
    pub fn send_back(&mut self, mut errand: Errand, began: Cycle) {
        errand.look_at(Arc::clone(&self.backlogs), began);
        errand.bring_to(self.crews[1].range());
        self.workers.send(errand);
    }

    /// It is done.
    pub fn get_back(&mut self) -> Errand {
        self.workers.get()
    }

    /// A spell of so many cycles is over.
    pub fn end_spell(&mut self, cycles: Cycle) {
        if self.are_alone() {
            return;
        }
        let cycles = cycles as u32;
        if let Some(own) = self.workers.end_spell(cycles) {
            self.balance.note_spell(cycles, own, self.workers.waited());
        }
    }

    /// The step that ran last is over: news of the SMs that ran in it are known.
    pub fn end_step(&mut self) {
        // One crew writes them where they are.
        if self.crews.len() > 1 {
            self.end_step_of_crews();
        }
    }

    fn end_step_of_crews(&mut self) {
        self.flags = Flags::default();
        // What crews say is of the last step in which any SM ran.
        if self.ran.is_empty() {
            return;
        }
        for crew in &mut self.crews {
            for (index, news) in crew.end_step() {
                self.news[index] = news;
                self.flags |= news.flags;
            }
        }
    }

    /// Tells each crew which of its SMs run.
    fn order(&mut self) {
        let Self { ran, awake, .. } = self;
        awake.clear();
        each_member!(ran, number => { awake.push(number as u32) });
        let mut rest = &awake[..];
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
    use crate::memory::reply_to;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use warploom_base::SmId;
    use warploom_config::{GpuSpec, preset};
    use warploom_policy::OwnPolicies;

    const SMS: usize = 5;
    /// Alone, fewer than the SMs, as many, more.
    const THREADS: [usize; 4] = [1, 3, SMS, 9];

    fn spec() -> GpuSpec {
        preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn array(threads: usize) -> SmArray {
        array_of(SMS, threads)
    }

    fn array_of(sms: usize, threads: usize) -> SmArray {
        let sm = |id| Sm::new(&spec(), SmId::new(id), &OwnPolicies::default());
        SmArray::new((0..sms).map(sm).collect(), threads)
    }

    /// One step; which SMs ran in it.
    fn step(sms: &mut SmArray, from: Cycle, to: Cycle) -> Vec<usize> {
        let mut memory = DeviceMemory::new(1 << 16);
        let at = memory.alloc(0, 16).expect("room");
        memory.fill(0, at, 7, 16).expect("it is there");
        let mut beside = 0;
        sms.run(from, to, &memory, |_| beside += 1);
        sms.end_step();
        assert_eq!(beside, 1, "the caller's own work is done once");
        let mut bytes = [0; 16];
        memory.read(0, at, &mut bytes).expect("memory is back");
        assert_eq!(bytes, [7; 16]);
        let mut ran = Vec::new();
        each_member!(sms.ran(), number => { ran.push(number); });
        ran
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

    /// SMs may be more than a word has bits.
    #[test]
    fn many_sms_run() {
        for threads in [1, 2] {
            let mut sms = array_of(66, threads);
            assert_eq!(step(&mut sms, 0, 1), (0..66).collect::<Vec<_>>());
            sms.wake(3, 5);
            sms.wake(65, 5);
            assert_eq!(step(&mut sms, 5, 6), [3, 65]);
        }
    }

    /// Replies count as not taken from where they come until the SM runs, whoever runs it.
    #[test]
    fn replies_are_untaken_once_they_come() {
        for threads in THREADS {
            let mut sms = array(threads);
            step(&mut sms, 0, 1);
            (0..2).for_each(|_| sms.reply(4, 9, &reply_to(4)));
            assert_eq!((sms.news(4).waiting, sms.news(4).wake_at), (2, 9));
            // It runs, and sees none of them yet.
            sms.wake(4, 7);
            assert_eq!(step(&mut sms, 7, 8), [4]);
            assert_eq!((sms.news(4).waiting, sms.news(4).wake_at), (2, 9));
        }
    }

    /// A parcel has replies for the SMs of a thread alone. They come behind those that were sent
    /// before, once, also if an SM has been passed on meanwhile.
    #[test]
    fn a_parcel_comes_to_the_sms_that_it_is_for() {
        for (sent_before, passed_on) in [(false, false), (true, false), (false, true), (true, true)]
        {
            let mut sms = array(2);
            step(&mut sms, 0, 1);
            let mut parcel = Parcel::default();
            parcel.address(2..5);
            let puts = [(2, 9), (1, 9), (4, 11), (2, 12)];
            let expected = puts.map(|(sm, at)| parcel.expect(sm, at));
            assert_eq!(expected, [true, false, true, true]);
            let theirs = puts.into_iter().filter(|(sm, _)| *sm != 1);
            let theirs = theirs.map(|(sm, at)| (at, reply_to(sm)));
            parcel.contents().extend(theirs);
            if sent_before {
                sms.reply(2, 8, &reply_to(2));
            }
            if passed_on {
                sms.shift(1, 0);
            }
            for _ in 0..2 {
                sms.take_parcel(&mut parcel);
                assert_eq!(parcel.replies().count() + parcel.brings().count(), 0);
            }
            let (first, before) = if sent_before { (8, 1) } else { (9, 0) };
            let expected = [
                (0, Cycle::MAX),
                (2 + before, first),
                (0, Cycle::MAX),
                (1, 11),
            ];
            let found = [1, 2, 3, 4].map(|sm| (sms.news(sm).waiting, sms.news(sm).wake_at));
            assert_eq!(found, expected);
            let arrival = |sm: &Sm| sm.link.next_arrival().unwrap_or(Cycle::MAX);
            let found =
                [1, 2, 3, 4].map(|sm| (sms.get(sm).link.waiting() as u32, arrival(sms.get(sm))));
            assert_eq!(found, expected);
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
            let ours = || sms.run(0, 1000, &memory, |_| panic!("ours"));
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
        let nobodys = Reply {
            token: u32::MAX,
            ..reply_to(0)
        };
        for threads in THREADS {
            let mut sms = array(threads);
            sms.for_each(|_, sm| sm.link.deliver(0, &nobodys));
            let run = AssertUnwindSafe(|| step(&mut sms, 0, 10));
            assert!(catch_unwind(run).is_err(), "{threads} threads");
        }
    }
}
