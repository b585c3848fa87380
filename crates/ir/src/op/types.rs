//! Types, modifiers and modes of operations.

use warploom_state::Value;

/// Integer types of arithmetic.
#[allow(missing_docs, reason = "PTX's own type names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntTy {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    U16x2,
    S16x2,
}

/// Floating-point types of arithmetic.
#[allow(missing_docs, reason = "PTX's own type names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatTy {
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

/// Types of comparison, selection and conversion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// Bits without a type.
    Bits(Width),
    /// Integer, signed or unsigned.
    Int(IntTy),
    /// Floating-point number, scalar or packed.
    Float(FloatTy),
}

/// Widths of untyped bits.
#[allow(missing_docs, reason = "the width in bits")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Width {
    B8,
    B16,
    B32,
    B64,
}

/// IEEE rounding of a floating-point result.
#[allow(missing_docs, reason = "PTX: .rn .rz .rm .rp .rna")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Round {
    Near,
    Zero,
    Down,
    Up,
    NearAway,
}

/// Modifiers common to floating-point arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FloatMods {
    /// Rounding of the result.
    pub round: Round,
    /// `.ftz`: subnormal inputs and results become zero of the same sign.
    pub ftz: bool,
    /// `.sat`: the result is clamped to [0, 1], NaN becomes +0.
    pub sat: bool,
    /// `.relu`: negative results and -0 become +0, NaN the canonical NaN.
    pub relu: bool,
}

/// Arithmetic on pairs of f32 (PTX ISA, "add", "sub", "mul", "fma" with `.f32x2`).
#[allow(missing_docs, reason = "PTX's own mnemonics")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatPair {
    Add,
    Sub,
    Mul,
    Fma,
}

/// Half of a product.
#[allow(missing_docs, reason = "PTX: .lo .hi .wide")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Half {
    Lo,
    Hi,
    Wide,
}

/// Integer arithmetic with two inputs.
#[allow(missing_docs, reason = "PTX's own mnemonics")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntBin {
    Add,
    Sub,
    Div,
    Rem,
    Min,
    Max,
    MinRelu,
    MaxRelu,
    AddSat,
    SubSat,
}

/// Integer arithmetic and bit counting with one input.
#[allow(missing_docs, reason = "PTX's own mnemonics")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntUn {
    Abs,
    Neg,
    Popc,
    Clz,
    Brev,
    Bfind,
    BfindShiftAmt,
}

/// Bitwise logic with two inputs, on registers and predicates.
#[allow(missing_docs, reason = "PTX's own mnemonics")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// Floating-point arithmetic with two inputs and rounding.
#[allow(
    missing_docs,
    reason = "PTX's own mnemonics; `DivFull` and `DivApprox` are f32 only"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatBin {
    Add,
    Sub,
    Mul,
    Div,
    DivFull,
    DivApprox,
}

/// Floating-point operations with one input. The `Approx` forms have documented error bounds.
#[allow(
    missing_docs,
    reason = "PTX's own mnemonics; `...Approx` are the `.approx` forms"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FloatUn {
    Abs,
    Neg,
    Rcp,
    Sqrt,
    RcpApprox,
    SqrtApprox,
    RsqrtApprox,
    SinApprox,
    CosApprox,
    Lg2Approx,
    Ex2Approx,
    TanhApprox,
    /// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` use the high word only; `rsqrt.approx.f64`
    /// without `.ftz` uses the whole value.
    RcpApproxF64,
    RsqrtApproxF64,
}

/// Operations `min` and `max` on floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FloatMinMax {
    /// True for `max`, false for `min`.
    pub max: bool,
    /// `.NaN`: a NaN input gives the canonical NaN.
    pub nan: bool,
    /// True for `.xorsign.abs`: the magnitude with the exclusive or of the signs.
    pub xorsign_abs: bool,
    /// True for `.ftz`: subnormal values become zero.
    pub ftz: bool,
}

/// Comparison operators of `set` and `setp`; `...U` are true when an input is NaN.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Lo,
    Ls,
    Hi,
    Hs,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}

/// Combination of a comparison with the predicate operand `c` in `setp` and `set`.
#[allow(missing_docs, reason = "PTX: .and .or .xor, or no third operand")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Combine {
    None,
    And,
    Or,
    Xor,
}

/// Properties that `testp` tests.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TestKind {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Modes of the instruction `prmt`.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PrmtMode {
    Index,
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

/// State spaces that memory operations name.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Value)]
pub enum MemSpace {
    Generic,
    Global,
    Shared,
    Local,
    Const,
    /// Kernel parameters, read-only for a launch.
    Param,
    /// Parameters of device functions, at a static place in the thread's local frame.
    FrameParam,
}

/// Cache operators and memory orders that timing distinguishes.
#[allow(
    missing_docs,
    reason = "PTX: .ca .cg .cs .lu .cv .wb .wt, .nc, .volatile, .relaxed ..."
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CacheOp {
    Default,
    Ca,
    Cg,
    Cs,
    Lu,
    Cv,
    Wb,
    Wt,
    NonCoherent,
    Volatile,
    Relaxed,
    Acquire,
    Release,
}

/// Type of a memory element, with the width of the register that receives it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemTy {
    /// Bytes in memory: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Elements of the vector: 1, 2, 4 or 8.
    pub count: u8,
    /// True if loads extend the sign.
    pub signed: bool,
    /// True if each destination or source register has 64 bits; else it has one slot.
    pub wide_reg: bool,
}

/// Operations of atomic instructions.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Value)]
pub enum AtomOp {
    And,
    Or,
    Xor,
    Cas,
    Exch,
    Add,
    Inc,
    Dec,
    Min,
    Max,
}

/// Type of an atomic operation.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Value)]
pub enum AtomTy {
    B16,
    B32,
    B64,
    U32,
    S32,
    U64,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
}

/// Operation of a barrier instruction besides counting.
#[allow(
    missing_docs,
    reason = "PTX: bar.sync, bar.arrive, bar.red.popc/and/or, barrier.cluster"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Value)]
pub enum BarrierKind {
    Sync,
    Arrive,
    RedPopc,
    RedAnd,
    RedOr,
    ClusterArrive,
    ClusterWait,
}

/// Operation on an address of shared memory of a cluster (PTX ISA, "mapa", "getctarank",
/// "isspacep").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClusterOp {
    /// Address of the same place in the block whose rank is in `src[1]`, to `dst[0]`.
    Map,
    /// Rank of the block that contains the place, to `dst[0]`.
    Rank,
    /// Test whether the address is in shared memory of the cluster, to the predicate in `dst[0]`.
    IsShared,
}

/// Modes of the instruction `vote`.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// Modes of the instruction `shfl`.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// Operations of the instruction `redux.sync`.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReduxOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// Reduction `redux.sync.min.f32` or `redux.sync.max.f32`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FloatRedux {
    /// True for `max`, false for `min`.
    pub max: bool,
    /// True for `.abs`: magnitudes are compared.
    pub abs: bool,
    /// True for `.NaN`: a NaN input gives the canonical NaN.
    pub nan: bool,
}

/// Geometries of a texture.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TexGeom {
    D1,
    D2,
    D3,
    A1,
    A2,
    Cube,
    ACube,
}

/// Source of a texture's level of detail.
#[allow(missing_docs, reason = "PTX: none, .level, .grad")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TexLod {
    Base,
    Level,
    Grad,
}

/// Property that `txq` queries.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TexQuery {
    Width,
    Height,
    Depth,
    ChannelDataType,
    ChannelOrder,
    NormalizedCoords,
    ArraySize,
    NumMipmapLevels,
    FilterMode,
    AddrMode0,
    AddrMode1,
    AddrMode2,
    ForceUnnormalizedCoords,
}

/// Type of texture coordinates or of a texel's channels.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TexTy {
    U32,
    S32,
    F32,
    F16,
    F16x2,
}
