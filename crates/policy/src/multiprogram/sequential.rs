//! Processes run one after the other.

use super::quotas::{Quotas, UNLIMITED};
use super::{Multiprogram, MultiprogramView};
use crate::{Facts, Part, PolicyFacts};
use warploom_base::{KernelSlot, SmId};
use warploom_state::State;

/// Policy `sequential`. Only the kernels of one process may start blocks, until that process has no
/// kernel. The process of the oldest kernel in flight is the next.
#[derive(Clone, Debug, Default, State)]
pub struct Sequential {
    /// The process that runs, as long as it has a kernel.
    running: Option<u8>,
    quotas: Quotas,
}

impl PolicyFacts for Sequential {
    const FACTS: Facts = Facts {
        about: "One process after the other.",
        source: "Xu et al., ISCA 2016, section V.A",
        state: "the process that runs (8 bits)",
        bits: |_| 8,
        bits_on_gtx480: 8,
        part: Part::Gpu,
        complexity: "linear in kernels",
    };
}

impl Multiprogram for Sequential {
    fn wants_samples(&self) -> bool {
        false
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        let has_kernel = |process| view.kernels.iter().any(|k| Some(k.process) == process);
        if !has_kernel(self.running) {
            self.running = view.kernels.first().map(|kernel| kernel.process);
        }
        self.quotas = Quotas::new(view.spec, 0);
        for kernel in view.kernels {
            if Some(kernel.process) == self.running {
                self.quotas.set_all(kernel.slot, UNLIMITED);
            }
        }
    }

    fn serves_first(&self) -> Option<u8> {
        self.running
    }

    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        self.quotas.get(sm, kernel)
    }
}
