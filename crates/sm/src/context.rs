//! Context switching (GPUDuet, Virtual Thread, section 6): warps leave while they wait,
//! others take their places, and the memory of the SM that nobody uses holds what is out.
//!
//! A warp has a context for all its life, named by a number in the warp context table. While it is
//! present it has a warp slot besides, and is in the pipeline's arrays there; while it is out, its
//! state lies in the same arrays behind the slots, in the place of its context. Replies name
//! contexts and find their warp wherever it is. What moves, moves in units (a warp, or a block)
//! through one port; a unit is in neither place while it moves.
//!
//! | part | file |
//! |---|---|
//! | allocation map | `map` |
//! | tables and queues | `tables` |
//! | where contexts lie | `places` |
//! | state, new blocks, the end of a cycle | `engine` |
//! | who is stalled, who is ready | `queues` |
//! | what moves, and when | `transfer` |
//!
//! Invariants: the logic knows what the paper's tables hold and nothing else; a warp leaves only
//! when nothing of it is in the pipeline but loads from global memory and acknowledgements of
//! stores; a warp issues only when its registers, its slot and its block's shared memory are
//! present. A cycle in which nothing else happens changes nothing here, but for the end of a
//! transfer, whose time is known.

mod engine;
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
