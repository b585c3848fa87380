//! Runs the tests on the timed machine, with pipeline, memory system, and atomics at the
//! partitions.

use crate::forms::job::Job;
use std::ops::ControlFlow;
use warploom_config::GpuSpec;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, Options, Session,
};
use warploom_stats::result::Outcome;

/// Number of core cycles after which a test is abandoned.
const MAX_CYCLES: u64 = 1 << 20;

/// The host program of a test.
struct Host<'a> {
    job: &'a Job,
    places: Vec<DevicePtr>,
    /// Contents of results and buffers after the run.
    contents: Vec<Vec<u8>>,
}

impl HostProgram for Host<'_> {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        if !self.places.is_empty() {
            self.contents = self.read(device)?;
            return Ok(HostAction::Done);
        }
        let module = device.load_ptx("form.ptx", &self.job.ptx())?;
        for bytes in self.job.memory() {
            let place = device.alloc(bytes.len() as u64)?;
            device.write(place, &bytes)?;
            self.places.push(place);
        }
        let pointers = &self.places[..self.places.len() - self.job.textures.len()];
        let mut args: Vec<Arg> = pointers.iter().copied().map(Arg::Pointer).collect();
        for (texture, base) in self.job.placed(&self.places) {
            let bound = texture.at(base.0);
            if self.job.names(texture) {
                device.bind_texture(module, &texture.memory.name, bound)?
            } else {
                args.push(Arg::U64(device.texture_object(bound)))
            }
        }
        if !self.job.param.is_empty() {
            args.push(Arg::Bytes(self.job.param.clone()));
        }
        let mut launch = Launch::new(module, "form", self.job.grid, self.job.block, args);
        launch.cluster = self.job.cluster;
        launch.dynamic_shared_bytes = self.job.dynamic_shared;
        Ok(HostAction::Launch(launch))
    }

    fn checks(&mut self, _: &Device) -> Result<Vec<Check>, HostError> {
        Ok(Vec::new())
    }
}

impl Host<'_> {
    fn read(&self, device: &Device) -> Result<Vec<Vec<u8>>, HostError> {
        let places = self.places.iter().zip(self.job.memory()).skip(1);
        let contents = places.map(|(&place, mut bytes)| {
            device.read(place, &mut bytes)?;
            Ok(bytes)
        });
        contents.collect()
    }
}

/// Runs a test. Returns the errors, one line each.
pub fn run(job: &Job, spec: &GpuSpec) -> Vec<String> {
    job.judge(contents(job, spec))
}

fn contents(job: &Job, spec: &GpuSpec) -> Result<Vec<Vec<u8>>, String> {
    let mut host = Host {
        job,
        places: Vec::new(),
        contents: Vec::new(),
    };
    let options = Options {
        max_cycles: Some(MAX_CYCLES),
        ..Options::default()
    };
    let report = Session::new(spec.clone(), options)
        .run(&mut host, &mut |_| ControlFlow::Continue(()))
        .map_err(|error| error.to_string())?;
    let failure = match report.outcome {
        Outcome::Finished => None,
        Outcome::Fault { message } => Some(message),
        outcome => Some(format!("{outcome:?}")),
    };
    job.check_end(failure)?;
    Ok(host.contents)
}
