//! Record of a host program, by which it runs again up to a checkpoint.

use std::sync::{Mutex, PoisonError};
use warploom_base::{Cycle, KernelSlot};
use warploom_state::Value;

/// Something that happened between a process and the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(crate) enum HostEvent {
    /// The program did its next action.
    Acted,
    /// The next operation of a stream started in a core cycle.
    Started(Cycle),
    /// The started launch went to the machine.
    Launched {
        /// Stream of the launch.
        stream: u32,
        /// Slot of the kernel.
        slot: KernelSlot,
    },
    /// The kernel in a slot ended.
    Ended(KernelSlot),
    /// The program was created again.
    Restarted,
    /// The process was halted at its target.
    Halted,
}

/// Events of all processes in their order, each with the number of its process.
#[derive(Clone, Debug, Default, Value)]
pub(crate) struct HostLog {
    pub events: Vec<(u8, HostEvent)>,
}

/// Bytes that a process has read from the device, in order. Behind a lock, because reads do not
/// change the device.
#[derive(Debug)]
pub(crate) struct Reads(Mutex<Read>);

#[derive(Debug, Default)]
struct Read {
    bytes: Vec<u8>,
    /// Number of bytes that have been read again, while the process runs again.
    again: Option<usize>,
    /// True if the process has read more than it did before.
    differs: bool,
}

impl Reads {
    /// Begins to record reads.
    pub fn new() -> Self {
        Self(Mutex::default())
    }

    /// Begins to answer from a record, which goes on behind it.
    pub fn again(bytes: Vec<u8>) -> Self {
        Self(Mutex::new(Read {
            bytes,
            again: Some(0),
            differs: false,
        }))
    }

    /// Ends the answers. Returns whether the process has read exactly what it did before.
    pub fn end_again(&mut self) -> bool {
        let read = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let all = read.again.take().is_none_or(|at| at == read.bytes.len());
        all && !read.differs
    }

    /// All bytes so far.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        let read = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        &mut read.bytes
    }

    /// Answers a read from the record, or by `read`, and records the answer.
    pub fn answer<E>(
        &self,
        out: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Read {
            bytes,
            again,
            differs,
        } = &mut *own;
        let Some(at) = again else {
            read(out)?;
            bytes.extend_from_slice(out);
            return Ok(());
        };
        match bytes.get(*at..*at + out.len()) {
            Some(answer) => out.copy_from_slice(answer),
            None => *differs = true,
        }
        *at += out.len();
        Ok(())
    }
}
