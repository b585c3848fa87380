//! Counters of an SM.

use warploom_base::LaneMask;
use warploom_ir::Unit;
use warploom_mem::{ACCESS_KINDS, AccessKind};
use warploom_state::Value;
use warploom_stats::{LANE_COUNTS, LOG2_BINS, Peak, declare_stats};

/// Labels of the causes in [`SmCounters::slots`].
pub const SLOT_CAUSES: &[&str] = &[
    "issued",
    "no_warp",
    "barrier",
    "instruction_buffer",
    "memory_dependence",
    "execution_dependence",
    "memory_pipe",
    "execution_pipe",
    "policy",
];

/// Why a scheduler did or did not issue in a cycle: every scheduler cycle has exactly one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum SlotCause {
    /// The scheduler issued an instruction.
    Issued,
    /// No warp of the scheduler is still running.
    NoWarp,
    /// Every running warp waits at a barrier, at a fence or for an atomic.
    Barrier,
    /// No running warp has a decoded instruction.
    InstructionBuffer,
    /// Scoreboard, and at least one warp waits for a load.
    MemoryDependence,
    /// Scoreboard, no load involved.
    ExecutionDependence,
    /// A warp passed the scoreboard; the load/store pipe was full.
    MemoryPipe,
    /// A warp passed the scoreboard; its function pipe was full.
    ExecutionPipe,
    /// A warp could have issued; the policy let the cycle pass.
    Policy,
}

impl SlotCause {
    /// True for causes whose cycles are divided further.
    #[inline]
    pub(crate) const fn has_division(self) -> bool {
        matches!(
            self,
            Self::ExecutionDependence | Self::MemoryPipe | Self::ExecutionPipe
        )
    }
}

/// Labels of the variants of [`PipeBlocker`].
pub const PIPE_BLOCKERS: &[&str] = &["units", "load_store", "other_units", "operands"];

/// Part of an SM that fills the pipe of a function unit in a scheduler cycle with the cause
/// [`SlotCause::ExecutionPipe`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PipeBlocker {
    /// The unit: an instruction with its operands waits for it.
    Units,
    /// Instructions that wait in collectors for the load/store unit.
    LoadStore,
    /// Instructions that wait in collectors for units of another pipe.
    OtherUnits,
    /// Reads of operands: no instruction with its operands waits.
    Operands,
}

/// Labels of the variants of `MemoryBlocker`.
pub const MEMORY_BLOCKERS: &[&str] = &["load_store", "units", "operands"];

/// Part of an SM that fills the pipe of the load/store unit in a scheduler cycle with the cause
/// [`SlotCause::MemoryPipe`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemoryBlocker {
    /// The load/store unit takes no further instruction.
    LoadStore,
    /// Instructions that wait in collectors for function units.
    Units,
    /// Reads of operands: no instruction with its operands waits.
    Operands,
}

/// Labels of the variants of `ResultSource`.
pub const RESULT_SOURCES: &[&str] = &["units", "shared", "arithmetic"];

/// Source of the results that warps wait for in a scheduler cycle with the cause
/// [`SlotCause::ExecutionDependence`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum ResultSource {
    /// Function units: an instruction with its operands waits for one that is taken.
    Units,
    /// A load from shared memory.
    Shared,
    /// Instructions on their way through function units.
    Arithmetic,
}

/// Scheduler cycles by cause, as [`SmCounters::slots`] counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotSums {
    /// Number of scheduler cycles.
    pub all: u64,
    /// Cycles in which no warp issued although the scheduler had some.
    pub stalled: u64,
    /// Cycles in which no warp ran, or all waited at a barrier, for a fence or an atomic.
    pub idle: u64,
    /// Stalled cycles in which warps waited for memory or for the load/store pipe.
    pub memory: u64,
}

impl SlotSums {
    /// The sums of a table by [`SlotCause`].
    pub fn new(slots: &[u64; SLOT_CAUSES.len()]) -> Self {
        let of = |cause: SlotCause| slots[cause as usize];
        let all = slots.iter().sum();
        Self {
            all,
            stalled: all - of(SlotCause::Issued) - of(SlotCause::NoWarp),
            idle: of(SlotCause::NoWarp) + of(SlotCause::Barrier),
            memory: of(SlotCause::MemoryDependence) + of(SlotCause::MemoryPipe),
        }
    }
}

/// Counters of an SM for the kernels in one slot: those that are kept apart while several run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Value)]
pub struct KernelCounters {
    /// Number of instructions issued.
    pub warp_instructions: u64,
    /// Number of instructions issued, by active lane.
    pub thread_instructions: u64,
    /// Number of blocks started.
    pub blocks_started: u64,
    /// Number of blocks finished, or ended because their kernel was halted.
    pub blocks_finished: u64,
    /// Cycles of the function units' intake that its instructions took, by [`crate::Pipe`].
    pub pipe_cycles: [u64; crate::Pipe::COUNT],
}

impl KernelCounters {
    /// Adds the counters of another SM.
    pub fn add(&mut self, other: &Self) {
        self.each(other, |sum, more| *sum += more);
    }

    /// Counts since an earlier moment.
    pub fn since(mut self, earlier: &Self) -> Self {
        self.each(earlier, |now, then| *now -= then);
        self
    }

    fn each(&mut self, other: &Self, apply: impl Fn(&mut u64, u64)) {
        apply(&mut self.warp_instructions, other.warp_instructions);
        apply(&mut self.thread_instructions, other.thread_instructions);
        apply(&mut self.blocks_started, other.blocks_started);
        apply(&mut self.blocks_finished, other.blocks_finished);
        let pipes = self.pipe_cycles.iter_mut().zip(other.pipe_cycles);
        pipes.for_each(|(own, other)| apply(own, other));
    }
}

/// Labels of the variants of [`LdstStage`].
pub const LDST_STAGES: &[&str] = &[
    "constant",
    "texture",
    "shared",
    "global_load",
    "local_load",
    "global_store",
    "local_store",
];

/// Memory that an instruction in the load/store unit accesses: GPGPU-Sim's memory stages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum LdstStage {
    /// The constant cache (L1C).
    Constant,
    /// The texture cache (L1T).
    Texture,
    /// Shared memory of the block.
    Shared,
    /// Loads and atomics on global memory.
    GlobalLoad,
    /// Loads from local memory.
    LocalLoad,
    /// Stores to global memory.
    GlobalStore,
    /// Stores to local memory.
    LocalStore,
}

/// Labels of the variants of [`LdstStall`].
pub const LDST_STALLS: &[&str] = &[
    "reservation",
    "bank_conflict",
    "network",
    "coalesce",
    "data_port",
];

/// Reason why the load/store unit could not finish its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum LdstStall {
    /// A cache could not reserve the resources of a miss.
    Reservation,
    /// Shared memory, or a bank of L1D, was busy.
    BankConflict,
    /// The network had no room.
    Network,
    /// There are more transactions to send.
    Coalesce,
    /// The cache's data port was busy.
    DataPort,
}

/// Labels of the pipes, in the order of [`crate::Pipe::ALL`].
pub const PIPES: &[&str] = &["sp", "dp", "int", "sfu", "tensor", "mem"];

/// Labels of the spaces in [`SmCounters::memory_lanes`].
pub const LANE_SPACES: &[&str] = &["load", "store", "shared", "texture", "constant", "param"];

/// A space of [`SmCounters::memory_lanes`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneSpace {
    /// Global and local loads, atomics.
    Load,
    /// Global and local stores.
    Store,
    /// Shared memory of the block.
    Shared,
    /// Reads of textures by lanes.
    Texture,
    /// Loads by the instruction `ld.const`.
    Constant,
    /// Parameters of the kernel.
    Param,
}

/// Labels of what an instruction does to memory, in the order of [`warploom_exec::MemKind`].
pub const MEMORY_KINDS: &[&str] = &["load", "store", "atomic", "texture"];

/// Labels of execution units by their energy, in the order of [`Unit`].
pub const ENERGY_UNITS: &[&str] = &[
    "int_add",
    "int_mul24",
    "int_mul32",
    "int_mul",
    "int_div",
    "fp_add",
    "fp_mul",
    "fp_div",
    "sqrt",
    "log",
    "sin",
    "exp",
    "dp_add",
    "dp_mul",
    "dp_div",
    "tensor",
    "texture",
];

declare_stats! {
    /// Counters of one SM, of one kernel or of all.
    pub struct SmCounters in "sm" {
        /// Core cycles in which the SM held at least one block.
        pub active_cycles: u64 = Cycles;
        /// Instructions issued, one for up to 32 lanes, whatever their guard.
        pub warp_instructions: u64 = WarpInstructions, as "gpgpu_n_tot_w_icount";
        /// Instructions issued, one for each lane in which they take effect.
        pub thread_instructions: u64 = ThreadInstructions, as "gpgpu_sim_insn";
        /// Scheduler cycles by what happened: exactly one cause each.
        pub slots: [u64; 9] = Slots, by [SLOT_CAUSES];
        /// Scheduler cycles with the cause execution_pipe by what fills the pipe: its units, or
        /// collectors whose instructions wait for the load/store unit, for units of another pipe,
        /// or for operands.
        pub execution_pipe_slots: [u64; 4] = Slots, by [PIPE_BLOCKERS];
        /// Scheduler cycles with the cause memory_pipe by what fills the pipe: the load/store unit,
        /// or collectors whose instructions wait for function units or for operands.
        pub memory_pipe_slots: [u64; 3] = Slots, by [MEMORY_BLOCKERS];
        /// Scheduler cycles with the cause execution_dependence by what the results come from:
        /// units that are taken while an instruction with its operands waits for one, else shared
        /// memory if a warp waits for a load from it, else arithmetic on its way.
        pub execution_dependence_slots: [u64; 3] = Slots, by [RESULT_SOURCES];
        /// Cycles for which the instructions issued keep a unit of their pipe from taking another.
        pub pipe_cycles: [u64; crate::Pipe::COUNT] = Cycles, by [PIPES];
        /// Instructions issued by number of lanes of the warp's running split, whatever the guard,
        /// from 1.
        pub issued_by_lanes: [u64; 32] = WarpInstructions, as "W1..W32", by [LANE_COUNTS];
        /// Instructions issued that take effect in no lane: the guard is false in all, or the lanes
        /// wait for others of their warp.
        pub issued_without_lanes: u64 = WarpInstructions;
        /// Scheduler cycles, all with the cause no_warp, in which the SM held no block (GPGPU-Sim
        /// does not count them).
        pub inactive_slots: u64 = Slots;
        /// Warps resident, summed over active cycles.
        pub resident_warp_cycles: u64 = Cycles, as "gpu_occupancy x active cycles x warp slots";
        /// Blocks started on SMs.
        pub blocks_started: u64 = Blocks, as "gpu_tot_issued_cta";
        /// Blocks finished on SMs.
        pub blocks_finished: u64 = Blocks;
        /// Global loads and stores, local ones, texture reads.
        pub memory_instructions: u64 = WarpInstructions;
        /// Store instructions to any space.
        pub store_instructions: u64 = WarpInstructions;
        /// Transactions that global and local accesses were coalesced into.
        pub memory_transactions: u64 = Requests;
        /// Instructions of memory_instructions by what they do; bulk copies are left out, as in the
        /// next two.
        pub memory_accesses: [u64; 4] = WarpInstructions, by [MEMORY_KINDS];
        /// Bytes that those instructions access, in all lanes in which they take effect.
        pub access_bytes: [u64; 4] = Bytes, by [MEMORY_KINDS];
        /// Transactions that those instructions were coalesced into.
        pub access_transactions: [u64; 4] = Requests, by [MEMORY_KINDS];
        /// The part of memory_accesses on local memory.
        pub local_accesses: [u64; 4] = WarpInstructions, by [MEMORY_KINDS];
        /// Atomic instructions on global memory that exchange values, or compare and exchange them:
        /// those of several lanes cannot become one.
        pub atomic_exchanges: u64 = WarpInstructions;
        /// Words that the lanes of an atomic instruction on global memory update, summed over
        /// instructions.
        pub atomic_words: u64 = Events;
        /// Loads of variables in constant memory, without those of parameters.
        pub constant_loads: u64 = WarpInstructions;
        /// Lines of the constant cache that those loads read.
        pub constant_lines: u64 = Requests;
        /// Lanes of memory instructions in which they take effect, by space.
        pub memory_lanes: [u64; 6] = ThreadInstructions, as "gpgpu_n_load_insn, _store_, _shmem_, _tex_, _const_mem_, _param_mem_", by [LANE_SPACES];
        /// Instructions on shared memory.
        pub shared_instructions: u64 = WarpInstructions;
        /// Extra cycles of shared-memory accesses from bank conflicts (GPGPU-Sim's
        /// gpgpu_n_shmem_bkconflict counts the first cycle too).
        pub shared_conflict_cycles: u64 = Cycles;
        /// The part of shared_conflict_cycles that accesses take without a conflict: those of more
        /// bytes a lane than a bank serves, or of a warp in parts.
        pub shared_width_cycles: u64 = Cycles;
        /// The part of shared_conflict_cycles, without shared_width_cycles and
        /// shared_atomic_cycles, of accesses whose lanes' addresses follow no pattern: their
        /// distances have more than two values, as those of look-ups have.
        pub shared_scattered_cycles: u64 = Cycles;
        /// Atomic instructions on shared memory.
        pub shared_atomics: u64 = WarpInstructions;
        /// The part of shared_conflict_cycles that atomics cause: lanes on the same word, or on
        /// words of the same bank, take turns.
        pub shared_atomic_cycles: u64 = Cycles;
        /// Cycles in which the load/store unit could not finish its instruction, by what it
        /// accesses and why (GPGPU-Sim's resource_stall is reservation and bank_conflict).
        pub ldst_stalls: [[u64; 5]; 7] = Cycles, as "gpgpu_stall_shd_mem", by [LDST_STAGES, LDST_STALLS];
        /// Registers of warps read from the register file's banks, lines of L1D that registers keep
        /// (`sm.l1d_victims`) included.
        pub register_reads: u64 = Events;
        /// Registers of warps written, those of a load again for each further reply that fills a
        /// part of its lanes, and lines of L1D that registers keep; loads of parameters and
        /// constants write none.
        pub register_writes: u64 = Events;
        /// Source operands of issued instructions that are no registers.
        pub other_operands: u64 = Events;
        /// Warp instructions that were decoded, those that a branch threw away included.
        pub decoded: u64 = WarpInstructions;
        /// Warp instructions issued by the execution unit whose energy they use; branches,
        /// barriers and accesses to memory use none.
        pub unit_warps: [u64; Unit::COUNT] = WarpInstructions, by [ENERGY_UNITS];
        /// Lanes in which those instructions take effect, by execution unit.
        pub unit_lanes: [u64; Unit::COUNT] = ThreadInstructions, by [ENERGY_UNITS];
        /// Register-file reads that waited because their bank served another.
        pub register_bank_conflicts: u64 = Events, as "gpu_reg_bank_conflict_stalls";
        /// Packets sent to memory, by kind of access.
        pub packets_sent: [u64; AccessKind::COUNT] = Packets, as "gpgpu_n_mem_read_global, _write_global, ...", by [ACCESS_KINDS];
        /// Flits of those packets.
        pub flits_sent: u64 = Flits, as "icnt_total_pkts_simt_to_mem";
        /// Packets received from memory.
        pub packets_received: u64 = Packets;
        /// Flits of those packets.
        pub flits_received: u64 = Flits, as "icnt_total_pkts_mem_to_simt";
        /// Replies to accesses other than instruction fetches.
        pub fetches: u64 = Packets;
        /// Core cycles from an access to its reply at the load/store unit, summed over replies.
        pub fetch_cycles: u64 = Cycles, as "averagemflatency x replies";
        /// The longest of those times so far in the run.
        pub fetch_cycles_max: Peak = Cycles, as "maxmflatency";
        /// Replies by the logarithm of that time.
        pub fetches_by_cycles: [u64; 16] = Packets, as "mf_lat_table", by [LOG2_BINS];
        /// Barrier instructions issued by warps.
        pub barriers: u64 = WarpInstructions;
        /// Warps that wait at a barrier of their block, summed over active cycles.
        pub barrier_warp_cycles: u64 = Cycles;
    }
}

/// Number of lanes in a mask. Full masks are the common case, and not every host has an
/// instruction that counts bits.
#[inline]
pub(crate) fn count_lanes(mask: LaneMask) -> usize {
    if mask == LaneMask::MAX {
        LaneMask::BITS as usize
    } else {
        mask.count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `NoWarp` is `no_warp`: the label at a variant's place is its name.
    fn check<T: std::fmt::Debug>(labels: &[&str], variants: &[T], place: impl Fn(&T) -> usize) {
        assert_eq!(labels.len(), variants.len());
        for variant in variants {
            let mut name = String::new();
            for c in format!("{variant:?}").chars() {
                if c.is_uppercase() && !name.is_empty() {
                    name.push('_');
                }
                name.extend(c.to_lowercase());
            }
            assert_eq!(labels[place(variant)], name);
        }
    }

    /// Sums by hand of a table in which every cause has a digit of its own.
    #[test]
    fn stalls_have_warps_and_no_issue() {
        let mut slots = [0; SLOT_CAUSES.len()];
        slots[SlotCause::Issued as usize] = 1;
        slots[SlotCause::NoWarp as usize] = 10;
        slots[SlotCause::Barrier as usize] = 100;
        slots[SlotCause::MemoryDependence as usize] = 1000;
        slots[SlotCause::MemoryPipe as usize] = 20_000;
        slots[SlotCause::ExecutionPipe as usize] = 300_000;
        let sums = SlotSums::new(&slots);
        let expected = [321_111, 321_100, 110, 21_000];
        assert_eq!([sums.all, sums.stalled, sums.idle, sums.memory], expected);
    }

    /// Arrays of counters are indexed by the variants and printed by the labels.
    #[test]
    fn labels_stand_where_their_variants_count() {
        use SlotCause as C;
        let causes = [
            C::Issued,
            C::NoWarp,
            C::Barrier,
            C::InstructionBuffer,
            C::MemoryDependence,
            C::ExecutionDependence,
            C::MemoryPipe,
            C::ExecutionPipe,
            C::Policy,
        ];
        check(SLOT_CAUSES, &causes, |cause| *cause as usize);
        use PipeBlocker as P;
        let blockers = [P::Units, P::LoadStore, P::OtherUnits, P::Operands];
        check(PIPE_BLOCKERS, &blockers, |blocker| *blocker as usize);
        use MemoryBlocker as B;
        let blockers = [B::LoadStore, B::Units, B::Operands];
        check(MEMORY_BLOCKERS, &blockers, |blocker| *blocker as usize);
        use ResultSource as R;
        let sources = [R::Units, R::Shared, R::Arithmetic];
        check(RESULT_SOURCES, &sources, |source| *source as usize);
        check(PIPES, &crate::Pipe::ALL, |pipe| *pipe as usize);
        use LdstStage as S;
        let stages = [
            S::Constant,
            S::Texture,
            S::Shared,
            S::GlobalLoad,
            S::LocalLoad,
            S::GlobalStore,
            S::LocalStore,
        ];
        check(LDST_STAGES, &stages, |stage| *stage as usize);
        use LdstStall as W;
        let stalls = [
            W::Reservation,
            W::BankConflict,
            W::Network,
            W::Coalesce,
            W::DataPort,
        ];
        check(LDST_STALLS, &stalls, |stall| *stall as usize);
        use warploom_exec::MemKind as M;
        let kinds = [M::Load, M::Store, M::Atomic, M::Texture];
        check(MEMORY_KINDS, &kinds, |kind| *kind as usize);
        use LaneSpace as L;
        let spaces = [
            L::Load,
            L::Store,
            L::Shared,
            L::Texture,
            L::Constant,
            L::Param,
        ];
        check(LANE_SPACES, &spaces, |space| *space as usize);
    }
}
