//! Each process's kernels may have a fixed number of blocks on an SM.

use super::quotas::{Quotas, UNLIMITED};
use super::{Multiprogram, MultiprogramView, quota_bits};
use crate::{Facts, Part, PolicyFacts};
use warploom_base::{KernelSlot, SmId};
use warploom_config::FixedSettings;
use warploom_state::State;

/// Policy `fixed`: quotas by process. A kernel that is alone has no quota.
#[derive(Clone, Debug, State)]
pub struct Fixed {
    by_process: [Option<u32>; 4],
    quotas: Quotas,
}

impl Fixed {
    /// A policy with the quotas of `settings`.
    pub fn new(settings: FixedSettings) -> Self {
        let FixedSettings {
            first,
            second,
            third,
            fourth,
        } = settings;
        Self {
            by_process: [first, second, third, fourth],
            quotas: Quotas::default(),
        }
    }
}

impl PolicyFacts for Fixed {
    const FACTS: Facts = Facts {
        about: "A fixed number of blocks on every SM for each process's kernels.",
        source: "Xu et al., ISCA 2016, section V.A: one of the oracle's combinations",
        state: "blocks on an SM of each kernel in flight",
        bits: quota_bits,
        // 0 to 8 blocks of each of 16 kernels.
        bits_on_gtx480: 16 * 4,
        part: Part::Gpu,
        complexity: "linear in kernels",
    };
}

impl Multiprogram for Fixed {
    fn wants_samples(&self) -> bool {
        false
    }

    fn update(&mut self, view: &MultiprogramView<'_>) {
        self.quotas = Quotas::new(view.spec, UNLIMITED);
        if view.kernels.len() > 1 {
            for kernel in view.kernels {
                let quota = self.by_process.get(usize::from(kernel.process));
                let quota = quota.copied().flatten().unwrap_or(UNLIMITED);
                self.quotas.set_all(kernel.slot, quota);
            }
        }
    }

    fn quota(&self, sm: SmId, kernel: KernelSlot) -> u32 {
        self.quotas.get(sm, kernel)
    }
}
