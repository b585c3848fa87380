//! Which instructions may be in a row, which is executed at once (see [`crate::row`]).

use warploom_ir::{BarrierKind, Inst, Op, Program, SpecialReg, Src};

/// An instruction between rows that is executed together with them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Between {
    /// A branch to one target.
    Branch,
    /// A barrier of a block without a guard.
    Barrier,
    /// An exit or a return.
    Exit,
}

/// True if an instruction may be in a row: it advances the warp to the next instruction, reads no
/// clock, and has no effect but to write registers or to load or store. Instructions that are rare
/// are in no row.
pub(super) fn may_be_in_row(program: &Program, inst: &Inst) -> bool {
    let extra = program.extras.get(inst.extra.0 as usize);
    let further = extra.map_or(&[][..], |extra| &extra.srcs);
    !inst.src.iter().chain(further).any(reads_clock) && is_in_row(inst.op)
}

/// True if an operation advances the warp to the next instruction, and has no effect but to write
/// registers of the lanes that execute it or to load or store.
pub(crate) fn is_in_row(op: Op) -> bool {
    matches!(
        op,
        Op::Nop
            | Op::Mov(_)
            | Op::MovPred
            | Op::NotPred
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Int(..)
            | Op::IntUn(..)
            | Op::Mul(..)
            | Op::Mad(..)
            | Op::Bfe(_)
            | Op::Bfi(_)
            | Op::Logic(..)
            | Op::LogicPred(_)
            | Op::Not(_)
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
            | Op::Setp(..)
            | Op::Selp(_)
            | Op::Cvt { .. }
            | Op::CvtPack2 { .. }
            | Op::Cvta(..)
            | Op::Ld(..)
            | Op::St(..)
    )
}

/// Kind of an instruction that is executed together with rows. `None` for all others.
pub(super) fn between_rows(inst: &Inst) -> Option<Between> {
    match inst.op {
        Op::Bra(_) => Some(Between::Branch),
        Op::Exit | Op::Ret => Some(Between::Exit),
        Op::Barrier(BarrierKind::ClusterArrive | BarrierKind::ClusterWait) => None,
        Op::Barrier(_) if inst.guard.is_none() => Some(Between::Barrier),
        _ => None,
    }
}

fn reads_clock(src: &Src) -> bool {
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
        )
    )
}
