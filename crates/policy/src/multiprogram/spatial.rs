//! Each kernel gets an equal part of the SMs.

use super::quotas::{Quotas, UNLIMITED, share_of_sms};
use super::{Multiprogram, MultiprogramView};
use crate::{Facts, Part, PolicyFacts, bits_for};
use warploom_base::{KernelSlot, SmId};
use warploom_state::State;

/// Policy `spatial` (spatial multitasking): the SMs are divided into equal parts, one for each
/// kernel.
#[derive(Clone, Debug, Default, State)]
pub struct Spatial {
    quotas: Quotas,
}

impl PolicyFacts for Spatial {
    const FACTS: Facts = Facts {
        about: "SMs in equal parts, one for each kernel.",
        source: "Adriaens et al., HPCA 2012; Xu et al., ISCA 2016, section III",
        state: "the kernel of each SM",
        bits: |spec| bits_for(u64::from(spec.gpu.max_concurrent_kernels)),
        // The number of one of at most 16 kernels takes 4 bits.
        bits_on_gtx480: 4,
        part: Part::Sm,
        complexity: "linear in SMs",
    };
}

impl Multiprogram for Spatial {
    fn wants_samples(&self) -> bool {
        false
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        self.quotas = divided(view);
    }

    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        self.quotas.get(sm, kernel)
    }
}

/// Quotas that give each kernel a part of the SMs for itself, in order of processes.
pub fn divided(view: &MultiprogramView<'_>) -> Quotas {
    let kernels = view.by_process();
    let mut quotas = Quotas::new(view.spec, 0);
    for (nth, kernel) in kernels.iter().enumerate() {
        for sm in share_of_sms(view.spec.gpu.sms, nth, kernels.len()) {
            quotas.set(sm, kernel.slot, UNLIMITED);
        }
    }
    quotas
}
