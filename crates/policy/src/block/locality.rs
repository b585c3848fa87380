//! Locality-aware block scheduling (Chen, NTU thesis 2016, section 3.3): the block that shares most
//! cache lines with the blocks that run on the SM.
//!
//! For each block in the queue, a few rectangles of cache lines describe what the block accesses.
//! The locality of two blocks is the area that their rectangles have in common, summed over all
//! arrays. An SM takes the block with the greatest locality with its own blocks. If no block has
//! any locality with them, the SM takes the block with the least locality with the blocks on other
//! SMs. Ties go to the oldest block.
//!
//! The thesis's hardware has one byte per field of a rectangle (Table 5.2). Here areas are computed
//! from full coordinates, as in section 3.3.2 of the thesis. The thesis does not limit the length
//! of the queue, so the length is a setting.

use super::{BlockQueueView, BlockScheduler};
use crate::range::{Footprint, MAX_RECTS, overlap};
use crate::{Facts, Part, PolicyFacts};
use warploom_base::SmId;
use warploom_config::{BlockLocalitySettings, GpuSpec};
use warploom_state::State;

/// Block scheduler that prefers the greatest overlap with the SM's own blocks.
#[derive(Clone, Debug, State)]
pub struct Locality {
    #[state(fixed)]
    settings: BlockLocalitySettings,
    /// Number of chosen blocks that were not the oldest one in the queue.
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
    /// A scheduler that has not chosen a block yet.
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

    /// Number of lines that a waiting block shares with the blocks of some SMs, summed over these
    /// blocks.
    fn locality<'a>(
        &self,
        waiting: &Footprint,
        running: impl Iterator<Item = &'a Vec<Footprint>>,
    ) -> u64 {
        let most = self.rectangles();
        let others = running.flatten();
        others.map(|other| overlap(waiting, other, most)).sum()
    }

    /// Position of the first waiting block with the most locality with the SM's own blocks; `None`
    /// if no block has any.
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

    /// Position of the first waiting block with the least locality with the blocks on other SMs.
    fn farthest(&self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
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
            // No footprints are known, because computing the addresses ended in a fault. The kernel
            // will end in the same one.
            return (!view.waiting.is_empty()).then_some(0);
        }
        let chosen = self.nearest(sm, view).or_else(|| self.farthest(sm, view))?;
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
