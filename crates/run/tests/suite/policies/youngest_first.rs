//! Youngest first: the warp that started last issues first. The example of
//! `docs/adding-a-policy.md`; it has no other use.

use warploom_base::WarpSlot;
use warploom_policy::{
    Facts, OrderCounters, Part, PolicyFacts, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView,
    warps_of,
};
use warploom_state::State;

/// A scheduler that prefers the youngest warp.
#[derive(Clone, Debug, Default, State)]
pub struct YoungestFirst {
    counters: OrderCounters,
}

impl PolicyFacts for YoungestFirst {
    const FACTS: Facts = Facts {
        about: "The warp that started last goes first.",
        source: "an example",
        state: "none",
        bits: |_| 0,
        bits_on_gtx480: 0,
        part: Part::Sm,
        complexity: "linear in ready warps",
    };
}

impl WarpScheduler for YoungestFirst {
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let first = warps_of(ready).max_by_key(|slot| view.age[slot.index()]);
        // Counts choices that differ from the oldest warp, as `warp_policy.reorderings`.
        self.counters.reorderings += u64::from(first != view.oldest(ready));
        first
    }

    fn counters(&self) -> WarpPolicyCounters {
        WarpPolicyCounters {
            order: self.counters.clone(),
            ..WarpPolicyCounters::default()
        }
    }
}
