//! Assembled form of a lowered kernel: passes from program to program.
//!
//! PTX is the input of NVIDIA's assembler, and a GPU runs the assembler's output. The passes here
//! approximate those of its transformations that change how many instructions issue, and when:
//! - `fold`: parameters and literals become operands, copies and conversions between equal
//!   addresses disappear, sums become offsets of addresses, a product and the sum that uses it
//!   become one instruction, as two bitwise operations do, short branches become guards, and
//!   counted loops are unrolled.
//! - `order`: the instructions of a basic block are reordered by their dependences and latencies
//!   (list scheduling), within a limit of registers. Nothing passes an instruction whose machine
//!   code contains a branch.
//!
//! Values, memory and the places of instructions in the source stay what they were. A program of
//! several functions stays as it is. The crate knows no machine: latencies are an argument.

mod arithmetic;
mod body;
mod coalesce;
mod constants;
mod dependences;
mod effects;
mod fold;
mod lives;
mod local;
mod logic;
mod order;
mod predicate;
mod products;
mod schedule;
mod sizes;
mod unroll;
mod values;
mod written;

use body::Body;
use warploom_ir::{InstClass, Program};

/// Time of an instruction's class on the machine for which a program is assembled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Unit that takes the instruction; equal numbers share a unit.
    pub unit: u8,
    /// Cycles from its issue to that of an instruction that needs the result.
    pub latency: u32,
    /// Cycles for which it occupies the unit.
    pub interval: u32,
}

/// The machine for which a program is assembled.
pub struct Machine<'a> {
    /// Time of each class of instructions.
    pub timing: &'a dyn Fn(InstClass) -> Timing,
    /// Least cycles from the issue of an instruction that writes a predicate to that of one that
    /// the predicate guards.
    pub guard_latency: u32,
}

/// Transformations that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Passes {
    /// True to fold instructions that an assembler removes.
    pub fold: bool,
    /// True to reorder the instructions of each basic block.
    pub order: bool,
}

/// The assembled form of a program. `registers` are those that a thread of the launch has: the
/// order needs no more at a time, unless the text does. `None` if the program stays as it is:
/// without passes, or with several functions.
pub fn assemble(
    program: &Program,
    passes: Passes,
    registers: u32,
    machine: &Machine,
) -> Option<Program> {
    if !passes.fold && !passes.order || program.functions.len() != 1 {
        return None;
    }
    let mut body = Body::of(program)?;
    if passes.fold {
        fold::fold(&mut body);
    }
    if passes.order {
        order::order(&mut body, registers, machine);
    }
    body.into_program(program)
}
