//! The state of running warps and blocks.

pub(crate) mod barrier;
pub(crate) mod barrier_object;
pub(crate) mod block;
pub(crate) mod call_stack;
pub(crate) mod cluster;
pub(crate) mod member_mask;
pub(crate) mod race;
pub(crate) mod registers;
pub(crate) mod spin;
pub(crate) mod stack;
pub(crate) mod warp;
