//! Folder of a sweep and the files in it, each written whole or not at all.
//!
//! ```text
//! DIR/runs/ab/KEY            finished runs by their content, shared by all sweeps of DIR
//! DIR/programs/DIGEST/       copies of the program, so that a new build disturbs no sweep
//! DIR/sweep/NAME.csv ...     collected tables and the page
//! DIR/sweep/NAME/sweep.json  settings of the sweep
//! DIR/sweep/NAME/plan.jsonl  the runs of the sweep, one a line
//! DIR/sweep/NAME/todo/KEY    runs that nobody makes yet
//! DIR/sweep/NAME/claims/W/   runs that the worker W makes
//! DIR/sweep/NAME/workers/W   identity of the worker W; the time of change is its last sign of life
//! DIR/sweep/NAME/tmp/W/      files that the worker W has not completed
//! DIR/sweep/NAME/failed/KEY  runs without a result
//! ```

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Paths of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    results: PathBuf,
    state: PathBuf,
}

/// A file of a sweep that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot read or write {}: {error}\n  = help: check that the folder may be written and that its \
     disk has room; finished runs are kept, and the same command goes on",
    .path.display()
)]
pub struct FolderError {
    /// Path of the file.
    pub path: PathBuf,
    /// Reason of the error.
    pub error: std::io::Error,
}

impl FolderError {
    /// Attributes an error to a path.
    pub fn at(path: &Path) -> impl Fn(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self {
            path: path.clone(),
            error,
        }
    }
}

impl Folder {
    /// The sweep of this name in a folder of results.
    pub fn new(results: &Path, name: &str) -> Self {
        Self {
            results: results.to_owned(),
            state: results.join("sweep").join(name),
        }
    }

    /// The sweep whose state lies in this folder, which is `DIR/sweep/NAME`; `None` if the path is
    /// too short for that.
    pub fn of_state(state: &Path) -> Option<Self> {
        let state = std::path::absolute(state).ok()?;
        Some(Self {
            results: state.parent()?.parent()?.to_owned(),
            state,
        })
    }

    /// Folder of the sweep's state.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Folder of results that holds this sweep and others.
    pub fn results(&self) -> &Path {
        &self.results
    }

    /// Name of the sweep.
    pub fn name(&self) -> String {
        let name = self.state.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Path of a finished run.
    pub fn run(&self, key: &str) -> PathBuf {
        let shard = key.get(..2).unwrap_or("00");
        self.runs().join(shard).join(key)
    }

    /// Folder of all finished runs.
    pub fn runs(&self) -> PathBuf {
        self.results.join("runs")
    }

    /// Path of the copy of a program with this digest.
    pub fn program(&self, digest: &str) -> PathBuf {
        self.results.join("programs").join(digest).join("warploom")
    }

    /// Path of a collected file: `DIR/sweep/NAME` with an ending such as `.csv`.
    pub fn collected(&self, ending: &str) -> PathBuf {
        let mut path = self.state.as_os_str().to_owned();
        path.push(ending);
        path.into()
    }

    pub(crate) fn inside(&self, name: &str) -> PathBuf {
        self.state.join(name)
    }

    /// Path of a run that waits for a worker.
    pub(crate) fn todo(&self, key: &str) -> PathBuf {
        self.inside("todo").join(key)
    }

    /// Path of a run without a result.
    pub fn failed(&self, key: &str) -> PathBuf {
        self.inside("failed").join(key)
    }

    /// Path of the mark that the sweep is cancelled.
    pub fn cancelled(&self) -> PathBuf {
        self.inside("cancelled")
    }

    /// True if the sweep is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled().exists()
    }
}

/// A file that is being written. It appears when it is complete and on the disk; dropped before, it
/// leaves nothing.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    file: BufWriter<File>,
    unfinished: Unfinished,
}

/// Path of a file that is removed when this is dropped, if it is still there.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl NewFile {
    /// Begins a file in the existing folder `temporary`, which becomes `path`.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn create(temporary: &Path, path: &Path) -> Result<Self, FolderError> {
        let unfinished = Unfinished(temporary.join(path.file_name().unwrap_or_default()));
        let file = File::create(&unfinished.0).map_err(FolderError::at(path))?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
            unfinished,
        })
    }

    /// Attributes an error to the file.
    pub fn failed(&self, error: std::io::Error) -> FolderError {
        FolderError::at(&self.path)(error)
    }

    /// Lets the file be executed as a program.
    ///
    /// # Errors
    /// Errors of the operating system.
    #[cfg(unix)]
    pub fn make_executable(&self) -> Result<(), FolderError> {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(0o755);
        let done = self.file.get_ref().set_permissions(mode);
        done.map_err(|error| self.failed(error))
    }

    /// Lets the file be executed as a program, which needs nothing on this system.
    ///
    /// # Errors
    /// None.
    #[cfg(not(unix))]
    pub fn make_executable(&self) -> Result<(), FolderError> {
        Ok(())
    }

    /// Completes the file, and gives its path.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn finish(mut self) -> Result<PathBuf, FolderError> {
        let written = self.file.flush();
        let written = written.and_then(|()| self.file.get_ref().sync_all());
        written.map_err(|error| self.failed(error))?;
        // A program that is open for writing under its name cannot be started.
        drop(self.file);
        publish(&self.unfinished.0, &self.path).map_err(FolderError::at(&self.path))?;
        Ok(self.path)
    }
}

/// Moves a complete file to its place, whose folder is created if it is missing.
fn publish(complete: &Path, path: &Path) -> std::io::Result<()> {
    match fs::rename(complete, path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            fs::rename(complete, path)
        }
        renamed => renamed,
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After the completion there is no such file. Otherwise it must not fill the disk.
        let _ = fs::remove_file(&self.0);
    }
}

/// Writes a file through a file in the existing folder `temporary`, as [`NewFile`].
///
/// # Errors
/// Errors of the operating system. Nothing is left in `temporary` then.
pub fn write_whole(
    temporary: &Path,
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), FolderError> {
    let mut file = NewFile::create(temporary, path)?;
    write(&mut file).map_err(|error| file.failed(error))?;
    file.finish().map(|_| ())
}

/// Removes a file; it is no error if it does not exist.
pub(crate) fn remove(path: &Path) -> Result<(), FolderError> {
    absent_is_fine(fs::remove_file(path)).map_err(FolderError::at(path))
}

/// Success, or an error other than that the file does not exist.
pub(crate) fn absent_is_fine(done: std::io::Result<()>) -> std::io::Result<()> {
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Names in a folder in their order; none if the folder does not exist.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, FolderError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(FolderError::at(folder))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(FolderError::at(folder))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::{Folder, NewFile, names, write_whole};
    use std::io::Write;
    use std::path::Path;

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let (temporary, path) = (folder.path().join("w"), folder.path().join("a/b"));
        std::fs::create_dir(&temporary).unwrap();
        let failed = write_whole(&temporary, &path, |out| {
            out.write_all(b"half")?;
            Err(std::io::Error::other("full"))
        });
        assert!(failed.unwrap_err().to_string().contains("= help:"));
        assert!(!path.exists() && names(&temporary).unwrap().is_empty());
        write_whole(&temporary, &path, |out| out.write_all(b"whole")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole");
        assert!(names(&temporary).unwrap().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_program_runs_as_soon_as_it_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("programs/p");
        let mut file = NewFile::create(folder.path(), &path).unwrap();
        file.write_all(b"#!/bin/sh\nexit 7\n").unwrap();
        file.make_executable().unwrap();
        file.finish().unwrap();
        assert_eq!(exit_code_of(&path), Some(7));
        assert_eq!(names(folder.path()).unwrap(), ["programs"]);
    }

    /// Exit code of a program. A child that another test starts holds a copy of every open file until
    /// it executes its own program, so a file that was written meanwhile can be busy for a moment.
    #[cfg(unix)]
    fn exit_code_of(program: &Path) -> Option<i32> {
        for _ in 0..100 {
            match std::process::Command::new(program).status() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                ended => return ended.unwrap().code(),
            }
        }
        panic!("{} stays open for writing", program.display());
    }

    #[test]
    fn the_state_leads_to_the_results() {
        let folder = Folder::new(Path::new("/r"), "study");
        assert_eq!(Folder::of_state(folder.state()), Some(folder.clone()));
        assert_eq!(folder.collected(".csv"), Path::new("/r/sweep/study.csv"));
        assert_eq!(folder.run("abcd"), Path::new("/r/runs/ab/abcd"));
        assert_eq!(folder.name(), "study");
    }
}
