//! Strict round robin, GPGPU-Sim 4.x's `rrr`. The turn is that of the first warp after the one that
//! issued last which has not exited and does not wait, whether or not it can issue
//! (`scheduler_unit::order_rrr`, whose count of issued instructions never goes back to zero).

use super::{WarpMask, WarpScheduler, WarpView, holds, next_after};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_state::State;

/// Scheduler of `rrr`: strict round robin.
#[derive(Clone, Debug, State)]
pub struct Rrr {
    last: WarpSlot,
}

impl PolicyFacts for Rrr {
    const FACTS: Facts = Facts {
        about: "No warp goes before the one whose turn it is.",
        source: "GPGPU-Sim 4.x `rrr`",
        state: "schedulers x the last warp",
        bits: |spec| schedulers(spec) * bits_for(warps_a_scheduler(spec)),
        bits_on_gtx480: 2 * 5,
        part: Part::Sm,
        complexity: "constant",
    };
}

impl Default for Rrr {
    /// A scheduler that starts before slot 0.
    fn default() -> Self {
        Self { last: WarpSlot(63) }
    }
}

impl WarpScheduler for Rrr {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let turn = next_after(view.own & view.live & !view.waiting, self.last);
        turn.filter(|slot| holds(ready, *slot))
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = slot;
    }
}
