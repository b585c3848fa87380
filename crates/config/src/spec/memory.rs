//! The memory system: networks, memory partitions, DRAM.

use super::CacheSpec;

/// Largest number of flits or packets in a buffer of a network, which are counted in signed numbers
/// of 16 bits.
pub const LARGEST_NOC_BUFFER: u16 = i16::MAX as u16 - 1;

/// Specification of both networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NocSpec {
    /// Kind of the networks.
    pub kind: NocKind,
    /// Size of a flit in bytes.
    pub flit_bytes: u32,
    /// Size of a port's input buffer: flits of each virtual channel (fly) or packets (crossbar).
    pub input_buffer: u32,
    /// Size of a port's output (ejection) buffer in the same unit.
    pub output_buffer: u32,
    /// Number of flits that can wait at a port to enter the network (fly).
    pub injection_buffer: u32,
    /// Number of flits that can wait at a port after the network (fly).
    pub boundary_buffer: u32,
    /// Number of virtual channels (fly).
    pub virtual_channels: u32,
    /// Number of flits that one input may send in a cycle (fly).
    pub input_speedup: u32,
    /// Number of flits that one output may take in a cycle (fly).
    pub output_speedup: u32,
    /// Clock of the switch over that of links in percent (fly, BookSim `internal_speedup`).
    pub internal_speedup_percent: u32,
    /// Network cycles from input buffer to output buffer without contention. Fly: steps of the
    /// router's pipeline, at least 3 (virtual channel, switch, traversal).
    pub hop_cycles: u32,
    /// Percentage of the peak that uniform traffic sustains; `None` if it must be measured.
    pub sustainable_percent: Option<u32>,
}

/// Kinds of networks (docs/model/network.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NocKind {
    /// Input-queued crossbar with seeded random arbitration that holds outputs for a packet
    /// (GPUDuet).
    RandomCrossbar,
    /// Local crossbar of GPGPU-Sim 4.x with packets of one flit and iSLIP.
    LocalCrossbar,
    /// Local crossbar whose inputs take turns.
    TurnCrossbar,
    /// One-stage butterfly with virtual channels and iSLIP allocation (BookSim fly, n = 1).
    Fly,
}

/// Specification of a memory partition: queues and L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionSpec {
    /// Cache of one L2 bank.
    pub l2: CacheSpec,
    /// True if L2 always hits.
    pub ideal_l2: bool,
    /// True if the parts of a request that is split for a sectored L2 have their own addresses;
    /// GPGPU-Sim 4.2 misplaces some.
    pub exact_sectors: bool,
    /// Size of the queue from the network to L2.
    pub noc_to_l2: u32,
    /// Size of the queue from L2 to DRAM.
    pub l2_to_dram: u32,
    /// Size of the queue from DRAM to L2.
    pub dram_to_l2: u32,
    /// Size of the queue from L2 to the network.
    pub l2_to_noc: u32,
    /// Fixed delay before L2 in core cycles, not for textures.
    pub rop_cycles: u32,
    /// Additional delay in core cycles of a request to the half of L2 that its SM is not attached
    /// to; 0 if L2 is one.
    pub far_cycles: u32,
    /// Bytes that a sectored L2 reads from DRAM for a sector that misses.
    pub fetch_bytes: u32,
    /// L2 cycles from a write of a whole sector to the next access of a bank.
    pub write_cycles: u32,
    /// L2 cycles from a write of a part of a sector to the next access of a bank.
    pub partial_write_cycles: u32,
    /// Fixed delay from L2 to the DRAM scheduler in core cycles.
    pub dram_latency_cycles: u32,
    /// Address bits that select channel, bank, row and column.
    pub address_map: AddressMap,
    /// Hash of the channel's number.
    pub channel_index: ChannelIndex,
}

/// Masks of address decoding (docs/model/partition.md, Address decoding).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMap {
    /// Address bit at which the channel's number is inserted.
    pub channel_bit: u32,
    /// Bits of the bank, after the channel's number is taken out.
    pub bank_mask: u64,
    /// Bits of the row within a bank.
    pub row_mask: u64,
    /// Bits of the column, including the burst offset.
    pub column_mask: u64,
    /// Bits of the offset within a burst.
    pub burst_mask: u64,
}

/// Hashes of the channel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelIndex {
    /// No hash at all.
    Consecutive,
    /// Exclusive or with higher bits.
    Xor,
    /// Remainder modulo an irreducible polynomial.
    Ipoly,
    /// Seeded random number of each chunk of 256 bytes.
    Random,
    /// The address's own number, rotated by a hash of the bits above it.
    Skewed,
}

/// Specification of a DRAM channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramSpec {
    /// Policy for the order of requests.
    pub scheduler: DramScheduler,
    /// Number of requests in the scheduler; 0 is no limit.
    pub queue: u32,
    /// Number of finished requests that can wait; 0 is no limit.
    pub return_queue: u32,
    /// Number of chips that share a channel.
    pub chips: u32,
    /// Width of a chip's bus in bytes per data beat.
    pub bus_bytes: u32,
    /// Number of beats in a burst.
    pub burst_length: u32,
    /// Number of data beats in a command clock.
    pub data_ratio: u32,
    /// True if row and column commands have buses of their own (HBM).
    pub dual_bus: bool,
    /// Number of banks of a channel.
    pub banks: u32,
    /// Number of bank groups.
    pub bank_groups: u32,
    /// True if the low bits of a bank select its group, else the high bits do.
    pub group_by_low_bits: bool,
    /// Hash of the bank's number.
    pub bank_index: BankIndex,
    /// True if the turnaround between reads and writes takes no time.
    pub free_turnaround: bool,
    /// Separate queue of writes.
    pub write_queue: WriteQueueSpec,
    /// Timing constraints in command cycles.
    pub timing: DramTiming,
}

/// Separate queue of writes, which are drained together (FR-FCFS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteQueueSpec {
    /// Number of writes that it holds; 0 if writes wait with reads.
    pub size: u32,
    /// Number of waiting writes from which on writes are served.
    pub high: u32,
    /// Number of waiting writes below which reads are served again.
    pub low: u32,
}

/// Policies for the order of requests (docs/model/dram.md, Scheduler).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DramScheduler {
    /// First come, first served.
    Fcfs,
    /// First ready, first come, first served.
    FrFcfs,
}

/// Hashes of the bank's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankIndex {
    /// No hash at all.
    Linear,
    /// Exclusive or with the row.
    Xor,
    /// Remainder modulo an irreducible polynomial.
    Ipoly,
}

/// Timing parameters of DRAM in command cycles, by their usual names (docs/model/dram.md, Timing
/// constraints).
#[allow(missing_docs, reason = "the datasheets' own names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramTiming {
    pub ccd: u32,
    pub rrd: u32,
    pub rcd: u32,
    pub ras: u32,
    pub rp: u32,
    pub rc: u32,
    pub cl: u32,
    pub wl: u32,
    pub cdlr: u32,
    pub wr: u32,
    pub ccdl: u32,
    pub rtpl: u32,
}
