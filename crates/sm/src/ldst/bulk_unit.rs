//! State of the unit that makes bulk copies.

use crate::flight::MemId;
use std::collections::VecDeque;
use warploom_base::{BlockId, Cycle, WarpSlot};
use warploom_config::SmSpec;
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
    /// Largest number of requests without a reply.
    pub most_in_flight: u32,
    /// Cycles from one instruction's first request to the next one's.
    pub interval: Cycle,
    /// Cycles for which an instruction holds its warp once the unit begins with it.
    pub hold: Cycle,
    /// Warps that instructions hold, with the cycles in which they go on, earliest first.
    pub held: VecDeque<(Cycle, WarpSlot)>,
}

impl BulkUnit {
    pub fn new(spec: &SmSpec) -> Self {
        Self {
            most_in_flight: spec.bulk_requests,
            interval: spec.bulk_interval_cycles.into(),
            hold: spec.bulk_issue_cycles.into(),
            ..Self::default()
        }
    }

    /// True if an instruction is in the unit.
    #[inline]
    pub fn is_busy(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Cycle from which the unit may send next, or in which a warp goes on.
    pub fn next_event(&self) -> Option<Cycle> {
        let sends = self.is_busy().then_some(self.free_at);
        let goes_on = self.held.front().map(|(at, _)| *at);
        sends.into_iter().chain(goes_on).min()
    }

    /// Warp that goes on in this cycle, which the unit forgets.
    #[inline]
    pub fn next_to_go_on(&mut self, now: Cycle) -> Option<WarpSlot> {
        let (at, warp) = *self.held.front()?;
        if at > now {
            return None;
        }
        self.held.pop_front();
        Some(warp)
    }
}
