//! GPU specifications: what every part of a simulated GPU is like.
//!
//! The raw form (TOML, `KEY=VALUE`) only parses; [`resolve()`] checks everything, reports all
//! problems with their places, and yields a [`GpuSpec`] of integers and enums. Every key is
//! declared once, in `keys/`: reading, printing, documentation and hints come from that. What
//! follows from a specification is worked out here too: `peaks`, `latency`, `occupancy`, and all of
//! it as a data sheet.
//!
//! Invariants: a [`GpuSpec`] that exists is possible; nothing in it is text to be decoded later;
//! `resolve(spec.to_toml())` gives the same specification. This crate does no I/O.
//!
//! To add a key: add the field to `spec.rs` and its line to the file in `keys/`, give it a value in
//! every preset without a base, and run the tests with `WARPLOOM_BLESS=1` to renew the
//! documentation. To add a preset, see `preset.rs`.

mod address_map;
mod cache_policies;
mod contexts;
mod error;
pub mod gpgpusim;
mod keys;
mod latency;
mod occupancy;
mod peaks;
mod policies;
mod preset;
mod print;
mod read;
mod resolve;
mod section;
mod sheet;
mod spec;
#[cfg(test)]
mod tests;
mod validate;
mod value;

pub use cache_policies::*;
pub use contexts::*;
pub use error::ConfigErrors;
pub use keys::keys;
pub use latency::{Edge, Latencies, Row, Stage};
pub use occupancy::{BlockNeeds, OccupancyLimit};
pub use peaks::{Bandwidth, Peaks, Rate, karol};
pub use policies::*;
pub use preset::{PRESETS, Preset, find};
pub use print::{Setting, keys_markdown, settings_toml};
pub use resolve::{Base, preset, resolve};
pub use section::Key;
pub use sheet::*;
pub use spec::*;
pub use value::{NamedValue, Rule};
