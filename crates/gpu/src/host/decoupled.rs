//! State of a memory system whose parts run some cycles one after the other: the backend, with
//! DRAM, L2 and the reply network, first, then the request network.

use super::backend_trace::BackendTrace;
use super::exchange::TimedReply;
use warploom_base::Cycle;
use warploom_mem::Request;

/// Input for the backend that has come since it was lent to a worker. The thread that runs the
/// backend next applies the input before, because its caches hold the backend's state.
///
/// A line of the host's caches that another core has read takes a while to be written again, and
/// later writes wait for that. So single entries are collected where no other core looks, and
/// copied all at once when the backend is lent.
#[derive(Debug, Default)]
pub(crate) struct PendingInput {
    /// Packets for L2 banks, with their cycle, oldest first.
    pub packets: Vec<(usize, Cycle, Request)>,
    /// By SM: number of replies that it has not taken, if there has been an exchange.
    pub untaken: Vec<u32>,
}

impl PendingInput {
    /// Moves all input out of another one.
    pub fn append(&mut self, other: &mut Self) {
        self.packets.append(&mut other.packets);
        self.untaken.append(&mut other.untaken);
    }
}

/// Facts about the backend that the request network needs, and input that it has for the backend.
#[derive(Debug, Default)]
pub(crate) struct DecoupledBackend {
    /// Trace of the cycles that the request network has yet to run.
    pub trace: BackendTrace,
    /// Entries of both parts of the trace that it has run.
    pub ticks_done: usize,
    pub full_done: usize,
    /// True if input is pending: the backend has been lent, and has not run since it came back.
    pub is_pending: bool,
    pub input: PendingInput,
    /// Room for the input of the next loan.
    pub input_room: PendingInput,
    /// Replies that the backend has brought along, and room for more.
    pub replies: Vec<TimedReply>,
    pub replies_room: Vec<TimedReply>,
}

impl DecoupledBackend {
    /// Keeps a packet for an L2 bank that comes while the backend is lent.
    #[inline(never)]
    pub fn keep(&mut self, bank: usize, now: Cycle, request: &Request) {
        self.input.packets.push((bank, now, *request));
    }
}
