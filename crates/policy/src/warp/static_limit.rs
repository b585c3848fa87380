//! Static wavefront limiting (Rogers, O'Connor, Aamodt, MICRO 2012; GPGPU-Sim's
//! `warp_limiting:2:N`): greedy then oldest over the N oldest warps that neither exited nor wait.
//! State: one slot number per scheduler. Cost: linear in warps times N.

use super::{WarpMask, WarpScheduler, WarpView};
use warploom_base::WarpSlot;

/// Greedy then oldest among the oldest warps.
#[derive(Clone, Debug)]
pub struct StaticLimit {
    limit: u32,
    last: Option<WarpSlot>,
}

impl StaticLimit {
    /// At most `limit` warps of a scheduler issue.
    pub fn new(limit: u32) -> Self {
        Self { limit, last: None }
    }

    /// The `limit` oldest of a mask.
    fn oldest_few(&self, view: &WarpView<'_>, mut mask: WarpMask) -> WarpMask {
        let mut few = 0;
        for _ in 0..self.limit {
            let Some(slot) = view.oldest(mask) else { break };
            few |= 1 << slot.index();
            mask &= !(1 << slot.index());
        }
        few
    }
}

impl WarpScheduler for StaticLimit {
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let ready = ready & self.oldest_few(view, view.own & view.live & !view.waiting);
        match self.last {
            Some(last) if ready >> last.index() & 1 != 0 => Some(last),
            _ => view.oldest(ready),
        }
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = Some(slot);
    }
}
