//! Threads that run SMs beside the stepping thread, each its own group, a step or round at a time.
//!
//! A cycle of a GPU takes microseconds, and a cache line up to a fifth of one from core to core. So
//! threads tell each other little: a call to each worker whose group has something to do, in one
//! line, and that it is done, in another. Between a call and its end the group is the worker's;
//! otherwise it is the stepping thread's.

use super::backend_task::BackendTask;
use super::backoff::{Backoff, Pace};
use super::channel::WorkerChannel;
use super::group::{SmGroup, Step};
use super::wait::{Wait, wait_until};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Turns of a waiting loop before the thread yields to others, where each has a core.
const SPINS: u32 = 1 << 12;

/// State that threads share.
struct Shared {
    /// Turns of a waiting loop before the thread yields to others.
    spins: u32,
    channels: Vec<WorkerChannel>,
    quit: AtomicBool,
    /// True if no call will come for long: workers sleep until they are woken.
    parked: AtomicBool,
    /// Payload of a worker's panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    failed: AtomicBool,
}

impl Shared {
    /// Main loop of a worker.
    fn work(&self, channel: &WorkerChannel) {
        let mut seen = 0;
        loop {
            let current = || channel.call.nth.load(Ordering::Acquire);
            let called = || current() != seen || self.quit.load(Ordering::Relaxed);
            let needed = || called() || channel.task.is_open();
            wait_until(self.spins, needed, || self.yield_or_park());
            if self.quit.load(Ordering::Relaxed) {
                return;
            }
            if !called() {
                self.attempt(|| channel.task.work(self.spins, called));
                continue;
            }
            seen = current();
            self.attempt(|| {
                channel.call.answer(|step, group| {
                    group.run(step);
                    group.post(step.settled.is_some());
                });
            });
            channel.done.store(seen, Ordering::Release);
        }
    }

    /// Runs `job`, and keeps the payload of a panic for the stepping thread.
    fn attempt(&self, job: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            *first = Some(payload);
            self.failed.store(true, Ordering::Release);
        }
    }

    /// Calls workers to a step of their groups, unless these have no turns. Groups and memory are
    /// lent to them until the result is dropped.
    fn call<'a>(&'a self, step: &Step<'a>, groups: &'a mut [SmGroup], nth: u64) -> Called<'a> {
        for (channel, group) in self.channels.iter().zip(groups) {
            if !group.has_no_turns() {
                channel.call.set(step, group, nth);
            }
        }
        Called {
            channels: &self.channels,
            spins: self.spins,
            nth,
        }
    }

    /// A worker that has waited for long leaves its core to others.
    fn yield_or_park(&self) {
        if self.parked.load(Ordering::Relaxed) {
            std::thread::park();
        } else {
            std::thread::yield_now();
        }
    }
}

/// Workers that were called to a step. Dropping it waits for them, also when the caller unwinds.
struct Called<'a> {
    channels: &'a [WorkerChannel],
    spins: u32,
    nth: u64,
}

impl Called<'_> {
    fn is_done(&self, channel: &WorkerChannel) -> bool {
        // A worker that was not called has nothing to do.
        channel.call.nth.load(Ordering::Relaxed) != self.nth
            || channel.done.load(Ordering::Acquire) == self.nth
    }

    /// Waits for all called workers.
    fn wait(&self) -> Wait {
        let mut all = Wait::default();
        for channel in self.channels {
            all.add(&Wait::until(self.spins, || self.is_done(channel)));
        }
        all
    }
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        self.wait();
    }
}

/// The worker threads of the scheduler.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Number of the step, from 1.
    nth: u64,
    backoff: Backoff,
    /// How long the stepping thread has waited in the window.
    waits: Wait,
}

impl Workers {
    /// Starts `threads` worker threads.
    pub fn new(threads: usize) -> Self {
        // A thread that waits for one without a core must leave it its own.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared {
            spins: if threads < cores { SPINS } else { 0 },
            channels: (0..threads).map(|_| WorkerChannel::default()).collect(),
            quit: AtomicBool::new(false),
            parked: AtomicBool::new(false),
            panic: Mutex::new(None),
            failed: AtomicBool::new(false),
        });
        let spawn = |nth: usize| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.work(&shared.channels[nth]))
        };
        Self {
            threads: (0..threads).map(spawn).collect(),
            nth: 0,
            backoff: Backoff::new(),
            waits: Wait::default(),
            shared,
        }
    }

    /// True if there are workers and they are not parked.
    #[inline]
    pub fn are_awake(&self) -> bool {
        !self.threads.is_empty() && self.backoff.is_over()
    }

    /// Runs a step or round: the first group on this thread, after `beside` and before `after`,
    /// each other group that has turns on its worker, or on this thread while workers are
    /// parked.
    pub fn run(
        &mut self,
        step: &Step<'_>,
        groups: &mut [SmGroup],
        beside: impl FnOnce(),
        after: impl FnOnce(&mut SmGroup),
    ) {
        let Some((own, others)) = groups.split_first_mut() else {
            unreachable!("the stepping thread has a group");
        };
        let is_window = step.settled.is_some();
        let is_alone = if is_window {
            !self.backoff.is_over()
        } else {
            self.backoff.pass(1)
        };
        if is_alone {
            beside();
            own.run(step);
            after(own);
            return self.run_others(step, others);
        }
        self.nth += 1;
        let called = self.shared.call(step, others, self.nth);
        beside();
        own.run(step);
        after(own);
        let wait = called.wait();
        drop(called);
        self.rethrow();
        if is_window {
            self.waits.add(&wait);
        } else {
            self.note_wait(&wait);
        }
    }

    /// Runs the workers' groups on this thread. Their requests lie where workers leave them.
    #[cold]
    fn run_others(&mut self, step: &Step<'_>, groups: &mut [SmGroup]) {
        for group in groups.iter_mut().filter(|group| !group.has_no_turns()) {
            group.run(step);
            group.post(step.settled.is_some());
        }
        self.wake_after_backoff();
    }

    /// Gives the first worker a task for the time between its steps. Requires that it is not parked
    /// and has no other.
    pub fn give_task(&mut self, task: BackendTask) {
        debug_assert!(self.are_awake(), "workers sleep");
        self.shared.channels[0].task.put(task);
    }

    /// Waits until the task is done, or as much of it as can be now that all SMs have run.
    pub fn take_task(&mut self) -> BackendTask {
        let slot = &self.shared.channels[0].task;
        slot.request();
        let is_done = || !slot.is_open() || self.shared.failed.load(Ordering::Acquire);
        self.waits.add(&Wait::until(self.shared.spins, is_done));
        self.rethrow();
        let Some(task) = slot.take() else {
            unreachable!("a task was put there");
        };
        task
    }

    /// Wakes parked workers, if the backoff is over.
    fn wake_after_backoff(&self) {
        if self.backoff.is_over() {
            self.shared.parked.store(false, Ordering::Relaxed);
            self.unpark();
        }
    }

    fn unpark(&self) {
        for thread in &self.threads {
            thread.thread().unpark();
        }
    }

    fn rethrow(&self) {
        if !self.shared.failed.load(Ordering::Relaxed) {
            return;
        }
        let panic = &self.shared.panic;
        let mut first = panic.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(payload) = first.take() {
            drop(first);
            resume_unwind(payload);
        }
    }

    /// Ends a window of some cycles.
    pub fn end_window(&mut self, cycles: u32) {
        let wait = std::mem::take(&mut self.waits);
        if self.backoff.pass(cycles) {
            self.wake_after_backoff();
        } else {
            self.note_wait(&wait);
        }
    }

    /// Parks workers for some steps, if the wait for them was too long.
    fn note_wait(&mut self, wait: &Wait) {
        // Threads without a core each yield at once.
        let pace = match wait {
            _ if self.shared.spins == 0 => Pace::Even,
            Wait {
                few_yields: true, ..
            } => Pace::InTurns,
            Wait { yielded: true, .. } => Pace::Slow,
            _ => Pace::Even,
        };
        if self.backoff.end_step(pace, wait.late) {
            self.shared.parked.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.quit.store(true, Ordering::Release);
        self.unpark();
        for thread in self.threads.drain(..) {
            // `run` has passed on a worker's panic already.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
