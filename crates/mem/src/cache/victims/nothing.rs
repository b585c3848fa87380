//! No line is kept.

use super::{Facts, Keep};
use warploom_base::{Cycle, Pc};
use warploom_config::GpuSpec;
use warploom_state::State;

/// Keeps no replaced line.
#[derive(Clone, Debug, State)]
pub(in crate::cache) struct Nothing;

impl Keep for Nothing {
    const FACTS: Facts<GpuSpec> = Facts {
        about: "A line that L1D replaces is gone.",
        source: "GPGPU-Sim",
        state: "none",
        bits: |_| 0,
        example_bits: 0,
    };

    fn on_read(&mut self, _now: Cycle, _pc: Pc, _found: bool) {}

    fn keeps(&mut self, _now: Cycle, _pc: Pc) -> bool {
        false
    }

    fn forget_loads(&mut self) {}
}
