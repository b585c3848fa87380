//! Messages between blocks of clusters that are on their way.

use std::collections::VecDeque;
use warploom_base::{Cycle, KernelSlot};
use warploom_exec::ClusterSignal;
use warploom_ir::MbarrierOp;
use warploom_state::{State, Value};

/// A message to a block.
#[derive(Debug, Value)]
pub(crate) struct Message {
    /// Cycle from which the block sees it.
    at: Cycle,
    pub kernel: KernelSlot,
    /// Rank of the block in the grid.
    pub to: u64,
    pub news: News,
}

/// Content of a message.
#[derive(Debug, Value)]
pub(crate) enum News {
    /// An operation on the barrier object at an address, with its operand.
    Object(u32, MbarrierOp, u64),
    /// The block of a rank in the cluster has arrived at the cluster's barrier.
    Signal(u32, ClusterSignal),
}

/// Messages between blocks of clusters that are on their way.
#[derive(Debug, State)]
pub(crate) struct PeerMessages {
    /// Oldest first; of one cycle, in the order in which they were sent.
    queue: VecDeque<Message>,
    latency: Cycle,
}

impl PeerMessages {
    /// No messages, on a machine where one takes `latency` cycles.
    pub fn new(latency: Cycle) -> Self {
        Self {
            queue: VecDeque::new(),
            latency,
        }
    }

    /// Cycle in which the next message arrives.
    pub fn next_arrival(&self) -> Cycle {
        self.queue.front().map_or(Cycle::MAX, |message| message.at)
    }

    /// Takes the oldest message.
    pub fn pop(&mut self) -> Option<Message> {
        self.queue.pop_front()
    }

    pub fn send(&mut self, sent_at: Cycle, kernel: KernelSlot, to: u64, news: News) {
        let at = sent_at + self.latency;
        let place = self.queue.partition_point(|other| other.at <= at);
        let message = Message {
            at,
            kernel,
            to,
            news,
        };
        self.queue.insert(place, message);
    }

    /// Drops the messages to blocks of a kernel that has ended.
    pub fn forget(&mut self, kernel: KernelSlot) {
        self.queue.retain(|message| message.kernel != kernel);
    }
}
