//! Greedy then oldest: the warp that issued last goes on as long as it can, then the one that
//! started first. Ages are unique, so there are no ties (GPGPU-Sim's own sort leaves them to the
//! standard library).

use super::{WarpMask, WarpScheduler, WarpView, only};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::WarpSlot;
use warploom_state::State;

/// Scheduler of `gto`: greedy then oldest.
#[derive(Clone, Debug, Default, State)]
pub struct Gto {
    /// Mask of the warp that issued last; 0 before the first issue.
    last: WarpMask,
}

impl PolicyFacts for Gto {
    const FACTS: Facts = Facts {
        about: "Greedy then oldest: the last warp until it cannot issue, then the oldest.",
        source: "Rogers et al., MICRO 2012; GPGPU-Sim `gto`",
        state: "schedulers x (log2(warps of one) + 1): the last warp, if there is one",
        bits: |spec| schedulers(spec) * (bits_for(warps_a_scheduler(spec)) + 1),
        bits_on_gtx480: 2 * (5 + 1),
        part: Part::Sm,
        complexity: "linear in ready warps",
    };
    const INLINED: bool = true;
}

impl WarpScheduler for Gto {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        // Branch-free: whether the last warp can issue again is unpredictable.
        let goes_on = ready & self.last;
        view.oldest(if goes_on == 0 { ready } else { goes_on })
    }

    #[inline]
    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = only(slot);
    }
}
