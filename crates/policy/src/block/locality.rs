//! Locality-aware block scheduling (Chen, NTU thesis 2016, section 3.3): the block that
//! shares most cache lines with those that run on the SM.
//!
//! Each waiting block in the queue has, for each of a few arrays, the rectangle of lines that it
//! touches. The locality of two blocks is the area that their rectangles share, over all arrays.
//! An SM takes the block with the greatest locality with its own; if none has any, the one with
//! the least locality with blocks on other SMs, so that it takes from nobody. Ties: oldest.
//!
//! The thesis's hardware has one byte a field: starts are known modulo 256 lines or rows, extents
//! to 255, and only the first five arrays of a kernel are held. `ideal` has no such limit, and the
//! longest queue that there can be.

use super::{BlockQueueView, BlockScheduler};
use crate::range::{Footprint, MAX_ARRAYS, overlap};
use crate::{Facts, Part, PolicyFacts};
use warploom_base::{Rect, SmId};
use warploom_config::{BlockLocalitySettings, GpuSpec};

/// Greatest overlap with the SM's own blocks.
#[derive(Clone, Debug)]
pub struct Locality {
    settings: BlockLocalitySettings,
    /// Choices that were not the oldest block.
    reordered: u64,
    /// What is known of the blocks that a waiting one is held against; empty between choices.
    held: Vec<Footprint>,
}

impl PolicyFacts for Locality {
    const FACTS: Facts = Facts {
        about: "The waiting block that shares most cache lines with those on the SM.",
        source: "Chen, NTU thesis 2016, section 3.3",
        state: "queue x arrays x 4 x 8: start and extent of a rectangle, a byte each (the thesis \
                counts 15 bytes an entry)",
        bits,
        // 128 entries of five rectangles of four bytes.
        bits_on_gtx480: 128 * 5 * 4 * 8,
        part: Part::Gpu,
        complexity: "linear in queue x blocks that run x arrays",
    };
}

fn bits(spec: &GpuSpec) -> u64 {
    let settings: BlockLocalitySettings = spec.gpu.block_scheduler.settings();
    u64::from(settings.entries()) * u64::from(settings.arrays) * 4 * 8
}

impl Locality {
    /// Nothing chosen yet.
    pub fn new(settings: BlockLocalitySettings) -> Self {
        Self {
            settings,
            reordered: 0,
            held: Vec::new(),
        }
    }

    fn arrays(&self) -> usize {
        if self.settings.ideal {
            MAX_ARRAYS
        } else {
            self.settings.arrays as usize
        }
    }

    /// What is known of a block: all of its footprint, or what the hardware's fields hold.
    fn known(&self, footprint: &Footprint) -> Footprint {
        match self.settings.ideal {
            true => *footprint,
            false => in_bytes(footprint, self.arrays()),
        }
    }

    /// Holds the blocks of some SMs against waiting ones.
    fn hold<'a>(&mut self, running: impl Iterator<Item = &'a Vec<Footprint>>) {
        let mut held = std::mem::take(&mut self.held);
        held.clear();
        held.extend(running.flatten().map(|other| self.known(other)));
        self.held = held;
    }

    /// Lines that a waiting block shares with those held.
    fn locality(&self, waiting: &Footprint) -> u64 {
        let (waiting, arrays) = (self.known(waiting), self.arrays());
        let held = self.held.iter();
        held.map(|other| overlap(&waiting, other, arrays)).sum()
    }

    /// The first waiting block with the most locality with the SM's own, if any has some.
    fn nearest(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        self.hold(view.running_touches.iter().skip(sm.index()).take(1));
        let mut best = (0, None);
        for (at, waiting) in view.waiting_touches.iter().enumerate() {
            let locality = self.locality(waiting);
            if locality > best.0 {
                best = (locality, Some(at));
            }
        }
        best.1
    }

    /// The first waiting block with the least locality with those on other SMs.
    fn loneliest(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        let others = view.running_touches.iter().enumerate();
        self.hold(others.filter(|(at, _)| *at != sm.index()).map(|(_, r)| r));
        let mut best = (u64::MAX, None);
        for (at, waiting) in view.waiting_touches.iter().enumerate() {
            let locality = self.locality(waiting);
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

/// The first `arrays` of a footprint in one byte a field.
fn in_bytes(footprint: &Footprint, arrays: usize) -> Footprint {
    let mut known = Footprint::default();
    for (known, rect) in known.iter_mut().zip(footprint).take(arrays) {
        *known = rect.map(|rect| Rect {
            x: rect.x & 0xff,
            y: rect.y & 0xff,
            width: rect.width.min(0xff),
            height: rect.height.min(0xff),
        });
    }
    known
}

impl BlockScheduler for Locality {
    fn pick(&mut self, sm: SmId, view: &BlockQueueView<'_>) -> Option<usize> {
        if view.waiting_touches.is_empty() {
            // Nothing is known of a kernel whose address binary faults, as the kernel will.
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
