//! No filter: every SM may take blocks.

use super::{SmFilter, Turn};
use crate::{Facts, Part, PolicyFacts};
use warploom_state::State;

/// Every SM takes blocks.
#[derive(Clone, Copy, Debug, Default, State)]
pub struct All;

impl PolicyFacts for All {
    const FACTS: Facts = Facts {
        about: "Every SM takes blocks whenever it has room.",
        source: "GPGPU-Sim",
        state: "none",
        bits: |_| 0,
        bits_on_gtx480: 0,
        part: Part::Gpu,
        complexity: "constant",
    };
}

impl SmFilter for All {
    #[inline]
    fn allows(&self, _turn: &Turn) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_base::SmId;

    #[test]
    fn allows_every_sm() {
        let turn = |sm: u16| Turn {
            sm: SmId(sm),
            place: u32::from(sm),
        };
        assert!((0..200).all(|sm| All.allows(&turn(sm))));
    }
}
