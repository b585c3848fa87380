//! Address slices: the cache lines that a block will touch, computed before the block runs (Chen,
//! NTU thesis 2016, sections 3.2 and 3.3.1).
//!
//! [`Slices::new`] reduces a kernel to its *address binary*. That program computes the address of
//! every global access whose address depends only on parameters, constants and indices.
//! [`Predictor`] executes the address binary for any block of a launch without accessing memory,
//! and [`Footprints`] derives rectangles of cache lines from the result.
//!
//! Invariants: an address classified as regular is exactly the address that the kernel issues,
//! whatever its data. Whether the kernel issues the access at all may depend on data, see
//! [`Coverage`]. The cost of a prediction does not depend on the contents of memory. The crate does
//! not model time.

mod access;
mod array;
mod binary;
mod check;
mod defs;
mod eval;
mod footprint;
mod pitch;
mod rects;
mod region;
mod regular;
mod runs;
mod touch_check;

pub use access::{Access, Coverage, reason};
pub use array::{Base, arrays};
pub use binary::Slices;
pub use check::{KernelCheck, PredictionCheck, Tally};
pub use eval::{Outcome, Predictor, Record};
pub use footprint::{Array, Footprints, LINE_BYTES};
pub use rects::Touched;
pub use regular::Cause;
pub use touch_check::{SharedLines, TouchCheck, TouchTally};

#[cfg(test)]
mod tests;
