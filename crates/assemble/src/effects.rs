//! Effects of an instruction besides writing registers, as far as its order matters.

use warploom_ir::{CacheOp, Code, Inst, MemSpace, Op, SpecialReg, Src};

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
    Load(Option<MemSpace>),
    /// A plain write to a space through this address; `None` is any space.
    Store(Option<MemSpace>, Src),
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

/// Effect of an instruction. What is not listed as harmless passes nothing.
pub(crate) fn effect(code: &Code, inst: &Inst) -> Effect {
    if code.sources(inst).any(reads_time) {
        return Effect::Fence;
    }
    match inst.op {
        Op::Ld(MemSpace::Param | MemSpace::Const, ..) => Effect::Constant,
        Op::Ld(_, _, CacheOp::NonCoherent) => Effect::ReadOnly(inst.src[0]),
        Op::Ld(space, _, cache) if is_plain(cache) => Effect::Load(of_space(space)),
        Op::St(space, _, cache) if is_plain(cache) => Effect::Store(of_space(space), inst.src[0]),
        Op::LdMatrix(space, _) => Effect::Load(of_space(space)),
        Op::StMatrix(space, _) => Effect::Store(of_space(space), inst.src[0]),
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
        Op::Tex { .. } | Op::Tld4 { .. } => Effect::Load(Some(MemSpace::Global)),
        _ if computes(inst.op) => Effect::None,
        _ => Effect::Fence,
    }
}

/// True if the result depends on the operands alone and nothing else happens.
pub(crate) fn is_pure(code: &Code, inst: &Inst) -> bool {
    match effect(code, inst) {
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
