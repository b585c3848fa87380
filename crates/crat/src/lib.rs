//! CRAT (Xie et al., MICRO 2015): which point of registers per thread and blocks on an SM
//! a kernel is allocated for, and the module that comes of it.
//!
//! A [`Kernel`] on a machine spans a design space: with more registers fewer blocks fit.
//! [`explore()`] keeps the rightmost point of every stair, allocates for each and scores it
//! (sections 4 to 6). The best number of blocks comes from profiling, which is the caller's, or
//! from [`guess_tlp`], which plays the code's segments against each other (section 4.1). What an
//! access of a spilled value costs is measured on the machine, by whoever calls.
//!
//! Nothing here simulates, and nothing here knows a workload: pure functions of PTX and of a
//! machine's specification.

mod explore;
mod guess;
mod kernel;

pub use explore::{Candidate, Exploration, Search, Spill, Spills, explore};
pub use guess::{Guess, guess_tlp};
pub use kernel::{Kernel, Refusal};
pub use warploom_regalloc::space::{Costs, Point};
