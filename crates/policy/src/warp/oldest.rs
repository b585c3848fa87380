//! Oldest first, without greed: GPGPU-Sim's `old`. State: none. Cost: linear in ready warps.

use super::{WarpMask, WarpScheduler, WarpView};
use warploom_base::WarpSlot;

/// Oldest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oldest;

impl WarpScheduler for Oldest {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        view.oldest(ready)
    }
}
