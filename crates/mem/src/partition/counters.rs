//! Counters of sub-partitions (docs/model/partition.md).

use warploom_stats::{LOG2_BINS, Peak, declare_stats};

declare_stats! {
    /// Statistics of one sub-partition, or of all.
    pub struct PartitionCounters in "partition" {
        /// L2 cycles, summed over sub-partitions.
        pub cycles: u64 = Cycles;
        /// Packets taken from the network.
        pub packets: u64 = Packets, as "partiton_reqs_in_parallel";
        /// Packets of SMs that the other half of L2 is attached to.
        pub far_packets: u64 = Packets;
        /// Core cycles from an access to its packet's arrival here, summed over packets.
        pub arrival_cycles: u64 = Cycles, as "avg_icnt2mem_latency x replies";
        /// The longest of those times so far in the run.
        pub arrival_cycles_max: Peak = Cycles, as "max_icnt2mem_latency";
        /// Packets by the logarithm of that time.
        pub packets_by_cycles: [u64; 16] = Packets, as "icnt2mem_lat_table", by [LOG2_BINS];
        /// Core cycles to arrival of packets that were split by sector, counted once for each
        /// request made of them: where GPGPU-Sim splits a packet its averagemflatency begins anew.
        pub split_cycles: u64 = Cycles;
        /// Requests made of those packets: a sectored L2 takes one a sector.
        pub requests: u64 = Requests;
        /// Replies handed to the network.
        pub replies: u64 = Packets, as "partiton_replys_in_parallel";
        /// Writes of parts of sectors that L2 took.
        pub partial_writes: u64 = Requests;
        /// L2 cycles after a write in which its bank takes no other request (`write_cycles` and
        /// `partial_write_cycles` of the partition, less the cycle of the write itself).
        pub write_recovery_cycles: u64 = Cycles;
        /// Reads and atomics that found in L2 what a copy between host and device had left there:
        /// the first of each sector.
        pub copied_hits: u64 = Requests;
        /// L2 cycles in which a waiting packet would not have been taken.
        pub input_full: u64 = Cycles, as "gpu_stall_dramfull";
        /// Network cycles in which a reply could not enter the network.
        pub reply_stalls: u64 = Cycles, as "gpu_stall_icnt2sh";
    }
}
