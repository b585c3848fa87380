//! A register allocator that maps PTX to PTX, and an independent checker of its results.
//!
//! [`allocate_kernel`] assigns the variables of a kernel to at most a given number of registers by
//! graph colouring (Chaitin, 1981; Briggs, 1992). It builds one interference graph for each
//! [`Class`] of registers, merges copies conservatively, colours optimistically, and spills the
//! variables that are cheapest to spill, weighted by loop depth, until every variable has a
//! register. A spilled value that is cheap to compute is recomputed before every use. Every other
//! spilled value lives in local memory, or in shared memory where [`SharedSpills`] allows it and
//! the [`knapsack`] optimization of CRAT (Xie et al., MICRO 2015) selects it.
//!
//! [`demand`] measures how many registers a kernel needs. [`checker::check`] decides from the two
//! programs alone whether an allocation is correct. [`space`] enumerates the design space of
//! register counts and thread blocks per SM, and [`tlp`] estimates the best number of thread
//! blocks.
//!
//! Invariants: the output declares exactly the registers that the report counts, and their count is
//! at most the limit. A register of up to 32 bits counts as one, a register of 64 bits as two and
//! one of 128 bits as four; predicate registers are free. The output computes bit for bit the
//! results of the input, also where the input reads a register before it writes it. Equal inputs
//! produce equal outputs. No input causes a panic.
//!
//! ```
//! use warploom_diag::Source;
//! use warploom_regalloc::{Options, allocate_kernel, checker};
//!
//! let text = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 out) {
//!     .reg .b32 %r<4>; .reg .b64 %rd<3>;
//!     mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mul.lo.u32 %r3, %r1, %r2;
//!     ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd2, %rd1;
//!     st.global.u32 [%rd2], %r3; ret; }";
//! let (module, _) = warploom_ptx::load(&Source::new("k.ptx", text)).unwrap();
//! let options = Options { registers: Some(4), ..Options::default() };
//! let allocation = allocate_kernel(&module, "k", &options).unwrap();
//! assert_eq!(allocation.report.registers, 4);
//! let steps = &allocation.steps[0].1;
//! let claim = checker::Claim {
//!     original: &module, allocated: &allocation.module, function: "k",
//!     steps, block: [1; 3], limit: Some(4),
//! };
//! checker::check(&claim).unwrap();
//! ```

mod allocate;
mod body;
pub mod checker;
mod class;
mod cleanup;
mod emit;
mod flow;
mod graph;
mod inst_builder;
mod kernel;
pub mod knapsack;
mod layout;
mod names;
mod plan;
mod rematerialize;
mod report;
pub mod space;
mod spill;
pub mod tlp;

pub use class::{Class, PerClass, Typing};
pub use emit::Step;
pub use kernel::{
    Allocation, Demand, Options, SharedSpills, allocate_kernel, demand, fewest_registers, kernels,
    max_registers,
};
pub use report::{Added, Amount, Home, Report, Spilled};
pub use spill::Place;
