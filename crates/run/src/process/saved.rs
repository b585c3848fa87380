//! Processes in checkpoints: counts are saved, and the program runs again.

use super::{Process, Started};
use crate::checkpoint::{Calls, CheckpointError, HostEvent};
use crate::session::{RunError, Session};
use warploom_exec::DeviceMemory;
use warploom_state::{Io, State, StateError};

impl Process<'_> {
    /// Name, arrival and target, as far as a checkpoint depends on them.
    pub fn described(&self) -> String {
        let target = self
            .target
            .map(|target| format!(" for {target} instructions"));
        let target = target.unwrap_or_default();
        format!("{} from cycle {}{target}", self.name, self.arrives_at)
    }

    /// Record of its calls, which a run with checkpoints makes.
    pub fn calls(&mut self) -> &mut Calls {
        self.device.calls.get_or_insert_with(Calls::new)
    }

    /// Does again what happened before a checkpoint. The process has device memory. Returns the
    /// launch that starts, if one does.
    pub fn repeat(
        &mut self,
        event: HostEvent,
        session: &Session,
    ) -> Result<Option<Started>, RunError> {
        match event {
            HostEvent::Acted => {
                if !self.act(session)? {
                    return Err(CheckpointError::Program.into());
                }
                if self.is_interrupted() {
                    return Err(CheckpointError::Ended.into());
                }
                self.device.take_copies();
            }
            HostEvent::Started(at) => {
                let next = self.start_next(at)?;
                let (_, started) = next.ok_or(CheckpointError::Program)?;
                return Ok(started);
            }
            HostEvent::Launched { stream, slot } => self.running(stream, slot),
            HostEvent::Ended(slot) => self.slot_ended(slot),
            HostEvent::Restarted => {
                let again = self.again.as_mut().ok_or(CheckpointError::Program)?;
                self.program = again().map_err(|why| RunError::Host(why.into()))?;
                self.device.memory.forget(self.device.asid);
                let memory = std::mem::replace(&mut self.device.memory, DeviceMemory::new(0));
                self.begin_again();
                self.device.memory = memory;
            }
            HostEvent::Halted => self.halt(0, 0),
        }
        Ok(None)
    }
}

/// Counts and ends. Streams, marks and modules are those of the program that has run again.
impl State for Process<'_> {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        let Self {
            name: _,
            program: _,
            again: _,
            arrives_at: _,
            target: _,
            device: _,
            host: _,
            streams: _,
            marks: _,
            launches: _,
            launched_this_time: _,
            kernels,
            counted,
            held,
            l1d,
            l2,
            runs,
            checks,
            ended_at,
            reached,
        } = self;
        kernels.state(io)?;
        counted.state(io)?;
        held.state(io)?;
        l1d.state(io)?;
        l2.state(io)?;
        runs.state(io)?;
        checks.state(io)?;
        ended_at.state(io)?;
        reached.state(io)
    }
}
