//! GPU specifications: the properties of every part of a simulated GPU.
//!
//! The raw form (TOML, `KEY=VALUE`) is only parsed. [`resolve()`] checks everything, reports all
//! problems with their places, and returns a [`GpuSpec`] of integers and enums. Every key is
//! declared once, in `keys/`; reading, printing, documentation and hints are derived from the
//! declaration. The crate also computes what follows from a specification: `peaks`, `latency`,
//! `occupancy`, and all of these as a data sheet.
//!
//! Invariants: every [`GpuSpec`] is valid, and none of its values is text to be decoded later.
//! `resolve(spec.to_toml())` gives the same specification. This crate does no I/O.
//!
//! To add a key: add the field to `spec.rs` and its line to the file in `keys/`, give it a value in
//! every preset without a base, and run the tests with `WARPLOOM_BLESS=1` to renew the
//! documentation. To add a preset, see `preset.rs`.

mod address_map;
mod cache_policies;
mod contexts;
mod error;
mod generation;
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
mod unread;
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
pub use unread::{UnreadKeys, chooser_of};
pub use value::{NamedValue, Refusal, Rule};
