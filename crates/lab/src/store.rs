//! Finished runs in one file, found by everything on which they depend.
//!
//! The file is a redb database: a run is in it whole or not at all, whenever the process ends. A
//! run is stored under the build of the program and its key, so that no run of another program is
//! ever used. This is the only file that this crate reads or writes.

use crate::spec::RunKey;
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError,
    TableDefinition, TableError,
};
use std::path::{Path, PathBuf};
use warploom_stats::result::RunReport;

/// Version of the layout, which is written into every store.
const FORMAT: u64 = 1;
const META: TableDefinition<'_, &str, u64> = TableDefinition::new("warploom");
const RUNS: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("runs");
const CACHE_BYTES: usize = 16 << 20;

/// Finished runs of one build of the program.
pub struct Store {
    path: PathBuf,
    build: String,
    database: Database,
}

/// Reason why a store cannot be used, with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is not a store.
    #[error(
        "{} is not a store of runs: {reason}\n  = help: choose another folder, or move the file away",
        .path.display()
    )]
    Foreign {
        /// Path of the file.
        path: PathBuf,
        /// Description of the contents.
        reason: String,
    },
    /// The file is damaged.
    #[error(
        "the store of runs {} is damaged: {reason}\n  \
         = help: delete it; only the time of the runs in it is lost",
        .path.display()
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Description of the damage.
        reason: String,
    },
    /// Another process uses the file.
    #[error(
        "the store of runs {} is in use by another process\n  \
         = help: wait for that process to end, or choose another folder",
        .0.display()
    )]
    InUse(PathBuf),
    /// The file system reports an error.
    #[error(
        "cannot read or write the store of runs {}: {reason}\n  \
         = help: choose a folder that exists and is writable, on a disk with room",
        .path.display()
    )]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Reason of the error.
        reason: String,
    },
}

impl Store {
    /// Opens the store in a file, which is created if it does not exist. `build` identifies the
    /// program that runs: only runs of the same build are found.
    ///
    /// # Errors
    /// If the file is not a store, is damaged, is in use, or cannot be read or written.
    pub fn open(path: &Path, build: &str) -> Result<Self, StoreError> {
        if !path.exists() {
            create(path)?;
        }
        // A database is never this short, and the library would treat an empty file as a new one.
        if let Ok(length) = path.metadata().map(|meta| meta.len())
            && length < 512
        {
            return Err(StoreError::Foreign {
                path: path.to_owned(),
                reason: format!("it has {length} bytes"),
            });
        }
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES);
        // A damaged page is detected now, and not by a panic in the middle of the runs.
        builder.set_check_integrity_on_open(true);
        let database = builder.create(path).map_err(|error| opening(path, error))?;
        let store = Self {
            path: path.to_owned(),
            build: build.to_owned(),
            database,
        };
        store.check_format()?;
        Ok(store)
    }

    /// Initialises an empty database. Refuses a database of another program or version.
    fn check_format(&self) -> Result<(), StoreError> {
        let foreign = |reason: String| StoreError::Foreign {
            path: self.path.clone(),
            reason,
        };
        let write = self.database.begin_write();
        let write = write.map_err(|error| self.failed(error.into()))?;
        let names = write.list_tables().map_err(|e| self.failed(e.into()))?;
        let is_empty = names.count() == 0;
        {
            let mut meta = match write.open_table(META) {
                Ok(meta) => meta,
                Err(TableError::Storage(error)) => return Err(self.failed(error.into())),
                Err(other) => return Err(foreign(other.to_string())),
            };
            let format = meta.get("format").map_err(|e| self.failed(e.into()))?;
            let format = format.map(|format| format.value());
            match format {
                Some(FORMAT) => {}
                Some(other) => {
                    return Err(foreign(format!(
                        "it has the layout {other} of another version, this one uses {FORMAT}"
                    )));
                }
                None if is_empty => {
                    let put = meta.insert("format", FORMAT);
                    put.map_err(|error| self.failed(error.into()))?;
                }
                None => return Err(foreign("it is a database of another program".to_owned())),
            }
        }
        match write.open_table(RUNS) {
            Ok(_) => {}
            Err(TableError::Storage(error)) => return Err(self.failed(error.into())),
            Err(other) => return Err(foreign(other.to_string())),
        }
        write.commit().map_err(|error| self.failed(error.into()))
    }

    /// A run, if it is stored.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn get(&self, key: &RunKey) -> Result<Option<RunReport>, StoreError> {
        let read = || -> Result<Option<Vec<u8>>, redb::Error> {
            let table = self.database.begin_read()?.open_table(RUNS)?;
            let found = table.get((self.build.as_str(), key.text()))?;
            Ok(found.map(|bytes| bytes.value().to_vec()))
        };
        let Some(bytes) = read().map_err(|error| self.failed(error))? else {
            return Ok(None);
        };
        let report = serde_json::from_slice(&bytes);
        report.map(Some).map_err(|error| StoreError::Damaged {
            path: self.path.clone(),
            reason: format!("the run {} cannot be read: {error}", key.text()),
        })
    }

    /// Stores a finished run durably.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put(&self, key: &RunKey, report: &RunReport) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(report).expect("the schema has only string keys");
        let write = || -> Result<(), redb::Error> {
            let write = self.database.begin_write()?;
            write
                .open_table(RUNS)?
                .insert((self.build.as_str(), key.text()), bytes.as_slice())?;
            Ok(write.commit()?)
        };
        write().map_err(|error| self.failed(error))
    }

    /// Calls a function with the runs of all builds, in the order of builds and keys. A run of a
    /// build whose schema differs is left out.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn each(&self, with: &mut dyn FnMut(RunReport)) -> Result<(), StoreError> {
        let mut read = || -> Result<(), redb::Error> {
            let table = self.database.begin_read()?.open_table(RUNS)?;
            for entry in table.iter()? {
                let (_, bytes) = entry?;
                if let Ok(report) = serde_json::from_slice(bytes.value()) {
                    with(report);
                }
            }
            Ok(())
        };
        read().map_err(|error| self.failed(error))
    }

    fn failed(&self, error: redb::Error) -> StoreError {
        let path = self.path.clone();
        match error {
            redb::Error::Corrupted(reason) => StoreError::Damaged { path, reason },
            other => StoreError::Io {
                path,
                reason: other.to_string(),
            },
        }
    }
}

/// Creates an empty store under another name first, so that a file of this name is always a whole
/// database.
fn create(path: &Path) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::Io {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(io)?;
    let file = new_file(folder).map_err(io)?;
    let database = Database::create(file.path()).map_err(|error| opening(path, error))?;
    database.close().map_err(|error| opening(path, error))?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(io(error.error))
        }
        _ => Ok(()),
    }
}

/// A temporary file with the permissions of a newly created file.
fn new_file(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".runs");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

fn opening(path: &Path, error: DatabaseError) -> StoreError {
    let path = path.to_owned();
    match error {
        DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
            StoreError::InUse(path)
        }
        DatabaseError::Storage(StorageError::Io(error))
            if error.kind() == std::io::ErrorKind::InvalidData =>
        {
            StoreError::Foreign {
                path,
                reason: error.to_string(),
            }
        }
        DatabaseError::Storage(StorageError::Io(error)) => StoreError::Io {
            path,
            reason: error.to_string(),
        },
        DatabaseError::UpgradeRequired(format) => StoreError::Foreign {
            path,
            reason: format!("its file format {format} is of another version"),
        },
        other => StoreError::Damaged {
            path,
            reason: other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{META, Store, StoreError};
    use crate::spec::{Input, MachineVariant, RunKey, RunSpec};
    use redb::{Database, TableDefinition};
    use std::path::Path;
    use warploom_run::{Options, Session};
    use warploom_stats::result::RunReport;
    use warploom_workloads::Size;

    fn run() -> (RunKey, RunReport) {
        let input = Input::workload("vectoradd", Size::Test, 1).unwrap();
        let spec = RunSpec::new(&input, &MachineVariant::preset("a", "gtx480", &[]).unwrap());
        let gpu = warploom_config::GpuSpec::clone(&spec.machine.spec);
        let mut program = spec.input.program(&gpu).unwrap();
        let session = Session::new(gpu, Options::default());
        let go = &mut |_: &_| std::ops::ControlFlow::Continue(());
        (spec.key(), session.run(program.as_mut(), go).unwrap())
    }

    fn refused(path: &Path) -> StoreError {
        let Err(error) = Store::open(path, "b") else {
            panic!("{} was taken for a store", path.display());
        };
        error
    }

    #[test]
    fn a_run_comes_back_as_it_was_and_only_to_its_own_build() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.redb");
        let (key, report) = run();
        let store = Store::open(&path, "one").unwrap();
        assert_eq!(store.get(&key).unwrap(), None);
        store.put(&key, &report).unwrap();
        assert!(matches!(refused(&path), StoreError::InUse(_)));
        drop(store);
        let again = Store::open(&path, "one").unwrap();
        assert_eq!(again.get(&key).unwrap().as_ref(), Some(&report));
        drop(again);
        let mut all = Vec::new();
        let every = Store::open(&path, "two").unwrap();
        every.each(&mut |report| all.push(report)).unwrap();
        assert_eq!(all, [report]);
        drop(every);
        assert_eq!(Store::open(&path, "two").unwrap().get(&key).unwrap(), None);
    }

    #[test]
    fn what_is_no_store_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.redb");
        for contents in ["", "notes", &"somebody's file\n".repeat(1000)] {
            std::fs::write(&path, contents).unwrap();
            let error = refused(&path);
            assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
            assert!(error.to_string().contains("= help: choose another folder"));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), contents);
        }
        std::fs::remove_file(&path).unwrap();
        let other: TableDefinition<'_, &str, u64> = TableDefinition::new("other");
        let database = Database::create(&path).unwrap();
        let write = database.begin_write().unwrap();
        write.open_table(other).unwrap();
        write.commit().unwrap();
        drop(database);
        assert!(refused(&path).to_string().contains("of another program"));
    }

    #[test]
    fn a_store_of_another_layout_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.redb");
        drop(Store::open(&path, "b").unwrap());
        let database = Database::open(&path).unwrap();
        let write = database.begin_write().unwrap();
        write
            .open_table(META)
            .unwrap()
            .insert("format", 99)
            .unwrap();
        write.commit().unwrap();
        drop(database);
        assert!(
            refused(&path)
                .to_string()
                .contains("the layout 99 of another version")
        );
    }

    #[test]
    fn damage_is_found_and_never_believed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.redb");
        let (key, report) = run();
        let store = Store::open(&path, "b").unwrap();
        store.put(&key, &report).unwrap();
        drop(store);
        let whole = std::fs::read(&path).unwrap();
        let mut found = 0;
        for place in (0..whole.len()).step_by(whole.len() / 97) {
            let mut bytes = whole.clone();
            bytes[place..(place + 64).min(whole.len())].fill(0xa5);
            std::fs::write(&path, &bytes).unwrap();
            let outcome = Store::open(&path, "b").and_then(|store| store.get(&key));
            match outcome {
                // Damage where nothing is stored has no effect; a lost run is made again.
                Ok(run) => assert!(run.is_none_or(|run| run == report), "at {place}"),
                Err(error) => {
                    found += 1;
                    assert!(error.to_string().contains("= help:"), "{error}");
                }
            }
        }
        assert!(found > 0, "some page in use was hit");
    }
}
