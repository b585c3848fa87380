//! Greedy then round robin: stays with a warp until it cannot issue, then goes on in slot order.
//! State: one slot number per scheduler. Cost: constant time.

use super::{WarpMask, WarpScheduler, WarpView, next_after};
use warploom_base::WarpSlot;

/// Greedy then round robin.
#[derive(Clone, Debug)]
pub struct Grr {
    last: WarpSlot,
}

impl Default for Grr {
    /// Starts before slot 0.
    fn default() -> Self {
        Self { last: WarpSlot(63) }
    }
}

impl WarpScheduler for Grr {
    #[inline]
    fn pick(&mut self, _view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        if ready >> self.last.index() & 1 != 0 {
            Some(self.last)
        } else {
            next_after(ready, self.last)
        }
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = slot;
    }
}
