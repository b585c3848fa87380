//! Which instructions may be in a row, which is executed at once (see [`crate::row`]).

use warploom_ir::{Inst, Op, Program, SpecialReg, Src};

/// True if an instruction may be in a row: it advances the warp to the next instruction, reads no
/// clock, and has no effect but to write registers or to load or store. Instructions that are rare
/// are in no row.
pub(super) fn may_be_in_row(program: &Program, inst: &Inst) -> bool {
    let extra = program.extras.get(inst.extra.0 as usize);
    let further = extra.map_or(&[][..], |extra| &extra.srcs);
    !inst.src.iter().chain(further).any(reads_clock)
        && matches!(
            inst.op,
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
