//! Slot through which the memory backend is lent to a worker, which runs it while it is not called
//! to a step.
//!
//! Invariant: while the slot is open, only the worker locks the task; while it is closed, only the
//! stepping thread does. So neither waits for the lock.

use super::backend_task::BackendTask;
use super::wait::pause;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Slot of a worker for a task.
#[derive(Default)]
pub(super) struct TaskSlot {
    /// True if there is a task to work on.
    open: AtomicBool,
    /// True if the stepping thread waits for the task: SMs will take no more replies.
    requested: AtomicBool,
    task: Mutex<Option<BackendTask>>,
}

impl TaskSlot {
    /// True if there is a task to work on.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Tells the worker that the stepping thread waits for the task.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Release);
    }

    /// Works on the task until it is done, cannot go on, or `called` is true. Waits for SMs to take
    /// replies; the first `spins` turns of the wait are short.
    pub fn work(&self, spins: u32, called: impl Fn() -> bool) {
        let mut place = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(task) = &mut *place else {
            unreachable!("an open slot has a task");
        };
        let mut turns = 0u32;
        while !task.is_done() {
            // Read before the attempt: SMs have taken all replies that they will.
            let requested = self.requested.load(Ordering::Acquire);
            if !task.advance() {
                if requested {
                    break;
                }
                turns = turns.saturating_add(1);
                pause(turns < spins, std::thread::yield_now);
            }
            if called() {
                return;
            }
        }
        task.finish();
        self.open.store(false, Ordering::Release);
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
        assert!(!slot.is_open(), "nothing is there");
        slot.put(system.lend_backend(0, 20).expect("it is here"));
        slot.work(0, || true);
        assert!(slot.is_open(), "the worker was called before the end");
        slot.work(0, || false);
        assert!(!slot.is_open(), "it is done");
        let task = slot.take().expect("it was put there");
        assert_eq!(system.take_backend(task), 20);
    }
}
