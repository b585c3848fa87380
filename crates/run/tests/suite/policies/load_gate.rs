//! A scheduler with a gate: greedy, then oldest, and of the warps that could go on only the oldest
//! few may load through the data cache. It shows how a gate is written (`docs/adding-a-policy.md`)
//! and is a fixed form of what throttling by cache contention does.

use warploom_base::WarpSlot;
use warploom_policy::warp::Gto;
use warploom_policy::{NextInst, WarpMask, WarpScheduler, WarpView};
use warploom_state::State;

/// Greedy then oldest, with a limit on the warps that may load.
#[derive(State)]
pub struct LoadGate {
    order: Gto,
    /// Warps of the scheduler that may load.
    limit: u32,
}

impl LoadGate {
    /// A scheduler whose `limit` oldest warps may load.
    pub fn new(limit: u32) -> Self {
        Self {
            order: Gto::default(),
            limit,
        }
    }
}

impl WarpScheduler for LoadGate {
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        self.order.pick(view, ready)
    }

    fn has_gate(&self) -> bool {
        true
    }

    fn admits(&mut self, view: &WarpView<'_>, next: &NextInst) -> bool {
        if !next.access.is_some_and(|access| access.may_load_from_l1d()) {
            return true;
        }
        let mut others = view.own & view.live & !view.waiting;
        for _ in 0..self.limit {
            let Some(oldest) = view.oldest(others) else {
                return false;
            };
            if oldest == next.slot {
                return true;
            }
            others &= !(1 << oldest.index());
        }
        false
    }

    fn on_issue(&mut self, slot: WarpSlot) {
        self.order.on_issue(slot);
    }
}
