//! Each SM holds blocks of one kernel at a time.

use super::{Multiprogram, MultiprogramView};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{KernelSlot, SmId};
use warploom_state::State;

/// Policy `exclusive`. An SM without blocks asks kernels in order of launch. While it holds blocks
/// of a kernel, it takes blocks of no other one.
#[derive(Clone, Copy, Debug, Default, State)]
pub struct Exclusive;

impl PolicyFacts for Exclusive {
    const FACTS: Facts = Facts {
        about: "One kernel at a time on an SM; the next where the first has no blocks left.",
        source: "GPGPU-Sim (simt_core_cluster::issue_block2core without \
                 -gpgpu_concurrent_kernel_sm)",
        state: "the kernel of each SM",
        bits: |spec| bits_for(u64::from(spec.gpu.max_concurrent_kernels)),
        // The number of one of at most 16 kernels takes 4 bits.
        bits_on_gtx480: 4,
        part: Part::Sm,
        complexity: "linear in kernels",
    };
}

impl Multiprogram for Exclusive {
    fn wants_samples(&self) -> bool {
        false
    }

    fn update(&mut self, _view: &MultiprogramView<'_>) {}

    #[inline]
    fn quota(&self, _sm: SmId, _kernel: KernelSlot) -> u32 {
        u32::MAX
    }

    #[inline]
    fn may_join(&self, _kernel: KernelSlot, _held: KernelSlot) -> bool {
        false
    }
}
