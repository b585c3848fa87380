//! A sub-partition: one L2 bank with its queues, between the network and a DRAM channel.

use crate::{Request, cache::CacheCounters};
use warploom_base::{Cycle, SubPartitionId};
use warploom_config::GpuSpec;

/// Counters of a sub-partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartitionCounters {
    /// Requests taken from the network, after splitting into sectors.
    pub requests: u64,
    /// Replies handed to the network.
    pub replies: u64,
}

/// One L2 bank with its queues.
#[derive(Clone, Debug)]
pub struct SubPartition {}

impl SubPartition {
    /// An empty sub-partition. `rop_cycles` is the fixed delay before L2 in core cycles (the
    /// specification's less what links already take).
    pub fn new(spec: &GpuSpec, id: SubPartitionId, rop_cycles: u32) -> Self {
        let _ = (spec, id, rop_cycles);
        todo!()
    }
    /// The input can take another packet from the network; when not, the lead counts
    /// `gpu_stall_dramfull` for this L2 cycle.
    pub fn can_accept(&self) -> bool {
        todo!()
    }
    /// Takes a packet from the network. A sectored L2 splits it in 32-byte requests, each of which
    /// is answered by a reply of its own with the packet's token.
    pub fn push(&mut self, now_core: Cycle, request: Request) {
        let _ = (now_core, request);
        todo!()
    }
    /// One L2 cycle. Returns whether anything moved.
    pub fn cycle(&mut self, now_core: Cycle) -> bool {
        let _ = now_core;
        todo!()
    }
    /// Reply at the head of the queue to the network.
    pub fn reply_front(&self) -> Option<&Request> {
        todo!()
    }
    /// Takes that reply. Replies of kind `GlobalAtomic` are the atomics to execute, in this order.
    pub fn pop_reply(&mut self) -> Option<Request> {
        todo!()
    }
    /// Request at the head of the queue to DRAM.
    pub fn dram_front(&self) -> Option<&Request> {
        todo!()
    }
    /// Takes that request.
    pub fn pop_dram(&mut self) -> Option<Request> {
        todo!()
    }
    /// There is room for a reply from DRAM.
    pub fn can_take_from_dram(&self) -> bool {
        todo!()
    }
    /// Takes a reply from DRAM.
    pub fn push_from_dram(&mut self, reply: Request) {
        let _ = reply;
        todo!()
    }
    /// Nothing inside, in any queue or miss.
    pub fn is_idle(&self) -> bool {
        todo!()
    }
    /// Earliest core cycle at which `cycle` can do anything if nothing is pushed before:
    /// `None` when only an input can wake it.
    pub fn next_event(&self, now_core: Cycle) -> Option<Cycle> {
        let _ = now_core;
        todo!()
    }
    /// Accounts for `cycles` L2 cycles that were not run because `next_event` said so.
    pub fn skip(&mut self, cycles: u64) {
        let _ = cycles;
        todo!()
    }
    /// Marks 32 bytes at `addr` as present (host-to-device copies).
    pub fn warm(&mut self, addr: u64) {
        let _ = addr;
        todo!()
    }
    /// Drops dirty lines (`flush_l2`).
    pub fn flush(&mut self) {
        todo!()
    }
    /// Invalidates L2.
    pub fn invalidate_all(&mut self) {
        todo!()
    }
    /// Which one this is.
    pub fn id(&self) -> SubPartitionId {
        todo!()
    }
    /// L2's counters.
    pub fn l2_counters(&self) -> &CacheCounters {
        todo!()
    }
    /// Queue counters.
    pub fn counters(&self) -> &PartitionCounters {
        todo!()
    }
}
