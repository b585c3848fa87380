//! Fewest issues first: the warp that has issued the fewest instructions goes first, so that the
//! warps of a scheduler advance together.

use warploom_base::WarpSlot;
use warploom_policy::{WarpMask, WarpScheduler, WarpView, warps_of};
use warploom_state::State;

/// Number of warp slots that a mask can name.
const SLOTS: usize = WarpMask::BITS as usize;

/// Scheduler that prefers the warp with the fewest issued instructions.
#[derive(State)]
pub struct FewestIssues {
    issued: [u64; SLOTS],
}

impl Default for FewestIssues {
    fn default() -> Self {
        Self { issued: [0; SLOTS] }
    }
}

impl WarpScheduler for FewestIssues {
    /// Chooses the warp in the lowest slot among those with equal numbers.
    fn pick(&mut self, _: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        warps_of(ready).min_by_key(|slot| self.issued[slot.index()])
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.issued[slot.index()] += 1;
    }

    fn on_start(&mut self, slot: WarpSlot) {
        self.issued[slot.index()] = 0;
    }
}
