//! Sampled programs: a pass over all launches of a program, for one machine or for several.
//!
//! Each launch is executed once without timing. Then the plan of each machine chooses whether the
//! machine times it. If so, memory has what it had before the launch while the machine runs, and
//! afterwards what the execution made of it. What the program sees is therefore the same whatever
//! is timed, and the result of a machine does not depend on the others of the pass.

mod agreement;
mod machine;

use crate::accesses::{Caches, Watched};
use crate::host::Stopped;
use crate::mix::{Participant, interrupted};
use crate::process::{Process, Started};
use crate::progress::{Before, Executed, Progress};
use crate::session::{Prepared, RunError, Session};
pub(crate) use machine::Machine;
use machine::Timing;
use std::ops::ControlFlow;
use std::time::Instant;
use warploom_base::Cycle;
use warploom_exec::{DeviceMemory, FunctionalOptions, FunctionalStats};
use warploom_stats::result::{Outcome, RunReport};
use warploom_stats::trace::Trace;

/// Function that receives the progress of a run of a pass, with the run's number.
pub(crate) type OnProgressOf<'a> = &'a mut dyn FnMut(usize, &Progress) -> ControlFlow<()>;

/// A run of a pass.
pub(crate) enum Run<'s> {
    /// The run goes on.
    On(Box<Machine<'s>>),
    /// The run has ended.
    Ended(Box<(RunReport, Trace)>),
    /// The run needs a pass of its own, for this reason.
    Apart(String),
}

impl<'s> Run<'s> {
    /// The machine of a run that goes on.
    fn machine(&self) -> Option<&Machine<'s>> {
        match self {
            Self::On(machine) => Some(machine),
            Self::Ended(_) | Self::Apart(_) => None,
        }
    }
}

/// State of a pass.
pub(crate) struct Pass<'s, 'p> {
    /// Session of the first run, by which launches are checked and executed.
    session: &'s Session,
    /// The process. Its device has the memory.
    process: Process<'p>,
    runs: Vec<Run<'s>>,
    /// Caches of the machines that go on.
    caches: Caches,
    /// Count of what was executed without timing.
    executed: Executed,
    progress: OnProgressOf<'s>,
    began: Instant,
}

impl<'s, 'p> Pass<'s, 'p> {
    /// A pass over a program for machines, at least one. Those on which the program could do
    /// something else than on the first one are apart.
    pub fn new(
        machines: Vec<Machine<'s>>,
        program: Participant<'p>,
        progress: OnProgressOf<'s>,
    ) -> Self {
        let session = machines[0].session;
        let mut process = Process::new(0, program);
        process.device.lend(&mut session.memory());
        let caches = Caches::new(machines.iter().map(|machine| machine.session.spec()));
        let mut pass = Self {
            session,
            process,
            runs: machines.into_iter().map(Box::new).map(Run::On).collect(),
            caches,
            executed: Executed::default(),
            progress,
            began: Instant::now(),
        };
        for at in 1..pass.runs.len() {
            if let Some(machine) = pass.runs[at].machine()
                && let Err(why) = agreement::agree(session, machine.session)
            {
                pass.part(at, why.to_owned());
            }
        }
        pass
    }

    /// Runs to the end of the program, or to that of the last run.
    pub fn run(mut self) -> Result<Vec<Run<'s>>, RunError> {
        loop {
            self.start_operations()?;
            if self.now().is_none() {
                return Ok(self.runs);
            }
            let acted = self.process.act(self.session);
            let copies = self.process.device.take_copies();
            self.note_copies(&copies);
            if acted? {
                continue;
            }
            if self.process.is_interrupted() {
                self.end(
                    &interrupted(Progress::before_any(), Vec::new()),
                    Stopped::Interrupted,
                );
                return Ok(self.runs);
            }
            if !self.process.is_done() {
                let message = "no progress: the program waits for what nothing will do".to_owned();
                self.end(&Outcome::Deadlock { message }, Stopped::Stuck);
                return Ok(self.runs);
            }
            self.process.check_outputs()?;
            self.end_all(&Outcome::Finished);
            return Ok(self.runs);
        }
    }

    /// Numbers of the runs that go on.
    fn going_on(&self) -> Vec<usize> {
        let on = |at: &usize| self.runs[*at].machine().is_some();
        (0..self.runs.len()).filter(on).collect()
    }

    /// Core cycle of the first run that goes on, if one does.
    fn now(&self) -> Option<Cycle> {
        let mut machines = self.runs.iter().filter_map(Run::machine);
        machines.next().map(Machine::now)
    }

    /// Lets a run have a pass of its own.
    fn part(&mut self, at: usize, why: String) {
        self.runs[at] = Run::Apart(why);
        self.caches.leave_out(at);
    }

    /// Starts all operations of the process that can start. Nothing waits for a launch, which ends
    /// at once.
    fn start_operations(&mut self) -> Result<(), RunError> {
        while let Some(now) = self.now() {
            if self.process.marks_next() {
                for at in self.going_on().into_iter().skip(1) {
                    self.part(at, "the program may read the time".to_owned());
                }
            }
            let Some((_, started)) = self.process.start_next(now)? else {
                return Ok(());
            };
            if let Some(mut started) = started
                && let Some(launch) = started.launch.take()
            {
                self.launch(&launch, &started);
            }
        }
        Ok(())
    }

    fn launch(&mut self, launch: &Prepared, started: &Started) {
        self.part_those_that_differ(launch);
        let blocks = launch.grid.count();
        let next_sms = |run: &Run<'_>| {
            let machine = run.machine();
            machine.map_or(Vec::new(), |machine| machine.next_sms(blocks))
        };
        let sms: Vec<Vec<u16>> = self.runs.iter().map(next_sms).collect();
        self.caches
            .begin(&sms, launch.launch.context.fetches_texels());
        let memory = &mut self.process.device.memory;
        memory.begin_undo();
        let executed = match self.execute(launch) {
            Ok(executed) => executed,
            Err((outcome, why)) => {
                self.process.device.memory.keep();
                self.end(&outcome, why);
                return;
            }
        };
        let watched = self.caches.take(self.runs.len());
        let timed = self.choose(launch, &executed, watched.into_iter().zip(sms));
        self.time(timed, started);
        self.executed.add_launch(&executed);
        self.print();
    }

    /// Lets machines be apart on which a launch may do something else.
    fn part_those_that_differ(&mut self, launch: &Prepared) {
        let resident = self.session.resident_blocks(launch);
        for at in self.going_on().into_iter().filter(|at| *at > 0) {
            let machine = self.runs[at].machine();
            let agreed = machine.map(|machine| machine.session.agrees_on(launch, resident));
            if let Some(Err(why)) = agreed {
                self.part(at, why);
            }
        }
    }

    fn execute(&mut self, launch: &Prepared) -> Result<FunctionalStats, (Outcome, Stopped)> {
        let first = self.going_on().first().copied().unwrap_or(0);
        let before = Before {
            cycles: self.now().unwrap_or(0),
            ..Before::default()
        };
        let progress = &mut self.progress;
        let mut progress = |now: &Progress| progress(first, now);
        self.session.execute_quietly(
            launch,
            &mut self.process.device,
            Some(&mut self.caches),
            FunctionalOptions::default(),
            &mut self.executed.poll(launch, before, &mut progress),
        )
    }

    /// Lets each plan choose. Returns the launches that are timed, by run.
    fn choose(
        &mut self,
        launch: &Prepared,
        executed: &FunctionalStats,
        seen: impl Iterator<Item = (Option<Watched>, Vec<u16>)>,
    ) -> Vec<(usize, Timing)> {
        let runs = self.runs.iter_mut().zip(seen).enumerate();
        let timed = runs.filter_map(|(at, (run, (watched, sms)))| match run {
            Run::On(machine) => {
                let timing = machine.choose(launch, executed, watched?, sms)?;
                Some((at, timing))
            }
            Run::Ended(_) | Run::Apart(_) => None,
        });
        timed.collect()
    }

    /// Times a launch that has been executed on the machines that chose it.
    fn time(&mut self, timed: Vec<(usize, Timing)>, started: &Started) {
        if timed.is_empty() {
            self.process.device.memory.keep();
            return;
        }
        let after = self.process.device.memory.keep_both();
        let mut after = after.expect("the launch may be undone");
        self.process.device.memory.exchange(&mut after);
        let (mut stopped, mut is_interrupted) = (None, false);
        for (at, timing) in timed {
            if is_interrupted {
                break;
            }
            let Run::On(machine) = &mut self.runs[at] else {
                continue;
            };
            let memory = &mut self.process.device.memory;
            memory.begin_undo();
            let progress = &mut self.progress;
            let mut progress = |now: &Progress| progress(at, now);
            let ended = machine.time(timing, started, memory, &self.executed, &mut progress);
            if let Err((outcome, why)) = ended {
                is_interrupted = why == Stopped::Interrupted;
                stopped = Some((outcome.clone(), why));
                if self.runs.len() == 1 {
                    self.print();
                }
                self.end_run(at, &outcome);
                self.process.device.memory.undo();
            } else if !memory.undo_as(&after) {
                machine.differed();
            }
        }
        self.process.device.memory.exchange(&mut after);
        if let Some((outcome, why)) = stopped {
            if is_interrupted {
                self.end_all(&outcome);
            }
            if self.now().is_none() {
                self.process.program.stopped(why);
            }
        }
    }

    /// Notes copies between host and device, in their order with launches.
    fn note_copies(&mut self, copies: &[(u64, u64)]) {
        for run in &mut self.runs {
            if let Run::On(machine) = run {
                machine.note_copies(copies);
            }
        }
        for (address, bytes) in copies {
            self.caches.copied(*address, *bytes);
        }
    }

    /// Passes on the output of kernels so far.
    fn print(&mut self) {
        let device = &mut self.process.device;
        self.session.print(&mut device.memory, device.asid);
    }

    /// Ends all runs early, and tells the program.
    fn end(&mut self, outcome: &Outcome, why: Stopped) {
        self.print();
        self.process.program.stopped(why);
        self.end_all(outcome);
    }

    fn end_all(&mut self, outcome: &Outcome) {
        for at in self.going_on() {
            self.end_run(at, outcome);
        }
    }

    /// Ends a run with what memory contains.
    fn end_run(&mut self, at: usize, outcome: &Outcome) {
        let seconds = self.began.elapsed().as_secs_f64();
        let (input, checks) = (self.process.device.input_digest(), &self.process.checks);
        let memory: &DeviceMemory = &self.process.device.memory;
        let run = std::mem::replace(&mut self.runs[at], Run::Apart(String::new()));
        let Run::On(machine) = run else {
            unreachable!("the run went on");
        };
        let ended = machine.end(outcome, memory, &input, checks.clone(), seconds);
        self.runs[at] = Run::Ended(Box::new(ended));
        self.caches.leave_out(at);
    }
}
