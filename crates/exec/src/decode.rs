//! What executes an instruction: chosen once, when its launch is prepared.
//!
//! Operations of which kernels consist have a function for each type, which does nothing else. The
//! others go through `InstExec::operate`, which looks at operation and type every time.

use crate::handler::Run;
use crate::host_isa::Wide;
use crate::ops::address::cvta;
use crate::ops::bits::{logic, shl, shr};
use crate::ops::compare::setp;
use crate::ops::float::{float_bin, fma};
use crate::ops::integer::{int_bin, mad, mul};
use crate::ops::load::load;
use crate::ops::moves::mov;
use crate::ops::store::store;
use warploom_ir::{CacheOp, Dst, Inst, Op, Program, Src};

/// An instruction and what executes it, in one line of the host's cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Decoded {
    pub inst: Inst,
    pub run: Run,
    /// Some source is a special register: it has to be computed first.
    pub special: bool,
    /// It says itself where the warp goes on, also when no lane takes part.
    pub control: bool,
    /// Jumps back over something that looks at what others may have changed: the end of a loop
    /// that may wait.
    pub polls: bool,
}

const _: () = assert!(size_of::<Decoded>() == 64);

/// A program's instructions, for a launch with those vector instructions.
pub(crate) fn decode(program: &Program, wide: Wide) -> Vec<Decoded> {
    let mut looks = 0;
    // How many instructions before each one look at what others may have changed.
    let before: Vec<u32> = (program.insts.iter())
        .map(|inst| {
            let before = looks;
            looks += u32::from(looks_at_others(inst));
            before
        })
        .collect();
    let decoded = |(at, &inst): (usize, &Inst)| Decoded {
        run: control(inst.op).unwrap_or_else(|| run_of(inst.op, wide)),
        special: inst.src.iter().any(|src| matches!(src, Src::Special(_))),
        control: control(inst.op).is_some(),
        polls: loop_start(program, &inst)
            .is_some_and(|start| start <= at && before[start] < before[at]),
        inst,
    };
    program.insts.iter().enumerate().map(decoded).collect()
}

/// The first instruction to which a branch leads.
fn loop_start(program: &Program, inst: &Inst) -> Option<usize> {
    match inst.op {
        Op::Bra(_) => usize::try_from(inst.imm).ok(),
        Op::BrxIdx => {
            let extra = program.extras.get(inst.extra.0 as usize)?;
            extra.targets.iter().min().map(|pc| pc.index())
        }
        _ => None,
    }
}

/// The instruction shows what other threads have changed meanwhile, or lets time pass.
fn looks_at_others(inst: &Inst) -> bool {
    use CacheOp::{Acquire, Cv, Relaxed, Volatile};
    match inst.op {
        Op::Ld(_, _, cache) => matches!(cache, Volatile | Relaxed | Acquire | Cv),
        Op::Atom(..) => inst.dst[0] != Dst::None,
        Op::Mbarrier(..) | Op::Nanosleep => true,
        _ => false,
    }
}

/// What executes an instruction of control flow, and those at which lanes wait for each other.
fn control(op: Op) -> Option<Run> {
    Some(match op {
        Op::Bra(_) => Run::plain(|machine| machine.branch()),
        Op::BrxIdx => Run::plain(|machine| machine.branch_table()),
        Op::Call => Run::plain(|machine| machine.call()),
        Op::CallIndirect => Run::plain(|machine| machine.call_indirect()),
        Op::Ret => Run::plain(|machine| machine.ret()),
        Op::Exit => Run::plain(|machine| machine.exit()),
        Op::Barrier(_) => Run::plain(|machine| machine.barrier()),
        Op::Shfl(_) | Op::Vote(_) | Op::Match(..) | Op::Redux(..) | Op::Elect | Op::BarWarp => {
            Run::plain(|machine| machine.warp_op())
        }
        Op::Mma(_) | Op::LdMatrix(..) | Op::StMatrix(..) | Op::TurnMatrix => {
            Run::plain(|machine| machine.matrix_op())
        }
        _ => return None,
    })
}

/// What executes any other, for at least one lane.
fn run_of(op: Op, wide: Wide) -> Run {
    let own = match op {
        Op::Mov(width) => mov(width, wide),
        Op::Cvta(space, _, width) => cvta(space, width, wide),
        Op::Int(op, ty) => int_bin(op, ty, wide),
        Op::Mul(half, ty) => mul(half, ty, wide),
        Op::Mad(half, ty, sat) => mad(half, ty, sat, wide),
        Op::Logic(op, width) => logic(op, width, wide),
        Op::Shl(width) => shl(width, wide),
        Op::Shr(ty) => shr(ty, wide),
        Op::Float(op, ty, mods) => float_bin(op, ty, mods, wide),
        Op::Fma(ty, mods) => fma(ty, mods, wide),
        Op::Setp(_, _, ty, _) => setp(ty, wide),
        Op::Ld(space, ty, _) => load(space, ty, wide),
        Op::St(space, ty, _) => store(space, ty, wide),
        _ => None,
    };
    own.unwrap_or_else(|| Run::plain(|machine| machine.operate()))
}
