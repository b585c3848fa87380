//! Counters of an SM beyond [`crate::SmCounters`]: issues by scheduler and slot, sizes of packets,
//! times of replies. GPGPU-Sim 4.2 prints them; nothing else depends on them. Results have them by
//! SM only, and their digest leaves them out.

use warploom_mem::{ACCESS_KINDS, AccessKind};
use warploom_stats::{LOG2_BINS, Peak, declare_stats};

/// Most warp schedulers of an SM.
pub const MAX_SCHEDULERS: usize = 16;
/// Warp slots counted one by one.
pub const MAX_SLOTS: usize = 64;

/// Labels of issues by their number of instructions.
pub const ISSUES: &[&str] = &["single", "dual"];
/// Labels of warp schedulers.
pub const SCHEDULERS: &[&str] = &[
    "ws0", "ws1", "ws2", "ws3", "ws4", "ws5", "ws6", "ws7", "ws8", "ws9", "ws10", "ws11", "ws12",
    "ws13", "ws14", "ws15",
];
/// Labels of warp slots.
pub const WARP_SLOTS: &[&str] = &[
    "slot_0", "slot_1", "slot_2", "slot_3", "slot_4", "slot_5", "slot_6", "slot_7", "slot_8",
    "slot_9", "slot_10", "slot_11", "slot_12", "slot_13", "slot_14", "slot_15", "slot_16",
    "slot_17", "slot_18", "slot_19", "slot_20", "slot_21", "slot_22", "slot_23", "slot_24",
    "slot_25", "slot_26", "slot_27", "slot_28", "slot_29", "slot_30", "slot_31", "slot_32",
    "slot_33", "slot_34", "slot_35", "slot_36", "slot_37", "slot_38", "slot_39", "slot_40",
    "slot_41", "slot_42", "slot_43", "slot_44", "slot_45", "slot_46", "slot_47", "slot_48",
    "slot_49", "slot_50", "slot_51", "slot_52", "slot_53", "slot_54", "slot_55", "slot_56",
    "slot_57", "slot_58", "slot_59", "slot_60", "slot_61", "slot_62", "slot_63",
];
/// Sizes of packets in bytes: a header, and up to four sectors.
pub const PACKET_BYTES: [u32; 5] = [8, 40, 72, 104, 136];
/// Labels of these sizes.
pub const PACKET_SIZES: &[&str] = &["bytes_8", "bytes_40", "bytes_72", "bytes_104", "bytes_136"];

/// Position of the smallest of [`PACKET_BYTES`] that holds `bytes`.
#[inline]
pub fn packet_size(bytes: u32) -> usize {
    let sectors = bytes.saturating_sub(PACKET_BYTES[0]).div_ceil(32) as usize;
    sectors.min(PACKET_BYTES.len() - 1)
}

declare_stats! {
    /// An SM in detail.
    pub struct SmDetail in "sm_detail" {
        /// Scheduler cycles in which a warp issued one instruction, or more, by scheduler.
        pub issues: [[u64; MAX_SCHEDULERS]; 2] = Slots, as "single_issue_nums, dual_issue_nums", by [ISSUES, SCHEDULERS];
        /// Instructions issued by warp slot; the last stands for all from there on.
        pub issued_by_slot: [u64; MAX_SLOTS] = WarpInstructions, as "warp_id issue ditsribution", by [WARP_SLOTS];
        /// Packets sent to memory by kind of access and size.
        pub requests: [[u64; 5]; AccessKind::COUNT] = Packets, as "traffic_breakdown_coretomem", by [ACCESS_KINDS, PACKET_SIZES];
        /// Packets received from memory by kind of access and size.
        pub replies: [[u64; 5]; AccessKind::COUNT] = Packets, as "traffic_breakdown_memtocore", by [ACCESS_KINDS, PACKET_SIZES];
        /// Reads that missed the data cache and went past it, as the allocation policy decided
        /// (`sm.l1d_allocation`).
        pub l1d_bypasses: u64 = Accesses;
        /// Reads that missed the data cache and found their data in a line that idle registers kept
        /// (`sm.l1d_victims`); the data cache does not count them.
        pub victim_hits: u64 = Accesses;
        /// Lines that the data cache replaced and that idle registers took.
        pub victim_lines_kept: u64 = Events;
        /// Kept lines that were dropped later: for another line, for a block that took the
        /// registers, or because the data were written.
        pub victim_lines_dropped: u64 = Events;
        /// Loads that the data cache refused, or that were not to miss it, and that were parked to
        /// be executed again.
        pub parked_loads: u64 = WarpInstructions;
        /// Lines of code that the stream buffer requested (`sm.prefetched_code_lines`); the
        /// instruction cache does not count them as accesses.
        pub prefetched_code_lines: u64 = Requests;
        /// Core cycles from a reply's way into the network to the load/store unit, summed over
        /// replies.
        pub return_cycles: u64 = Cycles, as "avg_icnt2sh_latency x replies";
        /// The longest of those times so far in the run.
        pub return_cycles_max: Peak = Cycles, as "max_icnt2sh_latency";
        /// Replies by the logarithm of that time.
        pub returns_by_cycles: [u64; 16] = Packets, as "icnt2sh_lat_table", by [LOG2_BINS];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_say_what_they_count() {
        let numbered = |labels: &[&str], before: &str| {
            let expected: Vec<_> = (0..labels.len()).map(|i| format!("{before}{i}")).collect();
            assert_eq!(labels, expected);
        };
        numbered(SCHEDULERS, "ws");
        numbered(WARP_SLOTS, "slot_");
        let sizes = PACKET_BYTES.map(|bytes| format!("bytes_{bytes}"));
        assert_eq!(PACKET_SIZES, sizes);
        let problems = warploom_stats::audit_shapes::<SmDetail>();
        assert!(problems.is_empty(), "{problems:?}");
    }

    /// Headers alone, then a header and its sectors; odd sizes count as the next.
    #[test]
    fn packets_go_by_size() {
        for (at, bytes) in PACKET_BYTES.into_iter().enumerate() {
            assert_eq!(packet_size(bytes), at);
        }
        assert_eq!([9, 41, 500].map(packet_size), [1, 2, 4]);
    }
}
