//! Context switching (GPUDuet, section 6; Virtual Thread): warps are switched out while they wait,
//! and others take their slots. Unused memory of the SM stores the contexts of absent warps.
//!
//! A warp has a context from its start to its end, with a number in the warp context table. A
//! present warp has a warp slot, too, and its state is in the pipeline's arrays at the index of the
//! slot. The state of an absent warp is in the same arrays after the slots, at the index of its
//! context. Replies name contexts, so they find their warp in either place. Contexts move in units
//! of a warp or of a block, through one port. A unit that moves is in neither place.
//!
//! | part | file |
//! |---|---|
//! | allocation map | `map` |
//! | tables and queues | `tables` |
//! | storage of contexts | `places` |
//! | state, new blocks, the end of a cycle | `engine` |
//! | the end of a halted kernel | `halt` |
//! | stalled and ready units | `queues` |
//! | transfers | `transfer` |
//!
//! An SM switches the contexts of one kernel at a time. A block of a kernel that may be switched
//! starts switched if the kernel has the SM to itself and the SM holds no block that keeps its
//! resources. Otherwise it keeps its resources to its end. While switched blocks are there, blocks
//! of other kernels have no room.
//!
//! Invariants:
//! - The logic uses only the information in the paper's tables.
//! - A warp is switched out only if it has nothing in the pipeline but loads from global memory and
//!   acknowledgements of stores.
//! - A warp issues only if its registers, its slot and its block's shared memory are present.
//! - In a cycle in which nothing else happens, the state here changes only when a transfer ends,
//!   and the cycle of that end is known.

mod engine;
mod halt;
mod map;
mod places;
mod queues;
mod tables;
#[cfg(test)]
mod tests;
mod transfer;

pub use engine::ContextCounters;
pub(crate) use engine::{Contexts, Moved};
pub(crate) use tables::Place;
