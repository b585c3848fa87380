//! What the machine counts, by part, and its sum over the parts.

use warploom_mem::cache::CacheCounters;
use warploom_mem::dram::{DramCounters, DramDetail};
use warploom_mem::partition::PartitionCounters;
use warploom_noc::NocCounters;
use warploom_policy::{SmFilterCounters, WarpPolicyCounters};
use warploom_sm::{ContextCounters, SmCounters, SmDetail};
use warploom_stats::{Counter, Counters, declare_stats};

declare_stats! {
    /// Counters of the device itself.
    pub struct DeviceCounters in "gpu" {
        /// Core cycles.
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
        /// Atomics carried out, by lane.
        pub atomics: u64 = ThreadInstructions;
    }
}

/// What one SM and its caches count.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SmPart {
    /// The pipeline.
    pub sm: SmCounters,
    /// Its warp schedulers' policies.
    pub policy: WarpPolicyCounters,
    /// Context switching.
    pub context: ContextCounters,
    /// Data cache.
    pub l1d: CacheCounters,
    /// Instruction cache.
    pub l1i: CacheCounters,
    /// Constant cache.
    pub l1c: CacheCounters,
    /// Texture cache.
    pub l1t: CacheCounters,
    /// More of the pipeline; not part of any sum.
    pub detail: SmDetail,
}

/// What one L2 bank counts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BankPart {
    /// Its queues.
    pub partition: PartitionCounters,
    /// L2.
    pub l2: CacheCounters,
}

/// Everything that the machine counts, at one moment or between two. What is counted for each of
/// several parts stands once a part.
///
/// A kernel that runs alone is given what is counted from its launch to its end, each count to
/// exactly one kernel: no cycle passes between the end of one and the
/// launch of the next, so what an earlier kernel left in the memory system (write-backs, fetched
/// instructions) counts where its cycles do.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PartCounters {
    /// The device.
    pub device: DeviceCounters,
    /// The SM filter.
    pub filter: SmFilterCounters,
    /// By SM.
    pub sms: Vec<SmPart>,
    /// By L2 bank.
    pub banks: Vec<BankPart>,
    /// By memory channel.
    pub channels: Vec<DramCounters>,
    /// More of the channels; not part of any sum.
    pub channel_details: Vec<DramDetail>,
    /// Network towards memory.
    pub requests: NocCounters,
    /// Network towards SMs.
    pub replies: NocCounters,
}

/// Everything that the machine counts, summed over its parts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MachineCounters {
    /// The device.
    pub device: DeviceCounters,
    /// The SM filter.
    pub filter: SmFilterCounters,
    /// All SMs.
    pub sm: SmCounters,
    /// All warp schedulers' policies.
    pub policy: WarpPolicyCounters,
    /// Context switching of all SMs.
    pub context: ContextCounters,
    /// Data caches.
    pub l1d: CacheCounters,
    /// Instruction caches.
    pub l1i: CacheCounters,
    /// Constant caches.
    pub l1c: CacheCounters,
    /// Texture caches.
    pub l1t: CacheCounters,
    /// All partitions' queues.
    pub partition: PartitionCounters,
    /// L2.
    pub l2: CacheCounters,
    /// All channels.
    pub dram: DramCounters,
    /// Network towards memory.
    pub requests: NocCounters,
    /// Network towards SMs.
    pub replies: NocCounters,
}

impl SmPart {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            sm: self.sm.since(&earlier.sm),
            policy: self.policy.since(&earlier.policy),
            context: self.context.since(&earlier.context),
            l1d: self.l1d.since(&earlier.l1d),
            l1i: self.l1i.since(&earlier.l1i),
            l1c: self.l1c.since(&earlier.l1c),
            l1t: self.l1t.since(&earlier.l1t),
            detail: self.detail.since(&earlier.detail),
        }
    }
}

impl BankPart {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            partition: self.partition.since(&earlier.partition),
            l2: self.l2.since(&earlier.l2),
        }
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
    /// What was counted since an earlier moment.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            device: self.device.since(&earlier.device),
            filter: self.filter.since(&earlier.filter),
            sms: each_since(&self.sms, &earlier.sms, SmPart::since),
            banks: each_since(&self.banks, &earlier.banks, BankPart::since),
            channels: each_since(&self.channels, &earlier.channels, dram_since),
            channel_details: each_since(
                &self.channel_details,
                &earlier.channel_details,
                DramDetail::since,
            ),
            requests: noc_since(&self.requests, &earlier.requests),
            replies: noc_since(&self.replies, &earlier.replies),
        }
    }

    /// The sum over parts.
    pub fn sum(&self) -> MachineCounters {
        let mut sum = MachineCounters {
            device: self.device.clone(),
            filter: self.filter.clone(),
            requests: self.requests,
            replies: self.replies,
            ..MachineCounters::default()
        };
        for part in &self.sms {
            sum.sm.merge(&part.sm);
            sum.policy.merge(&part.policy);
            sum.context.merge(&part.context);
            sum.l1d.add(&part.l1d);
            sum.l1i.add(&part.l1i);
            sum.l1c.add(&part.l1c);
            sum.l1t.add(&part.l1t);
        }
        for bank in &self.banks {
            sum.partition.merge(&bank.partition);
            sum.l2.add(&bank.l2);
        }
        self.channels
            .iter()
            .for_each(|c| add_dram(&mut sum.dram, c));
        sum
    }
}

impl MachineCounters {
    /// What was counted since an earlier moment.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            device: self.device.since(&earlier.device),
            filter: self.filter.since(&earlier.filter),
            sm: self.sm.since(&earlier.sm),
            policy: self.policy.since(&earlier.policy),
            context: self.context.since(&earlier.context),
            l1d: self.l1d.since(&earlier.l1d),
            l1i: self.l1i.since(&earlier.l1i),
            l1c: self.l1c.since(&earlier.l1c),
            l1t: self.l1t.since(&earlier.l1t),
            partition: self.partition.since(&earlier.partition),
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

/// Applies `$op(&mut into.field, &from.field)` to every field.
macro_rules! each_field {
    ($op:path, $into:expr, $from:expr, [$($field:ident),+ $(,)?]) => {{
        $($op(&mut $into.$field, &$from.$field);)+
    }};
}

macro_rules! each_dram_field {
    ($op:path, $into:expr, $from:expr) => {
        each_field!(
            $op,
            $into,
            $from,
            [
                n_cmd,
                n_nop,
                n_act,
                n_pre,
                n_req,
                n_rd,
                n_rd_l2_alloc,
                n_write,
                n_wr_bk,
                busy,
                active,
                row_hits,
                row_misses,
                row_hits_read,
                row_misses_read,
                queue_occupancy,
                queue_max,
                wait_cycles,
                wait_cycles_max,
                waits
            ]
        )
    };
}

fn add_dram(sum: &mut DramCounters, c: &DramCounters) {
    each_dram_field!(Counter::add, sum, c);
}

fn dram_since(now: &DramCounters, then: &DramCounters) -> DramCounters {
    let mut delta = *now;
    each_dram_field!(Counter::subtract, delta, then);
    delta
}

fn noc_since(now: &NocCounters, then: &NocCounters) -> NocCounters {
    let mut delta = *now;
    each_field!(
        Counter::subtract,
        delta,
        then,
        [
            cycles,
            packets,
            flits,
            bytes,
            conflicts,
            packet_cycles,
            active_cycles,
            input_packet_cycles,
            output_packet_cycles,
            full_output_cycles
        ]
    );
    delta
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_stats::Peak;

    /// A channel that counted `n`, 2 `n`, ... Every field stands here: a new one does not compile
    /// before it is named.
    fn channel(n: u64) -> DramCounters {
        DramCounters {
            n_cmd: n,
            n_nop: 2 * n,
            n_act: 3 * n,
            n_pre: 4 * n,
            n_req: 5 * n,
            n_rd: 6 * n,
            n_rd_l2_alloc: 7 * n,
            n_write: 8 * n,
            n_wr_bk: 9 * n,
            busy: 10 * n,
            active: 11 * n,
            row_hits: 12 * n,
            row_misses: 13 * n,
            row_hits_read: 14 * n,
            row_misses_read: 15 * n,
            queue_occupancy: 16 * n,
            queue_max: Peak(0),
            wait_cycles: 17 * n,
            wait_cycles_max: Peak(0),
            waits: std::array::from_fn(|bin| bin as u64 * n),
        }
    }

    fn network(n: u64) -> NocCounters {
        NocCounters {
            cycles: n,
            packets: 2 * n,
            flits: 3 * n,
            bytes: 4 * n,
            conflicts: 5 * n,
            packet_cycles: 6 * n,
            active_cycles: 7 * n,
            input_packet_cycles: 8 * n,
            output_packet_cycles: 9 * n,
            full_output_cycles: 10 * n,
        }
    }

    fn parts(n: u64) -> PartCounters {
        let mut part = SmPart::default();
        part.sm.warp_instructions = n;
        part.policy.demotions = 2 * n;
        part.l1d.hit[0] = 3 * n;
        part.l1i.miss[0] = 4 * n;
        part.l1c.hit_reserved[0] = 5 * n;
        part.l1t.fill_port_busy = 6 * n;
        part.detail.return_cycles = 9 * n;
        let mut bank = BankPart::default();
        bank.partition.packets = 7 * n;
        bank.l2.sector_miss[0] = 8 * n;
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
            ..PartCounters::default()
        };
        counters.device.cycles = n;
        counters.filter.checks = n;
        counters
    }

    /// What was counted between two moments and what was counted before the first are all: by part
    /// and in sum.
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
        assert_eq!(sum.policy.demotions, 3 * 20);
        assert_eq!(sum.l1d.hits(), 3 * 30);
        assert_eq!(sum.l1i.misses(), 3 * 40);
        assert_eq!(sum.l1c.pending_hits(), 3 * 50);
        assert_eq!(sum.l1t.fill_port_busy, 3 * 60);
        assert_eq!(sum.partition.packets, 2 * 70);
        assert_eq!(sum.l2.misses(), 2 * 80);
        assert_eq!(sum.dram, channel(2 * 10));
        assert_eq!((sum.requests, sum.replies), (network(10), network(20)));
        assert_eq!((sum.device.cycles, sum.filter.checks), (10, 10));
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
        (counters.dram.busy, counters.dram.n_cmd) = (1, 4);
        assert_eq!(counters.dram_utilisation(), Some(0.25));
    }
}
