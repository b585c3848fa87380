//! Instructions and operands: small values that implement `Copy` and have no names.

use crate::op::Op;
use warploom_state::Value;

/// First slot of a register in a warp's register file. A slot is 32 lanes of 32 bits; a 64-bit
/// register takes two consecutive slots, read as 32 lanes of 64 bits. Registers of 8 and 16 bits
/// take one slot; operations of an 8- or 16-bit type read its low bits only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Value)]
pub struct Reg(pub u16);

/// Predicate register: one lane mask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Value)]
pub struct Pred(pub u16);

/// Source operand. The operation decides its width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Src {
    /// Source that is absent.
    None,
    /// Value of a register.
    Reg(Reg),
    /// Entry of [`Program::consts`](crate::Program::consts): an immediate or the address of a
    /// symbol. As a predicate, zero is false and anything else is true.
    Const(u16),
    /// Value of a special register.
    Special(SpecialReg),
    /// Value of a predicate, negated if the flag is set.
    Pred(Pred, bool),
}

/// Destination operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum Dst {
    /// Destination that is absent or `_`.
    None,
    /// Register that receives the value.
    Reg(Reg),
    /// Predicate register that receives the value.
    Pred(Pred),
}

/// Guard `@p` or `@!p`: selects the lanes in which the instruction takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// Predicate that selects the lanes.
    pub pred: Pred,
    /// True for `@!p`, a negated guard.
    pub negated: bool,
    /// True if no lane that the guard leaves out needs the old values of the destinations, so that
    /// the write ends their lives, as one without a guard does.
    pub overwrites: bool,
}

/// Index into [`Program::extras`](crate::Program::extras), or [`Extra::NONE`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extra(pub u32);

impl Extra {
    /// Marks an instruction without further operands.
    pub const NONE: Extra = Extra(u32::MAX);
}

/// Instruction of a flat program.
///
/// The order of operands is that of PTX. Memory operations: `src[0]` is the base of the address
/// (zero if absent), `imm` the byte offset; stored or combined values follow from `src[1]` on
/// (vectors: in the extra). Branches and calls: `imm` is the target [`Pc`](warploom_base::Pc).
/// Textures: `src[0]` is the handle (a 64-bit register or a constant), `src[1]` a separate sampler.
/// The sources of the extra are the coordinates in PTX's order with padding, then the level or the
/// gradients; its destinations are the four texels. Shift amounts and field positions have 32 bits
/// for every type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inst {
    /// Operation of the instruction.
    pub op: Op,
    /// Guard, if there is one.
    pub guard: Option<Guard>,
    /// Destinations in PTX's order.
    pub dst: [Dst; 2],
    /// Sources in PTX's order.
    pub src: [Src; 4],
    /// Address offset in bytes, or branch target.
    pub imm: i32,
    /// Operands that do not fit: vectors, calls, branch tables, texture coordinates.
    pub extra: Extra,
    /// True if an address in a register is 64 bits wide, for memory operations and `isspacep`.
    /// Otherwise the address takes one slot and is zero-extended. (Code for 64-bit addresses often
    /// has shared addresses in 32-bit registers.)
    pub wide_addr: bool,
}

/// Special registers (PTX ISA, "Special Registers").
#[allow(missing_docs, reason = "the names are PTX's own: `%tid.x` is `TidX`")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SpecialReg {
    TidX,
    TidY,
    TidZ,
    NtidX,
    NtidY,
    NtidZ,
    CtaidX,
    CtaidY,
    CtaidZ,
    NctaidX,
    NctaidY,
    NctaidZ,
    LaneId,
    WarpId,
    NwarpId,
    SmId,
    NsmId,
    GridId,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    /// Performance counters `%pm0` to `%pm7` and their 64-bit forms, which read as zero.
    PerformanceCounter,
    /// `%envreg0` and `%envreg3` to `%envreg31`, which read as zero.
    EnvReg,
    /// `%envreg1`: upper half of the address of the data of a cooperative launch's barrier.
    EnvReg1,
    /// `%envreg2`: lower half of that address.
    EnvReg2,
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    CurrentGraphExec,
    ReservedSmemOffset,
    /// `%clusterid.x` and the like: without clusters in a launch a cluster is one block.
    ClusterIdX,
    ClusterIdY,
    ClusterIdZ,
    NclusterIdX,
    NclusterIdY,
    NclusterIdZ,
    ClusterCtaidX,
    ClusterCtaidY,
    ClusterCtaidZ,
    ClusterNctaidX,
    ClusterNctaidY,
    ClusterNctaidZ,
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    /// Start of the running function's frame in the thread's local memory, if frames move. PTX has
    /// no name for it.
    FrameBase,
}

const _: () = assert!(
    size_of::<Inst>() <= 48,
    "an instruction must stay within 48 bytes"
);
