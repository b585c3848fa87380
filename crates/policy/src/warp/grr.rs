//! Greedy then round robin: stays with a warp until it cannot issue, then goes on in slot order.

use super::{WarpMask, WarpScheduler, WarpView, holds, next_after};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_state::State;

/// Scheduler of `grr`: greedy then round robin.
#[derive(Clone, Debug, State)]
pub struct Grr {
    last: WarpSlot,
}

impl PolicyFacts for Grr {
    const FACTS: Facts = Facts {
        about: "Greedy then round robin: the last warp until it cannot issue, then the next.",
        source: "coarse-grained round robin in Do et al. 2017, section 4.1",
        state: "schedulers x log2(warps of one): the last warp",
        bits: |spec| schedulers(spec) * bits_for(warps_a_scheduler(spec)),
        bits_on_gtx480: 2 * 5,
        part: Part::Sm,
        complexity: "constant",
    };
}

impl Default for Grr {
    /// A scheduler that starts before slot 0.
    fn default() -> Self {
        Self { last: WarpSlot(63) }
    }
}

impl WarpScheduler for Grr {
    #[inline]
    fn pick(&mut self, _view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        if holds(ready, self.last) {
            Some(self.last)
        } else {
            next_after(ready, self.last)
        }
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = slot;
    }
}
