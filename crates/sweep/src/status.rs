//! State of a sweep: how many runs wait, run, are finished or have failed.

use crate::claims::{Worker, known, waiting, workers};
use crate::collect::Times;
use crate::folder::{Folder, FolderError};
use crate::plan::{Plan, PlannedRun};
use crate::record::{FailureKind, Record, failure};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// State of a sweep at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Status {
    /// Number of runs in the plan.
    pub runs: usize,
    /// Number of finished runs.
    pub finished: usize,
    /// Number of runs without a result, by the kind of failure.
    pub failed: BTreeMap<&'static str, usize>,
    /// Number of runs that living workers are making.
    pub running: usize,
    /// Number of runs whose worker has died; a worker that looks next makes them.
    pub lost: usize,
    /// Number of runs that wait for a worker.
    pub waiting: usize,
    /// Number of runs for which no worker is asked, because a command was interrupted.
    pub unrequested: usize,
    /// Number of living workers.
    pub workers: usize,
    /// Names of the computers of living workers.
    pub hosts: Vec<String>,
    /// Sum of the times of finished runs in seconds.
    pub seconds: f64,
    /// Sum of the expected times of runs that have not ended, in seconds: for each the mean of the
    /// finished runs of the same target, size and limits, if there are any.
    #[serde(skip)]
    pub expected_seconds: f64,
    /// Number of runs that have not ended and of whose time nothing is known.
    #[serde(skip)]
    pub unknown: usize,
    /// True if the sweep is cancelled.
    pub is_cancelled: bool,
}

impl Status {
    /// Number of all runs without a result.
    pub fn failures(&self) -> usize {
        self.failed.values().sum()
    }

    /// Number of runs that have not ended.
    pub fn remaining(&self) -> usize {
        self.runs - self.finished - self.failures()
    }

    /// Estimate of the time until all runs have ended whose time is known, in seconds: the sum of
    /// their expected times, divided by the number of simultaneous runs. `None` if nothing is
    /// known.
    pub fn seconds_left(&self) -> Option<f64> {
        let left = self.expected_seconds / self.running as f64;
        (left.is_finite() && self.unknown < self.remaining()).then_some(left)
    }
}

/// Reads the state of a sweep, any number of times. Runs that have ended are looked at once.
#[derive(Debug, Default)]
pub struct StatusReader {
    ended: HashMap<String, Ended>,
}

#[derive(Clone, Copy, Debug)]
enum Ended {
    Finished(f64),
    Failed(FailureKind),
}

impl StatusReader {
    /// The state at this moment. `own` is a worker of this process, if there is one; it is not
    /// counted.
    ///
    /// # Errors
    /// If the plan or a file cannot be read.
    pub fn read(&mut self, folder: &Folder, own: Option<&Worker>) -> Result<Status, FolderError> {
        let mut status = Status {
            is_cancelled: folder.is_cancelled(),
            ..Status::default()
        };
        // Before results are looked at: a run that ends in between is finished, and not missing.
        let known = known(folder)?;
        let todo: HashSet<String> = waiting(folder)?.into_iter().collect();
        for (_, state) in workers(folder, own)? {
            match state.is_alive {
                true => {
                    status.running += state.claims.len();
                    status.workers += 1;
                    status
                        .hosts
                        .extend(state.identity.map(|identity| identity.process.host));
                }
                false => status.lost += state.claims.len(),
            }
        }
        status.hosts.sort();
        status.hosts.dedup();
        let mut seen = HashSet::new();
        let (mut times, mut remaining) = (Times::default(), Vec::new());
        for run in Plan::open(folder)? {
            let PlannedRun { key, subject, .. } = run?;
            status.runs += 1;
            let ended = self.ended(folder, &key)?;
            if ended.is_none() {
                remaining.push(subject.clone());
            }
            match ended {
                Some(Ended::Finished(seconds)) => {
                    status.finished += 1;
                    times.add(&subject, seconds);
                    // Points of equal content share one run.
                    status.seconds += if seen.insert(key) { seconds } else { 0.0 };
                }
                Some(Ended::Failed(kind)) => *status.failed.entry(kind.name()).or_default() += 1,
                // A run that another sweep has finished may wait still; no worker makes it again.
                None if todo.contains(&key) => status.waiting += 1,
                None if !known.contains(&key) => status.unrequested += 1,
                None => {}
            }
        }
        for subject in remaining {
            match times.of(&subject) {
                Some(mean) => status.expected_seconds += mean,
                None => status.unknown += 1,
            }
        }
        Ok(status)
    }

    fn ended(&mut self, folder: &Folder, key: &str) -> Result<Option<Ended>, FolderError> {
        if let Some(ended @ Ended::Finished(_)) = self.ended.get(key) {
            return Ok(Some(*ended));
        }
        let ended = match Record::open(folder, key)? {
            Some(record) => Some(Ended::Finished(record.summary.cost.seconds)),
            None => failure(folder, key)?.map(|failure| Ended::Failed(failure.kind)),
        };
        if let Some(ended) = ended {
            self.ended.insert(key.to_owned(), ended);
        }
        Ok(ended)
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn the_time_left_is_that_of_the_runs_whose_time_is_known() {
        let status = Status {
            runs: 5,
            finished: 2,
            running: 2,
            expected_seconds: 8.0,
            unknown: 1,
            ..Status::default()
        };
        assert_eq!(status.seconds_left(), Some(4.0));
        let unknown = Status {
            expected_seconds: 0.0,
            unknown: 3,
            ..status.clone()
        };
        assert_eq!(unknown.seconds_left(), None);
        assert_eq!(
            Status {
                running: 0,
                ..status
            }
            .seconds_left(),
            None
        );
    }
}
