//! The validated specification of a GPU. Defaults and meanings follow GPGPU-Sim 3.2.2's GTX480
//! configuration unless a key says otherwise.

use crate::cache_policies::{L1dAllocation, Replacement};
use crate::policies::{BlockScheduler, Context, Multiprogram, SmFilter, WarpScheduler};

/// A whole GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuSpec {
    /// Preset's name.
    pub name: String,
    /// Clock domains.
    pub clocks: ClockSpec,
    /// SMs.
    pub sm: SmSpec,
    /// First-level data cache.
    pub l1d: CacheSpec,
    /// Instruction cache.
    pub l1i: CacheSpec,
    /// Constant cache.
    pub l1c: CacheSpec,
    /// Texture cache.
    pub l1t: CacheSpec,
    /// Interconnect.
    pub noc: NocSpec,
    /// Memory partitions with L2.
    pub partition: PartitionSpec,
    /// DRAM channels.
    pub dram: DramSpec,
    /// The GPU as a whole.
    pub gpu: DeviceSpec,
    /// How it is simulated.
    pub sim: SimSpec,
}

/// How a machine is simulated: changes the speed of the program and no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimSpec {
    /// Skip parts that have nothing to do; off only to test that results do not change.
    pub skip_idle: bool,
}

/// Clocks in kHz, so that every ratio is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockSpec {
    /// SM clock. A Fermi warp instruction issues in one such cycle for all 32 lanes.
    pub core_khz: u32,
    /// Interconnect clock.
    pub noc_khz: u32,
    /// L2 clock.
    pub l2_khz: u32,
    /// DRAM command clock.
    pub dram_khz: u32,
}

/// Which generation of GPGPU-Sim's SM the model follows where the two differ
/// (docs/model/README.md, Versions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelStyle {
    /// GPGPU-Sim 3.2.x: what the five papers ran on.
    V3,
    /// GPGPU-Sim 4.2.
    V4,
}

/// Device-wide settings.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSpec {
    /// SMs.
    pub sms: u32,
    /// SMs that share a port to the network; divides `sms`.
    pub sms_per_cluster: u32,
    /// Memory channels, each with its DRAM.
    pub channels: u32,
    /// L2 banks (sub-partitions) per channel; a power of two.
    pub sub_partitions_per_channel: u32,
    /// Model generation.
    pub style: ModelStyle,
    /// Most blocks per SM, below what resources allow; `None` is no cap.
    pub max_blocks_per_sm: Option<u32>,
    /// Order in which blocks are taken.
    pub block_scheduler: BlockScheduler,
    /// Which SMs take blocks.
    pub sm_filter: SmFilter,
    /// How kernels that run at once share the SMs.
    pub multiprogram: Multiprogram,
    /// Core cycles from launch to the first block.
    pub kernel_launch_cycles: u32,
    /// Core cycles added to that per block of the grid.
    pub block_launch_cycles: u32,
    /// Kernels in flight at once.
    pub max_concurrent_kernels: u32,
    /// Invalidate L1 data caches at a kernel's end.
    pub flush_l1_at_kernel_end: bool,
    /// Drop the dirty lines of L2 at a kernel's end, without writing them (4.x).
    pub flush_l2_at_kernel_end: bool,
    /// What SMs send is answered at once: no network, no L2, no DRAM.
    pub perfect_memory: bool,
    /// Copies between host and device leave their lines in L2.
    pub copies_warm_l2: bool,
    /// Core cycles that a message takes between an SM and the network in either direction, taken
    /// out of `partition.rop_cycles` so that the round trip keeps its length. It is also how far
    /// SMs run ahead of each other, and after how many cycles a store is seen by other SMs.
    pub link_cycles: u32,
    /// Seed of every random choice of the machine.
    pub seed: u64,
}

/// A streaming multiprocessor.
#[derive(Clone, Debug, PartialEq)]
pub struct SmSpec {
    /// Hardware threads.
    pub max_threads: u32,
    /// Block slots.
    pub max_blocks: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// Registers are granted per thread in multiples of this.
    pub register_granularity: u32,
    /// Most registers one thread may use.
    pub max_registers_per_thread: u32,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
    /// Most shared memory of one block in bytes.
    pub max_shared_bytes_per_block: u32,
    /// L1D takes what of its unified memory the running kernel leaves to it.
    pub adaptive_l1d: bool,
    /// Memory that L1D and shared memory divide, in KiB.
    pub unified_kib: u32,
    /// Sizes that shared memory may take of it, ascending.
    pub shared_options_kib: SizeList,
    /// Named barriers per block.
    pub barriers_per_block: u32,
    /// Warp schedulers; warp w belongs to scheduler w mod this.
    pub schedulers: u32,
    /// Which warp goes first.
    pub warp_scheduler: WarpScheduler,
    /// What is done with warps that wait long.
    pub context: Context,
    /// Reads that miss L1D and take a line of it.
    pub l1d_allocation: L1dAllocation,
    /// Instructions one scheduler may take from one warp in a cycle.
    pub max_issue_per_warp: u32,
    /// The second instruction of a dual issue must use another kind of unit.
    pub dual_issue_different_units: bool,
    /// Fetch and decode steps in a cycle.
    pub fetch_per_cycle: u32,
    /// Schedulers own banks, collectors and units.
    pub sub_cores: bool,
    /// Instruction and constant caches always hit.
    pub perfect_inst_const_cache: bool,
    /// Function units.
    pub units: UnitSpecs,
    /// Operand collectors.
    pub collectors: CollectorSpec,
    /// Results written back per cycle (EX_WB width).
    pub writeback_width: u32,
    /// Shared-memory banks of four bytes.
    pub shared_banks: u32,
    /// Parts in which a warp accesses shared memory (GT200: 2; later: 1).
    pub shared_warp_parts: u32,
    /// Shared-memory pipeline depth in cycles.
    pub shared_latency_cycles: u32,
    /// Wide (8- and 16-byte) shared accesses are checked for conflicts word by word; GPGPU-Sim
    /// looks at the first word only.
    pub wide_shared_conflicts: bool,
    /// Only one word of shared memory is broadcast at a time (GT200).
    pub shared_one_broadcast: bool,
    /// Global accesses go past L1D; in 4.x those marked `.nc` do not.
    pub global_skips_l1d: bool,
    /// L1D hit latency in cycles; 0 is the 3.x path without a latency queue.
    pub l1d_latency_cycles: u32,
    /// L1D banks, each taking one access per cycle (4.x).
    pub l1d_banks: u32,
    /// Bytes after which the next L1D bank begins.
    pub l1d_bank_bytes: u32,
    /// How an L1D bank is chosen.
    pub l1d_bank_index: SetIndex,
    /// Memory-unit steps in a core cycle.
    pub mem_unit_ports: u32,
    /// Rules of coalescing.
    pub coalescing: Coalescing,
    /// Replies waiting between the network and the memory unit.
    pub response_fifo: u32,
    /// Packets waiting between the network and the SM.
    pub ejection_fifo: u32,
    /// Which side of a divergent branch runs first.
    pub branch_order: BranchOrder,
    /// What lanes of a warp that went different ways may do for each other.
    pub divergence: Divergence,
}

/// Sizes in KiB, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeList(pub Vec<u32>);

/// Which side of a divergent branch runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOrder {
    /// The taken path (GPGPU-Sim 4.x).
    TakenFirst,
    /// The path without the highest active lane (GPGPU-Sim 3.2.2).
    HighestLaneLast,
}

/// What lanes of a warp that went different ways may do for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// Lanes that spin keep the others of their warp from running (before Volta).
    Stack,
    /// Every lane makes progress (Volta and later).
    Independent,
}

/// Coalescing rules (docs/model/load-store.md, Coalescing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coalescing {
    /// Segments of 32, 64 or 128 bytes by access size, shrunk to the part in use.
    Segments,
    /// Segments through L1, 32-byte sectors where L1 is bypassed (4.x, architectures 20 to 38).
    SegmentsAndSectors,
    /// 32-byte sectors (Maxwell and later).
    Sectors,
}

/// Latency and initiation interval of one class of operations, in core cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpTiming {
    /// Cycles to the result.
    pub latency_cycles: u32,
    /// Cycles until the unit takes another.
    pub interval_cycles: u32,
}

/// Latencies of one type's operation classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeTiming {
    /// add, sub, and their carry forms.
    pub add: OpTiming,
    /// min, max.
    pub minmax: OpTiming,
    /// mul.
    pub mul: OpTiming,
    /// mad, fma.
    pub mad: OpTiming,
    /// div, rem.
    pub div: OpTiming,
}

/// One kind of function unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSpec {
    /// Units per SM; 0: the kind does not exist.
    pub count: u32,
    /// Issue slots per cycle into the collectors (ID_OC width).
    pub issue_width: u32,
    /// Dispatch slots per cycle from the collectors (OC_EX width).
    pub dispatch_width: u32,
}

/// Function units with their latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitSpecs {
    /// Single precision and integer.
    pub sp: UnitSpec,
    /// Double precision; with none, f64 runs on SFU.
    pub dp: UnitSpec,
    /// Integer; with none, integers run on SP.
    pub int: UnitSpec,
    /// Special functions.
    pub sfu: UnitSpec,
    /// Products of matrices; with none, kernels that use them do not run.
    pub tensor: UnitSpec,
    /// Load/store.
    pub mem: UnitSpec,
    /// Integer latencies.
    pub int_timing: TypeTiming,
    /// f32 latencies.
    pub f32_timing: TypeTiming,
    /// f64 latencies.
    pub f64_timing: TypeTiming,
    /// sqrt, rsqrt, rcp, sin, cos, ex2, lg2, tanh.
    pub sfu_timing: OpTiming,
    /// `wmma.mma` of f16 in 16x16x16; others in proportion to their work.
    pub tensor_timing: OpTiming,
    /// shfl.
    pub shuffle_timing: OpTiming,
}

/// One set of operand collectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorSet {
    /// Collector units.
    pub units: u32,
    /// Instructions taken in per cycle.
    pub in_ports: u32,
    /// Instructions sent on per cycle.
    pub out_ports: u32,
}

/// Register file and operand collectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorSpec {
    /// Register-file banks.
    pub banks: u32,
    /// Collector steps in a cycle (4.x `reg_file_port_throughput`).
    pub steps_per_cycle: u32,
    /// For SP.
    pub sp: CollectorSet,
    /// For DP.
    pub dp: CollectorSet,
    /// For integer units.
    pub int: CollectorSet,
    /// For SFU.
    pub sfu: CollectorSet,
    /// For tensor units.
    pub tensor: CollectorSet,
    /// For load/store.
    pub mem: CollectorSet,
    /// For any unit; zero units where the sets above are used.
    pub general: CollectorSet,
}

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// The cache exists.
    pub enabled: bool,
    /// Sets.
    pub sets: u32,
    /// Line size in bytes.
    pub line_bytes: u32,
    /// Ways.
    pub ways: u32,
    /// Lines are filled in 32-byte sectors.
    pub sectored: bool,
    /// Which line goes.
    pub replacement: Replacement,
    /// What a write does.
    pub write: WritePolicy,
    /// When a line is reserved.
    pub allocate: AllocatePolicy,
    /// What a write miss does.
    pub write_allocate: WriteAllocate,
    /// Address to set.
    pub index: SetIndex,
    /// Kind of miss handling.
    pub mshr: MshrKind,
    /// Lines that can be outstanding.
    pub mshr_entries: u32,
    /// Requests that can wait for one line.
    pub mshr_merge: u32,
    /// Requests waiting to go down.
    pub miss_queue: u32,
    /// Texture results waiting (texture FIFO only).
    pub result_fifo: u32,
    /// Width of the data port in bytes.
    pub port_bytes: u32,
    /// Share of dirty lines in percent below which clean lines are replaced first (4.x).
    pub write_ratio_percent: u32,
}

/// Write policies (docs/model/caches.md, Write policies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// Never written.
    ReadOnly,
    /// Writes stay until the line is evicted.
    WriteBack,
    /// Writes go down and mark the line.
    WriteThrough,
    /// Writes go down and invalidate the line.
    WriteEvict,
    /// Local memory write-back, global memory write-evict (Fermi L1D).
    LocalBackGlobalEvict,
}

/// When a line is reserved for a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocatePolicy {
    /// At the miss.
    OnMiss,
    /// At the fill.
    OnFill,
    /// At the fill or the miss, per kernel (Volta's streaming L1).
    Streaming,
}

/// What a write miss does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAllocate {
    /// Forward only.
    None,
    /// Forward the write and read the line.
    WriteAndRead,
    /// Read the line unless the write covers the sector.
    FetchOnWrite,
    /// Write the bytes now, read when missing bytes are asked for.
    LazyFetchOnRead,
}

/// Address to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetIndex {
    /// Low bits of the line address.
    Linear,
    /// Fermi's hash (32 or 64 sets).
    FermiHash,
    /// XOR of two bit fields.
    Xor,
    /// Irreducible polynomial (16, 32 or 64 sets).
    Ipoly,
}

/// Miss handling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MshrKind {
    /// Associative table by line.
    Associative,
    /// Associative table by sector.
    SectorAssociative,
    /// Latency-tolerant texture FIFO.
    TextureFifo,
    /// The same, sectored.
    SectorTextureFifo,
}

/// The most flits, or packets, of a network's buffer: they are counted in signed numbers of 16
/// bits.
pub const LARGEST_NOC_BUFFER: u16 = i16::MAX as u16 - 1;

/// Interconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NocSpec {
    /// Kind of network.
    pub kind: NocKind,
    /// Bytes of a flit.
    pub flit_bytes: u32,
    /// Input buffer of a port: flits per virtual channel (fly) or packets (crossbar).
    pub input_buffer: u32,
    /// Output (ejection) buffer of a port, same unit.
    pub output_buffer: u32,
    /// Flits that wait at a port to enter the network (fly).
    pub injection_buffer: u32,
    /// Flits that wait at a port after the network, in whole and unfinished packets (fly).
    pub boundary_buffer: u32,
    /// Virtual channels (fly).
    pub virtual_channels: u32,
    /// Flits that one input may send in a cycle (fly).
    pub input_speedup: u32,
    /// Flits that one output may take in a cycle (fly).
    pub output_speedup: u32,
    /// Switch clock over link clock, in percent (fly, BookSim `internal_speedup`).
    pub internal_speedup_percent: u32,
    /// Network cycles from input buffer to output buffer without contention. Fly: steps of the
    /// router's pipeline, at least 3 (virtual channel, switch, traversal).
    pub hop_cycles: u32,
    /// Percent of the peak that uniform traffic sustains; `None`: to be measured.
    pub sustainable_percent: Option<u32>,
}

/// Kinds of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NocKind {
    /// Input-queued crossbar with seeded random arbitration, output held for a packet (GPUDuet).
    RandomCrossbar,
    /// Local crossbar of GPGPU-Sim 4.x: packets are single flits, iSLIP.
    LocalCrossbar,
    /// The same with inputs in turn.
    TurnCrossbar,
    /// One-stage butterfly with virtual channels and iSLIP allocation (BookSim fly, n = 1).
    Fly,
}

/// A memory partition: queues and L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionSpec {
    /// One L2 bank.
    pub l2: CacheSpec,
    /// L2 always hits.
    pub ideal_l2: bool,
    /// The parts of a request split for a sectored L2 keep their own addresses; GPGPU-Sim 4.2
    /// misplaces some.
    pub exact_sectors: bool,
    /// Queue network to L2.
    pub noc_to_l2: u32,
    /// Queue L2 to DRAM.
    pub l2_to_dram: u32,
    /// Queue DRAM to L2.
    pub dram_to_l2: u32,
    /// Queue L2 to network.
    pub l2_to_noc: u32,
    /// Fixed delay before L2 in core cycles (not for texture).
    pub rop_cycles: u32,
    /// Fixed delay from L2 to the DRAM scheduler in core cycles.
    pub dram_latency_cycles: u32,
    /// Bits of an address that choose channel, bank, row and column.
    pub address_map: AddressMap,
    /// How the channel's number is hashed.
    pub channel_index: ChannelIndex,
}

/// Address decoding by masks (docs/model/partition.md, Address decoding).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressMap {
    /// Bit at which the channel's number is inserted.
    pub channel_bit: u32,
    /// Bits of the bank, after the channel's bits are taken out.
    pub bank_mask: u64,
    /// Bits of the row.
    pub row_mask: u64,
    /// Bits of the column, burst offset included.
    pub column_mask: u64,
    /// Bits of the burst offset.
    pub burst_mask: u64,
}

/// Hashing of the channel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelIndex {
    /// None.
    Consecutive,
    /// XOR with higher bits.
    Xor,
    /// Irreducible polynomial.
    Ipoly,
    /// Seeded random table per 256-byte chunk.
    Random,
}

/// A DRAM channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramSpec {
    /// Order of requests.
    pub scheduler: DramScheduler,
    /// Requests the scheduler holds; 0: no limit.
    pub queue: u32,
    /// Finished requests waiting; 0: no limit.
    pub return_queue: u32,
    /// Chips that share a channel.
    pub chips: u32,
    /// Bytes of a chip's bus per data beat.
    pub bus_bytes: u32,
    /// Beats per burst.
    pub burst_length: u32,
    /// Data beats per command clock.
    pub data_ratio: u32,
    /// Row and column commands have buses of their own (HBM).
    pub dual_bus: bool,
    /// Banks.
    pub banks: u32,
    /// Bank groups.
    pub bank_groups: u32,
    /// Low bank bits select the group, else the high ones.
    pub group_by_low_bits: bool,
    /// How the bank's number is hashed.
    pub bank_index: BankIndex,
    /// Turning the bus between reads and writes takes no time.
    pub free_turnaround: bool,
    /// A queue of writes beside that of reads.
    pub write_queue: WriteQueueSpec,
    /// Timing in command-clock cycles.
    pub timing: DramTiming,
}

/// Writes that wait apart from reads, and are drained together (FR-FCFS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteQueueSpec {
    /// Writes that it holds; 0: there is none, writes wait with reads.
    pub size: u32,
    /// Waiting writes from which on writes are served.
    pub high: u32,
    /// Waiting writes below which reads are served again.
    pub low: u32,
}

/// DRAM schedulers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DramScheduler {
    /// In order.
    Fcfs,
    /// First ready, then first come.
    FrFcfs,
}

/// Hashing of the bank's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankIndex {
    /// None.
    Linear,
    /// XOR with the row.
    Xor,
    /// Irreducible polynomial.
    Ipoly,
}

/// DRAM timing parameters, in command-clock cycles, by their usual names.
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
