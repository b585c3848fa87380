//! How far SMs may run ahead of each other, by instruction.

use crate::fault::Checks;
use warploom_ir::{MemSpace, Op};

/// How far SMs may run ahead of each other at an instruction, or in a whole kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lookahead {
    /// Not at all: SMs and the memory system advance cycle by cycle.
    Never,
    /// Up to the cycle in which the instruction issues: it needs memory with all stores and atomics
    /// of earlier cycles, because what it reads cannot be read again later.
    Settled,
    /// Past the instruction. A load from global memory and a texture fetch can be repeated, and the
    /// result of an atomic arrives later.
    Repeated,
}

impl Lookahead {
    /// The rule for an instruction of a launch with these checks.
    pub(crate) fn of(op: Op, checks: Checks) -> Self {
        let shared = |space| space == MemSpace::Shared;
        match op {
            Op::Surf { .. }
            | Op::CopyAsync { .. }
            | Op::Bulk { .. }
            | Op::BulkTensor { .. }
            | Op::System(_) => Self::Settled,
            Op::LdMatrix(space, _) | Op::StMatrix(space, _) if !shared(space) => Self::Settled,
            Op::Mbarrier(space, _) if !shared(space) => Self::Settled,
            // Whether bytes were written is checked when the load issues.
            Op::Ld(space, ..) | Op::Atom(space, ..) if checks.uninitialised && !shared(space) => {
                Self::Settled
            }
            _ => Self::Repeated,
        }
    }
}
