//! Statistics of a channel that results show summed over channels.

use super::in_flight::Pending;
use warploom_base::Cycle;
use warploom_stats::{LOG2_BINS, Peak, declare_stats, log2_bin};

declare_stats! {
    /// Statistics of one DRAM channel, or of all.
    #[derive(Copy)]
    pub struct DramCounters in "dram" {
        /// Command cycles, summed over channels.
        pub cycles: u64 = Cycles, as "n_cmd";
        /// Command cycles without a command.
        pub idle_commands: u64 = Cycles, as "n_nop";
        /// Rows opened.
        pub activates: u64 = Commands, as "n_act";
        /// Rows closed.
        pub precharges: u64 = Commands, as "n_pre";
        /// Requests taken by the schedulers.
        pub requests: u64 = Requests, as "n_req";
        /// Column reads.
        pub reads: u64 = Commands, as "n_rd";
        /// Column reads of lines that L2 reads because of a write miss; `reads` has the others.
        pub allocate_reads: u64 = Commands, as "n_rd_L2_A";
        /// Column writes that are not write-backs.
        pub writes: u64 = Commands, as "n_write";
        /// Column writes of write-backs from L2.
        pub write_backs: u64 = Commands, as "n_wr_bk";
        /// Command cycles in which data moved.
        pub data_cycles: u64 = Cycles, as "bw_util";
        /// Command cycles with work or a running timer.
        pub active_cycles: u64 = Cycles, as "n_activity";
        /// Column accesses to a row that an earlier request opened.
        pub row_hits: u64 = Commands;
        /// Requests that found another row open, or none.
        pub row_misses: u64 = Commands;
        /// The part of row_hits that reads.
        pub row_hits_read: u64 = Commands;
        /// The part of row_misses that reads.
        pub row_misses_read: u64 = Commands;
        /// Requests in the schedulers, summed over cycles.
        pub queue_occupancy: u64 = Requests, as "queue_avg x n_cmd";
        /// Most requests in one scheduler at once, so far in the run.
        pub queue_max: Peak = Requests, as "mrqq max";
        /// Core cycles from a request's arrival at the scheduler to its bank, summed over requests.
        pub wait_cycles: u64 = Cycles, as "avg_mrq_latency x requests";
        /// The longest of those times so far in the run.
        pub wait_cycles_max: Peak = Cycles, as "maxmrqlatency";
        /// Requests by the logarithm of that time.
        pub waits: [u64; LOG2_BINS.len()] = Requests, as "mrq_lat_table", by [LOG2_BINS];
    }
}

impl DramCounters {
    /// Column commands of all kinds.
    pub(super) fn columns(&self) -> u64 {
        self.reads + self.allocate_reads + self.writes + self.write_backs
    }

    /// Counts a request that a bank gets in core cycle `now_core`; `hit` if to the row that the
    /// bank has open, or had open last.
    pub(super) fn assigned(&mut self, pending: &Pending, hit: bool, now_core: Cycle) {
        let read = u64::from(!pending.ticket.kind.is_write());
        if hit {
            self.row_hits += 1;
            self.row_hits_read += read;
        } else {
            self.row_misses += 1;
            self.row_misses_read += read;
        }
        let waited = now_core - pending.arrived_at;
        self.wait_cycles += waited;
        self.wait_cycles_max.note(waited);
        self.waits[log2_bin(waited)] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::DramCounters;
    use warploom_stats::{Counters, audit, audit_shapes};

    #[test]
    fn the_declaration_is_sound() {
        assert_eq!(audit(DramCounters::TABLES), Vec::<String>::new());
        assert_eq!(audit_shapes::<DramCounters>(), Vec::<String>::new());
    }
}
