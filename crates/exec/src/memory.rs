//! Memory: contents, allocations, pending stores, textures, atomic operations on values.

pub(crate) mod atomic;
pub(crate) mod device;
pub(crate) mod effect;
pub(crate) mod few_reader;
mod heap;
pub(crate) mod mipmap;
pub(crate) mod module;
mod printed;
pub(crate) mod span;
pub(crate) mod state_space;
pub(crate) mod stored_lines;
pub(crate) mod texture;
pub(crate) mod texture_table;
pub(crate) mod write_log;
