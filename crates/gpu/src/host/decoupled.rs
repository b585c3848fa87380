//! State of a memory system whose parts run some cycles one after the other: the backend, with
//! DRAM, L2 and the reply network, first, then the request network.

use super::backend_trace::BackendTrace;
use super::exchange::TimedReply;
use warploom_base::Cycle;
use warploom_mem::Request;

/// Input for the backend that has come since a worker got it. The backend has it before it runs
/// again, applied by the thread that runs it then, whose caches hold what it changes.
///
/// A line of the host's caches that another core has read takes a while to be written again, and
/// later writes wait for that. So single entries are collected where no other core looks, and
/// copied all at once when the backend is lent.
#[derive(Debug, Default)]
pub(crate) struct PendingInput {
    /// Packets for L2 banks, with their cycle, oldest first.
    pub packets: Vec<(usize, Cycle, Request)>,
    /// By SM: replies that it has not taken, if there has been an exchange.
    pub undelivered: Vec<u32>,
}

impl PendingInput {
    /// Moves all input out of another.
    pub fn append(&mut self, other: &mut Self) {
        self.packets.append(&mut other.packets);
        self.undelivered.append(&mut other.undelivered);
    }
}

/// What the request network knows of the backend, and has for it.
#[derive(Debug, Default)]
pub(crate) struct DecoupledBackend {
    /// Trace of the cycles that the request network has yet to run.
    pub trace: BackendTrace,
    /// Entries of both parts of the trace that it has run.
    pub ticks_done: usize,
    pub full_done: usize,
    /// The backend has been lent, and has not run since: input for it is pending.
    pub is_pending: bool,
    pub input: PendingInput,
    /// Room for the input of the next loan.
    pub input_room: PendingInput,
    /// Replies that the backend has brought along, and room for more.
    pub replies: Vec<TimedReply>,
    pub replies_room: Vec<TimedReply>,
    /// By SM: how many replies it has brought along.
    pub brought: Vec<u32>,
}

impl DecoupledBackend {
    /// True unless the backend is here and input for it is pending.
    pub fn is_settled(&self) -> bool {
        !self.is_pending
    }

    /// Keeps a packet for an L2 bank that comes while the backend is away.
    #[inline(never)]
    pub fn keep(&mut self, bank: usize, now: Cycle, request: &Request) {
        self.input.packets.push((bank, now, *request));
    }
}
