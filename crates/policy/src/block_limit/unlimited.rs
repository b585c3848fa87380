//! The default: an SM runs all blocks for which it has room.

use super::BlockLimit;
use crate::{Facts, Part, PolicyFacts};
use warploom_state::State;

/// No limit but the room.
#[derive(Clone, Copy, Debug, Default, State)]
pub struct Unlimited;

impl PolicyFacts for Unlimited {
    const FACTS: Facts = Facts {
        about: "An SM runs all blocks for which it has room.",
        source: "GPGPU-Sim",
        state: "none",
        bits: |_| 0,
        bits_on_gtx480: 0,
        part: Part::Sm,
        complexity: "constant",
    };
}

impl BlockLimit for Unlimited {
    fn wants_samples(&self) -> bool {
        false
    }
}
