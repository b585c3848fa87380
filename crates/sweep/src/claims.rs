//! Claims: which worker makes which run.
//!
//! A run that waits is a file in `todo`. A worker claims it by renaming the file into its own
//! folder, which only one worker can do. Every worker shows signs of life; the claims of a dead one
//! return to `todo`. A file is never copied, so a run is in one place at every moment. Where a
//! living worker is taken for dead, a run is made twice, with the same result.

use crate::folder::{Folder, FolderError, absent_is_fine, names, remove, write_whole};
use crate::host::ProcessIdentity;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Time between signs of life.
pub const HEARTBEAT: Duration = Duration::from_secs(5);

/// Time without a sign of life after which a worker of another computer counts as dead.
pub const LEASE: Duration = Duration::from_secs(60);

/// Attempts to write the file of a worker, which others may remove before it is complete.
const ATTEMPTS: u32 = 10;

/// A job of a cluster's queue, which may be started several times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Identity of the job that all its starts share.
    pub id: String,
    /// Number of earlier starts.
    pub restart: u32,
}

/// Identity of a worker, as its file states it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerIdentity {
    /// Process of the worker.
    pub process: ProcessIdentity,
    /// Job in which the worker runs, if any.
    pub job: Option<Job>,
}

/// A worker of a sweep, or a command that writes files of the sweep.
#[derive(Debug)]
pub struct Worker {
    folder: Folder,
    id: String,
    identity: WorkerIdentity,
}

/// A run that this process has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Key of the run.
    pub key: String,
}

impl Worker {
    /// Registers this process as a worker.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn register(folder: &Folder, job: Option<Job>) -> Result<Self, FolderError> {
        let process = ProcessIdentity::own();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanos = since.unwrap_or_default().as_nanos();
        let worker = Self {
            folder: folder.clone(),
            id: format!("{}-{}-{nanos:x}", process.host, process.pid),
            identity: WorkerIdentity { process, job },
        };
        for path in ["todo", "failed", "workers"].map(|name| folder.inside(name)) {
            fs::create_dir_all(&path).map_err(FolderError::at(&path))?;
        }
        worker.show_life()?;
        Ok(worker)
    }

    /// Folder for files that are not complete.
    pub fn temporary(&self) -> PathBuf {
        temporary(&self.folder, &self.id)
    }

    fn claims(&self) -> PathBuf {
        claims(&self.folder, &self.id)
    }

    /// Path of the worker's file.
    fn file(&self) -> PathBuf {
        self.folder.inside("workers").join(&self.id)
    }

    /// Gives a sign of life. Folders that others have removed are created again.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn show_life(&self) -> Result<(), FolderError> {
        let bytes = serde_json::to_vec(&self.identity).expect("plain data");
        // Another process may remove the file before it is complete.
        let mut attempts = ATTEMPTS;
        loop {
            match self.write_file(&bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && attempts > 1 => {
                    attempts -= 1;
                }
                done => return done.map_err(FolderError::at(&self.file())),
            }
        }
    }

    /// Writes the worker's file whole, so that nobody reads a part of it, and creates its folders.
    /// A file that is not complete counts as that of a dead worker, and is removed.
    fn write_file(&self, bytes: &[u8]) -> std::io::Result<()> {
        let unfinished = self.folder.inside("workers").join(format!(".{}", self.id));
        fs::write(&unfinished, bytes)?;
        fs::rename(&unfinished, self.file())?;
        fs::create_dir_all(self.claims())?;
        fs::create_dir_all(self.temporary())
    }

    /// Claims a run; `None` if another worker has it already.
    ///
    /// # Errors
    /// If the file system reports an error.
    pub fn claim(&self, key: &str) -> Result<Option<Claim>, FolderError> {
        let (from, to) = (self.folder.todo(key), self.claims().join(key));
        match fs::rename(&from, &to) {
            Ok(()) => Ok(Some(Claim {
                key: key.to_owned(),
            })),
            // The own folder may be missing, too, until the next sign of life creates it again.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::at(&to)(error)),
        }
    }

    /// Ends a claim whose run is finished or has failed.
    ///
    /// # Errors
    /// If the file system reports an error.
    pub fn complete(&self, claim: &Claim) -> Result<(), FolderError> {
        remove(&self.claims().join(&claim.key))
    }

    /// Gives a claim back, so that any worker can make the run.
    ///
    /// # Errors
    /// If the file system reports an error.
    pub fn give_back(&self, claim: &Claim) -> Result<(), FolderError> {
        let (from, to) = (self.claims().join(&claim.key), self.folder.todo(&claim.key));
        absent_is_fine(fs::rename(&from, &to)).map_err(FolderError::at(&to))
    }

    /// Counts a death of the run's process, and returns the number of deaths so far.
    ///
    /// # Errors
    /// If the file system reports an error.
    pub fn count_kill(&self, claim: &Claim) -> Result<u32, FolderError> {
        let path = self.claims().join(&claim.key);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let kills = text.trim().parse().unwrap_or(0) + 1;
        fs::write(&path, format!("{kills}")).map_err(FolderError::at(&path))?;
        Ok(kills)
    }

    /// Gives back what dead workers have claimed, and removes what they left behind.
    ///
    /// # Errors
    /// If the file system reports an error.
    pub fn bury_dead(&self) -> Result<(), FolderError> {
        self.show_life()?;
        for (id, state) in workers(&self.folder, Some(self))? {
            if id != self.id && !state.is_alive {
                bury(&self.folder, &id)?;
            }
        }
        Ok(())
    }

    /// Whether another worker lives, judged by the time of the last sign of life on the file
    /// system's own clock.
    fn judge(&self, identity: &WorkerIdentity, last: SystemTime, now: SystemTime) -> bool {
        let is_earlier = |own: &Job, other: &Job| own.id == other.id && own.restart > other.restart;
        let jobs = self.identity.job.as_ref().zip(identity.job.as_ref());
        if jobs.is_some_and(|(own, other)| is_earlier(own, other)) {
            return false;
        }
        is_alive(identity, last, now)
    }

    /// Removes everything that this worker has in the folder. Its claims return to `todo`.
    ///
    /// # Errors
    /// If the file system reports an error.
    pub fn leave(self) -> Result<(), FolderError> {
        bury(&self.folder, &self.id)
    }
}

fn is_alive(identity: &WorkerIdentity, last: SystemTime, now: SystemTime) -> bool {
    match identity.process.is_running() {
        Some(is_running) => is_running,
        None => now.duration_since(last).unwrap_or_default() < LEASE,
    }
}

fn temporary(folder: &Folder, id: &str) -> PathBuf {
    folder.inside("tmp").join(id)
}

fn claims(folder: &Folder, id: &str) -> PathBuf {
    folder.inside("claims").join(id)
}

/// Returns the claims of a worker and removes its files. Any number of processes may do so at once.
fn bury(folder: &Folder, id: &str) -> Result<(), FolderError> {
    let own = claims(folder, id);
    for key in names(&own)? {
        let todo = folder.todo(&key);
        absent_is_fine(fs::rename(own.join(&key), &todo)).map_err(FolderError::at(&todo))?;
    }
    for path in [own, temporary(folder, id)] {
        match absent_is_fine(fs::remove_dir_all(&path)) {
            // Another process removes the same folder, or the worker lives after all.
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => return Ok(()),
            done => done.map_err(FolderError::at(&path))?,
        }
    }
    remove(&folder.inside("workers").join(id))
}

/// State of a worker, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerState {
    /// Identity of the worker; `None` if its file is missing or was not written whole.
    pub identity: Option<WorkerIdentity>,
    /// True if the worker runs, as far as can be told.
    pub is_alive: bool,
    /// Keys of the runs that it has claimed.
    pub claims: Vec<String>,
}

/// All workers of a sweep by their names. `own` is the worker that asks; its file tells the time of
/// the file system.
///
/// # Errors
/// If the file system reports an error.
pub fn workers(
    folder: &Folder,
    own: Option<&Worker>,
) -> Result<Vec<(String, WorkerState)>, FolderError> {
    let mut ids = Vec::new();
    for place in ["workers", "claims", "tmp"] {
        ids.extend(names(&folder.inside(place))?);
    }
    ids.sort();
    ids.dedup();
    let now = own.and_then(|own| changed(&own.file()));
    let now = now.unwrap_or_else(SystemTime::now);
    let mut states = Vec::new();
    for id in ids {
        let path = folder.inside("workers").join(&id);
        let identity: Option<WorkerIdentity> = fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let last = changed(&path);
        let is_alive = match (&identity, last) {
            (Some(identity), Some(last)) => match own {
                Some(own) => own.judge(identity, last, now),
                None => is_alive(identity, last, now),
            },
            // Its file is written first and whole, and removed last.
            _ => false,
        };
        let claims = names(&claims(folder, &id))?;
        states.push((
            id,
            WorkerState {
                identity,
                is_alive,
                claims,
            },
        ));
    }
    Ok(states)
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|meta| meta.modified()).ok()
}

/// Keys that wait, and keys that some worker has claimed.
///
/// # Errors
/// If the file system reports an error.
pub fn known(folder: &Folder) -> Result<std::collections::HashSet<String>, FolderError> {
    let todo = || names(&folder.inside("todo"));
    let mut known: std::collections::HashSet<String> = todo()?.into_iter().collect();
    for (_, state) in workers(folder, None)? {
        known.extend(state.claims);
    }
    // A claim that was given back in between was in neither place when it was looked at.
    known.extend(todo()?);
    Ok(known)
}

/// Keys of the runs that wait for a worker.
///
/// # Errors
/// If the file system reports an error.
pub fn waiting(folder: &Folder) -> Result<Vec<String>, FolderError> {
    names(&folder.inside("todo"))
}

/// Lets a run wait for a worker.
///
/// # Errors
/// If the file cannot be written.
pub fn request(folder: &Folder, key: &str) -> Result<(), FolderError> {
    let path = folder.todo(key);
    fs::write(&path, "").map_err(FolderError::at(&path))
}

/// Takes back that a run waits for a worker; it is no error if it does not wait.
///
/// # Errors
/// If the file cannot be removed.
pub fn withdraw(folder: &Folder, key: &str) -> Result<(), FolderError> {
    remove(&folder.todo(key))
}

/// Marks the sweep as cancelled: workers stop as soon as they notice.
///
/// # Errors
/// If the file cannot be written.
pub fn cancel(folder: &Folder, worker: &Worker) -> Result<(), FolderError> {
    write_whole(&worker.temporary(), &folder.cancelled(), |_| Ok(()))
}

#[cfg(test)]
mod tests;
