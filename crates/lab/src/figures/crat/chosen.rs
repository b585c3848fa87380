//! CRAT's choice for a workload, for studies that combine CRAT with other systems.

use super::{Machine, Study};
use crate::allocated::Allocate;
use crate::figure::Request;
use crate::runs::Runs;
use crate::spec::{Input, SEED};
use std::sync::Arc;
use warploom_crat::{Point, Spill};
use warploom_workloads::Size;

/// A workload's kernel with its default registers and with those that CRAT chooses.
pub(in crate::figures) struct Chosen {
    study: Arc<Study>,
    /// Default registers, and blocks of MaxTLP.
    pub default: Point,
    /// Registers and blocks that CRAT chooses.
    pub crat: Point,
    /// Shared memory of a block for spilled values, in bytes.
    shared_bytes: u32,
}

/// CRAT's choice on a preset, or `None` while runs are missing: a profile of the default registers
/// finds the best number of blocks, under which CRAT chooses.
pub(in crate::figures) fn chosen(
    request: &Request,
    runs: &mut Runs<'_>,
    target: &str,
    gpu: &'static str,
) -> Option<Chosen> {
    let study = Study::get(request, runs, target, Machine::preset(gpu));
    let profile = study.profile(runs)?;
    let opt = super::study::fastest(&profile);
    let space = study.space(runs, opt.point.tlp, Spill::Shared(None));
    Some(Chosen {
        default: study.default,
        crat: space.best,
        shared_bytes: study.kernel.spare_shared(space.best.tlp, &study.spec),
        study,
    })
}

impl Chosen {
    /// The workload with the registers that CRAT chooses, including spills.
    pub fn allocated(&self, runs: &Runs<'_>, target: &str, size: Size) -> Input {
        let how = Allocate {
            shared_bytes: self.shared_bytes,
            ..Allocate::local(self.crat.registers)
        };
        Self::input(runs, target, size, &how)
    }

    /// The workload with its default registers.
    pub fn plain(&self, runs: &Runs<'_>, target: &str, size: Size) -> Input {
        Self::input(runs, target, size, &Allocate::local(self.default.registers))
    }

    fn input(runs: &Runs<'_>, target: &str, size: Size, how: &Allocate) -> Input {
        let key = format!("chosen {target} {size} {how:?}");
        let input = runs.computed(&key, || {
            let input = Input::allocated(target, size, SEED, how);
            input.unwrap_or_else(|why| panic!("{target}: {why}"))
        });
        input.as_ref().clone()
    }

    /// Kernels to time, if the workload also launches others.
    pub fn time_kernels(&self) -> Vec<String> {
        let entries = self.study.subject.entries().into_iter().map(str::to_owned);
        entries.filter(|_| self.study.subject.has_others).collect()
    }
}
