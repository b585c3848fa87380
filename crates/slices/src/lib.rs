//! Address slices: which lines a block will touch, computed before it runs (Chen, NTU thesis 2016,
//! sections 3.2 and 3.3.1).
//!
//! [`Slices::new`] reduces a kernel to its *address binary*: a program that computes the address of
//! every global access that follows from parameters, constants and indices, and nothing else.
//! [`Predictor`] runs it for any block of a launch without touching memory; [`Footprints`] makes
//! rectangles of cache lines of it.
//!
//! Invariants: an address that is called regular is exactly the one that the kernel issues,
//! whatever its data (that it issues it at all may hang on data, see [`Coverage`]); what a
//! prediction costs does not depend on memory's contents; nothing here knows time.

mod access;
mod array;
mod binary;
mod defs;
mod eval;
mod footprint;
mod region;
mod regular;
mod truth;

pub use access::{Access, Coverage, reason};
pub use array::Base;
pub use binary::Slices;
pub use eval::{Outcome, Predictor, Record};
pub use footprint::{Array, Footprints, LINE_BYTES};
pub use regular::Cause;
pub use truth::{KernelTruth, Tally, Truth};

#[cfg(test)]
mod tests;
