//! Counters of the whole machine, summed from its parts.

use warploom_mem::AccessKind;
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

/// Sums of one kind of cache.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CacheTotals {
    /// Hits, hits on lines on their way, misses, sector misses, failed attempts, merged, by kind.
    pub by_outcome: [[u64; AccessKind::COUNT]; 6],
    /// Failed attempts by kind and reason.
    pub fail: [[u64; 5]; AccessKind::COUNT],
    /// Cycles in which the data port was busy.
    pub data_port_busy: u64,
    /// Cycles in which the fill port was busy.
    pub fill_port_busy: u64,
}

impl CacheTotals {
    /// Adds one cache.
    pub fn add(&mut self, c: &CacheCounters) {
        let rows = [
            &c.hit,
            &c.hit_reserved,
            &c.miss,
            &c.sector_miss,
            &c.reservation_fail,
            &c.mshr_hit,
        ];
        for (sum, row) in self.by_outcome.iter_mut().zip(rows) {
            sum.iter_mut().zip(row).for_each(|(s, v)| *s += v);
        }
        for (sum, row) in self.fail.iter_mut().zip(&c.fail) {
            sum.iter_mut().zip(row).for_each(|(s, v)| *s += v);
        }
        self.data_port_busy += c.data_port_busy;
        self.fill_port_busy += c.fill_port_busy;
    }

    /// What was counted since an earlier moment.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut delta = self.clone();
        for (row, old) in delta.by_outcome.iter_mut().zip(&earlier.by_outcome) {
            row.iter_mut().zip(old).for_each(|(v, o)| *v -= o);
        }
        for (row, old) in delta.fail.iter_mut().zip(&earlier.fail) {
            row.iter_mut().zip(old).for_each(|(v, o)| *v -= o);
        }
        delta.data_port_busy -= earlier.data_port_busy;
        delta.fill_port_busy -= earlier.fill_port_busy;
        delta
    }

    fn outcome(&self, row: usize) -> u64 {
        self.by_outcome[row].iter().sum()
    }

    /// Accesses that hit.
    pub fn hits(&self) -> u64 {
        self.outcome(0)
    }

    /// Accesses to lines on their way (`pending_hits`).
    pub fn pending_hits(&self) -> u64 {
        self.outcome(1)
    }

    /// Misses, sector misses included.
    pub fn misses(&self) -> u64 {
        self.outcome(2) + self.outcome(3)
    }

    /// Attempts that failed.
    pub fn reservation_fails(&self) -> u64 {
        self.outcome(4)
    }

    /// Accesses that were taken.
    pub fn accesses(&self) -> u64 {
        self.hits() + self.pending_hits() + self.misses()
    }

    /// Hits over accesses; `None` without accesses.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.accesses() > 0).then(|| self.hits() as f64 / self.accesses() as f64)
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
    pub l1d: CacheTotals,
    /// Instruction caches.
    pub l1i: CacheTotals,
    /// Constant caches.
    pub l1c: CacheTotals,
    /// Texture caches.
    pub l1t: CacheTotals,
    /// L2.
    pub l2: CacheTotals,
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
