//! A machine of a pass, with the plan of its run and what it has timed.

use crate::accesses::{Pending, Watched, next_sms};
use crate::host::{Check, Stopped};
use crate::mix::interrupted;
use crate::process::Started;
use crate::progress::{Executed, OnProgress, Progress};
use crate::result::{Summary, kernel_report};
use crate::sampler::{Chosen, Sampler};
use crate::session::{Prepared, Session, outcome_of, stopped_by};
use warploom_base::Cycle;
use warploom_exec::{DeviceMemory, FunctionalStats};
use warploom_gpu::{Gpu, KernelEnd, KernelLaunch, MachineObserver, Stop};
use warploom_stats::result::{Concurrent, Outcome, RunReport};
use warploom_stats::trace::Trace;

/// Address space of the process of a pass.
const ASID: u8 = 0;
/// Approximate number of core cycles between two calls of the progress function.
const PROGRESS_CYCLES: Cycle = 4096;

/// A machine of a pass.
pub(crate) struct Machine<'s> {
    pub session: &'s Session,
    gpu: Gpu,
    summary: Summary,
    sampler: Sampler,
    /// Launches that its caches have not seen.
    pending: Pending,
    /// Number of launches that it has timed.
    timed: u64,
    /// True if results name the stream of each launch.
    has_streams: bool,
}

/// A launch that a machine times.
pub(crate) struct Timing {
    launch: KernelLaunch,
    chosen: Chosen,
}

impl<'s> Machine<'s> {
    /// The machine of a sampled session, followed by observers. A trace is recorded if wanted.
    pub fn new(
        session: &'s Session,
        sampler: Sampler,
        traced: bool,
        observers: Vec<Box<dyn MachineObserver>>,
    ) -> Self {
        Self {
            session,
            gpu: session.machine(traced, observers),
            summary: Summary::new(session.spec(), &session.options().command),
            sampler,
            pending: Pending::new(session.spec()),
            timed: 0,
            has_streams: false,
        }
    }

    /// Core cycle that comes next.
    pub fn now(&self) -> Cycle {
        self.gpu.now()
    }

    /// SMs whose turn it is to take the first blocks of a launch of `blocks` blocks.
    pub fn next_sms(&self, blocks: u64) -> Vec<u16> {
        next_sms(&self.gpu, blocks)
    }

    /// Chooses whether a launch that has been executed is timed. If not, its accesses are kept.
    pub fn choose(
        &mut self,
        launch: &Prepared,
        executed: &FunctionalStats,
        watched: Watched,
        sms: Vec<u16>,
    ) -> Option<Timing> {
        if let Some(chosen) = self.sampler.choose(launch, executed, watched.accesses) {
            let launch = launch.launch.clone();
            return Some(Timing { launch, chosen });
        }
        self.gpu.pass_blocks(launch.grid.count());
        self.pending.add(&watched.performed, sms);
        self.summary.find(executed.findings.iter().cloned());
        None
    }

    /// Times a launch, before which memory is as it is. The error is the outcome that ends the run.
    pub fn time(
        &mut self,
        timing: Timing,
        started: &Started,
        memory: &mut DeviceMemory,
        executed: &Executed,
        progress: OnProgress<'_>,
    ) -> Result<(), (Outcome, Stopped)> {
        let Timing { launch, chosen } = timing;
        let limit = self.session.options().max_cycles.unwrap_or(Cycle::MAX);
        self.warm();
        self.has_streams |= started.stream != 0;
        self.gpu.launch(launch, memory);
        self.timed += 1;
        let mut next_report = self.gpu.now() + PROGRESS_CYCLES;
        loop {
            if let Err(stop) = self.gpu.advance(memory, limit) {
                return Err(self.stopped(stop, started));
            }
            if let Some(end) = self.gpu.take_ended().pop() {
                self.report(started, &end, Some(&chosen));
                return Ok(());
            }
            if self.gpu.now() >= limit {
                return Err(match self.gpu.fault() {
                    Some(stop) => self.stopped(stop, started),
                    None => {
                        self.cut_short(started);
                        let cycles = limit;
                        (Outcome::CycleLimit { cycles }, Stopped::CycleLimit)
                    }
                });
            }
            if self.gpu.now() >= next_report {
                next_report = self.gpu.now() + PROGRESS_CYCLES;
                let reached = self.reached(started, executed);
                if progress(&reached).is_break() {
                    let places = self.gpu.describe_waits();
                    self.cut_short(started);
                    return Err((interrupted(reached, places), Stopped::Interrupted));
                }
            }
        }
    }

    /// Notes that the last timed launch had other results than its execution.
    pub fn differed(&mut self) {
        self.sampler.differed();
    }

    /// Notes copies between host and device, in their order with launches.
    pub fn note_copies(&mut self, copies: &[(u64, u64)]) {
        if !copies.is_empty() {
            self.warm();
        }
        for (address, bytes) in copies {
            self.gpu.note_copy(ASID, *address, *bytes);
        }
    }

    /// Replays the last accesses of launches without timing in the caches, before a timed launch or
    /// a copy.
    fn warm(&mut self) {
        match self.session.options().warms_caches {
            true => self.pending.replay(&mut self.gpu, ASID),
            false => self.pending.forget(),
        }
    }

    /// The result of the run, which ends with these contents of memory, and its trace.
    pub fn end(
        mut self,
        outcome: &Outcome,
        memory: &DeviceMemory,
        input: &str,
        checks: Vec<Check>,
        seconds: f64,
    ) -> (RunReport, Trace) {
        self.session.summarise(&mut self.gpu, &mut self.summary);
        if *outcome == Outcome::Finished {
            self.sampler.finish(&mut self.summary);
        }
        let trace = self.gpu.take_trace();
        let outcome = outcome.clone();
        let report = self.summary.finish(memory, input, outcome, checks, seconds);
        (report, trace)
    }

    /// The end of the run because of what the machine reports.
    fn stopped(&mut self, stop: Stop, started: &Started) -> (Outcome, Stopped) {
        self.cut_short(started);
        let why = stopped_by(&stop);
        (outcome_of(stop), why)
    }

    /// Reports the launch in flight with its progress so far.
    fn cut_short(&mut self, started: &Started) {
        for end in self.gpu.cut_short() {
            self.report(started, &end, None);
        }
    }

    fn report(&mut self, started: &Started, end: &KernelEnd, chosen: Option<&Chosen>) {
        let concurrent = self.has_streams.then_some(Concurrent {
            process: ASID.into(),
            stream: started.stream,
            launched_at: end.launched_at,
            started_at: end.started_at,
            halted: end.halted,
        });
        let (name, grid, block) = (&started.kernel, started.grid, started.block);
        let report = kernel_report(name, grid, block, end, concurrent);
        if let Some(chosen) = chosen {
            self.sampler.timed(chosen, &report.figures);
        }
        let flight = (end.launched_at, end.ended_at);
        self.summary.add(self.timed - 1, flight, report);
    }

    fn reached(&self, started: &Started, executed: &Executed) -> Progress {
        Progress {
            cycles: self.gpu.now(),
            executed: executed.instructions,
            launches: executed.launches,
            timed: true,
            kernel: started.kernel.clone(),
            blocks: self.gpu.blocks_done(),
            fewest_sampled: None,
        }
    }
}
