//! Loose round robin: a warp that cannot issue is passed over. GPGPU-Sim's `lrr`.

use super::{WarpMask, WarpScheduler, WarpView, next_after};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_state::State;

/// Scheduler of `lrr`: loose round robin.
#[derive(Clone, Debug, State)]
pub struct Lrr {
    last: WarpSlot,
}

impl PolicyFacts for Lrr {
    const FACTS: Facts = Facts {
        about: "Loose round robin: the next warp after the last one issued that can issue.",
        source: "GPGPU-Sim `lrr`",
        state: "schedulers x log2(warps of one): the last warp",
        bits: |spec| schedulers(spec) * bits_for(warps_a_scheduler(spec)),
        bits_on_gtx480: 2 * 5,
        part: Part::Sm,
        complexity: "constant",
    };
}

impl Default for Lrr {
    /// A scheduler that starts before slot 0.
    fn default() -> Self {
        Self { last: WarpSlot(63) }
    }
}

impl WarpScheduler for Lrr {
    #[inline]
    fn pick(&mut self, _view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        next_after(ready, self.last)
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = slot;
    }
}
