//! Static wavefront limiting: greedy then oldest over the N oldest warps that neither exited nor
//! wait.

use super::{WarpMask, WarpScheduler, WarpView, holds};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_config::StaticLimitSettings;
use warploom_state::State;

/// Greedy then oldest among the oldest warps.
#[derive(Clone, Debug, State)]
pub struct StaticLimit {
    limit: u32,
    last: Option<WarpSlot>,
    /// Warps that ran and did not wait when the oldest were last looked for, and the oldest of
    /// them. Both are empty after a start, which changes ages.
    found: (WarpMask, WarpMask),
}

impl PolicyFacts for StaticLimit {
    const FACTS: Facts = Facts {
        about: "Greedy then oldest among the N oldest warps that do not wait at a barrier.",
        source: "SWL: Rogers et al., MICRO 2012; GPGPU-Sim `warp_limiting:2:N`",
        state: "schedulers x (log2(warps of one) + 1): the last warp, if there is one",
        bits: |spec| schedulers(spec) * (bits_for(warps_a_scheduler(spec)) + 1),
        bits_on_gtx480: 2 * (5 + 1),
        part: Part::Sm,
        complexity: "warps times N",
    };
}

impl StaticLimit {
    /// A scheduler from which only the `static-limit.warps` oldest warps issue.
    pub fn new(settings: StaticLimitSettings) -> Self {
        Self {
            limit: settings.warps,
            last: None,
            found: (0, 0),
        }
    }

    /// The `limit` oldest warps of a mask. The mask seldom changes from one cycle to the next.
    fn oldest_few(&mut self, view: &WarpView<'_>, mask: WarpMask) -> WarpMask {
        if self.found.0 != mask {
            self.found = (mask, self.find_oldest(view, mask));
        }
        self.found.1
    }

    fn find_oldest(&self, view: &WarpView<'_>, mut mask: WarpMask) -> WarpMask {
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
            Some(last) if holds(ready, last) => Some(last),
            _ => view.oldest(ready),
        }
    }

    /// The choice depends on the view alone.
    fn holds_for(&self) -> u64 {
        u64::MAX
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = Some(slot);
    }

    fn on_start(&mut self, _slot: WarpSlot) {
        self.found = (0, 0);
    }
}
