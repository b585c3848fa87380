//! Effects of an instruction besides writing registers, as far as its order matters.

use warploom_ir::{CacheOp, Code, Inst, MemSpace, MemTy, Op, SpecialReg, Src};

/// Effect of an instruction, which decides what it may pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// Only registers. The instruction may pass everything that it does not depend on.
    None,
    /// A read of memory that the kernel does not write: only registers, as far as order matters.
    Constant,
    /// A read of global memory that no thread of the kernel writes (`.nc`), through this address.
    ReadOnly(Src),
    /// A plain read of a space; `None` is any space.
    Load(Option<MemSpace>, Place),
    /// A plain write to a space through this address; `None` is any space.
    Store(Option<MemSpace>, Place, Src),
    /// A carry, which the next instruction of the chain reads.
    Carry,
    /// An exchange among the lanes of a warp. They keep their order among themselves, because lanes
    /// at different places may exchange values.
    Exchange,
    /// An asynchronous copy to shared memory: ordered among themselves and with shared memory.
    Copy,
    /// An action that other threads may observe: ordered with all accesses to memory.
    Ordered,
    /// An action that nothing passes: a read of a clock, asynchronous products, ends of blocks.
    Fence,
}

impl Effect {
    /// The effect of an access whose place is not known.
    pub fn anywhere(self) -> Self {
        match self {
            Self::Load(space, _) => Self::Load(space, Place::ANYWHERE),
            Self::Store(space, _, address) => Self::Store(space, Place::ANYWHERE, address),
            other => other,
        }
    }
}

/// Bytes of an access, as far as they are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Value of the address register, by the position of its last write in the block. Without it
    /// the access may be anywhere.
    base: Option<(Src, Option<usize>)>,
    /// First byte, from the address in the register.
    start: i64,
    /// Byte after the last.
    end: i64,
}

impl Place {
    /// Anywhere in its space.
    pub const ANYWHERE: Self = Self {
        base: None,
        start: 0,
        end: 0,
    };

    /// Bytes of an access through an address that `written` last wrote.
    fn of(inst: &Inst, ty: MemTy, written: Option<usize>) -> Self {
        let start = i64::from(inst.imm);
        Self {
            base: Some((inst.src[0], written)),
            start,
            end: start + i64::from(ty.bytes) * i64::from(ty.count),
        }
    }

    /// True if two accesses of one space may have a byte in common. Those through different
    /// registers may.
    pub fn meets(self, other: Self) -> bool {
        let apart = self.end <= other.start || other.end <= self.start;
        self.base.is_none() || self.base != other.base || !apart
    }

    /// True if every access that meets `other` meets this one.
    pub fn covers(self, other: Self) -> bool {
        let same = self.base == other.base && self.start <= other.start && other.end <= self.end;
        self.base.is_none() || same
    }
}

/// Effect of an instruction. What is not listed as harmless passes nothing.
/// `written` is the position of the last write of its address register in the block.
pub(crate) fn effect(code: &Code, inst: &Inst, written: Option<usize>) -> Effect {
    if code.sources(inst).any(reads_time) {
        return Effect::Fence;
    }
    match inst.op {
        Op::Ld(MemSpace::Param | MemSpace::Const, ..) => Effect::Constant,
        Op::Ld(_, _, CacheOp::NonCoherent) => Effect::ReadOnly(inst.src[0]),
        Op::Ld(space, ty, cache) if is_plain(cache) => {
            Effect::Load(of_space(space), Place::of(inst, ty, written))
        }
        Op::St(space, ty, cache) if is_plain(cache) => {
            let place = Place::of(inst, ty, written);
            Effect::Store(of_space(space), place, inst.src[0])
        }
        Op::LdMatrix(space, _) => Effect::Load(of_space(space), Place::ANYWHERE),
        Op::StMatrix(space, _) => Effect::Store(of_space(space), Place::ANYWHERE, inst.src[0]),
        Op::Ld(..) | Op::St(..) | Op::Atom(..) | Op::Mbarrier(..) => Effect::Ordered,
        Op::Membar(_) | Op::Barrier(_) | Op::BarWarp | Op::CopyWait(_) => Effect::Ordered,
        Op::CopyAsync { .. } | Op::CopyCommit => Effect::Copy,
        Op::AddC { .. } | Op::SubC { .. } | Op::MadC { .. } => Effect::Carry,
        // Without a mask of members the result tells which lanes are together, and products of
        // matrices bring lanes together.
        Op::Activemask => Effect::Fence,
        Op::Vote(_) if inst.src[1] == Src::None => Effect::Fence,
        Op::Shfl(_) if code.sources(inst).count() < 4 => Effect::Fence,
        Op::Shfl(_)
        | Op::Vote(_)
        | Op::Match(..)
        | Op::Redux(..)
        | Op::ReduxFloat(_)
        | Op::Elect => Effect::Exchange,
        Op::Tex { .. } | Op::Tld4 { .. } => Effect::Load(Some(MemSpace::Global), Place::ANYWHERE),
        _ if computes(inst.op) => Effect::None,
        _ => Effect::Fence,
    }
}

/// True if the result depends on the operands alone and nothing else happens.
pub(crate) fn is_pure(code: &Code, inst: &Inst) -> bool {
    match effect(code, inst, None) {
        Effect::None => !matches!(inst.op, Op::Mma(_) | Op::TurnMatrix),
        Effect::Constant => matches!(inst.op, Op::Ld(MemSpace::Param, ..)),
        _ => false,
    }
}

const fn is_plain(cache: CacheOp) -> bool {
    use CacheOp::{Ca, Cg, Cs, Default, Lu, Wb, Wt};
    matches!(cache, Default | Ca | Cg | Cs | Lu | Wb | Wt)
}

/// Space of an access. A generic address may be in any.
fn of_space(space: MemSpace) -> Option<MemSpace> {
    match space {
        MemSpace::Generic => None,
        // Both are places of the thread's frame.
        MemSpace::FrameParam => Some(MemSpace::Local),
        space => Some(space),
    }
}

fn reads_time(src: Src) -> bool {
    use SpecialReg as S;
    matches!(
        src,
        Src::Special(
            S::Clock
                | S::ClockHi
                | S::Clock64
                | S::GlobalTimer
                | S::GlobalTimerLo
                | S::GlobalTimerHi
                | S::PerformanceCounter
        )
    )
}

/// True for operations that only compute registers from registers.
fn computes(op: Op) -> bool {
    matches!(
        op,
        Op::Mov(_)
            | Op::MovPred
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Int(..)
            | Op::IntUn(..)
            | Op::Mul(..)
            | Op::Mad(..)
            | Op::Mul24(..)
            | Op::Mad24(..)
            | Op::Sad(_)
            | Op::Dp4a(..)
            | Op::Dp2a(..)
            | Op::Bfe(_)
            | Op::Bfi(_)
            | Op::Bmsk(_)
            | Op::Szext(..)
            | Op::Fns
            | Op::Logic(..)
            | Op::Not(_)
            | Op::Cnot(_)
            | Op::LogicPred(_)
            | Op::NotPred
            | Op::Lop3(..)
            | Op::Shl(_)
            | Op::Shr(_)
            | Op::Shf(..)
            | Op::Prmt(_)
            | Op::Float(..)
            | Op::Fma(..)
            | Op::FloatPair(..)
            | Op::FloatUn(..)
            | Op::FloatMinMax(..)
            | Op::Copysign(_)
            | Op::Testp(..)
            | Op::Setp(..)
            | Op::Set(..)
            | Op::Selp(_)
            | Op::Slct { .. }
            | Op::Cvt { .. }
            | Op::CvtPack2 { .. }
            | Op::CvtPackInt { .. }
            | Op::CvtTf32 { .. }
            | Op::CvtToFloat8 { .. }
            | Op::CvtFromFloat8(..)
            | Op::Video(_)
            | Op::ScalarVideo(_)
            | Op::VideoMad
            | Op::Cvta(..)
            | Op::Isspacep(_)
            | Op::Cluster { .. }
            | Op::Mma(_)
            | Op::TurnMatrix
    )
}
