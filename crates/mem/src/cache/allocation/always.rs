//! Allocation by every read.

use super::{Allocate, Facts, MissView};
use warploom_config::GpuSpec;
use warploom_state::State;

/// Lets every read that misses take a line.
#[derive(Clone, Debug, State)]
pub(super) struct Always;

impl Allocate for Always {
    const FACTS: Facts<GpuSpec> = Facts {
        about: "Every read that misses takes a line of L1D.",
        source: "GPGPU-Sim",
        state: "none",
        bits: |_| 0,
        example_bits: 0,
    };

    fn allocates(&mut self, _miss: &MissView<'_>) -> bool {
        true
    }
}
