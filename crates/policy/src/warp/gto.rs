//! Greedy then oldest (Rogers, O'Connor, Aamodt, MICRO 2012; GPGPU-Sim's `gto`): the warp that
//! issued last goes on as long as it can, then the one that started first. Ages are unique, so
//! there are no ties (GPGPU-Sim's own sort leaves them to the standard library).
//! State: one slot number per scheduler. Cost: linear in ready warps.

use super::{WarpMask, WarpScheduler, WarpView};
use warploom_base::WarpSlot;

/// Greedy then oldest.
#[derive(Clone, Debug, Default)]
pub struct Gto {
    last: Option<WarpSlot>,
}

impl WarpScheduler for Gto {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        match self.last {
            Some(last) if ready >> last.index() & 1 != 0 => Some(last),
            _ => view.oldest(ready),
        }
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = Some(slot);
    }
}
