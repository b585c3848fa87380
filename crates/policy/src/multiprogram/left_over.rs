//! A kernel gets the resources that kernels launched before it leave over.

use super::{Multiprogram, MultiprogramView};
use crate::{Facts, Part, PolicyFacts};
use warploom_base::{KernelSlot, SmId};
use warploom_state::State;

/// Policy `left-over`. A kernel starts blocks once all blocks of the kernels launched before it
/// have started. Until then it gets none of an SM's free resources, even if a block of it would fit
/// and none of the earlier kernel does: "the second application will not start execution until
/// after the first application is done with issuing all of its CTAs" (Xu et al., section V.A).
#[derive(Clone, Copy, Debug, Default, State)]
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
    fn wants_samples(&self) -> bool {
        false
    }

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
