//! Loose round robin: a warp that cannot issue is passed over. GPGPU-Sim's `lrr`.
//! State: one slot number per scheduler. Cost: constant time.

use super::{WarpMask, WarpScheduler, WarpView, next_after};
use warploom_base::WarpSlot;

/// Loose round robin.
#[derive(Clone, Debug)]
pub struct Lrr {
    last: WarpSlot,
}

impl Default for Lrr {
    /// Starts before slot 0.
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
