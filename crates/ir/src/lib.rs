//! The executable form of PTX. A [`Program`] is one kernel with every function that it calls,
//! flattened into one array of [`Inst`]: names are resolved, modifiers have become typed
//! operations, registers have slots in a warp's register file.
//!
//! Invariants: knows no time; a program is immutable once made; functions are not recursive, so
//! every function's registers and frame have one static place; facts (reconvergence points,
//! liveness, operand lists) stand beside the code, indexed by [`Pc`](warploom_base::Pc).

mod inst;
mod op;
mod program;

pub use inst::{Dst, Extra, Guard, Inst, Pred, Reg, SpecialReg, Src};
pub use op::*;
pub use program::*;
