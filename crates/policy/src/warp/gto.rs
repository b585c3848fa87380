//! Greedy then oldest: the warp that issued last goes on as long as it can, then the one that
//! started first. Ages are unique, so there are no ties (GPGPU-Sim's own sort leaves them to the
//! standard library).

use super::{WarpMask, WarpScheduler, WarpView, only};
use crate::facts::{schedulers, warps_a_scheduler};
use crate::{Facts, Part, Policy, bits_for};
use warploom_base::WarpSlot;

/// Greedy then oldest.
#[derive(Clone, Debug, Default)]
pub struct Gto {
    /// The warp that issued last, if there is one.
    last: WarpMask,
}

impl Policy for Gto {
    const FACTS: Facts = Facts {
        about: "Greedy then oldest: the last warp until it cannot issue, then the oldest.",
        source: "Rogers et al., MICRO 2012; GPGPU-Sim `gto`",
        state: "schedulers x (log2(warps of one) + 1): the last warp, if there is one",
        bits: |spec| schedulers(spec) * (bits_for(warps_a_scheduler(spec)) + 1),
        part: Part::Sm,
        complexity: "linear in ready warps",
    };
}

impl WarpScheduler for Gto {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        // No branch: whether the last one goes on, nobody can foresee.
        let goes_on = ready & self.last;
        view.oldest(if goes_on == 0 { ready } else { goes_on })
    }

    #[inline]
    fn on_issue(&mut self, slot: WarpSlot) {
        self.last = only(slot);
    }
}
