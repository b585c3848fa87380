//! Which execution unit's energy an operation uses.
//!
//! Classes follow GPGPU-Sim's power model (its `sp_op`, by opcode and type): every operation that
//! is no branch, barrier, fence or access to memory executes in one of them.

use crate::inst::{Inst, Src};
use crate::op::{FloatPair, FloatTy, FloatUn, IntBin, IntTy, Op, Ty};
use crate::operands::Code;

/// An execution unit by its energy.
#[allow(missing_docs, reason = "named after the operation")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unit {
    /// Additions, logic, shifts, comparisons, moves.
    IntAdd,
    IntMul24,
    /// Products of 32-bit operands.
    IntMul32,
    /// Products of operands of other widths.
    IntMul,
    IntDiv,
    /// Additions, comparisons, conversions of 16- and 32-bit floats.
    FpAdd,
    FpMul,
    /// Divisions and reciprocals of floats.
    FpDiv,
    Sqrt,
    Log,
    Sin,
    Exp,
    DpAdd,
    DpMul,
    DpDiv,
    Tensor,
    Texture,
}

impl Unit {
    /// Number of kinds of units.
    pub const COUNT: usize = Self::Texture as usize + 1;

    /// Number of the unit in counters.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// True if the unit computes with floats.
    pub const fn is_float(self) -> bool {
        !matches!(
            self,
            Self::IntAdd
                | Self::IntMul24
                | Self::IntMul32
                | Self::IntMul
                | Self::IntDiv
                | Self::Tensor
                | Self::Texture
        )
    }
}

/// The unit that an operation executes in; none of branches, barriers, fences and accesses to
/// memory other than textures.
pub fn unit(op: Op) -> Option<Unit> {
    Some(match op {
        Op::Ld(..)
        | Op::St(..)
        | Op::Atom(..)
        | Op::LdMatrix(..)
        | Op::StMatrix(..)
        | Op::Surf { .. }
        | Op::CopyAsync { .. }
        | Op::Bulk { .. }
        | Op::BulkTensor { .. }
        | Op::TensorMapCopy(_)
        | Op::CopyCommit
        | Op::CopyWait(_)
        | Op::AsyncCommit(_)
        | Op::AsyncWait(..)
        | Op::Mbarrier(..)
        | Op::Prefetch(_)
        | Op::Bra(_)
        | Op::BrxIdx
        | Op::Call
        | Op::CallIndirect
        | Op::System(_)
        | Op::Ret
        | Op::Exit
        | Op::Trap
        | Op::Barrier(_)
        | Op::BarWarp
        | Op::Membar(_)
        | Op::Nop => return None,
        Op::Int(IntBin::Div | IntBin::Rem, _) => Unit::IntDiv,
        Op::Mul24(..) | Op::Mad24(..) => Unit::IntMul24,
        Op::Mul(_, ty) | Op::Mad(_, ty, _) | Op::MadC { ty, .. } => match ty {
            IntTy::U32 | IntTy::S32 => Unit::IntMul32,
            _ => Unit::IntMul,
        },
        Op::Float(op, ty, _) => {
            use crate::op::FloatBin as F;
            match op {
                F::Add | F::Sub => pick(ty, Unit::FpAdd, Unit::DpAdd),
                F::Mul => pick(ty, Unit::FpMul, Unit::DpMul),
                F::Div | F::DivFull | F::DivApprox => pick(ty, Unit::FpDiv, Unit::DpDiv),
            }
        }
        Op::FloatPair(FloatPair::Mul | FloatPair::Fma, _) => Unit::FpMul,
        Op::FloatPair(..) => Unit::FpAdd,
        Op::Fma(ty, _) => pick(ty, Unit::FpMul, Unit::DpMul),
        Op::FloatUn(op, ty, _) => float_unary(op, ty),
        Op::FloatMinMax(_, ty) | Op::Copysign(ty) | Op::Testp(_, ty) => {
            pick(ty, Unit::FpAdd, Unit::DpAdd)
        }
        Op::Setp(_, _, ty, _) | Op::Set(_, _, ty, ..) | Op::Cvt { to: ty, .. } => of_type(ty),
        Op::CvtPack2 { .. } | Op::CvtTf32 { .. } | Op::CvtFromFloat8(..) => Unit::FpAdd,
        Op::Mma(_) | Op::WarpGroupMma(_) => Unit::Tensor,
        Op::Tex { .. } | Op::Tld4 { .. } => Unit::Texture,
        _ => Unit::IntAdd,
    })
}

fn pick(ty: FloatTy, single: Unit, double: Unit) -> Unit {
    match ty {
        FloatTy::F64 => double,
        _ => single,
    }
}

fn of_type(ty: Ty) -> Unit {
    match ty {
        Ty::Float(ty) => pick(ty, Unit::FpAdd, Unit::DpAdd),
        Ty::Bits(_) | Ty::Int(_) => Unit::IntAdd,
    }
}

fn float_unary(op: FloatUn, ty: FloatTy) -> Unit {
    match op {
        FloatUn::Abs | FloatUn::Neg => pick(ty, Unit::FpAdd, Unit::DpAdd),
        FloatUn::Rcp | FloatUn::RcpApprox => pick(ty, Unit::FpDiv, Unit::DpDiv),
        FloatUn::RcpApproxF64 => Unit::DpDiv,
        FloatUn::Sqrt | FloatUn::SqrtApprox | FloatUn::RsqrtApprox | FloatUn::RsqrtApproxF64 => {
            Unit::Sqrt
        }
        FloatUn::SinApprox | FloatUn::CosApprox => Unit::Sin,
        FloatUn::Lg2Approx => Unit::Log,
        FloatUn::Ex2Approx | FloatUn::TanhApprox => Unit::Exp,
    }
}

/// Source operands that are no registers: constants, special registers, and the memory operand of
/// a load. GPGPU-Sim counts all operands after the first, so that a store's memory operand and the
/// number of a barrier, which come first, are none.
pub fn other_operands(code: &Code, inst: &Inst) -> u8 {
    let first = usize::from(inst.op.has_address() || matches!(inst.op, Op::Barrier(_)));
    let values = code.sources(inst).skip(first);
    let others = values.filter(|src| matches!(src, Src::Const(_) | Src::Special(_)));
    let reads = matches!(inst.op, Op::Ld(..) | Op::Atom(..) | Op::LdMatrix(..));
    others.count() as u8 + u8::from(reads)
}
