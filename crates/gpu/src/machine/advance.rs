//! How the machine goes on: window after window where there can be one, else step by step.

use super::{Gpu, Stop};
use crate::conservation::Ledger;
use crate::memory::MemorySystem;
use crate::monitor::Monitor;
use crate::recorder::Recorder;
use crate::sms::SmArray;
use warploom_base::Cycle;
use warploom_exec::DeviceMemory;
use warploom_mem::Reply;

/// Most cycles until a caller sees the machine again. Then nothing of it is ahead, so that a thread
/// that runs the back of the memory system has nothing to do for a spell.
const OUT_OF_SIGHT: Cycle = 4096;

/// The memory system, as SMs see it.
pub(super) struct Far<'a> {
    pub memory: &'a mut MemorySystem,
    pub ledger: &'a mut Ledger,
}

impl Far<'_> {
    /// Calls `f` on the replies that came: see [`MemorySystem::take_replies`].
    pub fn take_replies(&mut self, mut f: impl FnMut(usize, Cycle, &Reply)) {
        let Self { memory, ledger, .. } = self;
        memory.take_replies(|sm, at, reply| {
            ledger.answered(sm, reply);
            f(sm, at, reply);
        });
    }
}

impl Gpu {
    /// Advances to cycle `limit` at most. Nothing happens on the way that [`step`](Self::step)
    /// would not have done, but a caller who looks at the machine after each step sees less of it:
    /// the machine goes on, step by step or spell by spell, until the caller has something to do or
    /// some thousand cycles have passed.
    pub fn advance(&mut self, device: &mut DeviceMemory, limit: Cycle) -> Result<(), Stop> {
        let end = limit.min(self.now + OUT_OF_SIGHT);
        loop {
            match self.spell_end(limit) {
                Some(to) => {
                    self.sms.even_out();
                    self.spell((to, end), device)?;
                }
                None => self.step(device, limit)?,
            }
            let calls = !self.ended.is_empty() || self.gap().is_some();
            if (calls || self.now >= end) && !self.is_back_ahead() {
                return Ok(());
            }
        }
    }

    /// The next cycle in which somebody looks at the machine as a whole.
    pub(super) fn next_look(&self) -> Cycle {
        let monitor = self.monitor.as_ref().map(Monitor::due);
        let recorder = self.recorder.as_ref().map(Recorder::due);
        let looks = [self.dispatcher.next_check(), self.watch.due()];
        let looks = looks.into_iter().chain(monitor).chain(recorder);
        looks.fold(Cycle::MAX, Cycle::min)
    }

    /// The SMs, and the far end of their links.
    pub(super) fn far_end(&mut self) -> (&mut SmArray, Far<'_>) {
        let Self {
            sms,
            memory,
            ledger,
            ..
        } = self;
        (sms, Far { memory, ledger })
    }
}
