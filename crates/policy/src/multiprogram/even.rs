//! Each kernel gets an equal part of every SM.

use super::quotas::{Quotas, UNLIMITED, blocks_of_share};
use super::{Multiprogram, MultiprogramView, quota_bits};
use crate::{Facts, Part, PolicyFacts};
use warploom_base::{KernelSlot, SmId};
use warploom_state::State;

/// Policy `even`. Of K kernels, each may have the blocks that fit into 1/K of an SM's threads,
/// registers, shared memory and block slots, but at least one. If blocks of two kernels do not fit
/// on an SM together, they therefore run there one after the other.
#[derive(Clone, Debug, Default, State)]
pub struct Even {
    quotas: Quotas,
}

impl PolicyFacts for Even {
    const FACTS: Facts = Facts {
        about: "Every SM's resources in equal parts, within which a kernel replaces its own blocks.",
        source: "Xu et al., ISCA 2016, Fig. 2c and Table III",
        state: "blocks on an SM of each kernel in flight",
        bits: quota_bits,
        // 0 to 8 blocks of each of 16 kernels.
        bits_on_gtx480: 16 * 4,
        part: Part::Gpu,
        complexity: "linear in kernels",
    };
}

impl Multiprogram for Even {
    fn wants_samples(&self) -> bool {
        false
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        self.quotas = Quotas::new(view.spec, UNLIMITED);
        let parts = view.kernels.len() as u32;
        if parts > 1 {
            for kernel in view.kernels {
                let quota = blocks_of_share(&kernel.needs, view.spec, parts);
                self.quotas.set_all(kernel.slot, quota);
            }
        }
    }

    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        self.quotas.get(sm, kernel)
    }
}
