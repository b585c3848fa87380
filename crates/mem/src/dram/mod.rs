//! DRAM channels: arbitration between L2 banks, fixed latency, scheduler, banks and buses.

use crate::partition::SubPartition;
use warploom_base::{ChannelId, Cycle};
use warploom_config::GpuSpec;

/// Counters of a channel, with GPGPU-Sim's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DramCounters {
    /// Command cycles (`n_cmd`).
    pub n_cmd: u64,
    /// Cycles without a command (`n_nop`).
    pub n_nop: u64,
    /// Activates.
    pub n_act: u64,
    /// Precharges.
    pub n_pre: u64,
    /// Requests taken.
    pub n_req: u64,
    /// Column reads.
    pub n_rd: u64,
    /// Column writes that are not write-backs.
    pub n_write: u64,
    /// Column writes of write-backs.
    pub n_wr_bk: u64,
    /// Data-bus cycles in use, the numerator of bandwidth utilisation: bursts x burst length /
    /// data ratio.
    pub busy: u64,
    /// Cycles with work or a running timer (`n_activity`).
    pub active: u64,
    /// Column accesses to a row that an earlier request opened.
    pub row_hits: u64,
    /// Requests that found another row (or none) open.
    pub row_misses: u64,
    /// Sum over cycles of requests in the scheduler.
    pub queue_occupancy: u64,
}

/// A DRAM channel with the arbitration between its L2 banks.
#[derive(Clone, Debug)]
pub struct DramChannel {}

impl DramChannel {
    /// An idle channel.
    pub fn new(spec: &GpuSpec, id: ChannelId) -> Self {
        let _ = (spec, id);
        todo!()
    }
    /// One DRAM cycle: returns one finished request to its L2 bank, steps the banks, takes one
    /// request from the L2 banks into the latency queue and one from there into the scheduler.
    /// `banks` are this channel's sub-partitions in order.
    pub fn cycle(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        let _ = (now_core, banks);
        todo!()
    }
    /// Nothing inside; timers may still run.
    pub fn is_idle(&self) -> bool {
        todo!()
    }
    /// Accounts for `cycles` DRAM cycles while idle, exactly as if `cycle` had run with nothing to
    /// take.
    pub fn skip(&mut self, cycles: u64) {
        let _ = cycles;
        todo!()
    }
    /// Earliest core cycle at which `cycle` does anything but count, without input.
    pub fn next_event(&self, now_core: Cycle) -> Option<Cycle> {
        let _ = now_core;
        todo!()
    }
    /// Counters so far.
    pub fn counters(&self) -> &DramCounters {
        todo!()
    }
}
