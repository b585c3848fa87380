//! Choice of the function that executes each instruction, made once when a launch is prepared.
//!
//! Frequent operations have a handler for each type. All others share the handler
//! `InstExec::operate`, which inspects the operation and its type every time.

mod rows;

use crate::handler::Handler;
use crate::host_isa::VectorIsa;
use crate::ops::address::cvta;
use crate::ops::bits::{logic, shl, shr};
use crate::ops::compare::setp;
use crate::ops::float::{float_bin, fma};
use crate::ops::integer::{int_bin, mad, mul};
use crate::ops::load::load;
use crate::ops::moves::mov;
use crate::ops::special_register::mov_special;
use crate::ops::store::store;
pub(crate) use rows::{Between, is_in_row};
use rows::{between_rows, may_be_in_row};
use warploom_ir::{CacheOp, Dst, Inst, Op, Program, Src};

/// An instruction with its handler, in one cache line of the host.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Decoded {
    pub inst: Inst,
    pub handler: Handler,
    /// True if a source operand is a special register, whose value is computed before the handler
    /// runs.
    pub reads_special: bool,
    /// True if the handler itself sets the warp's next program counter. Such a handler also runs
    /// when no lane is active.
    pub sets_pc: bool,
    /// True if the instruction jumps backward over one that polls, so that it ends a loop which may
    /// wait for other threads.
    pub polls: bool,
    /// True if the instruction loads or stores.
    pub accesses_memory: bool,
    /// True if the handler needs nothing but the lanes of the warp: the instruction has no guard,
    /// reads no special register that is computed before, and does not access memory.
    pub is_plain: bool,
    /// Kind of the instruction, if it stands between rows and is executed together with them.
    pub between: Option<Between>,
    /// Number of instructions from this one on that form a row (see [`crate::row`]); 0 if this one
    /// is in no row.
    pub row: u16,
}

const _: () = assert!(size_of::<Decoded>() == 64);

impl Decoded {
    /// True if [`is_plain`](Self::is_plain) has to be set.
    pub fn calls_only(&self) -> bool {
        self.inst.guard.is_none() && !self.reads_special && !self.accesses_memory
    }

    /// True if a row, or an instruction between rows, begins here.
    #[inline(always)]
    pub fn starts_row(&self) -> bool {
        self.row > 0 || self.between.is_some()
    }
}

/// Decodes the instructions of a program for the given vector instructions of the host.
pub(crate) fn decode(program: &Program, isa: VectorIsa) -> Vec<Decoded> {
    let mut polls = 0;
    // Number of polling instructions before each instruction.
    let before: Vec<u32> = (program.insts.iter())
        .map(|inst| {
            let before = polls;
            polls += u32::from(is_polling(inst));
            before
        })
        .collect();
    let decoded = |(at, &inst): (usize, &Inst)| {
        let (control, special) = (control_handler(inst.op), mov_special(&inst, isa));
        let reads_special = inst.src.iter().any(|src| matches!(src, Src::Special(_)));
        let reads_special = reads_special && special.is_none();
        let accesses_memory = matches!(inst.op, Op::Ld(..) | Op::St(..));
        let mut decoded = Decoded {
            handler: (control.or(special)).unwrap_or_else(|| handler_of(inst.op, isa)),
            reads_special,
            sets_pc: control.is_some(),
            polls: loop_start(program, &inst)
                .is_some_and(|start| start <= at && before[start] < before[at]),
            accesses_memory,
            is_plain: false,
            between: between_rows(&inst),
            row: 0,
            inst,
        };
        decoded.is_plain = decoded.calls_only();
        decoded
    };
    let mut code: Vec<Decoded> = program.insts.iter().enumerate().map(decoded).collect();
    measure_rows(program, &mut code);
    code
}

/// Computes from the end of the code how many instructions form a row from each one on.
fn measure_rows(program: &Program, code: &mut [Decoded]) {
    let mut row: u16 = 0;
    for decoded in code.iter_mut().rev() {
        let continues = !decoded.sets_pc && may_be_in_row(program, &decoded.inst);
        row = if continues { row.saturating_add(1) } else { 0 };
        decoded.row = row;
    }
}

/// First instruction among the targets of a branch.
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

/// True if the instruction reads what other threads may have changed meanwhile, or lets time pass.
fn is_polling(inst: &Inst) -> bool {
    use CacheOp::{Acquire, Cv, Relaxed, Volatile};
    match inst.op {
        Op::Ld(_, _, cache) => matches!(cache, Volatile | Relaxed | Acquire | Cv),
        Op::Atom(..) => inst.dst[0] != Dst::None,
        Op::Mbarrier(..) | Op::Nanosleep => true,
        _ => false,
    }
}

/// Handler of an instruction that changes control flow, or at which lanes wait for each other.
fn control_handler(op: Op) -> Option<Handler> {
    Some(match op {
        Op::Bra(_) => Handler::plain(|machine| machine.branch()),
        Op::BrxIdx => Handler::plain(|machine| machine.branch_table()),
        Op::Call => Handler::plain(|machine| machine.call()),
        Op::CallIndirect => Handler::plain(|machine| machine.call_indirect()),
        Op::Ret => Handler::plain(|machine| machine.ret()),
        Op::Exit => Handler::plain(|machine| machine.exit()),
        Op::Barrier(_) => Handler::plain(|machine| machine.barrier()),
        Op::Shfl(_)
        | Op::Vote(_)
        | Op::Match(..)
        | Op::Redux(..)
        | Op::ReduxFloat(_)
        | Op::Elect
        | Op::BarWarp => Handler::plain(|machine| machine.warp_op()),
        Op::Mma(_) | Op::WarpGroupMma(_) | Op::LdMatrix(..) | Op::StMatrix(..) | Op::TurnMatrix => {
            Handler::plain(|machine| machine.matrix_op())
        }
        _ => return None,
    })
}

/// Handler of any other instruction, for at least one active lane.
fn handler_of(op: Op, isa: VectorIsa) -> Handler {
    let own = match op {
        Op::Mov(width) => mov(width, isa),
        Op::Cvta(space, _, width) => cvta(space, width, isa),
        Op::Int(op, ty) => int_bin(op, ty, isa),
        Op::Mul(half, ty) => mul(half, ty, isa),
        Op::Mad(half, ty, sat) => mad(half, ty, sat, isa),
        Op::Logic(op, width) => logic(op, width, isa),
        Op::Shl(width) => shl(width, isa),
        Op::Shr(ty) => shr(ty, isa),
        Op::Float(op, ty, mods) => float_bin(op, ty, mods, isa),
        Op::Fma(ty, mods) => fma(ty, mods, isa),
        Op::Setp(_, _, ty, _) => setp(ty, isa),
        Op::Ld(space, ty, _) => load(space, ty, isa),
        Op::St(space, ty, _) => store(space, ty, isa),
        _ => None,
    };
    own.unwrap_or_else(|| Handler::plain(|machine| machine.operate()))
}
