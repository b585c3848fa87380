//! Guessed launches: a grid, a block, sizes and arguments for a kernel of which only the PTX is
//! known.
//!
//! PTX states neither the extents of arrays nor the meaning of parameters. [`uses()`] finds which
//! parameters are addresses, and what the kernel reads and writes there. [`candidates()`] lists
//! launches that programs usually make of such a kernel: each thread has one element, and integers
//! are the extent of the data. The caller executes them in the order of a [`Search`], without
//! timing, until one of them makes no fault.
//!
//! Invariants: a pure function of the syntax tree and of what the caller fixed; the same kernel
//! gets the same candidates on every machine.

mod candidates;
mod search;
mod uses;

pub use candidates::{Candidate, Fixed, Unguessable, candidates};
pub use search::{Ended, Search};
pub use uses::{Axes, Buffer, KernelUses, Parameter, uses};
