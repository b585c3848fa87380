//! Locality-aware block scheduling (Chen, NTU thesis 2016, seed 004, section 3.3): the block that
//! shares most cache lines with those that run on the SM.
//!
//! Each waiting block in the queue has, for each of a few arrays, the rectangle of lines that it
//! touches. The locality of two blocks is the area that their rectangles share, over all arrays.
//! An SM takes the block with the greatest locality with its own; if none has any, the one with
//! the least locality with blocks on other SMs, so that it takes from nobody. Ties: oldest.
//!
//! The thesis's hardware has one byte a field: starts are known modulo 256 lines or rows, extents
//! to 255, and only the first five arrays of a kernel are held. `ideal` has no such limit.

use super::{BlockQueueView, BlockScheduler};
use crate::range::{Footprint, MAX_ARRAYS, overlap};
use crate::{Facts, Part, Policy};
use warploom_base::{Rect, SmId};
use warploom_config::{BlockLocalitySettings, BlockScheduler as Choice, GpuSpec};

/// Greatest overlap with the SM's own blocks.
#[derive(Clone, Debug)]
pub struct Locality {
    settings: BlockLocalitySettings,
    /// Choices that were not the oldest block.
    reordered: u64,
}

impl Policy for Locality {
    const FACTS: Facts = Facts {
        about: "The waiting block that shares most cache lines with those on the SM.",
        source: "Chen, NTU thesis 2016 (seed 004), section 3.3",
        state: "queue x arrays x 4 x 8: start and extent of a rectangle, a byte each (the thesis \
                counts 15 bytes an entry)",
        bits,
        part: Part::Gpu,
        complexity: "linear in queue x blocks that run x arrays",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings = match spec.gpu.block_scheduler {
        Choice::Locality(settings) => settings,
        _ => BlockLocalitySettings::default(),
    };
    u64::from(settings.queue) * u64::from(settings.arrays) * 4 * 8
}

impl Locality {
    /// Nothing chosen yet.
    pub fn new(settings: BlockLocalitySettings) -> Self {
        Self {
            settings,
            reordered: 0,
        }
    }

    fn arrays(&self) -> usize {
        if self.settings.ideal {
            MAX_ARRAYS
        } else {
            self.settings.arrays as usize
        }
    }

    /// What the hardware knows of two blocks.
    fn locality(&self, a: &Footprint, b: &Footprint) -> u64 {
        let arrays = self.arrays();
        if self.settings.ideal {
            return overlap(a, b, arrays);
        }
        overlap(&in_bytes(a), &in_bytes(b), arrays)
    }

    fn with_own(&self, view: &BlockQueueView<'_>, sm: SmId, at: usize) -> u64 {
        let own = view.running_touches[sm.index()].iter();
        own.map(|other| self.locality(&view.waiting_touches[at], other))
            .sum()
    }

    fn with_others(&self, view: &BlockQueueView<'_>, sm: SmId, at: usize) -> u64 {
        let others = view.running_touches.iter().enumerate();
        let others = others.filter(|(index, _)| *index != sm.index());
        others
            .flat_map(|(_, running)| running)
            .map(|other| self.locality(&view.waiting_touches[at], other))
            .sum()
    }
}

/// A footprint in one byte a field.
fn in_bytes(footprint: &Footprint) -> Footprint {
    footprint.map(|rect| {
        rect.map(|rect| Rect {
            x: rect.x & 0xff,
            y: rect.y & 0xff,
            width: rect.width.min(0xff),
            height: rect.height.min(0xff),
        })
    })
}

impl BlockScheduler for Locality {
    fn pick(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        if view.waiting_touches.is_empty() {
            // Nothing is known of a kernel whose address binary faults, as the kernel will.
            return (!view.waiting.is_empty()).then_some(0);
        }
        let all = 0..view.waiting_touches.len();
        let own = |at: &usize| self.with_own(view, sm, *at);
        // Of equals `max_by_key` takes the last: ask from the youngest on.
        let best = all.clone().rev().max_by_key(own)?;
        let chosen = if own(&best) > 0 {
            best
        } else {
            all.min_by_key(|at| self.with_others(view, sm, *at))?
        };
        self.reordered += u64::from(chosen > 0);
        Some(chosen)
    }

    fn look_ahead(&self) -> usize {
        self.settings.queue as usize
    }

    fn wants_footprints(&self) -> bool {
        true
    }

    fn reordered(&self) -> u64 {
        self.reordered
    }
}
