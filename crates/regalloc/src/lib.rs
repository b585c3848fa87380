//! A register allocator from PTX to PTX, usable on its own.
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

pub use class::{Class, PerClass, Typing};
pub use emit::Step;
pub use kernel::{Allocation, Demand, Options, SharedSpills, allocate_kernel, demand, kernels};
pub use report::{Added, Amount, Home, Report, Spilled};
pub use spill::Place;
