//! Locality-aware block scheduling (Chen, NTU thesis 2016, section 3.3): the block that shares most
//! cache lines with the blocks that run on the SM.
//!
//! Each waiting block in the queue has a few rectangles of lines that it touches. The locality of
//! two blocks is the area that their rectangles share, over all arrays. An SM takes the block with
//! the greatest locality with its own blocks. If none has any, it takes the block with the least
//! locality with the blocks on other SMs. The oldest of several such blocks is taken.
//!
//! The thesis's hardware has one byte a field (Table 5.2). Areas are computed from whole
//! coordinates, as in the thesis's section 3.3.2. The thesis states no limit of the queue; its
//! length is a setting.

use super::{BlockQueueView, BlockScheduler};
use crate::range::{Footprint, MAX_RECTS, overlap};
use crate::{Facts, Part, PolicyFacts};
use warploom_base::SmId;
use warploom_config::{BlockLocalitySettings, GpuSpec};

/// Greatest overlap with the SM's own blocks.
#[derive(Clone, Debug)]
pub struct Locality {
    settings: BlockLocalitySettings,
    /// Choices that were not the oldest block.
    reordered: u64,
}

impl PolicyFacts for Locality {
    const FACTS: Facts = Facts {
        about: "The waiting block that shares most cache lines with those on the SM.",
        source: "Chen, NTU thesis 2016, section 3.3",
        state: "queue x rectangles x 4 x 8: start and extent of a rectangle, a byte each (the thesis \
                counts 15 bytes an entry)",
        bits,
        // 128 entries of five rectangles of four bytes.
        bits_on_gtx480: 128 * 5 * 4 * 8,
        part: Part::Gpu,
        complexity: "linear in queue x blocks that run x pairs of rectangles",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: BlockLocalitySettings = spec.gpu.block_scheduler.settings();
    u64::from(settings.entries()) * u64::from(settings.rectangles) * 4 * 8
}

impl Locality {
    /// Nothing chosen yet.
    pub fn new(settings: BlockLocalitySettings) -> Self {
        Self {
            settings,
            reordered: 0,
        }
    }

    /// Number of rectangles that an entry holds.
    fn rectangles(&self) -> usize {
        if self.settings.ideal {
            MAX_RECTS
        } else {
            self.settings.rectangles as usize
        }
    }

    /// Lines that a waiting block shares with the blocks of some SMs, summed over these blocks.
    fn locality<'a>(
        &self,
        waiting: &Footprint,
        running: impl Iterator<Item = &'a Vec<Footprint>>,
    ) -> u64 {
        let most = self.rectangles();
        let others = running.flatten();
        others.map(|other| overlap(waiting, other, most)).sum()
    }

    /// The first waiting block with the most locality with the SM's own, if any has some.
    fn nearest(&self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        let own = view.running_touches.iter().skip(sm.index()).take(1);
        let mut best = (0, None);
        for (at, waiting) in view.waiting_touches.iter().enumerate() {
            let locality = self.locality(waiting, own.clone());
            if locality > best.0 {
                best = (locality, Some(at));
            }
        }
        best.1
    }

    /// The first waiting block with the least locality with those on other SMs.
    fn loneliest(&self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        let all = view.running_touches.iter();
        let others = all.clone().take(sm.index()).chain(all.skip(sm.index() + 1));
        let mut best = (u64::MAX, None);
        for (at, waiting) in view.waiting_touches.iter().enumerate() {
            let locality = self.locality(waiting, others.clone());
            if locality < best.0 {
                best = (locality, Some(at));
            }
            if locality == 0 {
                break;
            }
        }
        best.1
    }
}

impl BlockScheduler for Locality {
    fn pick(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        if view.waiting_touches.is_empty() {
            // The address binary faults where the kernel will fault.
            return (!view.waiting.is_empty()).then_some(0);
        }
        let chosen = self
            .nearest(sm, view)
            .or_else(|| self.loneliest(sm, view))?;
        self.reordered += u64::from(chosen > 0);
        Some(chosen)
    }

    fn look_ahead(&self) -> usize {
        self.settings.entries() as usize
    }

    fn wants_footprints(&self) -> bool {
        true
    }

    fn reordered(&self) -> u64 {
        self.reordered
    }
}
