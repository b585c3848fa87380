//! The default: no context leaves its SM.

use crate::{Facts, Part, PolicyFacts};

/// Context system that moves nothing: warps and blocks hold their resources until they end.
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
