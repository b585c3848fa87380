//! SMs, and the threads that run them. Each SM is behind a lock of its own, taken once a step by
//! whoever runs it; which thread that is cannot matter, because an SM in a step touches nothing
//! but itself. With one thread there are no locks.
//!
//! A step runs only SMs that are awake: an SM says when it has something to do again, and what
//! comes from outside (a block, a reply, credits it waits for) wakes it before.

use std::any::Any;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use warploom_base::Cycle;
use warploom_exec::DeviceMemory;
use warploom_sm::{News, Sm};

/// What an SM posts at the end of its step.
#[derive(Default)]
struct Post([AtomicU64; 2]);

impl Post {
    /// The step's end publishes it to the others.
    fn set(&self, news: News) {
        let posts = self.0.iter().zip(news.words());
        posts.for_each(|(post, word)| post.store(word, Ordering::Relaxed));
    }

    fn get(&self) -> News {
        let [first, second] = &self.0;
        News::of([
            first.load(Ordering::Relaxed),
            second.load(Ordering::Relaxed),
        ])
    }
}

/// Turns of a waiting loop before the thread gives way to others.
const SPINS: u32 = 1 << 12;

/// A value on a cache line of its own: threads that write neighbours do not take it away.
#[derive(Default)]
#[repr(align(64))]
struct OwnLine<T>(T);

impl<T> Deref for OwnLine<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A step's numbers, written before it.
#[derive(Default)]
struct Step {
    /// Number of the step to run; workers wait for it to change.
    nth: AtomicU64,
    from: AtomicU64,
    to: AtomicU64,
}

/// What threads share.
struct Shared {
    sms: Vec<Mutex<Sm>>,
    /// By SM: what it posted at the end of the last step that it ran in.
    posts: Arc<[Post]>,
    job: OwnLine<RwLock<Job>>,
    step: OwnLine<Step>,
    /// By thread: its share of the job's SMs.
    shares: Vec<OwnLine<Share>>,
    /// SMs done in this step.
    done: OwnLine<AtomicUsize>,
    quit: AtomicBool,
    /// What a worker panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    failed: AtomicBool,
}

/// A run of the job's SMs that a thread begins with. It takes them from the front, and when it is
/// done with its own, others' from the back: so SMs mostly stay with the thread whose caches hold
/// them, and no thread waits while another has more than one left.
#[derive(Default)]
struct Share {
    /// What is left: first, and end in the upper half.
    left: AtomicU64,
}

impl Share {
    fn set(&self, first: usize, end: usize) {
        let left = first as u64 | (end as u64) << 32;
        // Release: pairs with the acquire of whoever takes from it.
        self.left.store(left, Ordering::Release);
    }

    /// Takes one, from the front or from the back.
    fn take(&self, front: bool) -> Option<usize> {
        let shrink = |left: u64| {
            let (first, end) = (left & 0xffff_ffff, left >> 32);
            let step = if front { 1 } else { u64::MAX << 32 };
            (first < end).then(|| left.wrapping_add(step))
        };
        let left = self
            .left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, shrink);
        let taken = |left: u64| {
            if front {
                left & 0xffff_ffff
            } else {
                (left >> 32) - 1
            }
        };
        left.ok().map(|left| taken(left) as usize)
    }
}

/// What a step works on.
struct Job {
    /// Device memory while a step runs; empty between steps.
    memory: DeviceMemory,
    /// SMs to run, in order.
    awake: Vec<usize>,
}

impl Job {
    fn swap(&mut self, memory: &mut DeviceMemory, awake: &mut Vec<usize>) {
        std::mem::swap(&mut self.memory, memory);
        std::mem::swap(&mut self.awake, awake);
    }
}

/// A thread that panicked while it held a lock takes the run down anyway.
fn unpoisoned<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn sm(&self, index: usize) -> MutexGuard<'_, Sm> {
        unpoisoned(self.sms[index].lock())
    }

    /// Runs SMs until none is left in this step: those of thread `me` first.
    fn run_some(&self, me: usize, job: &Job) {
        let threads = self.shares.len();
        for turn in 0..threads {
            let share = &self.shares[(me + turn) % threads];
            let mut ran = 0;
            while let Some(at) = share.take(turn == 0) {
                // The share was set when the step's numbers were, so they are its own.
                let (from, to) = (
                    self.step.from.load(Ordering::Relaxed),
                    self.step.to.load(Ordering::Relaxed),
                );
                let index = job.awake[at];
                let mut sm = self.sm(index);
                sm.run(from, to, &job.memory);
                self.posts[index].set(sm.news());
                ran += 1;
            }
            if ran > 0 {
                self.done.fetch_add(ran, Ordering::Release);
            }
        }
    }

    /// Divides the SMs to run into a share a thread, by their numbers, so that one and the same
    /// thread begins with an SM in every step.
    fn share_out(&self, awake: &[usize]) {
        let (threads, sms) = (self.shares.len(), self.sms.len());
        let mut first = 0;
        for (nth, share) in self.shares.iter().enumerate() {
            let bound = sms * (nth + 1) / threads;
            let end = awake.partition_point(|sm| *sm < bound);
            share.set(first, end);
            first = end;
        }
    }

    fn work(&self, me: usize) {
        let mut seen = 0;
        loop {
            let current = || self.step.nth.load(Ordering::Acquire);
            wait_until(|| current() != seen || self.quit.load(Ordering::Acquire));
            if self.quit.load(Ordering::Acquire) {
                return;
            }
            seen = current();
            let run = || {
                let job = unpoisoned(self.job.read());
                self.run_some(me, &job);
            };
            if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
                *unpoisoned(self.panic.lock()) = Some(payload);
                self.failed.store(true, Ordering::Release);
                return;
            }
        }
    }

    /// One step of the SMs in `awake`, this thread and the workers together.
    fn run(
        &self,
        from: Cycle,
        to: Cycle,
        memory: &mut DeviceMemory,
        awake: &mut Vec<usize>,
        beside: impl FnOnce(),
    ) {
        let all = awake.len();
        {
            // The lock waits for workers that came too late for the last step. One that comes from
            // now on finds the job and its numbers together: never this step's SMs with the last
            // step's cycles.
            let mut job = unpoisoned(self.job.write());
            self.share_out(awake);
            job.swap(memory, awake);
            self.step.from.store(from, Ordering::Relaxed);
            self.step.to.store(to, Ordering::Relaxed);
            self.done.store(0, Ordering::Relaxed);
        }
        self.step.nth.fetch_add(1, Ordering::Release);
        beside();
        {
            let job = unpoisoned(self.job.read());
            self.run_some(0, &job);
        }
        wait_until(|| {
            self.rethrow();
            self.done.load(Ordering::Acquire) == all
        });
        unpoisoned(self.job.write()).swap(memory, awake);
    }

    fn rethrow(&self) {
        if self.failed.load(Ordering::Acquire)
            && let Some(payload) = unpoisoned(self.panic.lock()).take()
        {
            resume_unwind(payload);
        }
    }
}

fn wait_until(mut ready: impl FnMut() -> bool) {
    let mut turns = 0u32;
    while !ready() {
        turns = turns.saturating_add(1);
        if turns < SPINS {
            std::hint::spin_loop()
        } else {
            std::thread::yield_now()
        }
    }
}

/// An SM, borrowed or locked.
pub(crate) enum SmRef<'a> {
    Own(&'a mut Sm),
    Locked(MutexGuard<'a, Sm>),
}

impl Deref for SmRef<'_> {
    type Target = Sm;
    fn deref(&self) -> &Sm {
        match self {
            Self::Own(sm) => sm,
            Self::Locked(sm) => sm,
        }
    }
}

impl DerefMut for SmRef<'_> {
    fn deref_mut(&mut self) -> &mut Sm {
        match self {
            Self::Own(sm) => sm,
            Self::Locked(sm) => sm,
        }
    }
}

/// The SMs of a GPU.
pub(crate) struct SmArray {
    /// The SMs when there is one thread.
    own: Vec<Sm>,
    /// The SMs and what threads share when there are more.
    shared: Option<Arc<Shared>>,
    threads: Vec<JoinHandle<()>>,
    /// By SM: it has nothing to do before this cycle.
    wake_at: Vec<Cycle>,
    /// SMs that ran in the last step, in order.
    awake: Vec<usize>,
    /// By SM: what it posted at the end of the last step that it ran in.
    posts: Arc<[Post]>,
}

impl SmArray {
    /// `sms`, run by `threads` threads, the caller's among them.
    pub fn new(sms: Vec<Sm>, threads: usize) -> Self {
        let threads = threads.min(sms.len());
        let wake_at = vec![0; sms.len()];
        let awake = Vec::with_capacity(sms.len());
        let posts: Arc<[Post]> = sms.iter().map(|_| Post::default()).collect();
        if threads <= 1 {
            return Self {
                own: sms,
                shared: None,
                threads: Vec::new(),
                wake_at,
                awake,
                posts,
            };
        }
        let shared = Arc::new(Shared {
            posts: Arc::clone(&posts),
            shares: (0..threads).map(|_| OwnLine::default()).collect(),
            job: OwnLine(RwLock::new(Job {
                memory: DeviceMemory::new(0),
                awake: Vec::with_capacity(sms.len()),
            })),
            sms: sms.into_iter().map(Mutex::new).collect(),
            step: OwnLine::default(),
            done: OwnLine::default(),
            quit: AtomicBool::new(false),
            panic: Mutex::new(None),
            failed: AtomicBool::new(false),
        });
        let spawn = |me| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.work(me))
        };
        let threads = (1..threads).map(spawn).collect();
        Self {
            own: Vec::new(),
            shared: Some(shared),
            threads,
            wake_at,
            awake,
            posts,
        }
    }

    /// SMs.
    pub fn len(&self) -> usize {
        self.wake_at.len()
    }

    /// Wakes an SM in cycle `at` if it sleeps longer.
    #[inline]
    pub fn wake(&mut self, index: usize, at: Cycle) {
        let wake_at = &mut self.wake_at[index];
        *wake_at = at.min(*wake_at);
    }

    /// The first cycle in which an SM has something to do.
    pub fn next_wake(&self) -> Cycle {
        self.wake_at.iter().copied().min().unwrap_or(Cycle::MAX)
    }

    /// One SM.
    pub fn get(&mut self, index: usize) -> SmRef<'_> {
        match &self.shared {
            None => SmRef::Own(&mut self.own[index]),
            Some(shared) => SmRef::Locked(shared.sm(index)),
        }
    }

    /// Calls `f` on every SM, in order.
    pub fn for_each(&mut self, mut f: impl FnMut(usize, &mut Sm)) {
        for index in 0..self.len() {
            f(index, &mut self.get(index));
        }
    }

    /// How many SMs ran in the last step.
    #[inline]
    pub fn ran(&self) -> usize {
        self.awake.len()
    }

    /// The `turn`-th of them, in order of their numbers, and what it had for the others.
    #[inline]
    pub fn news(&self, turn: usize) -> (usize, News) {
        let index = self.awake[turn];
        (index, self.posts[index].get())
    }

    /// Runs the SMs that are awake from `from` to `to`, and `beside` on the caller's thread
    /// meanwhile.
    pub fn run(
        &mut self,
        from: Cycle,
        to: Cycle,
        memory: &mut DeviceMemory,
        beside: impl FnOnce(),
    ) {
        self.awake.clear();
        let due = |at: &Cycle| *at < to;
        let awake = self.wake_at.iter().enumerate();
        self.awake
            .extend(awake.filter(|(_, at)| due(at)).map(|(i, _)| i));
        match &self.shared {
            None => {
                for &index in &self.awake {
                    let sm = &mut self.own[index];
                    sm.run(from, to, memory);
                    self.posts[index].set(sm.news());
                }
                beside();
            }
            Some(_) if self.awake.is_empty() => beside(),
            Some(shared) => shared.run(from, to, memory, &mut self.awake, beside),
        }
        for turn in 0..self.awake.len() {
            let (index, news) = self.news(turn);
            self.wake_at[index] = news.wake_at;
        }
    }
}

impl Drop for SmArray {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.quit.store(true, Ordering::Release);
        }
        for thread in self.threads.drain(..) {
            // A worker's panic has been passed on by `run` already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        sms.run(from, to, &mut memory, || beside += 1);
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
            sms.for_each(|_, sm| sm.link.deliver(0, nobodys));
            let run = AssertUnwindSafe(|| step(&mut sms, 0, 10));
            assert!(catch_unwind(run).is_err(), "{threads} threads");
        }
    }
}
