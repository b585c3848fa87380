//! Counters of the whole machine, summed from its parts.

use warploom_mem::cache::CacheCounters;
use warploom_mem::dram::DramCounters;
use warploom_noc::NocCounters;
use warploom_sm::SmCounters;
use warploom_stats::{Counters, declare_stats};

declare_stats! {
    /// Counters of the device itself.
    pub struct DeviceCounters in "gpu" {
        /// Core cycles.
        pub cycles: u64 = Cycles, as "gpu_sim_cycle";
        /// L2 cycles in which a partition could not take a waiting request, summed over partitions.
        pub dram_full_stalls: u64 = Cycles, as "gpu_stall_dramfull";
        /// Network cycles in which a reply could not enter the network, summed over partitions.
        pub reply_stalls: u64 = Cycles, as "gpu_stall_icnt2sh";
        /// Atomics carried out, by lane.
        pub atomics: u64 = ThreadInstructions;
    }
}

/// Everything that the machine counts, at one moment or between two.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MachineCounters {
    /// The device.
    pub device: DeviceCounters,
    /// All SMs.
    pub sm: SmCounters,
    /// Data caches.
    pub l1d: CacheCounters,
    /// Instruction caches.
    pub l1i: CacheCounters,
    /// Constant caches.
    pub l1c: CacheCounters,
    /// Texture caches.
    pub l1t: CacheCounters,
    /// L2.
    pub l2: CacheCounters,
    /// All channels.
    pub dram: DramCounters,
    /// Network towards memory.
    pub requests: NocCounters,
    /// Network towards SMs.
    pub replies: NocCounters,
}

impl MachineCounters {
    /// What was counted since an earlier moment.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            device: self.device.since(&earlier.device),
            sm: self.sm.since(&earlier.sm),
            l1d: self.l1d.since(&earlier.l1d),
            l1i: self.l1i.since(&earlier.l1i),
            l1c: self.l1c.since(&earlier.l1c),
            l1t: self.l1t.since(&earlier.l1t),
            l2: self.l2.since(&earlier.l2),
            dram: dram_since(&self.dram, &earlier.dram),
            requests: noc_since(&self.requests, &earlier.requests),
            replies: noc_since(&self.replies, &earlier.replies),
        }
    }

    /// Share of DRAM command cycles in which data moved; `None` before any.
    pub fn dram_utilisation(&self) -> Option<f64> {
        (self.dram.n_cmd > 0).then(|| self.dram.busy as f64 / self.dram.n_cmd as f64)
    }
}

pub(crate) fn add_dram(sum: &mut DramCounters, c: &DramCounters) {
    sum.n_cmd += c.n_cmd;
    sum.n_nop += c.n_nop;
    sum.n_act += c.n_act;
    sum.n_pre += c.n_pre;
    sum.n_req += c.n_req;
    sum.n_rd += c.n_rd;
    sum.n_rd_l2_alloc += c.n_rd_l2_alloc;
    sum.n_write += c.n_write;
    sum.n_wr_bk += c.n_wr_bk;
    sum.busy += c.busy;
    sum.active += c.active;
    sum.row_hits += c.row_hits;
    sum.row_misses += c.row_misses;
    sum.queue_occupancy += c.queue_occupancy;
}

fn dram_since(now: &DramCounters, then: &DramCounters) -> DramCounters {
    DramCounters {
        n_cmd: now.n_cmd - then.n_cmd,
        n_nop: now.n_nop - then.n_nop,
        n_act: now.n_act - then.n_act,
        n_pre: now.n_pre - then.n_pre,
        n_req: now.n_req - then.n_req,
        n_rd: now.n_rd - then.n_rd,
        n_rd_l2_alloc: now.n_rd_l2_alloc - then.n_rd_l2_alloc,
        n_write: now.n_write - then.n_write,
        n_wr_bk: now.n_wr_bk - then.n_wr_bk,
        busy: now.busy - then.busy,
        active: now.active - then.active,
        row_hits: now.row_hits - then.row_hits,
        row_misses: now.row_misses - then.row_misses,
        queue_occupancy: now.queue_occupancy - then.queue_occupancy,
    }
}

fn noc_since(now: &NocCounters, then: &NocCounters) -> NocCounters {
    NocCounters {
        cycles: now.cycles - then.cycles,
        packets: now.packets - then.packets,
        flits: now.flits - then.flits,
        bytes: now.bytes - then.bytes,
        conflicts: now.conflicts - then.conflicts,
    }
}
