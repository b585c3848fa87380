//! Instructions and operands: small, `Copy`, without names.

use crate::op::Op;

/// First slot of a register in a warp's register file. A slot is 32 lanes of 32 bits; a 64-bit
/// register takes two consecutive slots, read as 32 lanes of 64 bits. 8- and 16-bit registers
/// take one slot; operations of an 8- or 16-bit type read its low bits only.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub u16);

/// A predicate register: one lane mask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pred(pub u16);

/// A source operand. How wide it is read follows from the operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Src {
    /// Absent.
    None,
    /// A register.
    Reg(Reg),
    /// Entry of [`Program::consts`](crate::Program::consts): immediates, symbols' addresses.
    /// Where a predicate is read, zero is false and anything else is true.
    Const(u16),
    /// A special register.
    Special(SpecialReg),
    /// A predicate, negated if the flag is set.
    Pred(Pred, bool),
}

/// A destination operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dst {
    /// Absent, or `_`.
    None,
    /// A register.
    Reg(Reg),
    /// A predicate register.
    Pred(Pred),
}

/// `@p` or `@!p`: the lanes in which the instruction takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The predicate.
    pub pred: Pred,
    /// `@!p`
    pub negated: bool,
}

/// Index into [`Program::extras`](crate::Program::extras), or [`Extra::NONE`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extra(pub u32);

impl Extra {
    /// No further operands.
    pub const NONE: Extra = Extra(u32::MAX);
}

/// One instruction.
///
/// Operand order is PTX's. Memory operations: `src[0]` is the address base (absent: zero), `imm`
/// the byte offset, stored or combined values follow from `src[1]` (vectors: in the extra).
/// Branches and calls: `imm` is the target [`Pc`](warploom_base::Pc). Textures: the handle is
/// `src[0]` (a 64-bit register or a constant), a separate sampler `src[1]`; the extra's sources are
/// the coordinates in PTX's order with padding, then the level or the gradients; its destinations
/// are the four texels. Shift amounts and field positions are 32 bits wide whatever the type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// In which lanes.
    pub guard: Option<Guard>,
    /// Destinations.
    pub dst: [Dst; 2],
    /// Sources.
    pub src: [Src; 4],
    /// Address offset in bytes, or branch target.
    pub imm: i32,
    /// Operands that do not fit: vectors, calls, branch tables, texture coordinates.
    pub extra: Extra,
    /// Memory operations and `isspacep`: an address in a register is 64 bits wide, else one slot,
    /// zero-extended. (Shared addresses are often 32-bit registers in code for 64-bit addresses.)
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
    /// `%pm0` to `%pm7` and their 64-bit forms read as zero.
    PerformanceCounter,
    /// `%envreg0` and `%envreg3` to `%envreg31` read as zero.
    EnvReg,
    /// `%envreg1`: upper half of the address of what the barrier of a cooperative launch works on.
    EnvReg1,
    /// `%envreg2`: its lower half.
    EnvReg2,
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    CurrentGraphExec,
    ReservedSmemOffset,
    /// `%clusterid.x` and the like: without cluster launches a cluster is one block.
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
    /// Start of the running function's frame in the thread's local memory, where frames move. No
    /// name of PTX stands for it.
    FrameBase,
}

const _: () = assert!(
    size_of::<Inst>() <= 48,
    "an instruction must stay within 48 bytes"
);
