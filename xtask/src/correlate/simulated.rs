//! Probes on a simulated machine.

use std::ops::ControlFlow;

use anyhow::{Result, ensure};
use warploom_base::Dim3;
use warploom_config::GpuSpec;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::Outcome;

use super::probe::{Job, Probe};

/// Measures a probe on a machine. `None` if the machine cannot run it.
pub fn measure(probe: &Probe, gpu: &GpuSpec) -> Result<Option<f64>> {
    let job = probe.job(gpu.gpu.sms);
    // The loads themselves decide what L2 holds, and code is warm, as in published loops.
    let mut gpu = gpu.clone();
    gpu.gpu.copies_warm_l2 = false;
    gpu.sm.perfect_inst_const_cache = true;
    let mut host = Host {
        job: &job,
        out: None,
        results: Vec::new(),
    };
    let report =
        Session::new(gpu, Options::default()).run(&mut host, &mut |_| ControlFlow::Continue(()))?;
    ensure!(
        report.outcome == Outcome::Finished,
        "{}: {:?}",
        probe.name,
        report.outcome
    );
    Ok(job.figure(probe.unit, &host.results))
}

struct Host<'a> {
    job: &'a Job,
    out: Option<DevicePtr>,
    results: Vec<u64>,
}

impl HostProgram for Host<'_> {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if self.out.is_some() {
            return Ok(HostAction::Done);
        }
        let job = self.job;
        let data = device.alloc(job.data_bytes)?;
        for &(cell, target) in &job.cells {
            device.write_slice(DevicePtr(data.0 + cell), &[data.0 + target])?;
        }
        let out = device.alloc(8 * job.results as u64)?;
        let module = device.load_ptx("probe.ptx", &job.ptx)?;
        self.out = Some(out);
        let args = vec![Arg::Pointer(out), Arg::Pointer(data)];
        let (grid, block) = (Dim3::linear(job.blocks), Dim3::linear(job.threads));
        Ok(HostAction::Launch(Launch::new(
            module, "k", grid, block, args,
        )))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        if let Some(out) = self.out {
            self.results = device.read_vec(out, self.job.results)?;
        }
        Ok(Vec::new())
    }
}
