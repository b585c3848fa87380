//! Statistics of the machine by part, and their sum over the parts.
//!
//! A statistic is declared where it is counted, in a group of its crate's. This file lists the
//! groups; sums and differences cover all that a group declares.

use warploom_mem::cache::CacheCounters;
use warploom_mem::dram::{DramCounters, DramDetail};
use warploom_mem::partition::PartitionCounters;
use warploom_noc::{NocCounters, NocDetail};
use warploom_policy::{BlockLimitCounters, SmFilterCounters, WarpPolicyCounters};
use warploom_sm::{ContextCounters, SmCounters, SmDetail};
use warploom_state::Value;
use warploom_stats::{Counters, declare_stats};

declare_stats! {
    /// Counters of the device itself.
    pub struct DeviceCounters in "gpu" {
        /// Core cycles of the run.
        pub cycles: u64 = Cycles, as "gpu_sim_cycle";
        /// L2 cycles in which a partition could not take a waiting request, summed over partitions.
        pub dram_full_stalls: u64 = Cycles, as "gpu_stall_dramfull";
        /// Network cycles in which a reply could not enter the network, summed over partitions.
        pub reply_stalls: u64 = Cycles, as "gpu_stall_icnt2sh";
        /// Blocks that the block scheduler started before an older one of their kernel (locality).
        pub blocks_reordered: u64 = Blocks;
        /// Times that an SM had enough registers and shared memory for a block, but not in one
        /// piece, while kernels share it.
        pub fragmented_blocks: u64 = Events;
        /// L2 cycles in which a packet came to at least one partition.
        pub arrival_cycles: u64 = Cycles, as "gpu_sim_cycle_parition_util";
        /// L2 cycles in which packets wait in the request network for few partitions: of stretches
        /// of 16 cycles with at least as many packets inside as there are partitions, which came
        /// to at most half of them.
        pub crowded_cycles: u64 = Cycles;
        /// Atomics carried out, by lane.
        pub atomics: u64 = ThreadInstructions;
    }
}

/// Declares a struct of groups of counters, with the difference of all of them.
macro_rules! counter_groups {
    ($(#[$meta:meta])* pub struct $Name:ident {
        $($(#[$doc:meta])* pub $field:ident: $Group:ty,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug, Default, Value)]
        pub struct $Name {
            $($(#[$doc])* pub $field: $Group,)+
        }

        impl $Name {
            /// Counts since `earlier`, a former state of the same counters or the default.
            pub fn since(&self, earlier: &Self) -> Self {
                Self {$($field: self.$field.since(&earlier.$field),)+}
            }
        }
    };
}

counter_groups! {
    /// Statistics of one SM and its caches.
    pub struct SmPart {
        /// Counters of the pipeline.
        pub sm: SmCounters,
        /// Policies of its warp schedulers.
        pub policy: WarpPolicyCounters,
        /// Counters of context switching.
        pub context: ContextCounters,
        /// Counters of the data cache.
        pub l1d: CacheCounters,
        /// Counters of the instruction cache.
        pub l1i: CacheCounters,
        /// Counters of the constant cache.
        pub l1c: CacheCounters,
        /// Counters of the texture cache.
        pub l1t: CacheCounters,
        /// Details of the pipeline; not part of any sum.
        pub detail: SmDetail,
    }
}

counter_groups! {
    /// Statistics of one L2 bank.
    pub struct BankPart {
        /// Queues around the bank.
        pub partition: PartitionCounters,
        /// Counters of the bank's cache.
        pub l2: CacheCounters,
    }
}

/// All counters of the machine at one moment, or their differences between two moments. Counters of
/// several equal parts stand once for each part.
///
/// A kernel that runs alone has the differences between its launch and its end, so that each event
/// counts for exactly one kernel: no cycle passes between the end of a kernel and the launch of the
/// next one. Requests that an earlier kernel left in the memory system (write-backs, fetched
/// instructions) count for the kernel in whose cycles they are served.
#[derive(Clone, PartialEq, Debug, Default, Value)]
pub struct PartCounters {
    /// Counters of the device itself.
    pub device: DeviceCounters,
    /// Counters of the SM filter.
    pub filter: SmFilterCounters,
    /// Counters of the block limit.
    pub limit: BlockLimitCounters,
    /// Counters of each SM.
    pub sms: Vec<SmPart>,
    /// Counters of each L2 bank.
    pub banks: Vec<BankPart>,
    /// Counters of each memory channel.
    pub channels: Vec<DramCounters>,
    /// Details of the channels; not part of any sum.
    pub channel_details: Vec<DramDetail>,
    /// Details of the networks, requests first; not part of any sum.
    pub network_details: [NocDetail; 2],
    /// Counters of the network towards memory.
    pub requests: NocCounters,
    /// Counters of the network towards SMs.
    pub replies: NocCounters,
}

counter_groups! {
    /// Statistics of the machine, summed over its parts.
    pub struct MachineCounters {
        /// Counters of the device itself.
        pub device: DeviceCounters,
        /// Counters of the SM filter.
        pub filter: SmFilterCounters,
        /// Counters of the block limit.
        pub limit: BlockLimitCounters,
        /// Pipelines of all SMs.
        pub sm: SmCounters,
        /// Policies of all warp schedulers.
        pub policy: WarpPolicyCounters,
        /// Context switching of all SMs.
        pub context: ContextCounters,
        /// Data caches of all SMs.
        pub l1d: CacheCounters,
        /// Instruction caches of all SMs.
        pub l1i: CacheCounters,
        /// Constant caches of all SMs.
        pub l1c: CacheCounters,
        /// Texture caches of all SMs.
        pub l1t: CacheCounters,
        /// Queues of all partitions.
        pub partition: PartitionCounters,
        /// Caches of all L2 banks.
        pub l2: CacheCounters,
        /// DRAM of all channels.
        pub dram: DramCounters,
        /// Counters of the network towards memory.
        pub requests: NocCounters,
        /// Counters of the network towards SMs.
        pub replies: NocCounters,
    }
}

/// Differences part by part; `earlier` is a former state or the default, which has no parts.
fn each_since<P: Clone>(now: &[P], earlier: &[P], since: impl Fn(&P, &P) -> P) -> Vec<P> {
    if earlier.is_empty() {
        return now.to_vec();
    }
    now.iter().zip(earlier).map(|(n, e)| since(n, e)).collect()
}

impl PartCounters {
    /// Counts since `earlier`, a former state of the same counters or the default.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            device: self.device.since(&earlier.device),
            filter: self.filter.since(&earlier.filter),
            limit: self.limit.since(&earlier.limit),
            sms: each_since(&self.sms, &earlier.sms, SmPart::since),
            banks: each_since(&self.banks, &earlier.banks, BankPart::since),
            channels: each_since(&self.channels, &earlier.channels, DramCounters::since),
            channel_details: each_since(
                &self.channel_details,
                &earlier.channel_details,
                DramDetail::since,
            ),
            network_details: std::array::from_fn(|at| {
                self.network_details[at].since(&earlier.network_details[at])
            }),
            requests: self.requests.since(&earlier.requests),
            replies: self.replies.since(&earlier.replies),
        }
    }

    /// Sum over all parts.
    pub fn sum(&self) -> MachineCounters {
        let mut sum = MachineCounters {
            device: self.device.clone(),
            filter: self.filter.clone(),
            limit: self.limit.clone(),
            requests: self.requests,
            replies: self.replies,
            ..MachineCounters::default()
        };
        for part in &self.sms {
            sum.sm.merge(&part.sm);
            sum.policy.merge(&part.policy);
            sum.context.merge(&part.context);
            sum.l1d.merge(&part.l1d);
            sum.l1i.merge(&part.l1i);
            sum.l1c.merge(&part.l1c);
            sum.l1t.merge(&part.l1t);
        }
        for bank in &self.banks {
            sum.partition.merge(&bank.partition);
            sum.l2.merge(&bank.l2);
        }
        self.channels.iter().for_each(|c| sum.dram.merge(c));
        sum
    }
}

impl MachineCounters {
    /// Share of DRAM command cycles in which data moved; `None` before any.
    pub fn dram_utilisation(&self) -> Option<f64> {
        (self.dram.cycles > 0).then(|| self.dram.data_cycles as f64 / self.dram.cycles as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_stats::Peak;

    fn channel(n: u64) -> DramCounters {
        DramCounters {
            cycles: n,
            row_hits: 12 * n,
            waits: std::array::from_fn(|bin| bin as u64 * n),
            ..DramCounters::default()
        }
    }

    fn network(n: u64) -> NocCounters {
        NocCounters {
            cycles: n,
            packets: 2 * n,
            ..NocCounters::default()
        }
    }

    fn parts(n: u64) -> PartCounters {
        let mut part = SmPart::default();
        part.sm.warp_instructions = n;
        part.policy.locality.demotions = 2 * n;
        part.l1d.accesses[0][0] = 3 * n;
        part.l1i.accesses[2][0] = 4 * n;
        part.l1c.accesses[1][0] = 5 * n;
        part.l1t.fill_port_busy = 6 * n;
        part.detail.return_cycles = 9 * n;
        let mut bank = BankPart::default();
        bank.partition.packets = 7 * n;
        bank.l2.accesses[3][0] = 8 * n;
        let detail = DramDetail {
            busy_banks: 10 * n,
            ..DramDetail::default()
        };
        let mut counters = PartCounters {
            channel_details: vec![detail; 2],
            sms: vec![part; 3],
            banks: vec![bank; 2],
            channels: vec![channel(n); 2],
            requests: network(n),
            replies: network(2 * n),
            network_details: [NocDetail {
                active_cycles: 11 * n,
                ..NocDetail::default()
            }; 2],
            ..PartCounters::default()
        };
        counters.device.cycles = n;
        counters.filter.throttle.checks = n;
        counters.limit.steps_down = n;
        counters
    }

    /// Counts before a moment and counts since then add up to all counts, by part and in sum.
    #[test]
    fn differences_add_up() {
        assert_eq!(parts(9).since(&parts(4)), parts(5));
        assert_eq!(parts(9).since(&PartCounters::default()), parts(9));
        assert_eq!(parts(9).sum().since(&parts(4).sum()), parts(5).sum());
    }

    /// Each counter of the machine is the sum of its parts'; networks and device stand alone.
    #[test]
    fn parts_add_up() {
        let sum = parts(10).sum();
        assert_eq!(sum.sm.warp_instructions, 3 * 10);
        assert_eq!(sum.policy.locality.demotions, 3 * 20);
        assert_eq!(sum.l1d.hits(), 3 * 30);
        assert_eq!(sum.l1i.misses(), 3 * 40);
        assert_eq!(sum.l1c.pending_hits(), 3 * 50);
        assert_eq!(sum.l1t.fill_port_busy, 3 * 60);
        assert_eq!(sum.partition.packets, 2 * 70);
        assert_eq!(sum.l2.misses(), 2 * 80);
        assert_eq!(sum.dram, channel(2 * 10));
        assert_eq!((sum.requests, sum.replies), (network(10), network(20)));
        assert_eq!((sum.device.cycles, sum.filter.throttle.checks), (10, 10));
        assert_eq!(sum.limit.steps_down, 10);
    }

    /// The largest values do not add up: a difference keeps them, a sum has the largest.
    #[test]
    fn peaks_are_the_largest() {
        let peaks = |values: [u64; 2]| PartCounters {
            channels: values
                .map(|value| DramCounters {
                    queue_max: Peak(value),
                    wait_cycles_max: Peak(10 * value),
                    ..DramCounters::default()
                })
                .to_vec(),
            ..PartCounters::default()
        };
        let delta = peaks([7, 5]).since(&peaks([6, 1]));
        assert_eq!(delta, peaks([7, 5]));
        assert_eq!(delta.sum().dram.queue_max, Peak(7));
        assert_eq!(delta.sum().dram.wait_cycles_max, Peak(70));
    }

    #[test]
    fn utilisation_is_of_command_cycles() {
        assert_eq!(MachineCounters::default().dram_utilisation(), None);
        let mut counters = MachineCounters::default();
        (counters.dram.data_cycles, counters.dram.cycles) = (1, 4);
        assert_eq!(counters.dram_utilisation(), Some(0.25));
    }
}
