//! The parts of a GPU among which energy is divided.

/// A part of the GPU that uses energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Instruction buffers and decoders.
    Decode,
    /// Warp schedulers and scoreboards.
    Scheduler,
    /// First-level instruction caches (L1I).
    L1i,
    /// L1 data caches with the crossbar after the coalescer.
    L1d,
    /// First-level constant caches (L1C).
    L1c,
    /// First-level texture caches (L1T).
    L1t,
    /// Shared memory of the SMs.
    Shared,
    /// Register files: reads and writes.
    RegisterFile,
    /// Operand collectors of the SMs.
    Collectors,
    /// Integer units: additions, logic, comparisons, moves.
    IntUnits,
    /// Integer multiplications and divisions.
    IntMultiply,
    /// Units for 16- and 32-bit floats.
    FpUnits,
    /// Multiplications and divisions of 16- and 32-bit floats.
    FpMultiply,
    /// Double-precision units, multiplications and divisions included.
    DpUnits,
    /// Special function units: roots, logarithms, sines, exponentials.
    Special,
    /// Tensor cores: products of matrices.
    Tensor,
    /// Texture units: filtering and addressing.
    Texture,
    /// Pipeline registers of the SMs.
    Pipeline,
    /// Second-level cache, all partitions.
    L2,
    /// Networks between SMs and L2.
    Network,
    /// Memory controllers with the tables of the coalescers.
    MemoryControllers,
    /// DRAM: column reads, column writes, row activations and precharges.
    Dram,
    /// SMs that hold no block.
    IdleSms,
    /// Static power of SMs that hold blocks.
    Static,
    /// Power that is drawn whatever happens: fans, board, DRAM in the background.
    Constant,
}

impl Component {
    /// All components, in the order in which they are printed.
    pub const ALL: [Self; 25] = [
        Self::Decode,
        Self::Scheduler,
        Self::L1i,
        Self::L1d,
        Self::L1c,
        Self::L1t,
        Self::Shared,
        Self::RegisterFile,
        Self::Collectors,
        Self::IntUnits,
        Self::IntMultiply,
        Self::FpUnits,
        Self::FpMultiply,
        Self::DpUnits,
        Self::Special,
        Self::Tensor,
        Self::Texture,
        Self::Pipeline,
        Self::L2,
        Self::Network,
        Self::MemoryControllers,
        Self::Dram,
        Self::IdleSms,
        Self::Static,
        Self::Constant,
    ];

    /// Returns the key in results.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Decode => "decode",
            Self::Scheduler => "scheduler",
            Self::L1i => "l1i",
            Self::L1d => "l1d",
            Self::L1c => "l1c",
            Self::L1t => "l1t",
            Self::Shared => "shared_memory",
            Self::RegisterFile => "register_file",
            Self::Collectors => "operand_collectors",
            Self::IntUnits => "int_units",
            Self::IntMultiply => "int_multiply",
            Self::FpUnits => "fp_units",
            Self::FpMultiply => "fp_multiply",
            Self::DpUnits => "dp_units",
            Self::Special => "special_units",
            Self::Tensor => "tensor_cores",
            Self::Texture => "texture_units",
            Self::Pipeline => "pipeline",
            Self::L2 => "l2",
            Self::Network => "network",
            Self::MemoryControllers => "memory_controllers",
            Self::Dram => "dram",
            Self::IdleSms => "idle_sms",
            Self::Static => "static",
            Self::Constant => "constant",
        }
    }

    /// True for power that is drawn over time without events.
    pub const fn is_static(self) -> bool {
        matches!(self, Self::IdleSms | Self::Static | Self::Constant)
    }
}
