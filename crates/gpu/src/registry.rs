//! The declared form of what memory counts: names, units and sentences for results, one group a
//! part. Parts count in plain structs of their own; these are made from them when a result is.

use crate::counters::{BankPart, DeviceCounters, MachineCounters, PartCounters, SmPart};
use warploom_mem::cache::CacheCounters;
use warploom_mem::dram::DramDetail;
use warploom_mem::partition::PartitionCounters;
use warploom_noc::NocCounters;
use warploom_policy::{SmFilterCounters, WarpPolicyCounters};
use warploom_sm::{ACCESS_KINDS, ContextCounters, SlotCause, SmCounters, SmDetail};
use warploom_stats::{Counters, LOG2_BINS, Peak, StatTable, declare_stats};

/// Labels of access outcomes.
pub const OUTCOMES: &[&str] = &[
    "hit",
    "hit_reserved",
    "miss",
    "sector_miss",
    "reservation_fail",
    "mshr_hit",
];
/// Labels of the reasons why an access was not taken.
pub const FAIL_REASONS: &[&str] = &[
    "line_alloc",
    "miss_queue_full",
    "mshr_entry",
    "mshr_merge",
    "mshr_rw_pending",
];

macro_rules! cache_group {
    ($($name:ident in $group:literal, $sentence:literal, $gpgpusim:literal;)+) => {$(
        declare_stats! {
            #[doc = $sentence]
            pub struct $name in $group {
                #[doc = $sentence]
                #[doc = " Accesses by outcome and kind; retries after a failed reservation count again, merged ones count twice."]
                pub accesses: [[u64; 12]; 6] = Accesses, as $gpgpusim, by [OUTCOMES, ACCESS_KINDS];
                /// Failed attempts by kind and reason.
                pub fails: [[u64; 5]; 12] = Accesses, by [ACCESS_KINDS, FAIL_REASONS];
                /// Cycles in which the data port moved data.
                pub data_port_busy: u64 = Cycles;
                /// Cycles in which the data port moved data of hits, and not of lines that leave.
                pub data_port_hits: u64 = Cycles;
                /// Cycles in which the fill port moved data.
                pub fill_port_busy: u64 = Cycles;
            }
        }

        impl From<&CacheCounters> for $name {
            fn from(c: &CacheCounters) -> Self {
                Self {
                    accesses: [
                        c.hit,
                        c.hit_reserved,
                        c.miss,
                        c.sector_miss,
                        c.reservation_fail,
                        c.mshr_hit,
                    ],
                    fails: c.fail,
                    data_port_busy: c.data_port_busy,
                    data_port_hits: c.data_port_hits,
                    fill_port_busy: c.fill_port_busy,
                }
            }
        }
    )+};
}

cache_group! {
    L1dStats in "l1d", "L1 data caches of all SMs.", "Total_core_cache_stats_breakdown";
    L1iStats in "l1i", "Instruction caches of all SMs.", "L1I_total_cache_accesses";
    L1cStats in "l1c", "Constant caches of all SMs.", "L1C_total_cache_accesses";
    L1tStats in "l1t", "Texture caches of all SMs.", "L1T_total_cache_accesses";
    L2Stats in "l2", "L2 of all partitions.", "L2_cache_stats_breakdown";
}

declare_stats! {
    /// All DRAM channels.
    pub struct DramStats in "dram" {
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
        pub waits: [u64; 16] = Requests, as "mrq_lat_table", by [LOG2_BINS];
    }
}

macro_rules! noc_group {
    ($($name:ident in $group:literal, $sentence:literal, $gpgpusim:literal;)+) => {$(
        declare_stats! {
            #[doc = $sentence]
            pub struct $name in $group {
                /// Network cycles.
                pub cycles: u64 = Cycles;
                #[doc = $sentence]
                #[doc = " Packets injected."]
                pub packets: u64 = Packets, as $gpgpusim;
                /// Flits that crossed the switch.
                pub flits: u64 = Flits;
                /// Bytes of delivered packets.
                pub bytes: u64 = Bytes;
                /// Heads that wanted an output another input got, summed over cycles.
                pub conflicts: u64 = Events;
                /// Packets inside, summed over cycles: the time that packets spend inside.
                pub packet_cycles: u64 = Cycles;
            }
        }

        impl From<&NocCounters> for $name {
            fn from(c: &NocCounters) -> Self {
                Self {
                    cycles: c.cycles,
                    packets: c.packets,
                    flits: c.flits,
                    bytes: c.bytes,
                    conflicts: c.conflicts,
                    packet_cycles: c.packet_cycles,
                }
            }
        }
    )+};
}

noc_group! {
    RequestNetworkStats in "noc_to_l2", "The network from SMs to L2.", "Req_Network_injected_packets_num";
    ReplyNetworkStats in "noc_to_sm", "The network from L2 to SMs.", "Reply_Network_injected_packets_num";
}

declare_stats! {
    /// One network in detail: GPGPU-Sim's local crossbar.
    pub struct NocDetail in "noc_detail" {
        /// Network cycles with a packet at an input.
        pub active_cycles: u64 = Cycles;
        /// Packets at inputs at the end of a cycle, summed over cycles.
        pub input_packet_cycles: u64 = Cycles, as "*_Network_in_buffer_avg_util x cycles x inputs";
        /// Packets at outputs at the end of a cycle, summed over cycles.
        pub output_packet_cycles: u64 = Cycles, as "*_Network_out_buffer_avg_util x cycles x outputs";
        /// Outputs without room as their turn came, summed over cycles.
        pub full_output_cycles: u64 = Cycles, as "*_Network_out_buffer_full_per_cycle x cycles";
    }
}

impl From<&NocCounters> for NocDetail {
    fn from(c: &NocCounters) -> Self {
        Self {
            active_cycles: c.active_cycles,
            input_packet_cycles: c.input_packet_cycles,
            output_packet_cycles: c.output_packet_cycles,
            full_output_cycles: c.full_output_cycles,
        }
    }
}

impl From<&warploom_mem::dram::DramCounters> for DramStats {
    fn from(c: &warploom_mem::dram::DramCounters) -> Self {
        Self {
            cycles: c.n_cmd,
            idle_commands: c.n_nop,
            activates: c.n_act,
            precharges: c.n_pre,
            requests: c.n_req,
            reads: c.n_rd,
            allocate_reads: c.n_rd_l2_alloc,
            writes: c.n_write,
            write_backs: c.n_wr_bk,
            data_cycles: c.busy,
            active_cycles: c.active,
            row_hits: c.row_hits,
            row_misses: c.row_misses,
            row_hits_read: c.row_hits_read,
            row_misses_read: c.row_misses_read,
            queue_occupancy: c.queue_occupancy,
            queue_max: c.queue_max,
            wait_cycles: c.wait_cycles,
            wait_cycles_max: c.wait_cycles_max,
            waits: c.waits,
        }
    }
}

declare_stats! {
    /// GPGPU-Sim's three classes of scheduler cycles without an issue, made of `sm.slots`.
    pub struct IssueStats in "issue" {
        /// No warp of an SM with blocks has an instruction to issue: no_warp, barrier and
        /// instruction_buffer, without cycles in which the SM held no block.
        pub idle: u64 = Slots, as "W0_Idle";
        /// Every warp with an instruction waits for the scoreboard: memory_dependence and
        /// execution_dependence.
        pub scoreboard: u64 = Slots, as "W0_Scoreboard";
        /// A warp passed the scoreboard and did not issue (memory_pipe, execution_pipe, policy).
        pub stall: u64 = Slots, as "Stall";
    }
}

impl From<&SmCounters> for IssueStats {
    fn from(c: &SmCounters) -> Self {
        let sum = |causes: &[SlotCause]| {
            causes
                .iter()
                .map(|cause| c.slots[*cause as usize])
                .sum::<u64>()
        };
        let idle = sum(&[
            SlotCause::NoWarp,
            SlotCause::Barrier,
            SlotCause::InstructionBuffer,
        ]);
        let stalled = sum(&[
            SlotCause::MemoryPipe,
            SlotCause::ExecutionPipe,
            SlotCause::Policy,
        ]);
        Self {
            idle: idle - c.inactive_slots,
            scoreboard: sum(&[SlotCause::MemoryDependence, SlotCause::ExecutionDependence]),
            stall: stalled,
        }
    }
}

/// Every table of the machine: the registry that `list stats` prints.
pub const TABLES: &[StatTable] = &[
    DeviceCounters::TABLE,
    SmFilterCounters::TABLE,
    SmCounters::TABLE,
    IssueStats::TABLE,
    WarpPolicyCounters::TABLE,
    ContextCounters::TABLE,
    L1dStats::TABLE,
    L1iStats::TABLE,
    L1cStats::TABLE,
    L1tStats::TABLE,
    PartitionCounters::TABLE,
    L2Stats::TABLE,
    DramStats::TABLE,
    RequestNetworkStats::TABLE,
    ReplyNetworkStats::TABLE,
    SmDetail::TABLE,
    DramDetail::TABLE,
    NocDetail::TABLE,
];

/// What `$method` gives for every group of a part, one after the other.
macro_rules! groups_of {
    (sm $c:expr, $method:ident) => {
        [
            Counters::$method(&$c.sm),
            Counters::$method(&IssueStats::from(&$c.sm)),
            Counters::$method(&$c.policy),
            Counters::$method(&$c.context),
            Counters::$method(&L1dStats::from(&$c.l1d)),
            Counters::$method(&L1iStats::from(&$c.l1i)),
            Counters::$method(&L1cStats::from(&$c.l1c)),
            Counters::$method(&L1tStats::from(&$c.l1t)),
        ]
        .concat()
    };
    (bank $c:expr, $method:ident) => {
        [Counters::$method(&$c.partition), Counters::$method(&L2Stats::from(&$c.l2))].concat()
    };
    (machine $c:expr, $method:ident) => {
        [
            Counters::$method(&$c.device),
            Counters::$method(&$c.filter),
            groups_of!(sm $c, $method),
            groups_of!(bank $c, $method),
            Counters::$method(&DramStats::from(&$c.dram)),
            Counters::$method(&RequestNetworkStats::from(&$c.requests)),
            Counters::$method(&ReplyNetworkStats::from(&$c.replies)),
        ]
        .concat()
    };
}

impl SmPart {
    /// Every counter by its full name, but for the details.
    pub fn named(&self) -> Vec<(String, u64)> {
        groups_of!(sm self, named)
    }

    /// The details, too.
    pub fn detailed(&self) -> Vec<(String, u64)> {
        [self.named(), self.detail.named()].concat()
    }
}

impl BankPart {
    /// Every counter by its full name.
    pub fn named(&self) -> Vec<(String, u64)> {
        groups_of!(bank self, named)
    }
}

impl PartCounters {
    /// Every counter of one channel by its full name.
    pub fn channel_named(&self, channel: usize) -> Vec<(String, u64)> {
        DramStats::from(&self.channels[channel]).named()
    }

    /// The details, too.
    pub fn channel_detailed(&self, channel: usize) -> Vec<(String, u64)> {
        let detail = self.channel_details[channel].named();
        [self.channel_named(channel), detail].concat()
    }

    /// Details of the networks: towards L2, then towards SMs.
    pub fn networks_detailed(&self) -> [Vec<(String, u64)>; 2] {
        [&self.requests, &self.replies].map(|network| NocDetail::from(network).named())
    }
}

impl MachineCounters {
    /// Every counter by its full name.
    pub fn named(&self) -> Vec<(String, u64)> {
        groups_of!(machine self, named)
    }
}

impl warploom_stats::Snapshot for MachineCounters {
    fn since(&self, earlier: &Self) -> Self {
        self.since(earlier)
    }

    fn named(&self) -> Vec<(String, u64)> {
        self.named()
    }

    fn values(&self) -> Vec<u64> {
        groups_of!(machine self, values)
    }
}

impl warploom_stats::Snapshot for PartCounters {
    fn since(&self, earlier: &Self) -> Self {
        self.since(earlier)
    }

    /// The whole machine's, then each part's with the part before them: `sm3:l1d.fill_port_busy`.
    fn named(&self) -> Vec<(String, u64)> {
        let mut all = self.sum().named();
        let mut add = |part: &str, at: usize, named: Vec<(String, u64)>| {
            let of_part = |(name, value)| (format!("{part}{at}:{name}"), value);
            all.extend(named.into_iter().map(of_part));
        };
        for (i, sm) in self.sms.iter().enumerate() {
            add("sm", i, sm.named());
        }
        for (i, bank) in self.banks.iter().enumerate() {
            add("bank", i, bank.named());
        }
        for i in 0..self.channels.len() {
            add("channel", i, self.channel_named(i));
        }
        all
    }

    fn values(&self) -> Vec<u64> {
        let mut all = warploom_stats::Snapshot::values(&self.sum());
        for sm in &self.sms {
            all.extend::<Vec<u64>>(groups_of!(sm sm, values));
        }
        for bank in &self.banks {
            all.extend::<Vec<u64>>(groups_of!(bank bank, values));
        }
        for channel in &self.channels {
            all.extend(Counters::values(&DramStats::from(channel)));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_sound() {
        assert_eq!(warploom_stats::audit(TABLES), Vec::<String>::new());
        assert!(TABLES.len() >= 10);
    }

    #[test]
    fn values_are_in_the_order_of_their_names() {
        let mut counters = PartCounters {
            sms: vec![SmPart::default(); 2],
            banks: vec![BankPart::default()],
            channels: vec![Default::default(); 2],
            ..PartCounters::default()
        };
        counters.sms[1].l1t.fill_port_busy = 3;
        counters.banks[0].l2.data_port_busy = 5;
        counters.channels[1].n_pre = 7;
        let named = warploom_stats::Snapshot::named(&counters);
        let values: Vec<u64> = named.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, warploom_stats::Snapshot::values(&counters));
        for (name, value) in [
            ("sm1:l1t.fill_port_busy", 3),
            ("l1t.fill_port_busy", 3),
            ("bank0:l2.data_port_busy", 5),
            ("channel1:dram.precharges", 7),
        ] {
            assert!(named.contains(&(name.to_owned(), value)), "{name}");
        }
    }

    #[test]
    fn every_counter_has_a_name_of_its_own() {
        let named = MachineCounters::default().named();
        let names: std::collections::BTreeSet<_> = named.iter().map(|(n, _)| n).collect();
        assert_eq!(names.len(), named.len());
        assert!(names.contains(&"l2.accesses.hit.global_read".to_owned()));
    }
}
