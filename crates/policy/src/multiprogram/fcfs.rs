//! Kernels take blocks in turn, first come, first served.

use super::{Multiprogram, MultiprogramView};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{KernelSlot, SmId};
use warploom_state::State;

/// Policy `fcfs`. On each SM, kernels take turns to start a block where there is room. So blocks of
/// different sizes lie next to each other in the SM's resources (Xu et al., Fig. 2a).
#[derive(Clone, Debug, Default, State)]
pub struct Fcfs {
    kernels: usize,
    /// Position of the kernel whose turn it is, by SM.
    next: Vec<usize>,
}

impl PolicyFacts for Fcfs {
    const FACTS: Facts = Facts {
        about: "Kernels take blocks by turns, wherever there is room.",
        source: "Xu et al., ISCA 2016, Fig. 2a",
        state: "the kernel whose turn it is on each SM",
        bits: |spec| bits_for(u64::from(spec.gpu.max_concurrent_kernels)),
        // The number of one of at most 16 kernels takes 4 bits.
        bits_on_gtx480: 4,
        part: Part::Sm,
        complexity: "linear in kernels",
    };
}

impl Multiprogram for Fcfs {
    fn wants_samples(&self) -> bool {
        false
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        self.kernels = view.kernels.len();
        self.next.resize(view.spec.gpu.sms as usize, 0);
    }

    fn quota(&self, _sm: SmId, _kernel: KernelSlot) -> u32 {
        u32::MAX
    }

    fn first(&self, sm: SmId) -> usize {
        self.next.get(sm.index()).copied().unwrap_or(0)
    }

    fn placed(&mut self, sm: SmId, turn: usize) {
        if let Some(next) = self.next.get_mut(sm.index()) {
            *next = (turn + 1) % self.kernels.max(1);
        }
    }
}
