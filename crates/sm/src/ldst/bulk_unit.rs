//! State of the unit that makes bulk copies.

use crate::flight::MemId;
use std::collections::VecDeque;
use warploom_base::{BlockId, Cycle};
use warploom_exec::BulkCopies;
use warploom_state::Value;

/// Copies that an instruction has started.
#[derive(Clone, Debug, Value)]
pub(super) struct Job {
    pub id: MemId,
    pub block: BlockId,
    pub asid: u8,
    pub copies: BulkCopies,
    /// Number of lines that were sent.
    pub sent: usize,
}

/// State of the unit.
#[derive(Clone, Debug, Default, Value)]
pub(super) struct BulkUnit {
    /// Instructions on their way to the unit.
    pub issued: Vec<Job>,
    /// Instructions in the unit, oldest first.
    pub waiting: VecDeque<Job>,
    /// Instructions whose requests were all sent.
    pub sent: Vec<Job>,
    /// Cycle from which the oldest instruction may send.
    pub free_at: Cycle,
    /// Cycle from which the instruction after the oldest may send.
    pub next_at: Cycle,
    /// Replies that are still to come.
    pub in_flight: u32,
}

impl BulkUnit {
    /// True if an instruction is in the unit.
    #[inline]
    pub fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Cycle from which the unit may send next.
    pub fn next_event(&self) -> Option<Cycle> {
        self.is_busy().then_some(self.free_at)
    }
}
