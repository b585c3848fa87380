//! Messages between the stepping thread and a worker: a call to a step, and the report that it is
//! done. Each is a cache line that one side writes.

use super::group::{SmGroup, Step};
use super::own_line::OwnLine;
use super::task_slot::TaskSlot;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use warploom_base::Cycle;
use warploom_exec::DeviceMemory;
use warploom_sm::SettledUpTo;

/// `settled` of a step that is no round of a window.
const NO_WINDOW: Cycle = Cycle::MAX;

/// A call to a step. The number is written last.
#[derive(Default)]
pub(super) struct Call {
    /// Number of the step, from 1. The worker waits for it to change.
    pub nth: AtomicU64,
    /// Fields of [`Step::settled`], in two words.
    began: AtomicU64,
    settled: AtomicU64,
    /// Lent for the step.
    memory: AtomicPtr<DeviceMemory>,
    group: AtomicPtr<SmGroup>,
}

impl Call {
    /// Calls the worker to the `nth` step.
    pub fn set(&self, step: &Step<'_>, group: &mut SmGroup, nth: u64) {
        let settled = step.settled.map_or(NO_WINDOW, |settled| settled.cycle);
        let began = step.settled.map_or(0, |settled| settled.began);
        self.began.store(began, Ordering::Relaxed);
        self.settled.store(settled, Ordering::Relaxed);
        let memory = std::ptr::from_ref(step.memory).cast_mut();
        self.memory.store(memory, Ordering::Relaxed);
        self.group.store(group, Ordering::Relaxed);
        self.nth.store(nth, Ordering::Release);
    }

    /// Calls `act` with the step and the group.
    #[allow(unsafe_code, reason = "group and memory are lent; see `Workers::call`")]
    pub fn answer(&self, act: impl FnOnce(&Step<'_>, &mut SmGroup)) {
        // SAFETY: both were made in `Workers::call` from references, that of the group the only one
        // there is, which it holds and does not use before the worker has said that it is done,
        // also if either of them panics. They were written before `nth`, which the worker has
        // read.
        let (group, memory) = unsafe {
            (
                &mut *self.group.load(Ordering::Relaxed),
                &*self.memory.load(Ordering::Relaxed),
            )
        };
        let settled = SettledUpTo {
            began: self.began.load(Ordering::Relaxed),
            cycle: self.settled.load(Ordering::Relaxed),
        };
        let step = Step {
            settled: Some(settled).filter(|settled| settled.cycle != NO_WINDOW),
            memory,
        };
        act(&step, group);
    }
}

/// The stepping thread's link to a worker.
#[derive(Default)]
pub(super) struct WorkerChannel {
    pub call: OwnLine<Call>,
    /// Number of the last step that the worker has done.
    pub done: OwnLine<AtomicU64>,
    pub task: OwnLine<TaskSlot>,
}
