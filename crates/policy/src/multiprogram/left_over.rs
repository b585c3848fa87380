//! What the kernel launched first leaves when its last block has started.

use super::{Multiprogram, MultiprogramView};
use crate::{Facts, Part, PolicyFacts};
use warploom_base::{KernelSlot, SmId};

/// Left-over: a kernel starts blocks when all blocks of those launched before it have started. What
/// an SM has left beside the first meanwhile, too little for a block of it, is left alone, even if
/// one of the next would fit: "the second application will not start execution until after the
/// first application is done with issuing all of its CTAs" (section V.A).
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftOver;

impl PolicyFacts for LeftOver {
    const FACTS: Facts = Facts {
        about: "All that the kernel launched first can use; the next when its last block has started.",
        source: "GPGPU-Sim (select_kernel); Xu et al., ISCA 2016, Fig. 2b and section V.A",
        state: "none",
        bits: |_| 0,
        bits_on_gtx480: 0,
        part: Part::Gpu,
        complexity: "linear in kernels",
    };
}

impl Multiprogram for LeftOver {
    fn update(&mut self, _view: &MultiprogramView<'_>) {}

    #[inline]
    fn quota(&self, _sm: SmId, _kernel: KernelSlot) -> u32 {
        u32::MAX
    }

    #[inline]
    fn overtakes(&self) -> bool {
        false
    }
}
