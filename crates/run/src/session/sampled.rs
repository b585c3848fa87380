//! Sampled runs, alone or several in one pass over the same program.

use super::{Records, RunError, Session, Timed};
use crate::checkpoint::CheckpointError;
use crate::host::HostProgram;
use crate::mix::Participant;
use crate::pass::{Machine, Pass, Run};
use crate::progress::{OnProgress, Progress};
use crate::sampler::Sampler;
use std::ops::ControlFlow;
use warploom_stats::result::RunReport;

/// Result of one of several runs.
#[derive(Debug)]
pub enum OnMachine {
    /// The report, which is that of the run alone.
    Ran(Box<RunReport>),
    /// The run needs a pass over the program of its own, for this reason.
    Apart(String),
}

/// Function that receives the progress of one of several runs, with its number.
pub type OnEach<'a> = &'a mut dyn FnMut(usize, &Progress) -> ControlFlow<()>;

impl Session {
    /// Runs a sampled program on the machines of several sessions, at least one, by a single pass
    /// over the program. The results are in the order of the sessions. Each is the same as that of
    /// the run alone, but for the time that it took. The first is never apart.
    ///
    /// # Errors
    /// As [`run`](Self::run) of the first session, and if one of them does not sample.
    pub fn run_together(
        sessions: &[Self],
        program: &mut dyn HostProgram,
        progress: OnEach<'_>,
    ) -> Result<Vec<OnMachine>, RunError> {
        let machines = sessions.iter().map(|session| {
            let sampler = session.sampler()?;
            Ok(Machine::new(session, sampler, false, Vec::new()))
        });
        let machines: Result<Vec<Machine<'_>>, RunError> = machines.collect();
        let participant = Participant::new("", Box::new(program));
        let runs = Pass::new(machines?, participant, progress).run()?;
        let result = |run| match run {
            Run::Ended(ended) => OnMachine::Ran(Box::new(ended.0)),
            Run::Apart(why) => OnMachine::Apart(why),
            Run::On(_) => unreachable!("a pass goes on to the end of its runs"),
        };
        Ok(runs.into_iter().map(result).collect())
    }

    /// Runs a sampled program alone.
    pub(super) fn run_sampled(
        &self,
        mut programs: Vec<Participant<'_>>,
        apart: bool,
        records: Records<'_>,
        progress: OnProgress<'_>,
    ) -> Result<RunReport, RunError> {
        let sampler = self.sampler()?;
        let program = programs.pop().filter(|_| programs.is_empty() && !apart);
        let program = program.ok_or(RunError::Sampled("runs alone"))?;
        let Records { trace, observers } = records;
        let machine = Machine::new(self, sampler, trace.is_some(), observers);
        let mut progress = |_: usize, now: &Progress| progress(now);
        let mut runs = Pass::new(vec![machine], program, &mut progress).run()?;
        let Some(Run::Ended(ended)) = runs.pop() else {
            unreachable!("the only run of a pass is never apart");
        };
        let (report, recorded) = *ended;
        if let Some(trace) = trace {
            *trace = recorded;
        }
        Ok(report)
    }

    /// The sampler of a session whose options fit it.
    fn sampler(&self) -> Result<Sampler, RunError> {
        let options = &self.options;
        if options.checkpoints.is_some() || options.resume.is_some() {
            return Err(CheckpointError::Unsaved("a sampled program").into());
        }
        if options.timed != Timed::default() || options.max_launches.is_some() {
            return Err(RunError::Sampled("chooses by itself what is timed"));
        }
        Sampler::of(options).ok_or(RunError::Sampled("needs a bound of the error"))
    }
}
