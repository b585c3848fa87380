//! Sampled runs of one program on several machines, by as few executions of the program as there
//! are threads.

use super::{Event, Made, Runner, made};
use crate::spec::RunSpec;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use warploom_config::GpuSpec;
use warploom_run::launch_file::Limits;
use warploom_run::{OnMachine, Progress, RunError, Session};
use warploom_workloads::architecture;

/// The runs in jobs, by their numbers, in the order in which they begin. Sampled runs of the same
/// program share a job, and are divided among threads that would have nothing to do.
pub(super) fn jobs(specs: &[&RunSpec], threads: usize) -> Vec<Vec<usize>> {
    let mut jobs: Vec<Vec<usize>> = Vec::new();
    for (number, spec) in specs.iter().enumerate() {
        let same = |job: &&mut Vec<usize>| is_same_program(specs[job[0]], spec);
        match jobs.iter_mut().find(same) {
            Some(job) => job.push(number),
            None => jobs.push(vec![number]),
        }
    }
    let parts = (threads / jobs.len().max(1)).max(1);
    let divided = jobs.into_iter().flat_map(|mut job| {
        // Machines with the same room for blocks are the most likely to agree.
        job.sort_by_key(|number| room(&specs[*number].machine.spec));
        let most = job.len().div_ceil(parts);
        job.chunks(most).map(<[usize]>::to_vec).collect::<Vec<_>>()
    });
    divided.collect()
}

/// True if two runs are sampled, and their programs ask the same of their machines.
fn is_same_program(one: &RunSpec, other: &RunSpec) -> bool {
    let machine = |spec: &RunSpec| {
        let gpu = &spec.machine.spec;
        (architecture(&gpu.name), Limits::of(gpu))
    };
    let sampled = one.sample_error.is_some() && one.sample_error == other.sample_error;
    sampled && one.input.digest == other.input.digest && machine(one) == machine(other)
}

/// Resources that decide how many blocks a machine holds at once.
fn room(gpu: &GpuSpec) -> [u32; 5] {
    let sm = &gpu.sm;
    let blocks = gpu.gpu.max_blocks_per_sm.unwrap_or(u32::MAX);
    [
        gpu.gpu.sms,
        sm.max_threads,
        blocks,
        sm.registers,
        sm.shared_bytes,
    ]
}

impl Runner<'_> {
    /// Makes runs that may share the execution of their program. Those whose machines do not agree
    /// with the first share another one. Returns false if they were stopped.
    pub(super) fn simulate_together(
        &self,
        job: &[usize],
        specs: &[&RunSpec],
        stop: &AtomicBool,
        give: &mut dyn FnMut(usize, Made) -> bool,
    ) -> bool {
        let mut left = job.to_vec();
        while !left.is_empty() {
            for number in &left {
                let label = &specs[*number].label();
                let number = *number;
                (self.observer)(Event::Started { number, label });
            }
            let mut is_stopped = false;
            let mut progress = |at: usize, progress: &Progress| {
                let number = left[at];
                (self.observer)(Event::At { number, progress });
                is_stopped = self.stops(stop);
                match is_stopped {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            let all: Vec<&RunSpec> = left.iter().map(|number| specs[*number]).collect();
            let ended = run(&all, &mut progress);
            if is_stopped {
                return false;
            }
            let mut apart = Vec::new();
            match ended {
                Ok(ended) => {
                    for (number, ended) in left.into_iter().zip(ended) {
                        let report = match ended {
                            OnMachine::Ran(report) => made(*report),
                            OnMachine::Apart(why) => {
                                apart.push((number, why));
                                continue;
                            }
                        };
                        if !give(number, report) {
                            return false;
                        }
                    }
                }
                // The first run is refused. Others may still be possible.
                Err(reason) => {
                    if !give(left.remove(0), Err(reason)) {
                        return false;
                    }
                    apart.extend(left.into_iter().map(|number| (number, String::new())));
                }
            }
            for (number, why) in apart.iter().filter(|(_, why)| !why.is_empty()) {
                let label = &specs[*number].label();
                (self.observer)(Event::Apart { label, why });
            }
            left = apart.into_iter().map(|(number, _)| number).collect();
        }
        true
    }
}

/// Makes runs of the same program in this thread.
fn run(
    specs: &[&RunSpec],
    progress: &mut dyn FnMut(usize, &Progress) -> ControlFlow<()>,
) -> Result<Vec<OnMachine>, String> {
    let first = specs[0];
    let mut program = first.input.program(&first.machine.spec)?;
    let sessions = specs.iter().map(|spec| spec.session(program.as_ref()));
    let sessions: Vec<Session> = sessions.collect();
    let ended = Session::run_together(&sessions, program.as_mut(), progress);
    ended.map_err(|error: RunError| error.to_string())
}
