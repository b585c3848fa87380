//! The process that makes runs one after the other for a worker. A run that takes the process with
//! it costs no other run.

use crate::folder::Folder;
use crate::host::{host, peak_bytes, reset_peak};
use crate::plan::PlannedRun;
use crate::record::{Cost, RunBound, Summary, store};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::mpsc;
use std::time::Instant;
use warploom_stats::result::RunReport;

/// Makes a run from its settings.
pub trait Simulator {
    /// Makes a run.
    ///
    /// # Errors
    /// If the input is refused, with place and remedy.
    fn simulate(&mut self, run: &PlannedRun) -> Result<RunReport, String>;

    /// Bound of a run that was made, if that is known.
    fn bound(&mut self, _run: &PlannedRun, _report: &RunReport) -> RunBound {
        RunBound::default()
    }

    /// Largest resident memory in bytes of the processes that the last run has started.
    fn memory_of_others(&self) -> u64 {
        0
    }
}

/// Answer of the process to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The result is stored.
    Finished,
    /// There is no result.
    Failed {
        /// Description with place and remedy.
        reason: String,
        /// Time and place of the run.
        cost: Cost,
    },
    /// The result could not be stored.
    Unstored {
        /// Reason of the error.
        reason: String,
    },
    /// The worker's folder is gone, because others took the worker for dead.
    Lost,
}

/// Makes the runs that `input` names, one JSON object a line, and answers each on `output`. Calls
/// `quit` at the end of the input, also in the middle of a run: then the worker is gone.
///
/// # Errors
/// If the output cannot be written.
pub fn serve(
    folder: &Folder,
    temporary: &Path,
    simulator: &mut dyn Simulator,
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
    quit: impl FnOnce() + Send + 'static,
) -> std::io::Result<()> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
        quit();
    });
    for line in receiver {
        let run: PlannedRun = serde_json::from_str(&line)?;
        let reply = make(folder, temporary, simulator, &run);
        let mut text = serde_json::to_string(&reply)?;
        text.push('\n');
        output.write_all(text.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}

fn make(
    folder: &Folder,
    temporary: &Path,
    simulator: &mut dyn Simulator,
    run: &PlannedRun,
) -> Reply {
    reset_peak();
    let began = Instant::now();
    let result = simulator.simulate(run);
    let cost = Cost {
        seconds: began.elapsed().as_secs_f64(),
        memory_bytes: peak_bytes() + simulator.memory_of_others(),
        host: host(),
    };
    let problem = |report: &RunReport| refusal(report).map(str::to_owned);
    let report = match result {
        Err(_) if !temporary.is_dir() => return Reply::Lost,
        Err(reason) => return Reply::Failed { reason, cost },
        Ok(report) => match problem(&report) {
            Some(reason) => return Reply::Failed { reason, cost },
            None => report,
        },
    };
    let bound = simulator.bound(run, &report);
    let summary = Summary::new(&run.identity, &run.subject, &report, bound, cost);
    match store(folder, temporary, &run.key, &summary, &report) {
        Ok(()) => Reply::Finished,
        Err(_) if !temporary.is_dir() => Reply::Lost,
        Err(error) => Reply::Unstored {
            reason: error.to_string(),
        },
    }
}

/// Reason why a run that ended has no valid result.
fn refusal(report: &RunReport) -> Option<&str> {
    let message = report.outcome.message();
    let wrong = || report.checks.iter().find(|check| !check.passed);
    message.or_else(|| wrong().map(|check| check.detail.as_str()))
}
