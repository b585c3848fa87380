//! The CRAT method (Xie et al., MICRO 2015): coordinated allocation of registers and thread-level
//! parallelism for a kernel.
//!
//! A [`Kernel`] on a GPU defines a design space, because fewer blocks fit on an SM when each thread
//! uses more registers. [`explore()`] keeps the rightmost point of each step of the staircase,
//! allocates registers for each point and scores the result (sections 4 to 6 of CRAT). The best
//! number of blocks is determined either by the caller through profiling or by [`estimate_tlp`], a
//! static estimate (section 4.1). The caller also measures the cost of accessing a spilled value on
//! the simulated GPU.
//!
//! All functions depend only on PTX and on a GPU specification; they run no simulation.

mod estimate;
mod explore;
mod kernel;

pub use estimate::{CacheAssumption, estimate_tlp};
pub use explore::{Candidate, Exploration, Search, Spill, Spills, explore};
pub use kernel::{Kernel, Refusal};
pub use warploom_regalloc::space::{Costs, Point};
