//! No switching.

use crate::{Facts, Part, PolicyFacts};

/// Warps and blocks hold what they have until they end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resident;

impl PolicyFacts for Resident {
    const FACTS: Facts = Facts {
        about: "Warps and blocks hold what they have until they end.",
        source: "GPGPU-Sim",
        state: "none",
        bits: |_| 0,
        bits_on_gtx480: 0,
        part: Part::Sm,
        complexity: "constant",
    };
}
