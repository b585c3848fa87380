//! Operations. Every combination that PTX allows and that the simulator executes has one value of
//! [`Op`]; whatever the simulator does not execute is refused when the code is lowered.
//! Semantics are those of the PTX ISA; `exec` implements them.

use crate::asynchronous::{CopyWait, MbarrierOp};
use crate::convert::{CvtRound, Float8, IntTyNarrow};
use crate::scalar_video::ScalarVideoOp;
use crate::surface::{SurfAct, SurfEdge};
use crate::video::Video;

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

/// Floating-point types.
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

/// Any type that comparison, selection and conversion work on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ty {
    /// Untyped bits.
    Bits(Width),
    /// An integer.
    Int(IntTy),
    /// A float.
    Float(FloatTy),
}

/// Untyped widths.
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
    /// Rounding.
    pub round: Round,
    /// `.ftz`: subnormal inputs and results become zero of the same sign.
    pub ftz: bool,
    /// `.sat`: the result is clamped to [0, 1], NaN becomes +0.
    pub sat: bool,
    /// `.relu`: negative results and -0 become +0, NaN the canonical NaN.
    pub relu: bool,
}

/// Which half of a product.
#[allow(missing_docs, reason = "PTX: .lo .hi .wide")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Half {
    Lo,
    Hi,
    Wide,
}

/// Two-input integer arithmetic.
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

/// One-input integer arithmetic and bit counting.
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

/// Two-input bitwise logic; on predicates too.
#[allow(missing_docs, reason = "PTX's own mnemonics")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// Two-input floating-point arithmetic with rounding.
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

/// One-input floating-point operations. The `Approx` forms have documented error bounds.
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
    /// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: on the high word only (`rsqrt.approx.f64`,
    /// without `.ftz`, on the whole).
    RcpApproxF64,
    RsqrtApproxF64,
}

/// `min` and `max` on floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FloatMinMax {
    /// `max` rather than `min`.
    pub max: bool,
    /// `.NaN`: a NaN input gives the canonical NaN.
    pub nan: bool,
    /// `.xorsign.abs`
    pub xorsign_abs: bool,
    /// `.ftz`
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

/// How `setp`/`set` combine the comparison with the predicate operand `c`.
#[allow(missing_docs, reason = "PTX: .and .or .xor, or no third operand")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Combine {
    None,
    And,
    Or,
    Xor,
}

/// `testp`.
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

/// `prmt` modes.
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemSpace {
    Generic,
    Global,
    Shared,
    Local,
    Const,
    /// Kernel parameters: read-only, per launch.
    Param,
    /// Parameters of device functions: per thread, at a static place in the local frame.
    FrameParam,
}

/// Cache operators and the like that timing distinguishes.
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

/// Type of a memory element, with how a register receives it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemTy {
    /// Bytes in memory: 1, 2, 4, 8 or 16.
    pub bytes: u8,
    /// Elements of the vector: 1, 2, 4 or 8.
    pub count: u8,
    /// Loads extend the sign.
    pub signed: bool,
    /// Each destination or source register is 64 bits wide (else it is one slot).
    pub wide_reg: bool,
}

/// Atomic operations.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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

/// What a barrier instruction does besides counting.
#[allow(
    missing_docs,
    reason = "PTX: bar.sync, bar.arrive, bar.red.popc/and/or"
)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarrierKind {
    Sync,
    Arrive,
    RedPopc,
    RedAnd,
    RedOr,
}

/// `vote` modes.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// `shfl` modes.
#[allow(missing_docs, reason = "PTX's own names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// `redux.sync` operations.
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

/// Texture geometry.
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

/// How a texture's level of detail is given.
#[allow(missing_docs, reason = "PTX: none, .level, .grad")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TexLod {
    Base,
    Level,
    Grad,
}

/// What `txq` asks for.
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

/// One operation. Operands stand in the [`Inst`](crate::Inst).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Nothing (`pragma`-like, `prefetch` of a generic address, `discard`).
    Nop,
    /// Copies bits of one register.
    Mov(Width),
    /// Predicate to predicate.
    MovPred,
    /// `mov.bN d, {a, b, ..}`: packs the extra's sources, each `part` wide, into `whole`.
    Pack {
        /// Width of the parts.
        part: Width,
        /// Width of the whole.
        whole: Width,
    },
    /// `mov.bN {a, b, ..}, s`: unpacks into the extra's destinations.
    Unpack {
        /// Width of the parts.
        part: Width,
        /// Width of the whole.
        whole: Width,
    },
    /// d = a op b.
    Int(IntBin, IntTy),
    /// d = op a. `Popc`, `Clz` and `Bfind` give 32 bits.
    IntUn(IntUn, IntTy),
    /// d = half of a x b.
    Mul(Half, IntTy),
    /// d = half of a x b + c; `.sat` of `mad.hi.sat.s32` in the flag.
    Mad(Half, IntTy, bool),
    /// 24-bit multiply, `.hi` in the flag.
    Mul24(bool, IntTy),
    /// 24-bit multiply-add: `.hi`, `.sat`.
    Mad24(bool, bool, IntTy),
    /// d = |a - b| + c.
    Sad(IntTy),
    /// Carry chains: d = a + b (+ carry if `cin`), carry out to CC if `cout`.
    AddC {
        /// Adds the carry.
        cin: bool,
        /// Sets the carry.
        cout: bool,
        /// Operand type.
        ty: IntTy,
    },
    /// d = a - b (- borrow).
    SubC {
        /// Subtracts the borrow.
        cin: bool,
        /// Sets the borrow.
        cout: bool,
        /// Operand type.
        ty: IntTy,
    },
    /// d = half of a x b + c (+ carry).
    MadC {
        /// Which half of the product.
        half: Half,
        /// Adds the carry.
        cin: bool,
        /// Sets the carry.
        cout: bool,
        /// Operand type.
        ty: IntTy,
    },
    /// `dp4a`: signedness of a and b.
    Dp4a(bool, bool),
    /// `dp2a`: `.hi`, signedness of a and b.
    Dp2a(bool, bool, bool),
    /// d = field of a at b, length c.
    Bfe(IntTy),
    /// f = a inserted into b at c, length d.
    Bfi(Width),
    /// `bmsk`, `.clamp` (else `.wrap`).
    Bmsk(bool),
    /// `szext`, `.clamp` (else `.wrap`), type u32 or s32.
    Szext(bool, IntTy),
    /// `fns.b32`.
    Fns,
    /// Bitwise logic.
    Logic(Logic, Width),
    /// Bitwise not.
    Not(Width),
    /// d = (a == 0) ? 1 : 0.
    Cnot(Width),
    /// Logic on predicates.
    LogicPred(Logic),
    /// Not of a predicate.
    NotPred,
    /// Any function of three inputs. With a predicate destination (`lop3.BoolOp`) `dst[1]` is
    /// p = (d != 0) BoolOp `src[3]`.
    Lop3(u8, Combine),
    /// Shift left; amounts beyond the width are clamped.
    Shl(Width),
    /// Shift right, arithmetic for signed types.
    Shr(IntTy),
    /// Funnel shift: `.l` (else `.r`), `.wrap` (else `.clamp`).
    Shf(bool, bool),
    /// Byte permute.
    Prmt(PrmtMode),
    /// Floating-point d = a op b.
    Float(FloatBin, FloatTy, FloatMods),
    /// d = a x b + c with one rounding.
    Fma(FloatTy, FloatMods),
    /// d = op a.
    FloatUn(FloatUn, FloatTy, FloatMods),
    /// Floating-point minimum or maximum; three inputs when `src[2]` is present.
    FloatMinMax(FloatMinMax, FloatTy),
    /// `copysign d, a, b`: sign of a, magnitude of b.
    Copysign(FloatTy),
    /// `testp`, to a predicate.
    Testp(TestKind, FloatTy),
    /// `setp`: predicates p (dst 0) and q (dst 1), predicate operand c in `src[2]`.
    Setp(Cmp, Combine, Ty, bool),
    /// `set`: as `Setp`, to a register: all ones or 1.0f.
    Set(Cmp, Combine, Ty, bool, SetDst),
    /// d = c ? a : b.
    Selp(Width),
    /// d = (c >= 0) ? a : b; c is s32, or f32 with `.ftz` in the flags.
    Slct {
        /// Width of d, a and b.
        width: Width,
        /// c is f32.
        float: bool,
        /// `.ftz`
        ftz: bool,
    },
    /// `cvt d, a`.
    Cvt {
        /// Destination type.
        to: Ty,
        /// Source type.
        from: Ty,
        /// Float rounding, or rounding to an integer.
        round: CvtRound,
        /// `.ftz`
        ftz: bool,
        /// `.sat`
        sat: bool,
    },
    /// `cvt.rn.f16x2.f32 d, a, b` and bf16x2: a to the upper half, b to the lower.
    CvtPack2 {
        /// F16x2 or Bf16x2.
        to: FloatTy,
        /// Rounding.
        round: Round,
        /// `.relu`
        relu: bool,
    },
    /// `cvt.pack.sat`: convert two s32 to narrower integers and append them to c.
    CvtPackInt {
        /// Destination element type.
        to: IntTyNarrow,
        /// Source type.
        from: IntTy,
    },
    /// `cvt.rna.tf32.f32` and other roundings to tf32.
    CvtTf32 {
        /// Rounding.
        round: Round,
        /// `.relu`
        relu: bool,
        /// `.satfinite`
        finite: bool,
    },
    /// `cvt.rn.satfinite.e4m3x2.f32 d, a, b`, a to the upper byte; or both from the f16x2 in a.
    CvtToFloat8 {
        /// Format of both bytes.
        to: Float8,
        /// F32 or F16x2.
        from: FloatTy,
        /// `.relu`
        relu: bool,
    },
    /// `cvt.rn.f16x2.e4m3x2 d, a`; `true`: `.relu`.
    CvtFromFloat8(Float8, bool),
    /// `vadd2` to `vset4`; [`VideoParts`](crate::VideoParts) are in `imm`.
    Video(Video),
    /// `vadd` to `vset` on one lane; [`ScalarVideo`](crate::ScalarVideo) is in `imm`.
    ScalarVideo(ScalarVideoOp),
    /// `vmad`; [`VideoMad`](crate::VideoMad) is in `imm`.
    VideoMad,
    /// Generic address of an address in a space; `true` for the opposite direction (`.to`).
    Cvta(MemSpace, bool, Width),
    /// Is a generic address in a space, to a predicate.
    Isspacep(MemSpace),
    /// Load.
    Ld(MemSpace, MemTy, CacheOp),
    /// Store.
    St(MemSpace, MemTy, CacheOp),
    /// Atomic with (`dst[0]`) or without (`red`) a result; operands in `src[1]`, `src[2]`.
    Atom(MemSpace, AtomOp, AtomTy),
    /// Texture read: coordinates and texels in the extra, handle in `src[0]`.
    Tex {
        /// Geometry.
        geom: TexGeom,
        /// Level of detail.
        lod: TexLod,
        /// Type of the texel's channels.
        texel: TexTy,
        /// Type of the coordinates.
        coord: TexTy,
    },
    /// `tld4`: one channel (0 to 3) of the four neighbouring texels.
    Tld4 {
        /// Channel gathered.
        channel: u8,
        /// Geometry.
        geom: TexGeom,
        /// Type of the texel's channels.
        texel: TexTy,
    },
    /// Texture query, handle in `src[0]`.
    Txq(TexQuery),
    /// Surface access: coordinates, and behind them the values that it takes, in the extra, handle
    /// in `src[0]`.
    Surf {
        /// What it does.
        act: SurfAct,
        /// Geometry.
        geom: TexGeom,
        /// What is outside.
        edge: SurfEdge,
    },
    /// `cp.async`: copies bytes from global memory (`src[0]`) to shared memory (`src[1]`), of which
    /// `src[2]`, if it is there, says how many are not zero.
    CopyAsync {
        /// Bytes.
        bytes: u8,
        /// The shared address is a 64-bit register.
        wide: bool,
        /// Cache operator.
        cache: CacheOp,
    },
    /// `cp.async.commit_group`: the copies since the last one are a group.
    CopyCommit,
    /// Waits for copies.
    CopyWait(CopyWait),
    /// Operation on the barrier object at `src[0]`, with `src[1]`.
    Mbarrier(MemSpace, MbarrierOp),
    /// Product of matrices, as the extra says: registers of a, b and c, those of d. Its work, see
    /// [`Mma::work`](crate::matrix::Mma::work).
    Mma(u8),
    /// `ldmatrix`: as many matrices of eight rows of 16 bytes as the extra has registers, turned if
    /// the flag is set; a lane's address in `src[0]`.
    LdMatrix(MemSpace, bool),
    /// `stmatrix`, likewise.
    StMatrix(MemSpace, bool),
    /// `movmatrix`: turns a matrix that lies in registers.
    TurnMatrix,
    /// Prefetch to a cache level: no effect on values.
    Prefetch(MemSpace),
    /// Branch to `imm`, uniform by promise if the flag is set.
    Bra(bool),
    /// Branch by table: index in `src[0]`, targets in the extra.
    BrxIdx,
    /// Call of the function at `imm`; copies of parameters in the extra.
    Call,
    /// Call of the function whose address is in `src[0]`: one of the extra's.
    CallIndirect,
    /// Takes `src[0]` bytes of the stack until the function returns, at a multiple of `src[1]`; the
    /// address in local memory in `dst[0]`.
    Alloca(Width),
    /// The end of the stack's used part, to `dst[0]`.
    StackSave(Width),
    /// Makes `src[0]` that end.
    StackRestore(Width),
    /// Return from a function, or end of a kernel's thread at top level.
    Ret,
    /// End of the thread.
    Exit,
    /// Fault.
    Trap,
    /// Breakpoint: no effect.
    Brkpt,
    /// Sleep for about `src[0]` nanoseconds: no effect on values.
    Nanosleep,
    /// Block barrier: number in `src[0]`, thread count in `src[1]` (or none), predicate in
    /// `src[2]`.
    Barrier(BarrierKind),
    /// `bar.warp.sync`: member mask in `src[0]`.
    BarWarp,
    /// `membar`/`fence`, by scope.
    Membar(Scope),
    /// Vote: predicate in `src[0]`, member mask in `src[1]` (absent in the old forms).
    Vote(VoteMode),
    /// `match.any` (else `.all`, predicate in `dst[1]`), on 32 or 64 bits.
    Match(bool, Width),
    /// Shuffle: a, b, c in sources 0 to 2, member mask in `src[3]`; predicate in `dst[1]`.
    Shfl(ShflMode),
    /// Active lanes.
    Activemask,
    /// Reduction over a warp: value in `src[0]`, member mask in `src[1]`.
    Redux(ReduxOp, IntTy),
    /// Elects one lane: membership mask in `src[0]`, lane in `dst[0]`, predicate in `dst[1]`.
    Elect,
    /// Call of a function of the system, which has no code: arguments in the sources, in order.
    System(SystemCall),
}

/// Functions that CUDA's system provides to kernels (CUDA C++ Programming Guide, "Formatted
/// Output", "Assertion", "Dynamic Global Memory Allocation").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SystemCall {
    /// `vprintf`: generic addresses of the format and of the arguments; the number of arguments
    /// in `dst[0]`.
    Print,
    /// `__assertfail`: generic address of the expression, of the file's name, line, generic
    /// address of the function's name.
    AssertFail,
    /// `malloc`: bytes; the address, or 0, in `dst[0]`.
    Malloc,
    /// `free`: the address.
    Free,
}

/// Scope of a fence.
#[allow(missing_docs, reason = "PTX: .cta .cluster .gl/.gpu .sys")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    Block,
    Cluster,
    Gpu,
    System,
}

/// Destination type of `set`.
#[allow(missing_docs, reason = "PTX's own type names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SetDst {
    U32,
    S32,
    F32,
    U16,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
}

const _: () = assert!(
    size_of::<Op>() <= 8,
    "an operation must stay within 8 bytes"
);

impl Op {
    /// Its first source is an address in memory.
    pub(crate) const fn has_address(&self) -> bool {
        matches!(
            self,
            Self::Ld(..)
                | Self::St(..)
                | Self::Atom(..)
                | Self::Prefetch(_)
                | Self::CopyAsync { .. }
                | Self::Mbarrier(..)
                | Self::LdMatrix(..)
                | Self::StMatrix(..)
        )
    }
}
