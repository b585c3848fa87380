//! Oldest first, without greed.

use super::{WarpMask, WarpScheduler, WarpView};
use crate::{Facts, Part, Policy};
use warploom_base::WarpSlot;

/// Oldest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oldest;

impl Policy for Oldest {
    const FACTS: Facts = Facts {
        about: "Oldest first, never greedy.",
        source: "GPGPU-Sim `old`",
        state: "none",
        bits: |_| 0,
        part: Part::Sm,
        complexity: "linear in ready warps",
    };
}

impl WarpScheduler for Oldest {
    #[inline]
    fn pick(&mut self, view: &WarpView<'_>, ready: WarpMask) -> Option<WarpSlot> {
        view.oldest(ready)
    }
}
