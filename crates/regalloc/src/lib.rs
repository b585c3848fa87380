//! A register allocator from PTX to PTX, usable on its own, and an independent checker of its work.
//!
//! [`allocate_kernel`] gives a kernel's variables registers within a limit (Chaitin, 1981; Briggs,
//! 1992): interference graphs for each [`Class`], conservative coalescing, optimistic colouring,
//! spilling by cost over loops, until everything fits. A value without a register is made again for
//! every use where that is cheap, and otherwise kept in local memory, or in shared memory where
//! [`SharedSpills`] has room and the [`knapsack`] of CRAT chooses it. [`demand`] says how many
//! registers a kernel wants and can do with. [`checker::check`] says whether an allocation is
//! right, from the two programs alone. [`space`] has the design space of registers and blocks,
//! [`tlp`] a guess at the best number of blocks.
//!
//! Invariants: the output declares exactly the registers that it counts, and counts at most the
//! limit: one for 32 bits and less, two for 64 bits; predicates count nothing. It computes bit by
//! bit what the input computes, also where that reads what it has not written. Equal inputs give
//! equal outputs. No input makes it panic.
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
mod emit;
mod flow;
mod graph;
mod kernel;
pub mod knapsack;
mod layout;
mod make;
mod names;
mod plan;
mod remake;
mod report;
pub mod space;
mod spill;
mod tidy;
pub mod tlp;

pub use class::{Class, PerClass, Typing};
pub use emit::Step;
pub use kernel::{
    Allocation, Demand, Options, SharedSpills, allocate_kernel, demand, fewest_registers, kernels,
    max_registers,
};
pub use report::{Added, Amount, Home, Report, Spilled};
pub use spill::Place;
