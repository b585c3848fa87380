//! Operations. Every combination that PTX allows and that the simulator executes has one value of
//! [`Op`]. Lowering refuses everything else. The semantics are those of the PTX ISA; the crate
//! `exec` implements them.

mod types;

use crate::asynchronous::{AsyncKind, BulkAct, CopyWait, MbarrierOp};
use crate::convert::{CvtRound, Float8, IntTyNarrow};
use crate::scalar_video::ScalarVideoOp;
use crate::surface::{SurfAct, SurfEdge};
use crate::video::Video;

pub use types::*;

/// Operation of an instruction. Its operands are in the [`Inst`](crate::Inst).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// No operation (`pragma`-like, `prefetch` of a generic address, `discard`).
    Nop,
    /// Copies the bits of one register.
    Mov(Width),
    /// Copies a predicate to a predicate.
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
    /// Integer arithmetic: d = a op b.
    Int(IntBin, IntTy),
    /// Integer arithmetic: d = op a. `Popc`, `Clz` and `Bfind` produce 32 bits.
    IntUn(IntUn, IntTy),
    /// Product: d = half of a x b.
    Mul(Half, IntTy),
    /// Product and sum: d = half of a x b + c; the flag is the `.sat` of `mad.hi.sat.s32`.
    Mad(Half, IntTy, bool),
    /// Product of 24 bits; the flag is `.hi`.
    Mul24(bool, IntTy),
    /// Product and sum of 24 bits; the flags are `.hi` and `.sat`.
    Mad24(bool, bool, IntTy),
    /// Sum of absolute differences: d = |a - b| + c.
    Sad(IntTy),
    /// Sum in a carry chain: d = a + b (+ carry if `cin`), carry out to CC if `cout`.
    AddC {
        /// True if the carry is added.
        cin: bool,
        /// True if the carry is set.
        cout: bool,
        /// Type of the operands.
        ty: IntTy,
    },
    /// Difference in a carry chain: d = a - b (- borrow).
    SubC {
        /// True if the borrow is subtracted.
        cin: bool,
        /// True if the borrow is set.
        cout: bool,
        /// Type of the operands.
        ty: IntTy,
    },
    /// Product and sum in a carry chain: d = half of a x b + c (+ carry).
    MadC {
        /// Half of the product.
        half: Half,
        /// True if the carry is added.
        cin: bool,
        /// True if the carry is set.
        cout: bool,
        /// Type of the operands.
        ty: IntTy,
    },
    /// Dot product `dp4a`; the flags say that a and b are signed.
    Dp4a(bool, bool),
    /// Dot product `dp2a`; the flags are `.hi` and the signs of a and b.
    Dp2a(bool, bool, bool),
    /// Bit field extract: d = field of a at b, length c.
    Bfe(IntTy),
    /// Bit field insert: f = a inserted into b at c, length d.
    Bfi(Width),
    /// Bit mask `bmsk`; the flag is `.clamp` (else `.wrap`).
    Bmsk(bool),
    /// Sign extension `szext`; the flag is `.clamp` (else `.wrap`), the type u32 or s32.
    Szext(bool, IntTy),
    /// N-th set bit: `fns.b32`.
    Fns,
    /// Bitwise logic of two operands.
    Logic(Logic, Width),
    /// Bitwise complement of an operand.
    Not(Width),
    /// Logical complement: d = (a == 0) ? 1 : 0.
    Cnot(Width),
    /// Logic of two predicates.
    LogicPred(Logic),
    /// Complement of a predicate.
    NotPred,
    /// Any bitwise function of three inputs. With a predicate destination (`lop3.BoolOp`), `dst[1]`
    /// is p = (d != 0) BoolOp `src[3]`.
    Lop3(u8, Combine),
    /// Shift left; amounts beyond the width are clamped.
    Shl(Width),
    /// Shift right, arithmetic for signed types.
    Shr(IntTy),
    /// Funnel shift: `.l` (else `.r`), `.wrap` (else `.clamp`).
    Shf(bool, bool),
    /// Permutation of bytes: `prmt`.
    Prmt(PrmtMode),
    /// Floating-point arithmetic: d = a op b.
    Float(FloatBin, FloatTy, FloatMods),
    /// Product and sum with one rounding: d = a x b + c.
    Fma(FloatTy, FloatMods),
    /// Arithmetic on pairs of f32 in 64-bit registers; with three sources a x b + c.
    FloatPair(FloatPair, FloatMods),
    /// Floating-point function: d = op a.
    FloatUn(FloatUn, FloatTy, FloatMods),
    /// Floating-point minimum or maximum, with three inputs if `src[2]` is present.
    FloatMinMax(FloatMinMax, FloatTy),
    /// Copy of a sign, `copysign d, a, b`: sign of a, magnitude of b.
    Copysign(FloatTy),
    /// Test of a float's class to a predicate: `testp`.
    Testp(TestKind, FloatTy),
    /// Comparison to predicates, `setp`: p in `dst[0]`, q in `dst[1]`, predicate operand c in
    /// `src[2]`.
    Setp(Cmp, Combine, Ty, bool),
    /// Comparison to a register, `set`: all ones or 1.0f.
    Set(Cmp, Combine, Ty, bool, SetDst),
    /// Selection by a predicate: d = c ? a : b.
    Selp(Width),
    /// Selection by a sign: d = (c >= 0) ? a : b; c is an s32 or an f32.
    Slct {
        /// Width of d, a and b.
        width: Width,
        /// True if c is an f32.
        float: bool,
        /// True for `.ftz`: a subnormal c counts as zero.
        ftz: bool,
    },
    /// Conversion between types: `cvt d, a`.
    Cvt {
        /// Type of the destination.
        to: Ty,
        /// Type of the source.
        from: Ty,
        /// Rounding of a float, or rounding to an integer.
        round: CvtRound,
        /// True for `.ftz`: subnormal values become zero.
        ftz: bool,
        /// True for `.sat`: the result is clamped.
        sat: bool,
    },
    /// Conversion of two floats to a packed pair, such as `cvt.rn.f16x2.f32 d, a, b`: a to the
    /// upper half, b to the lower.
    CvtPack2 {
        /// Type of the pair: F16x2 or Bf16x2.
        to: FloatTy,
        /// Rounding of both elements.
        round: Round,
        /// True for `.relu`: negative results become zero.
        relu: bool,
    },
    /// Conversion of two s32 to narrower integers that are appended to c: `cvt.pack.sat`.
    CvtPackInt {
        /// Type of a destination element.
        to: IntTyNarrow,
        /// Type of the source.
        from: IntTy,
    },
    /// Conversion to tf32, such as `cvt.rna.tf32.f32`.
    CvtTf32 {
        /// Rounding of the result.
        round: Round,
        /// True for `.relu`: negative results become zero.
        relu: bool,
        /// True for `.satfinite`: infinities become the largest finite number.
        finite: bool,
    },
    /// Conversion to a pair of 8-bit floats: `cvt.rn.satfinite.e4m3x2.f32 d, a, b` with a to the
    /// upper byte, or both from the f16x2 in a.
    CvtToFloat8 {
        /// Format of both bytes.
        to: Float8,
        /// Type of the source: F32 or F16x2.
        from: FloatTy,
        /// True for `.relu`: negative results become zero.
        relu: bool,
    },
    /// Conversion from a pair of 8-bit floats, `cvt.rn.f16x2.e4m3x2 d, a`; the flag is `.relu`.
    CvtFromFloat8(Float8, bool),
    /// Packed video instructions `vadd2` to `vset4`; [`VideoParts`](crate::VideoParts) are in
    /// `imm`.
    Video(Video),
    /// Scalar video instructions `vadd` to `vset`; [`ScalarVideo`](crate::ScalarVideo) is in `imm`.
    ScalarVideo(ScalarVideoOp),
    /// Video instruction `vmad`; [`VideoMad`](crate::VideoMad) is in `imm`.
    VideoMad,
    /// Generic address of an address in a space; the flag is `.to`, the opposite direction.
    Cvta(MemSpace, bool, Width),
    /// Test whether a generic address is in a space, to a predicate.
    Isspacep(MemSpace),
    /// Operation on the address in `src[0]` of shared memory of a cluster.
    Cluster {
        /// Result that is computed.
        op: ClusterOp,
        /// True for a generic address, false for one in shared memory.
        generic: bool,
        /// True for an address of 64 bits.
        wide: bool,
    },
    /// Load from a space into registers.
    Ld(MemSpace, MemTy, CacheOp),
    /// Store of registers to a space.
    St(MemSpace, MemTy, CacheOp),
    /// Atomic with (`dst[0]`) or without (`red`) a result; operands in `src[1]` and `src[2]`.
    Atom(MemSpace, AtomOp, AtomTy),
    /// Texture read: coordinates and texels in the extra, handle in `src[0]`.
    Tex {
        /// Geometry of the texture.
        geom: TexGeom,
        /// Source of the level of detail.
        lod: TexLod,
        /// Type of the texel's channels.
        texel: TexTy,
        /// Type of the coordinates.
        coord: TexTy,
    },
    /// Gather `tld4`: one channel of the four neighbouring texels.
    Tld4 {
        /// Channel gathered, 0 to 3.
        channel: u8,
        /// Geometry of the texture.
        geom: TexGeom,
        /// Type of the texel's channels.
        texel: TexTy,
    },
    /// Texture query, handle in `src[0]`.
    Txq(TexQuery),
    /// Surface access: coordinates and then source values in the extra, handle in `src[0]`.
    Surf {
        /// Action on the surface.
        act: SurfAct,
        /// Geometry of the surface.
        geom: TexGeom,
        /// Treatment of coordinates outside the surface.
        edge: SurfEdge,
    },
    /// Copy `cp.async` from global memory (`src[0]`) to shared memory (`src[1]`). If `src[2]` is
    /// present, it is the number of bytes that are copied; the rest is zero.
    CopyAsync {
        /// Number of bytes written.
        bytes: u8,
        /// True if the shared address is a 64-bit register.
        wide: bool,
        /// Cache operator of the read.
        cache: CacheOp,
    },
    /// End of a group of copies: `cp.async.commit_group`.
    CopyCommit,
    /// Wait for asynchronous copies.
    CopyWait(CopyWait),
    /// Bulk copy: global address in `src[0]` (shared, if both are), shared address in `src[1]`,
    /// bytes in `src[2]`, barrier object in `src[3]`.
    Bulk {
        /// Direction of the copy.
        act: BulkAct,
        /// True for `src[1]` and `src[3]` if they are 64-bit registers.
        wide: [bool; 2],
    },
    /// Bulk copy of a box of a tensor: address of the tensor map in `src[0]`, coordinates in the
    /// extra, other operands as those of `Bulk`. In mode `.im2col` offsets follow the coordinates.
    BulkTensor {
        /// Direction of the copy.
        act: BulkAct,
        /// Space of the tensor map.
        space: MemSpace,
        /// True for the mode `.im2col`.
        im2col: bool,
        /// True for `src[1]` and `src[3]` if they are 64-bit registers.
        wide: [bool; 2],
    },
    /// Copy of a tensor map from shared memory (`src[1]`, a 64-bit register if the flag is set) to
    /// global memory (`src[0]`) by the lanes of a warp.
    TensorMapCopy(bool),
    /// End of a group of asynchronous operations of the kind.
    AsyncCommit(AsyncKind),
    /// Wait for all groups of the kind except this number of the youngest.
    AsyncWait(AsyncKind, u8),
    /// Operation on the barrier object at `src[0]`, with `src[1]`.
    Mbarrier(MemSpace, MbarrierOp),
    /// Product of matrices that the extra describes: registers of a, b and c, and of d. The number
    /// is the work ([`Mma::work`](crate::matrix::Mma::work)).
    Mma(u8),
    /// Product `wgmma.mma_async`: descriptor of a in `src[0]` unless registers hold it, of b in
    /// `src[1]`, and in `src[2]` the predicate that adds d. The extra describes the product; its
    /// sources are the registers of a, then those of d, and its destinations are those of d. The
    /// number is the work of a warp, in the unit of `Mma`.
    WarpGroupMma(u8),
    /// Load `ldmatrix` of one matrix of eight rows of 16 bytes per register of the extra,
    /// transposed if the flag is set; `src[0]` is a lane's address.
    LdMatrix(MemSpace, bool),
    /// Store `stmatrix` with the operands of `LdMatrix`.
    StMatrix(MemSpace, bool),
    /// Transposition of a matrix in registers: `movmatrix`.
    TurnMatrix,
    /// Prefetch to a cache level, without effect on values.
    Prefetch(MemSpace),
    /// Branch to `imm`; the flag promises that it is uniform.
    Bra(bool),
    /// Branch by table: index in `src[0]`, targets in the extra.
    BrxIdx,
    /// Call of the function at `imm`; the extra lists the copies of parameters.
    Call,
    /// Call of the function whose address is in `src[0]`: one of the extra's callees.
    CallIndirect,
    /// Allocation of `src[0]` bytes of the stack, aligned to `src[1]`, until the function returns;
    /// `dst[0]` is the address in local memory.
    Alloca(Width),
    /// Copies the end of the stack's used part to `dst[0]`.
    StackSave(Width),
    /// Sets the end of the stack's used part to `src[0]`.
    StackRestore(Width),
    /// Return from a function, or end of a kernel's thread at top level.
    Ret,
    /// End of the thread.
    Exit,
    /// Fault of the running thread: `trap`.
    Trap,
    /// Breakpoint, without effect: `brkpt`.
    Brkpt,
    /// Sleep for about `src[0]` nanoseconds, without effect on values.
    Nanosleep,
    /// Block barrier: number in `src[0]`, thread count in `src[1]` (or none), predicate in
    /// `src[2]`.
    Barrier(BarrierKind),
    /// `bar.warp.sync`: member mask in `src[0]`.
    BarWarp,
    /// Fence `membar` or `fence` of a scope.
    Membar(Scope),
    /// Vote: predicate in `src[0]`, member mask in `src[1]` (absent in the old forms).
    Vote(VoteMode),
    /// Comparison of values across lanes, `match.any` (else `.all`, predicate in `dst[1]`), on 32
    /// or 64 bits.
    Match(bool, Width),
    /// Shuffle: a, b, c in sources 0 to 2, member mask in `src[3]`; predicate in `dst[1]`.
    Shfl(ShflMode),
    /// Mask of active lanes: `activemask`.
    Activemask,
    /// Reduction over a warp: value in `src[0]`, member mask in `src[1]`.
    Redux(ReduxOp, IntTy),
    /// Reduction of f32 over a warp: value in `src[0]`, member mask in `src[1]`.
    ReduxFloat(FloatRedux),
    /// Election of one lane: member mask in `src[0]`, lane in `dst[0]`, predicate in `dst[1]`.
    Elect,
    /// Call of a system function, which has no code; the sources are the arguments in order.
    System(SystemCall),
}

/// System functions that CUDA provides to kernels (CUDA C++ Programming Guide, "Formatted Output",
/// "Assertion", "Dynamic Global Memory Allocation").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SystemCall {
    /// Formatted output, `vprintf`: generic addresses of the format and of the arguments; `dst[0]`
    /// is the number of arguments.
    Print,
    /// Failed assertion, `__assertfail`: generic addresses of the expression and of the file's
    /// name, the line, the generic address of the function's name.
    AssertFail,
    /// Allocation on the heap, `malloc`: bytes; `dst[0]` is the address, or 0.
    Malloc,
    /// Deallocation on the heap, `free`: the address.
    Free,
}

/// Scopes of a fence.
#[allow(missing_docs, reason = "PTX: .cta .cluster .gl/.gpu .sys")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scope {
    Block,
    Cluster,
    Gpu,
    System,
}

/// Destination types of `set`.
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
    /// True if the first source is an address in memory.
    pub(crate) const fn has_address(&self) -> bool {
        matches!(
            self,
            Self::Ld(..)
                | Self::St(..)
                | Self::Atom(..)
                | Self::Prefetch(_)
                | Self::CopyAsync { .. }
                | Self::Bulk { .. }
                | Self::BulkTensor { .. }
                | Self::TensorMapCopy(_)
                | Self::Mbarrier(..)
                | Self::LdMatrix(..)
                | Self::StMatrix(..)
        )
    }
}
