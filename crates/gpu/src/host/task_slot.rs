//! Slot through which the memory backend is lent to a worker, which runs it while it is not called
//! to a step, and the stepping thread while it waits for workers.
//!
//! Invariant: whoever runs the backend holds the lock, and nobody waits for it.

use super::backend_task::BackendTask;
use super::wait::pause;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The slot of a worker.
#[derive(Default)]
pub(super) struct TaskSlot {
    /// There is something to do.
    open: AtomicBool,
    /// The stepping thread waits for the task: SMs will not take any more replies.
    requested: AtomicBool,
    task: Mutex<Option<BackendTask>>,
}

impl TaskSlot {
    /// True if there is something to do.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// The stepping thread waits for the task.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Release);
    }

    /// Works on the task until it is done, cannot go on, or `called` is true. Returns the turns for
    /// which it has waited, of which the first `spins` are short.
    pub fn work(&self, spins: u32, called: impl Fn() -> bool) -> u32 {
        let mut turns = 0;
        let mut wait = || {
            turns += 1;
            pause(turns < spins, std::thread::yield_now);
        };
        let is_own = self.advance(called, || {
            wait();
            true
        });
        if !is_own {
            // The stepping thread works on it.
            wait();
        }
        turns
    }

    /// Works on the task until it is done, cannot go on yet, or `needed` elsewhere.
    pub fn help(&self, needed: impl Fn() -> bool) {
        if !needed() {
            self.advance(needed, || false);
        }
    }

    /// The same. Where the task cannot go on yet, it goes on trying as long as `waits` says so.
    /// Returns whether there was a task that nobody else worked on.
    fn advance(&self, needed: impl Fn() -> bool, mut waits: impl FnMut() -> bool) -> bool {
        let Some(mut task) = self.try_open() else {
            return false;
        };
        let Some(task) = &mut *task else {
            unreachable!("an open slot has a task");
        };
        while !task.is_done() {
            // Read before the try: SMs have taken all replies that they will.
            let requested = self.requested.load(Ordering::Acquire);
            if !task.advance() {
                if requested {
                    break;
                }
                if !waits() {
                    return true;
                }
            }
            if needed() {
                return true;
            }
        }
        task.finish();
        self.open.store(false, Ordering::Release);
        true
    }

    /// The task, unless somebody else works on it or has finished it.
    fn try_open(&self) -> Option<MutexGuard<'_, Option<BackendTask>>> {
        let task = match self.task.try_lock() {
            Ok(task) => task,
            Err(TryLockError::Poisoned(task)) => task.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.open.load(Ordering::Relaxed).then_some(task)
    }

    /// Puts a task into the slot.
    pub fn put(&self, task: BackendTask) {
        let mut place = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(task);
        self.requested.store(false, Ordering::Relaxed);
        self.open.store(true, Ordering::Release);
    }

    /// Takes the task out of the slot.
    pub fn take(&self) -> Option<BackendTask> {
        let mut place = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemorySystem;
    use warploom_config::preset;

    /// A task that is done is not done again.
    #[test]
    fn a_task_ends_once() {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let mut system = MemorySystem::new(&spec);
        let slot = TaskSlot::default();
        assert!(slot.try_open().is_none(), "nothing is there");
        slot.put(system.lend_backend(0, 20).expect("it is here"));
        assert!(slot.try_open().is_some());
        slot.help(|| true);
        assert!(slot.try_open().is_some(), "it was needed elsewhere");
        slot.help(|| false);
        assert!(slot.try_open().is_none(), "it is done");
        assert_eq!(slot.work(0, || false), 1);
        let task = slot.take().expect("it was put there");
        assert_eq!(system.take_backend(task), 20);
    }
}
