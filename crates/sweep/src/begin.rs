//! The beginning of a sweep, its continuation, and its repetition of failed runs.

use crate::claims::{Worker, known, request};
use crate::folder::{Folder, FolderError, remove};
use crate::plan::{Plan, PlannedRun, Sweep};
use crate::record::{Failure, Record, failure, forget_failure};
use std::collections::HashSet;

/// Numbers of runs at the beginning of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// Number of runs that are finished already.
    pub finished: usize,
    /// Number of runs that have failed earlier and stay so.
    pub failed: usize,
    /// Number of runs that now wait or are being made.
    pub open: usize,
}

/// Writes the plan of a sweep and lets every run wait that has no result yet.
///
/// # Errors
/// If a file cannot be read or written.
pub fn begin(
    folder: &Folder,
    worker: &Worker,
    sweep: &Sweep,
    runs: &[PlannedRun],
) -> Result<Begun, FolderError> {
    sweep.write(folder, &worker.temporary(), runs)?;
    remove(&folder.cancelled())?;
    request_open(folder, worker, runs.iter().map(|run| Ok(run.key.clone())))
}

/// Lets every run of a sweep wait that has no result and that no worker has.
///
/// # Errors
/// If a file cannot be read or written.
pub fn go_on(folder: &Folder, worker: &Worker) -> Result<Begun, FolderError> {
    remove(&folder.cancelled())?;
    let keys = Plan::open(folder)?.map(|run| Ok(run?.key));
    request_open(folder, worker, keys)
}

fn request_open(
    folder: &Folder,
    worker: &Worker,
    keys: impl Iterator<Item = Result<String, FolderError>>,
) -> Result<Begun, FolderError> {
    worker.bury_dead()?;
    let known = known(folder)?;
    let mut begun = Begun::default();
    let mut requested = HashSet::new();
    for key in keys {
        let key = key?;
        if Record::open(folder, &key)?.is_some() {
            begun.finished += 1;
        } else if failure(folder, &key)?.is_some() {
            begun.failed += 1;
        } else {
            begun.open += 1;
            if !known.contains(&key) && requested.insert(key.clone()) {
                request(folder, &key)?;
            }
        }
    }
    Ok(begun)
}

/// Lets failed runs wait again that `is_chosen` accepts, and returns their number.
///
/// # Errors
/// If a file cannot be read or written.
pub fn retry(
    folder: &Folder,
    worker: &Worker,
    is_chosen: &dyn Fn(&PlannedRun, &Failure) -> bool,
) -> Result<usize, FolderError> {
    let mut number = 0;
    for run in Plan::open(folder)? {
        let run = run?;
        let chosen = failure(folder, &run.key)?.is_some_and(|failure| is_chosen(&run, &failure));
        if chosen {
            forget_failure(folder, &run.key)?;
            number += 1;
        }
    }
    go_on(folder, worker)?;
    Ok(number)
}
