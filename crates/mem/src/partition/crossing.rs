//! Requests on their way between the halves of L2 (docs/model/partition.md, Two halves).

use crate::Request;
use std::collections::VecDeque;
use std::ops::Range;
use warploom_base::{Cycle, SubPartitionId};
use warploom_config::GpuSpec;
use warploom_state::State;

/// Packets from SMs of the other half, which come to the fixed delay of an L2 bank later than those
/// of its own half.
#[derive(Clone, Debug, State)]
pub(super) struct Crossing {
    /// Core cycle in which the oldest packet comes to the fixed delay; `Cycle::MAX` if there is
    /// none.
    comes_at: Cycle,
    /// Core cycle in which it leaves the fixed delay; `Cycle::MAX` if there is none.
    leaves_at: Cycle,
    /// Packets, each with that cycle, in its order.
    packets: VecDeque<(Cycle, Request)>,
    /// SMs whose packets do not cross.
    #[state(fixed)]
    near: Range<u32>,
    cycles: Cycle,
    /// Length of the fixed delay.
    delay: Cycle,
}

impl Crossing {
    /// No packets yet, for the L2 bank `id`. SMs of the first half of the GPCs are near to the
    /// first half of the L2 banks. All are near if L2 is one. `delay` is the fixed delay before L2.
    pub(super) fn new(spec: &GpuSpec, id: SubPartitionId, delay: Cycle) -> Self {
        let gpu = &spec.gpu;
        let banks = gpu.channels * gpu.sub_partitions_per_channel;
        let second_half = gpu.gpc(gpu.gpcs / 2).start;
        Self {
            comes_at: Cycle::MAX,
            leaves_at: Cycle::MAX,
            packets: VecDeque::new(),
            near: match spec.partition.far_cycles {
                0 => 0..gpu.sms,
                _ if u32::from(id.0) < banks / 2 => 0..second_half,
                _ => second_half..gpu.sms,
            },
            cycles: spec.partition.far_cycles.into(),
            delay,
        }
    }

    /// True if a packet of this SM crosses.
    #[inline]
    pub(super) fn crosses(&self, request: &Request) -> bool {
        !self.near.contains(&u32::from(request.sm.0))
    }

    /// Takes a packet that crosses from core cycle `now` on.
    pub(super) fn push(&mut self, now: Cycle, request: &Request) {
        let comes_at = now + self.cycles;
        self.packets.push_back((comes_at, *request));
        self.note_oldest();
    }

    /// Notes when the oldest packet comes and leaves the fixed delay.
    fn note_oldest(&mut self) {
        self.comes_at = self.packets.front().map_or(Cycle::MAX, |(at, _)| *at);
        self.leaves_at = self.comes_at.saturating_add(self.delay);
    }

    /// Core cycle in which the oldest packet comes; `Cycle::MAX` if there is none.
    #[inline]
    pub(super) fn comes_at(&self) -> Cycle {
        self.comes_at
    }

    /// Core cycle in which it leaves the fixed delay; `Cycle::MAX` if there is none.
    #[inline]
    pub(super) fn leaves_at(&self) -> Cycle {
        self.leaves_at
    }

    /// Removes the oldest packet, if it has come by core cycle `now`. Returns it with the cycle in
    /// which it came.
    pub(super) fn pop(&mut self, now: Cycle) -> Option<(Cycle, Request)> {
        if now < self.comes_at {
            return None;
        }
        let oldest = self.packets.pop_front();
        self.note_oldest();
        oldest
    }
}
