//! What the kernel launched first leaves.

use super::{Multiprogram, MultiprogramView};
use crate::{Facts, Part, Policy};
use warploom_base::{KernelSlot, SmId};

/// Left-over: an SM asks kernels in order of launch, so that a later one gets what earlier ones do
/// not take.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftOver;

impl Policy for LeftOver {
    const FACTS: Facts = Facts {
        about: "All that the kernel launched first can use, then the next.",
        source: "GPGPU-Sim (select_kernel); Xu et al., ISCA 2016 (seed 003), Fig. 2b",
        state: "none",
        bits: |_| 0,
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
}
