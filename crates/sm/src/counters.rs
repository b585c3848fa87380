//! What an SM counts.

use warploom_stats::{LANE_COUNTS, declare_stats};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotCause {
    /// It issued.
    Issued,
    /// It has no warp that is still running.
    NoWarp,
    /// Every running warp waits at a barrier, behind a fence or for an atomic.
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
        /// Instructions issued by number of lanes in which they take effect, from 1.
        pub issued_by_lanes: [u64; 32] = WarpInstructions, as "W1..W32", by [LANE_COUNTS];
        /// Instructions issued that take effect in no lane (GPGPU-Sim counts them as `Stall`).
        pub issued_without_lanes: u64 = WarpInstructions;
        /// Warps resident, summed over active cycles.
        pub resident_warp_cycles: u64 = Cycles;
        /// Blocks started.
        pub blocks_started: u64 = Blocks, as "gpu_tot_issued_cta";
        /// Blocks finished.
        pub blocks_finished: u64 = Blocks;
        /// Global loads and stores, local ones, texture reads.
        pub memory_instructions: u64 = WarpInstructions;
        /// Store instructions to any space.
        pub store_instructions: u64 = WarpInstructions, as "gpgpu_n_store_insn";
        /// Transactions that global and local accesses were coalesced into.
        pub memory_transactions: u64 = Requests;
        /// Shared-memory instructions.
        pub shared_instructions: u64 = WarpInstructions;
        /// Extra cycles of shared-memory accesses from bank conflicts.
        pub shared_conflict_cycles: u64 = Cycles, as "gpgpu_n_shmem_bkconflict";
        /// Cycles in which the load/store unit could not finish its instruction: bank conflict.
        pub ldst_stall_bank_conflict: u64 = Cycles, as "gpgpu_stall_shd_mem[s_mem][bk_conf]";
        /// The same: more transactions to send.
        pub ldst_stall_coalesce: u64 = Cycles, as "gpgpu_stall_shd_mem[gl_mem][coal_stall]";
        /// The same: cache reservation failed or network full.
        pub ldst_stall_resource: u64 = Cycles, as "gpgpu_stall_shd_mem[gl_mem][resource_stall]";
        /// The same: the data port was busy.
        pub ldst_stall_data_port: u64 = Cycles, as "gpgpu_stall_shd_mem[gl_mem][data_port_stall]";
        /// The same: constant cache.
        pub ldst_stall_constant: u64 = Cycles, as "gpgpu_stall_shd_mem[c_mem][resource_stall]";
        /// Registers of warps read from the register file's banks.
        pub register_reads: u64 = Events;
        /// Register-file reads that waited because their bank served another.
        pub register_bank_conflicts: u64 = Events, as "gpu_reg_bank_conflict_stalls";
        /// Packets sent to memory.
        pub packets_sent: u64 = Packets, as "icnt_total_pkts_simt_to_mem";
        /// Packets received from memory.
        pub packets_received: u64 = Packets, as "icnt_total_pkts_mem_to_simt";
        /// Barrier instructions issued.
        pub barriers: u64 = WarpInstructions;
    }
}
