//! Sampled programs: which launches of a program are timed, and what they say about all launches.
//!
//! A launch is described by its [`Signature`], which an execution without timing yields. The
//! [`Plan`] sorts launches into strata of like signatures while the program runs, and chooses the
//! launches that are timed. [`estimate()`] estimates a sum over all launches from the timed ones.
//! Of a launch in which a part of the blocks is timed, [`estimate_blocks`] and [`estimate_rest`]
//! estimate the cycles of all.
//!
//! Invariants: nothing here knows a machine or a program. The choice of a launch depends on
//! signatures and on the cycles of earlier launches alone, so that equal programs give equal
//! plans. Only additions, products, quotients and square roots are used, whose results are the
//! same on every machine.

mod blocks;
mod estimate;
mod plan;
mod regression;
mod signature;

pub use blocks::{Piece, estimate_blocks, estimate_rest};
pub use estimate::{CONFIDENCE, estimate};
pub use plan::{Choice, Plan, Why};
pub use signature::{SIZES, Signature};
