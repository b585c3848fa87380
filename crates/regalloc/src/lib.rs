//! A register allocator that maps PTX to PTX, and an independent checker of its results.
//!
//! [`allocate_kernel`] assigns the variables of a kernel to at most a given number of registers.
//! While more are in use at a time, it spills values for parts of their lives, those whose spill
//! code costs least, weighted by loop depth; parts end at mentions and at the boundaries of loops.
//! Then it colours an interference graph (Chaitin, 1981; Briggs, 1992), merging copies
//! conservatively, and spills variables that received no register. A spilled value whose operands
//! are constant or in use is recomputed where it is needed. Every other spilled value rests in
//! local memory, or in shared memory where [`SharedSpills`] allows it and the [`knapsack`]
//! optimization of CRAT (Xie et al., MICRO 2015) selects it. Where the program's own order of
//! instructions leads to spills, an order with fewer values in use at a time is tried too.
//!
//! [`demand`] measures how many registers a kernel needs. [`checker::check`] decides from the two
//! programs alone whether an allocation is correct. [`space`] enumerates the design space of
//! register counts and thread blocks per SM.
//!
//! Invariants: the output uses at most the registers that the report counts, and their count is at
//! most the limit. A register of up to 32 bits counts as one, a register of 64 bits as two and one
//! of 128 bits as four; predicate registers are free. With [`Typing::Bits`], names of different
//! widths may stand for the same registers: `%rd2` is `%r4` and `%r5`, and no value of one is in
//! use together with a value of the other. With [`Typing::Kinds`] every class has its own. The
//! output computes bit for bit the results of the input, also where the input reads a register
//! before it writes it. Equal inputs produce equal outputs. No input causes a panic.
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
//! assert_eq!(allocation.report.registers, 3);
//! let steps = &allocation.steps[0].1;
//! let claim = checker::Claim {
//!     original: &module, allocated: &allocation.module, function: "k",
//!     steps, block: [1; 3], limit: Some(4),
//!     typing: options.typing,
//! };
//! checker::check(&claim).unwrap();
//! ```

mod allocate;
mod body;
pub mod checker;
mod class;
mod cleanup;
mod emit;
mod evict;
mod flow;
mod gaps;
mod graph;
mod inst_builder;
mod kernel;
pub mod knapsack;
mod layout;
mod names;
mod plan;
mod rematerialize;
mod report;
mod rewrite;
mod schedule;
pub mod space;
mod spill;

pub use allocate::Method;
pub use class::{Class, PerClass, Typing};
pub use emit::Step;
pub use kernel::{
    Allocation, Demand, Options, SharedSpills, allocate_kernel, demand, fewest_registers, kernels,
    max_registers,
};
pub use report::{Added, Amount, Home, Report, Spilled};
pub use spill::Place;
