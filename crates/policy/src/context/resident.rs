//! No switching.

use crate::{Facts, Part, Policy};

/// Warps and blocks hold what they have until they end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resident;

impl Policy for Resident {
    const FACTS: Facts = Facts {
        about: "Warps and blocks hold what they have until they end.",
        source: "GPGPU-Sim",
        state: "none",
        bits: |_| 0,
        part: Part::Sm,
        complexity: "constant",
    };
}
