//! Makes one run of one case, and times it without the host program.

use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use warploom_config::GpuSpec;
use warploom_run::{
    Check, Device, HostAction, HostError, HostProgram, Options, Part, Probe, Session,
};
use warploom_workloads::{Size, Target};

use super::memory;
use super::sample::{Counts, sample};

/// Seed of the workloads' inputs.
const SEED: u64 = 1;

/// Execution mode of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Functional execution without timing.
    Functional,
    /// Timed simulation of the whole machine.
    Timed {
        /// Number of threads that simulate.
        threads: usize,
    },
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Functional => f.write_str("functional"),
            Self::Timed { threads } => write!(f, "{threads} thread{}", plural(*threads)),
        }
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A case to be measured.
pub struct Case {
    /// The workload to run.
    pub target: Target,
    /// Size of its inputs.
    pub size: Size,
    /// Specification of the GPU.
    pub spec: GpuSpec,
    /// Execution mode of the run.
    pub mode: Mode,
}

/// Measurements of one run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Simulated core cycles in which kernels ran. Zero without timing.
    pub cycles: u64,
    /// Number of warp instructions.
    pub warp_instructions: u64,
    /// Number of thread instructions. Zero without timing.
    pub thread_instructions: u64,
    /// Largest amount of memory in use, including inputs.
    pub peak_memory_mib: Option<f64>,
    /// Time without that of the host program.
    pub wall: Duration,
    /// Number of samples in which each part of the machine was running, on one thread.
    pub parts: Counts,
}

impl Case {
    /// Runs the case once. Wrong outputs are an error.
    pub fn run(&self) -> Result<Run> {
        memory::forget_peak();
        let mut program = Stopwatch::new(self.target.program(self.size, SEED));
        let (run, passed) = match self.mode {
            Mode::Functional => self.run_functional(&mut program)?,
            Mode::Timed { threads } => self.run_timed(&mut program, threads)?,
        };
        ensure!(
            passed,
            "{} ({}) computes wrong outputs",
            self.target.workload.name,
            self.mode
        );
        Ok(run)
    }

    fn run_functional(&self, program: &mut Stopwatch) -> Result<(Run, bool)> {
        let session = Session::new(self.spec.clone(), Options::default());
        let started = Instant::now();
        let report = session.run_functional(program)?;
        let wall = started.elapsed().saturating_sub(program.host);
        let passed = !report.checks.is_empty() && report.checks.iter().all(|check| check.passed);
        let launches = report.launches.iter();
        let run = Run {
            cycles: 0,
            warp_instructions: launches.map(|(_, counts)| counts.warp_instructions).sum(),
            thread_instructions: 0,
            peak_memory_mib: memory::peak_mib(),
            wall,
            parts: Counts::default(),
        };
        Ok((run, passed))
    }

    fn run_timed(&self, program: &mut Stopwatch, threads: usize) -> Result<(Run, bool)> {
        let probe = Probe::default();
        let options = Options {
            threads,
            probe: probe.clone(),
            ..Options::default()
        };
        let session = Session::new(self.spec.clone(), options);
        let started = Instant::now();
        let mut run = || session.run(program, &mut |_| ControlFlow::Continue(()));
        // A sampling thread would take a core from the simulating threads, of which each waits for
        // the others.
        let (report, mut parts) = match threads {
            1 => sample(&probe, run),
            _ => (run(), Counts::default()),
        };
        let report = report?;
        parts.remove(&Part::Outside.name());
        let run = Run {
            cycles: report.totals.figures.cycles,
            warp_instructions: report.totals.figures.warp_instructions,
            thread_instructions: report.totals.figures.thread_instructions,
            peak_memory_mib: memory::peak_mib(),
            wall: started.elapsed().saturating_sub(program.host),
            parts,
        };
        Ok((run, report.succeeded()))
    }
}

/// A host program that measures its own time.
struct Stopwatch {
    program: Box<dyn HostProgram>,
    host: Duration,
}

impl Stopwatch {
    fn new(program: Box<dyn HostProgram>) -> Self {
        Self {
            program,
            host: Duration::ZERO,
        }
    }

    fn time<T>(&mut self, act: impl FnOnce(&mut dyn HostProgram) -> T) -> T {
        let started = Instant::now();
        let result = act(self.program.as_mut());
        self.host += started.elapsed();
        result
    }
}

impl HostProgram for Stopwatch {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        self.time(|program| program.next(device))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.time(|program| program.checks(device))
    }
}
