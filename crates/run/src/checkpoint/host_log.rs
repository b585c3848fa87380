//! Record of a host program, by which it runs again up to a checkpoint.

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

/// Events of all processes in their order, each with the number of its process, and what their
/// kernels printed.
#[derive(Clone, Debug, Default, Value)]
pub(crate) struct HostLog {
    pub events: Vec<(u8, HostEvent)>,
    /// Texts in their order, each with the number of events before it.
    pub printed: Vec<(u64, Vec<u8>)>,
}

impl HostLog {
    /// Notes a text of a kernel.
    pub fn printed(&mut self, text: Vec<u8>) {
        if !text.is_empty() {
            self.printed.push((self.events.len() as u64, text));
        }
    }
}
