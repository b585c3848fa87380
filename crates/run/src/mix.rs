//! Several host programs on one machine at once, each a process with an address space and streams
//! of its own. A run of a single program is a mix of one.
//!
//! Operations of one stream run one after the other. Operations of different streams run at once,
//! as far as the machine has slots for kernels (`gpu.max_concurrent_kernels`). Stream 0 is CUDA's
//! default stream: its operations wait for all streams of the process, and the host waits for them.
//! GPGPU-Sim's stream manager behaves in the same way.

mod early;
mod gaps;
mod saved;

use crate::checkpoint::HostEvent;
use crate::device::Device;
use crate::host::{Check, HostProgram, Stopped};
use crate::process::{Process, Started};
use crate::progress::{Before, Executed, OnProgress, Progress};
use crate::result::{Summary, kernel_report};
use crate::sampling::Untimed;
use crate::session::{Prepared, RunError, Session, TimedBlocks};
pub(crate) use early::interrupted;
use saved::Saving;
use warploom_base::{Cycle, Digest, KernelSlot};
use warploom_exec::{DeviceMemory, FunctionalOptions, Observer};
use warploom_gpu::{Gpu, KernelEnd};
use warploom_stats::result::{Concurrent, Outcome};

/// Approximate number of core cycles between two calls of the progress function.
const PROGRESS_CYCLES: Cycle = 4096;
/// Core cycles between two checks whether a process has reached its target.
const TARGET_CYCLES: Cycle = 100;

/// Creates a program again, for a process that runs until its target.
pub type Again<'p> = Box<dyn FnMut() -> Result<Box<dyn HostProgram + 'p>, String> + 'p>;

/// A program of a mix.
pub struct Participant<'p> {
    /// Name of the program in results.
    pub name: String,
    /// The host program to run.
    pub program: Box<dyn HostProgram + 'p>,
    /// Creates the program again when it ends. Without it, the process ends with its program.
    pub again: Option<Again<'p>>,
    /// Core cycle in which it starts.
    pub arrives_at: Cycle,
    /// Thread instructions after which it is halted, and its resources go to the others.
    pub target: Option<u64>,
}

impl<'p> Participant<'p> {
    /// A program that starts at once and runs to its end.
    pub fn new(name: &str, program: Box<dyn HostProgram + 'p>) -> Self {
        Self {
            name: name.to_owned(),
            program,
            again: None,
            arrives_at: 0,
            target: None,
        }
    }
}

/// A kernel in flight, with its process and data for its report.
struct InFlight {
    process: usize,
    started: Started,
    /// Number of earlier launches in the run.
    order: u64,
    /// Instructions that were counted in its slot before the launch.
    instructions_before: u64,
    /// Set if only some of its blocks are timed.
    untimed: Option<Untimed>,
}

/// State of a mix while it runs.
pub(crate) struct Mix<'s, 'p> {
    session: &'s Session,
    pub gpu: Gpu,
    pub memory: DeviceMemory,
    pub processes: Vec<Process<'p>>,
    in_flight: Vec<Option<InFlight>>,
    launched: u64,
    /// Process that is served first: the successor of the last one that launched a kernel.
    turn: usize,
    /// True if results name the process and stream of each kernel.
    concurrent: bool,
    /// Count of instructions that were executed without timing.
    executed: Executed,
    progress: OnProgress<'s>,
    /// Set if the run makes checkpoints or goes on from one.
    saving: Option<Saving>,
}

impl<'s, 'p> Mix<'s, 'p> {
    pub fn new(
        session: &'s Session,
        gpu: Gpu,
        programs: Vec<Participant<'p>>,
        progress: OnProgress<'s>,
    ) -> Self {
        let memory = session.memory();
        let slots = session.spec().gpu.max_concurrent_kernels as usize;
        let concurrent = programs.len() > 1;
        let processes = programs.into_iter().enumerate();
        Self {
            session,
            gpu,
            memory,
            processes: processes
                .map(|(at, program)| Process::new(at as u8, program))
                .collect(),
            in_flight: (0..slots).map(|_| None).collect(),
            launched: 0,
            turn: 0,
            concurrent,
            executed: Executed::default(),
            progress,
            saving: None,
        }
    }

    /// Runs to the end of the last process, or to an early end of the run.
    pub fn run(&mut self, summary: &mut Summary) -> Result<Outcome, RunError> {
        let limit = self.session.options().max_cycles.unwrap_or(Cycle::MAX);
        let checkpoints = self.session.options().checkpoints.as_ref();
        let next_after = |now| checkpoints.map_or(Cycle::MAX, |every| every.next(now));
        self.resume(summary)?;
        let mut next_report = self.gpu.now() + PROGRESS_CYCLES;
        let mut next_checkpoint = next_after(self.gpu.now());
        // Processes can act only after the end of a kernel or the arrival of a process.
        let mut has_news = true;
        loop {
            if has_news {
                if let Some(outcome) = self.act(summary)? {
                    self.cut_short(summary);
                    return Ok(outcome);
                }
                if self.processes.iter().all(Process::has_ended) {
                    self.cut_short(summary);
                    return Ok(Outcome::Finished);
                }
            }
            if let Err(outcome) = self.pass_gaps(summary) {
                self.cut_short(summary);
                return Ok(outcome);
            }
            let until = limit.min(self.next_event());
            if let Err(stop) = self.gpu.advance(&mut self.memory, until) {
                return Ok(self.ended_by(stop, summary));
            }
            let ended = self.gpu.take_ended();
            for end in &ended {
                self.kernel_ended(end, summary);
            }
            let halted = self.halt_those_at_their_target(summary);
            let now = self.gpu.now();
            let arrived = self.processes.iter().any(|p| p.arrives_at == now);
            has_news = !ended.is_empty() || halted || arrived;
            if ended.is_empty() && self.gpu.now() >= limit {
                self.checkpoint(summary)?;
                return Ok(self.at_limit(limit, summary));
            }
            if now >= next_checkpoint {
                next_checkpoint = next_after(now);
                self.checkpoint(summary)?;
            }
            if self.gpu.now() >= next_report {
                next_report = self.gpu.now() + PROGRESS_CYCLES;
                let reached = self.reached(summary);
                if (self.progress)(&reached).is_break() {
                    self.checkpoint(summary)?;
                    let places = self.gpu.describe_waits();
                    self.cut_short(summary);
                    self.stopped(Stopped::Interrupted);
                    return Ok(interrupted(reached, places));
                }
            }
        }
    }

    /// Executes all programs without timing, one after the other.
    pub fn execute(&mut self, summary: &mut Summary) -> Result<Outcome, RunError> {
        let several = self.processes.len() > 1;
        for process in &mut self.processes {
            process.device.lend(&mut self.memory);
            let outcome = self
                .session
                .execute(
                    process.program.as_mut(),
                    &mut process.device,
                    summary,
                    &mut *self.progress,
                )
                .and_then(|outcome| {
                    if outcome == Outcome::Finished {
                        process.check_outputs()?;
                    }
                    Ok(outcome)
                });
            process.device.lend(&mut self.memory);
            match outcome? {
                Outcome::Finished => {}
                other if several => return Ok(other.of_program(&process.name)),
                other => return Ok(other),
            }
        }
        Ok(Outcome::Finished)
    }

    /// Comparisons of the outputs of programs that ended. Those of several programs contain the
    /// names.
    pub fn checks(&mut self, outcome: &Outcome) -> Vec<Check> {
        let several = self.processes.len() > 1;
        let mut all = Vec::new();
        let ended = *outcome == Outcome::Finished || outcome.is_limit();
        if ended || matches!(outcome, Outcome::Interrupted { .. }) {
            for process in &mut self.processes {
                for mut check in process.checks.drain(..) {
                    if several {
                        check.name = format!("{}: {}", process.name, check.name);
                    }
                    all.push(check);
                }
            }
        }
        all
    }

    /// Digest of the input of all processes.
    pub fn input_digest(&self) -> String {
        match self.processes.as_slice() {
            [one] => one.device.input_digest(),
            all => {
                let mut digest = Digest::new();
                for process in all {
                    digest.str(&process.device.input_digest());
                }
                digest.hex()
            }
        }
    }

    /// Next cycle in which a process starts or may have reached its target.
    fn next_event(&self) -> Cycle {
        let now = self.gpu.now();
        let arrivals = self.processes.iter().map(|process| process.arrives_at);
        let next = arrivals.filter(|at| *at > now).min();
        let targets = self.processes.iter().any(Process::runs_to_target);
        let check = (now / TARGET_CYCLES + 1) * TARGET_CYCLES;
        let check = if targets { check } else { Cycle::MAX };
        next.unwrap_or(Cycle::MAX).min(check)
    }

    /// Lets every process act as far as it can. Returns the outcome if the run ends early.
    fn act(&mut self, summary: &mut Summary) -> Result<Option<Outcome>, RunError> {
        let count = self.processes.len();
        let first = self.gpu.serves_first().map_or(self.turn, usize::from);
        for turn in 0..count {
            let at = (first + turn) % count;
            if self.processes[at].has_ended() || self.processes[at].arrives_at > self.gpu.now() {
                continue;
            }
            loop {
                let started = self.start_operations(at, summary)?;
                if let Err(outcome) = started {
                    return Ok(Some(outcome));
                }
                let process = &mut self.processes[at];
                process.device.lend(&mut self.memory);
                let acted = process.act(self.session);
                let copies = process.device.take_copies();
                process.device.lend(&mut self.memory);
                for (address, bytes) in copies {
                    self.gpu.note_copy(at as u8, address, bytes);
                }
                let acted = acted?;
                if self.processes[at].is_interrupted() {
                    self.checkpoint(summary)?;
                    let reached = self.reached(summary);
                    self.stopped(Stopped::Interrupted);
                    return Ok(Some(interrupted(reached, Vec::new())));
                }
                if acted {
                    self.note(at, HostEvent::Acted);
                    continue;
                }
                if !self.processes[at].is_done() {
                    break;
                }
                // A program that restarts launches in the cycle in which it ended.
                self.program_done(at)?;
                if self.processes[at].has_ended() {
                    break;
                }
            }
        }
        Ok(None)
    }

    /// Starts all operations of a process's streams that can start.
    fn start_operations(
        &mut self,
        at: usize,
        summary: &mut Summary,
    ) -> Result<Result<(), Outcome>, RunError> {
        while self.may_launch() || !self.processes[at].launches_next() {
            let (process, now) = (&mut self.processes[at], self.gpu.now());
            process.device.lend(&mut self.memory);
            let next = process.start_next(now);
            process.device.lend(&mut self.memory);
            let Some((stream, started)) = next? else {
                break;
            };
            self.note(at, HostEvent::Started(now));
            let Some(mut started) = started else {
                continue;
            };
            let Some(launch) = started.launch.take() else {
                continue;
            };
            let session = self.session;
            let timed = &session.options().timed;
            let any = timed.blocks.any_of(started.grid.count());
            if !any || !timed.has(started.number, &started.kernel) {
                let extent = FunctionalOptions::default();
                let before = self.before(summary);
                let device = &mut self.processes[at].device;
                device.lend(&mut self.memory);
                let stats = session.execute_quietly(
                    &launch,
                    device,
                    None::<&mut dyn Observer>,
                    extent,
                    &mut self.executed.poll(&launch, before, &mut *self.progress),
                );
                device.lend(&mut self.memory);
                self.print(at);
                match stats {
                    Ok(stats) => {
                        self.executed.add_launch(&stats);
                        summary.find(stats.findings);
                    }
                    Err((outcome, why)) => {
                        self.stopped(why);
                        return Ok(Err(self.of_process(outcome, at)));
                    }
                }
                continue;
            }
            self.launch(at, stream, launch, started);
        }
        if self.has_launched_enough() && self.gpu.is_idle() && self.processes[at].launches_next() {
            return Ok(Err(self.at_launch_limit()));
        }
        Ok(Ok(()))
    }

    /// True if the machine has a slot for another kernel.
    fn may_launch(&self) -> bool {
        self.gpu.has_free_slot() && !self.has_launched_enough()
    }

    /// True if the run has made all launches that it may.
    fn has_launched_enough(&self) -> bool {
        let most = self.session.options().max_launches;
        most.is_some_and(|most| self.launched >= most)
    }

    fn launch(&mut self, at: usize, stream: u32, launch: Box<Prepared>, started: Started) {
        let blocks = launch.grid.count();
        let resident = self.session.resident_blocks(&launch) as u64;
        let timed = &self.session.options().timed.blocks;
        let cluster = u64::from(launch.launch.context.cluster().blocks());
        let stretches = timed.stretches(blocks, resident);
        let stretches = stretches.map(|some| some.of_whole(cluster));
        let sampled = matches!(timed, TimedBlocks::OneOf(_) | TimedBlocks::UntilStable(_));
        let part = sampled || stretches.is_some();
        let untimed = part.then(|| Untimed::new(launch.clone(), timed, resident));
        let slot = self.gpu.launch(launch.launch, &self.memory);
        if let Some(stretches) = stretches {
            self.gpu.time_only(slot, stretches);
        }
        self.processes[at].running(stream, slot);
        self.note(at, HostEvent::Launched { stream, slot });
        self.concurrent |= stream != 0;
        self.in_flight[slot.index()] = Some(InFlight {
            process: at,
            started,
            order: self.launched,
            instructions_before: self.gpu.thread_instructions(slot),
            untimed,
        });
        self.launched += 1;
        self.turn = (at + 1) % self.processes.len();
    }

    /// Handles the end of a program: compares its outputs, and restarts it if its process has a
    /// target.
    fn program_done(&mut self, at: usize) -> Result<(), RunError> {
        let process = &mut self.processes[at];
        process.device.lend(&mut self.memory);
        let result = process.check_outputs();
        process.device.lend(&mut self.memory);
        result?;
        match &mut process.again {
            // A program without launches would restart for ever.
            Some(again) if process.launched_this_time => {
                process.program = again().map_err(|why| RunError::Host(why.into()))?;
                self.memory.forget(at as u8);
                process.begin_again();
                self.note(at, HostEvent::Restarted);
            }
            _ => process.ended_at = Some(self.gpu.now()),
        }
        Ok(())
    }

    fn kernel_ended(&mut self, end: &KernelEnd, summary: &mut Summary) {
        let slot = end.slot.index();
        let kernel = self.in_flight[slot].take().expect("it was in flight");
        self.processes[kernel.process].kernel_ended(end);
        self.note(kernel.process, HostEvent::Ended(end.slot));
        self.print(kernel.process);
        self.report(&kernel, end, summary);
    }

    /// Passes on the output of a process's kernels so far.
    fn print(&mut self, at: usize) {
        let text = self.memory.take_printed(at as u8);
        self.session.options().printer.print(&text);
        if let Some(saving) = &mut self.saving {
            saving.printed(text);
        }
    }

    fn report(&mut self, kernel: &InFlight, end: &KernelEnd, summary: &mut Summary) {
        let Started {
            kernel: name,
            grid,
            block,
            stream,
            ..
        } = &kernel.started;
        let concurrent = self.concurrent.then_some(Concurrent {
            process: kernel.process as u32,
            stream: *stream,
            launched_at: end.launched_at,
            started_at: end.started_at,
            halted: end.halted,
        });
        let mut report = kernel_report(name, *grid, *block, end, concurrent);
        if let Some(untimed) = &kernel.untimed {
            untimed.describe(end, &mut report);
        }
        summary.add(kernel.order, (end.launched_at, end.ended_at), report);
    }

    /// Halts processes that reached their targets. Returns whether there were any.
    fn halt_those_at_their_target(&mut self, summary: &mut Summary) -> bool {
        let now = self.gpu.now();
        if !now.is_multiple_of(TARGET_CYCLES) {
            return false;
        }
        let mut any = false;
        for at in 0..self.processes.len() {
            if !self.processes[at].runs_to_target() {
                continue;
            }
            let slots = self.slots_of(at);
            let mut instructions = self.processes[at].counted.thread_instructions;
            for slot in &slots {
                let before = self.in_flight[slot.index()].as_ref();
                let before = before.map_or(0, |kernel| kernel.instructions_before);
                instructions += self.gpu.thread_instructions(*slot) - before;
            }
            if self.processes[at]
                .target
                .is_none_or(|target| instructions < target)
            {
                continue;
            }
            self.processes[at].halt(now, instructions);
            self.note(at, HostEvent::Halted);
            any = true;
            if self.processes.iter().all(Process::has_ended) {
                break;
            }
            for slot in slots {
                self.gpu.halt(slot);
            }
            for end in self.gpu.take_ended() {
                self.kernel_ended(&end, summary);
            }
        }
        any
    }

    fn slots_of(&self, process: usize) -> Vec<KernelSlot> {
        let own = |(_, kernel): &(usize, &Option<InFlight>)| {
            kernel.as_ref().is_some_and(|k| k.process == process)
        };
        let slots = self.in_flight.iter().enumerate().filter(own);
        slots.map(|(slot, _)| KernelSlot::new(slot)).collect()
    }

    /// How far the run is before a launch.
    fn before(&self, summary: &Summary) -> Before {
        Before {
            cycles: self.gpu.now(),
            launches: summary.launches(),
            blocks: 0,
        }
    }

    fn reached(&self, summary: &Summary) -> Progress {
        let running = || self.in_flight.iter().flatten();
        let names: Vec<&str> = running().map(|k| k.started.kernel.as_str()).collect();
        let whole = running().filter_map(|k| k.untimed.as_ref());
        Progress {
            cycles: self.gpu.now(),
            executed: self.executed.instructions,
            launches: summary.launches() + self.executed.launches,
            timed: true,
            kernel: names.join(" + "),
            blocks: self.gpu.blocks_done(),
            fewest_sampled: whole.filter_map(Untimed::fewest_sampled).next(),
        }
    }
}

impl Device {
    /// Gives all device memory to the process, or takes it back.
    pub(crate) fn lend(&mut self, memory: &mut DeviceMemory) {
        std::mem::swap(&mut self.memory, memory);
    }
}
