//! GPU specifications: what every part of a simulated GPU is like. The raw form (TOML, `--set`)
//! only parses; resolving it checks everything and yields a [`GpuSpec`] of integers and enums.
//!
//! Invariants: a [`GpuSpec`] that exists is possible; nothing in it is text to be decoded later.

mod spec;

pub use spec::*;
