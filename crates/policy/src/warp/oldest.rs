//! Oldest first, without greed.

use super::{WarpMask, WarpScheduler, WarpView};
use crate::{Facts, Part, PolicyFacts};
use warploom_base::WarpSlot;
use warploom_state::State;

/// Scheduler of `oldest`: oldest first.
#[derive(Clone, Copy, Debug, Default, State)]
pub struct Oldest;

impl PolicyFacts for Oldest {
    const FACTS: Facts = Facts {
        about: "Oldest first, never greedy.",
        source: "GPGPU-Sim `old`",
        state: "none",
        bits: |_| 0,
        bits_on_gtx480: 0,
        part: Part::Sm,
        complexity: "linear in ready warps",
    };
    const INLINED: bool = true;
}

impl WarpScheduler for Oldest {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        view.oldest(ready)
    }
}
