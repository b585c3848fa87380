//! The validated specification of a GPU. Meanings follow GPGPU-Sim unless a key says otherwise.

mod memory;

pub use memory::*;

use crate::cache_policies::{L1dAllocation, L1dVictims, Replacement};
use crate::policies::{
    BlockLimitChoice, BlockSchedulerChoice, ContextChoice, MultiprogramChoice, SmFilterChoice,
    WarpSchedulerChoice,
};
use std::ops::Range;

/// Specification of a whole GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuSpec {
    /// Name of the preset.
    pub name: String,
    /// Frequencies of the clock domains.
    pub clocks: ClockSpec,
    /// Streaming multiprocessors, all alike.
    pub sm: SmSpec,
    /// First-level data cache of an SM.
    pub l1d: CacheSpec,
    /// Instruction cache of an SM.
    pub l1i: CacheSpec,
    /// Constant cache of an SM.
    pub l1c: CacheSpec,
    /// Texture cache of an SM.
    pub l1t: CacheSpec,
    /// Networks between SMs and partitions.
    pub noc: NocSpec,
    /// Memory partitions with L2.
    pub partition: PartitionSpec,
    /// DRAM channels, all alike.
    pub dram: DramSpec,
    /// Settings of the GPU as a whole.
    pub gpu: DeviceSpec,
    /// Settings of the simulation itself.
    pub sim: SimSpec,
}

/// Settings of the simulation itself, which change its speed but no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimSpec {
    /// True to skip idle parts; off only to test that results do not change.
    pub skip_idle: bool,
}

/// Frequencies in kHz, so that every ratio is exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockSpec {
    /// Clock of the SMs. A warp instruction of Fermi issues in one such cycle for all 32 lanes.
    pub core_khz: u32,
    /// Clock of the networks.
    pub noc_khz: u32,
    /// Clock of the L2 banks.
    pub l2_khz: u32,
    /// Command clock of DRAM.
    pub dram_khz: u32,
}

/// Version of GPGPU-Sim that the model follows where versions differ
/// (docs/model/README.md, Versions).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelStyle {
    /// GPGPU-Sim 3.2.x, which the five papers used.
    V3,
    /// GPGPU-Sim 4.2 (Accel-Sim's PTX mode).
    V4,
}

/// Settings of the GPU as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSpec {
    /// Number of SMs of the machine.
    pub sms: u32,
    /// Number of SMs that share a port of the networks; divides `sms`.
    pub sms_per_cluster: u32,
    /// Number of GPCs, among which SMs are divided as evenly as possible. The blocks of a cluster
    /// run on the SMs of one.
    pub gpcs: u32,
    /// Number of memory channels, each with its DRAM.
    pub channels: u32,
    /// Number of L2 banks (sub-partitions) of a channel; a power of two.
    pub sub_partitions_per_channel: u32,
    /// Version of GPGPU-Sim to follow.
    pub style: ModelStyle,
    /// Cap on blocks of an SM below what resources allow; `None` is no cap.
    pub max_blocks_per_sm: Option<u32>,
    /// Policy for the order of blocks.
    pub block_scheduler: BlockSchedulerChoice,
    /// Policy that selects the SMs that take blocks.
    pub sm_filter: SmFilterChoice,
    /// Policy by which concurrent kernels share the SMs.
    pub multiprogram: MultiprogramChoice,
    /// Core cycles from launch to the first block.
    pub kernel_launch_cycles: u32,
    /// Core cycles added to this time for each block of the grid.
    pub block_launch_cycles: u32,
    /// Number of kernels in flight at once.
    pub max_concurrent_kernels: u32,
    /// True to invalidate L1 data caches at the end of a kernel.
    pub flush_l1_at_kernel_end: bool,
    /// True to drop the dirty lines of L2 at the end of a kernel without writing them (4.x).
    pub flush_l2_at_kernel_end: bool,
    /// True to answer requests of SMs at once, without network, L2 and DRAM.
    pub perfect_memory: bool,
    /// Compute capability that programs are told, as ten times the major number plus the minor
    /// number; 0 for the one that follows from an SM's resources.
    pub compute_capability: u32,
    /// True if copies between host and device leave their lines in L2.
    pub copies_warm_l2: bool,
    /// Core cycles of a message between an SM and the network in each direction, taken out of
    /// `partition.rop_cycles` so that the round trip keeps its length. It is also the length of a
    /// step, at whose end stores become visible to other SMs.
    pub link_cycles: u32,
    /// Seed of all random choices of the machine.
    pub seed: u64,
}

impl DeviceSpec {
    /// Numbers of the SMs of a GPC.
    pub fn gpc(&self, number: u32) -> Range<u32> {
        let first = |gpc: u32| (u64::from(self.sms) * u64::from(gpc) / u64::from(self.gpcs)) as u32;
        first(number)..first(number + 1)
    }
}

/// Specification of a streaming multiprocessor.
#[derive(Clone, Debug, PartialEq)]
pub struct SmSpec {
    /// Number of hardware threads.
    pub max_threads: u32,
    /// Number of block slots.
    pub max_blocks: u32,
    /// Number of 32-bit registers.
    pub registers: u32,
    /// Registers are granted per thread in multiples of this.
    pub register_granularity: u32,
    /// Largest number of registers of one thread.
    pub max_registers_per_thread: u32,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
    /// Largest amount of shared memory of one block in bytes.
    pub max_shared_bytes_per_block: u32,
    /// True if L1D takes the part of a unified memory that the blocks of a kernel leave.
    pub adaptive_l1d: bool,
    /// Memory that L1D and shared memory divide, in KiB.
    pub unified_kib: u32,
    /// Sizes of that memory that shared memory may take, ascending.
    pub shared_options_kib: SizeList,
    /// Number of named barriers of a block.
    pub barriers_per_block: u32,
    /// Number of warp schedulers; warp w belongs to scheduler w modulo this.
    pub schedulers: u32,
    /// Policy that selects the next warp.
    pub warp_scheduler: WarpSchedulerChoice,
    /// Policy for warps that wait long.
    pub context: ContextChoice,
    /// Policy that limits the blocks that run.
    pub block_limit: BlockLimitChoice,
    /// Policy for reads that miss L1D: whether they take a line of it.
    pub l1d_allocation: L1dAllocation,
    /// Policy for lines that L1D replaces: which of them idle registers keep.
    pub l1d_victims: L1dVictims,
    /// Instructions that one scheduler may issue from one warp in a cycle.
    pub max_issue_per_warp: u32,
    /// True if the second instruction of a dual issue must use another kind of unit.
    pub dual_issue_different_units: bool,
    /// Number of fetch and decode steps in a cycle.
    pub fetch_per_cycle: u32,
    /// Number of bytes of an instruction in memory and in the instruction cache.
    pub instruction_bytes: u32,
    /// Number of lines of code that the stream buffer requests ahead; 0 without one.
    pub prefetched_code_lines: u32,
    /// Core cycles from a miss of the instruction cache to its line, from a cache with all code.
    /// With 0, lines come from L2 through the network.
    pub code_latency_cycles: u32,
    /// True if the constant cache always hits, whatever `perfect_inst_const_cache` is.
    pub perfect_const_cache: bool,
    /// True if each scheduler owns banks, collectors and units.
    pub sub_cores: bool,
    /// True if instruction and constant caches always hit.
    pub perfect_inst_const_cache: bool,
    /// Execution units with their latencies.
    pub units: UnitSpecs,
    /// Register file and operand collectors.
    pub collectors: CollectorSpec,
    /// Results that are written back in a cycle (width of EX_WB).
    pub writeback_width: u32,
    /// Number of banks of shared memory, each four bytes wide.
    pub shared_banks: u32,
    /// Parts in which a warp accesses shared memory (GT200: 2; later: 1).
    pub shared_warp_parts: u32,
    /// Depth of the shared-memory pipeline in cycles.
    pub shared_latency_cycles: u32,
    /// True to check shared accesses of 8 and 16 bytes for conflicts word by word; GPGPU-Sim checks
    /// the first word only.
    pub wide_shared_conflicts: bool,
    /// True if only one word of shared memory is broadcast at a time (GT200).
    pub shared_one_broadcast: bool,
    /// Cycles of shared memory for each further lane of an `atom` or `red` on the same word. With
    /// 0, as in GPGPU-Sim, lanes on the same word conflict as little as those of a load.
    pub shared_atomic_cycles: u32,
    /// Event from which the latencies of units count.
    pub latency_from: LatencyFrom,
    /// Cycles for which eight columns of a product of a warp group keep a tensor unit busy; 0 for
    /// their share of [`UnitSpecs::tensor_timing`].
    pub warp_group_cycles: u32,
    /// Cycles from the end of that time to the result; 0 for the latency of
    /// [`UnitSpecs::tensor_timing`].
    pub warp_group_latency_cycles: u32,
    /// Cycles from the first request of a bulk copy to that of the next.
    pub bulk_interval_cycles: u32,
    /// Cycles for which a bulk copy holds its warp once the unit begins with it.
    pub bulk_issue_cycles: u32,
    /// Largest number of requests of bulk copies without a reply.
    pub bulk_requests: u32,
    /// Cycles from the access of shared memory of another block of the cluster by the load/store
    /// unit to its result. Messages about barriers take half of it.
    pub cluster_latency_cycles: u32,
    /// Bytes that an SM exchanges with other blocks' shared memory in a cycle.
    pub cluster_bytes_per_cycle: u32,
    /// True if global accesses bypass L1D; in 4.x loads with `.nc` do not.
    pub global_skips_l1d: bool,
    /// Hit latency of L1D in cycles; 0 is the path of 3.x without a latency queue.
    pub l1d_latency_cycles: u32,
    /// Number of L1D banks, each of which takes one access per cycle (4.x).
    pub l1d_banks: u32,
    /// Number of bytes after which the next L1D bank begins.
    pub l1d_bank_bytes: u32,
    /// Function from an address to its L1D bank.
    pub l1d_bank_index: SetIndex,
    /// Number of steps of the load/store unit in a core cycle.
    pub mem_unit_ports: u32,
    /// Rule of coalescing a warp's accesses.
    pub coalescing: Coalescing,
    /// Number of replies that can wait at the load/store unit.
    pub response_fifo: u32,
    /// Number of packets that can wait between the network and the SM.
    pub ejection_fifo: u32,
    /// Side of a divergent branch that runs first.
    pub branch_order: BranchOrder,
    /// Progress of the lanes of a diverged warp.
    pub divergence: Divergence,
    /// Pipe that multiplications issue to.
    pub products: Products,
    /// True if the accesses that enter L1D in a cycle are of one line.
    pub l1d_one_line: bool,
    /// True if wide accesses of shared memory are served by halves or quarters of the warp.
    pub shared_phases: bool,
    /// True to fold instructions that NVIDIA's assembler removes.
    pub folds_instructions: bool,
    /// True if an instruction of PTX takes an issue slot for each of its machine instructions.
    pub machine_instructions: bool,
    /// Latency of exactly rounded roots where machine instructions count; 0: as other functions.
    pub root_latency_cycles: u32,
    /// Least cycles from the issue of a writer of a predicate to that of what it guards; 0: as to
    /// any reader.
    pub guard_latency_cycles: u32,
    /// Least cycles between memory instructions of a scheduler; 0 and 1: none.
    pub memory_issue_cycles: u32,
    /// Least cycles from the issue of a branch or barrier to that of the warp's next instruction;
    /// 0: one.
    pub branch_cycles: u32,
    /// Order in which the instructions of a basic block issue.
    pub instruction_order: InstructionOrder,
}

/// Order of the instructions of a basic block (docs/model/sm.md, Instructions of the assembler).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionOrder {
    /// The order of the PTX text, as in GPGPU-Sim.
    Text,
    /// The order of a list scheduler, as in the machine code of an assembler.
    Assembler,
}

/// Event from which the latencies of [`UnitSpecs`] count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyFrom {
    /// The unit takes the instruction; collectors and write-back add to the latency (GPGPU-Sim).
    Unit,
    /// The instruction issues; the latency ends when an instruction that needs the result issues.
    Issue,
}

/// List of sizes in KiB, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeList(pub Vec<u32>);

/// Side of a divergent branch that runs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchOrder {
    /// The taken path, as in GPGPU-Sim 4.x.
    TakenFirst,
    /// The path without the highest active lane, as in GPGPU-Sim 3.2.2.
    HighestLaneLast,
}

/// Progress of the lanes of a diverged warp (docs/divergence.md, Progress while lanes spin).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// Lanes that spin keep the others of their warp from running, as before Volta.
    Stack,
    /// Every lane makes progress, as on Volta and later.
    Independent,
}

/// Pipe that multiplications issue to (docs/model/sm.md, Instruction classes).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Products {
    /// The pipe of the operands' type, as in GPGPU-Sim 4.x.
    ByType,
    /// SFU for integers, and for floats SP or, while its input register is full, SFU, as in
    /// GPGPU-Sim 3.2.2.
    Sfu,
}

/// Rules of coalescing (docs/model/load-store.md, Coalescing).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coalescing {
    /// Segments of 32, 64 or 128 bytes by size of the access, shrunk to the part in use.
    Segments,
    /// Segments for accesses through L1D, sectors of 32 bytes for those that bypass it (4.x,
    /// architectures 20 to 38).
    SegmentsAndSectors,
    /// Sectors of 32 bytes, as on Maxwell and later.
    Sectors,
}

/// Latency and initiation interval of one class of operations, in core cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpTiming {
    /// Number of cycles until the result.
    pub latency_cycles: u32,
    /// Number of cycles until the unit takes another instruction.
    pub interval_cycles: u32,
}

/// Latencies of the classes of operations of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeTiming {
    /// Timing of add, sub and their carry forms.
    pub add: OpTiming,
    /// Timing of min and max.
    pub minmax: OpTiming,
    /// Timing of mul instructions.
    pub mul: OpTiming,
    /// Timing of mad and fma.
    pub mad: OpTiming,
    /// Timing of div and rem.
    pub div: OpTiming,
}

/// Specification of one kind of execution unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSpec {
    /// Number of units of an SM; 0 if the kind does not exist.
    pub count: u32,
    /// Instructions per cycle from issue to the collectors (width of ID_OC).
    pub issue_width: u32,
    /// Instructions per cycle from the collectors to the units (width of OC_EX).
    pub dispatch_width: u32,
}

/// Execution units with their latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitSpecs {
    /// Units for single precision, and for integers without INT units.
    pub sp: UnitSpec,
    /// Units for double precision; without them f64 uses SFU.
    pub dp: UnitSpec,
    /// Units for integers; without them integers use SP.
    pub int: UnitSpec,
    /// Units for special functions.
    pub sfu: UnitSpec,
    /// Units for products of matrices; without them kernels that need these are refused.
    pub tensor: UnitSpec,
    /// Load/store unit and its ports.
    pub mem: UnitSpec,
    /// Latencies of integer operations.
    pub int_timing: TypeTiming,
    /// Latencies of f32 operations.
    pub f32_timing: TypeTiming,
    /// Latencies of f64 operations.
    pub f64_timing: TypeTiming,
    /// Timing of sqrt, rsqrt, rcp, sin, cos, ex2, lg2 and tanh.
    pub sfu_timing: OpTiming,
    /// Timing of a `wmma.mma` of f16 in 16x16x16; others are in proportion to their work.
    pub tensor_timing: OpTiming,
    /// Timing of shfl instructions.
    pub shuffle_timing: OpTiming,
}

/// Specification of one set of operand collectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorSet {
    /// Number of collectors of the set.
    pub units: u32,
    /// Number of instructions taken in a cycle.
    pub in_ports: u32,
    /// Number of instructions sent to the units in a cycle.
    pub out_ports: u32,
}

/// Register file and operand collectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectorSpec {
    /// Number of register-file banks.
    pub banks: u32,
    /// Number of collector steps in a cycle (4.x `reg_file_port_throughput`).
    pub steps_per_cycle: u32,
    /// Collectors of SP instructions.
    pub sp: CollectorSet,
    /// Collectors of DP instructions.
    pub dp: CollectorSet,
    /// Collectors of INT instructions.
    pub int: CollectorSet,
    /// Collectors of SFU instructions.
    pub sfu: CollectorSet,
    /// Collectors of tensor instructions.
    pub tensor: CollectorSet,
    /// Collectors of memory instructions.
    pub mem: CollectorSet,
    /// Collectors of any instruction; none if only the sets above are used.
    pub general: CollectorSet,
}

/// Specification of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// True if the cache exists.
    pub enabled: bool,
    /// Number of sets, a power of two.
    pub sets: u32,
    /// Size of a line in bytes.
    pub line_bytes: u32,
    /// Number of ways of a set.
    pub ways: u32,
    /// True if lines are filled in sectors of 32 bytes.
    pub sectored: bool,
    /// Policy that selects the line to replace.
    pub replacement: Replacement,
    /// Policy for writes that hit.
    pub write: WritePolicy,
    /// Time at which a line is reserved.
    pub allocate: AllocatePolicy,
    /// Policy for writes that miss.
    pub write_allocate: WriteAllocate,
    /// Function from an address to its set.
    pub index: SetIndex,
    /// Kind of the MSHRs.
    pub mshr: MshrKind,
    /// Number of lines or sectors that can be outstanding.
    pub mshr_entries: u32,
    /// Number of requests that can wait for one of them.
    pub mshr_merge: u32,
    /// Number of requests that can wait for the next level.
    pub miss_queue: u32,
    /// Number of results that can wait (texture FIFO only).
    pub result_fifo: u32,
    /// Width of the data port in bytes.
    pub port_bytes: u32,
    /// Percentage of dirty lines below which clean lines are replaced first (4.x).
    pub write_ratio_percent: u32,
}

/// Policies of write hits (docs/model/caches.md, Write policies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePolicy {
    /// The cache is never written.
    ReadOnly,
    /// Writes stay until the line is evicted.
    WriteBack,
    /// Writes go down and mark the line.
    WriteThrough,
    /// Writes go down and invalidate the line.
    WriteEvict,
    /// Write-back for local memory, write-evict for global memory (Fermi's L1D).
    LocalBackGlobalEvict,
}

/// Time at which a line is reserved for a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocatePolicy {
    /// Reserved at the miss.
    OnMiss,
    /// Taken at the fill.
    OnFill,
    /// At the fill or at the miss, by kernel (Volta's streaming L1D).
    Streaming,
}

/// Policies of write misses (docs/model/caches.md, Write policies).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAllocate {
    /// Forward the write only.
    None,
    /// Forward the write and read the line.
    WriteAndRead,
    /// Read the sector first, unless the write covers it.
    FetchOnWrite,
    /// Keep the bytes, and read the sector at the first later read of missing bytes.
    LazyFetchOnRead,
}

/// Functions from an address to its set (docs/model/caches.md, Set index).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetIndex {
    /// Low bits of the line's number.
    Linear,
    /// Hash of Fermi, for 32 or 64 sets.
    FermiHash,
    /// Exclusive or of two bit fields.
    Xor,
    /// Irreducible polynomial, for 16, 32 or 64 sets.
    Ipoly,
}

/// Kinds of MSHRs (docs/model/caches.md, MSHRs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MshrKind {
    /// Associative table of lines.
    Associative,
    /// Associative table of sectors.
    SectorAssociative,
    /// FIFO of the latency-tolerant texture cache.
    TextureFifo,
    /// FIFO of a texture cache with sectors.
    SectorTextureFifo,
}
