//! Youngest first: the warp that started last goes first. It shows how a policy is added
//! (`docs/adding-a-policy.md`) and is good for nothing else.

use warploom_base::WarpSlot;
use warploom_policy::{
    Facts, Part, Policy, WarpMask, WarpPolicyCounters, WarpScheduler, WarpView, warps_of,
};

/// Youngest first.
#[derive(Clone, Debug, Default)]
pub struct YoungestFirst {
    counters: WarpPolicyCounters,
}

impl Policy for YoungestFirst {
    const FACTS: Facts = Facts {
        about: "The warp that started last goes first.",
        source: "an example",
        state: "none",
        bits: |_| 0,
        part: Part::Sm,
        complexity: "linear in ready warps",
    };
}

impl WarpScheduler for YoungestFirst {
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        let first = warps_of(ready).max_by_key(|slot| view.age[slot.index()]);
        // What it does that others would not shows in results, as `warp_policy.reorderings`.
        self.counters.reorderings += u64::from(first != view.oldest(ready));
        first
    }

    fn counters(&self) -> WarpPolicyCounters {
        self.counters.clone()
    }
}
