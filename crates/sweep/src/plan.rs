//! The plan of a sweep: its settings, and its runs with their keys, as files that workers read.

use crate::expand::{Expanded, Point, Settings};
use crate::folder::{Folder, FolderError, write_whole};
use crate::spec::{Cluster, Limits, ReportSpec, SlurmSpec, Spec};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use warploom_base::Digest;
use warploom_stats::result::Launches;

/// Version of the layout of a sweep's folder.
const FORMAT: u32 = 1;

/// Settings of a sweep that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// Version of the layout.
    pub format: u32,
    /// Digest of the program that makes the runs.
    pub build: String,
    /// Version of the program.
    pub version: String,
    /// Command that began the sweep.
    pub command: String,
    /// Names of the axes, in the order of the table's columns.
    pub axes: Vec<String>,
    /// Number of runs in the plan.
    pub runs: usize,
    /// Limits of each run.
    pub limits: Limits,
    /// Names of further statistics in the table.
    pub statistics: Vec<String>,
    /// Choice of what the report shows.
    pub report: ReportSpec,
    /// Settings of the engine `slurm`.
    pub slurm: SlurmSpec,
}

/// A run of a sweep that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Key of the run, sixteen hexadecimal digits.
    pub key: String,
    /// Name of the run.
    pub name: String,
    /// Values of the axes.
    pub values: Vec<String>,
    /// Settings of the run.
    pub settings: Settings,
    /// Everything on which the run depends, from which the key is made.
    pub identity: String,
    /// Target, size and limits, by which runs of similar length are found.
    pub subject: String,
    /// Command that makes the run alone.
    pub command: String,
    /// Amount of work relative to other runs; long runs start first.
    pub weight: u64,
    /// Name of the machine for titles; empty in plans of earlier versions.
    #[serde(default)]
    pub machine: String,
    /// Launches that the program makes, as far as that is known.
    #[serde(default)]
    pub launches: Launches,
}

/// Facts about a run that its settings determine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// Everything on which the run depends, except for the program.
    pub identity: String,
    /// Target, size and limits, by which runs of similar length are found.
    pub subject: String,
    /// Command that makes the run alone.
    pub command: String,
    /// Amount of work relative to other runs.
    pub weight: u64,
    /// Name of the machine for titles.
    pub machine: String,
    /// Launches that the program makes, as far as that is known.
    pub launches: Launches,
}

/// A sweep whose plan cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The folder does not contain a sweep.
    #[error(
        "{0} is not the folder of a sweep\n  = help: begin the sweep with `warploom sweep SPEC.toml`; \
         its folder is then results/sweep/NAME"
    )]
    None(String),
    /// Another version of the program has written the sweep.
    #[error(
        "{0} was written by another version of Warploom\n  = help: begin the sweep again with \
         `warploom sweep SPEC.toml`; finished runs of the same program are used again"
    )]
    Foreign(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl Sweep {
    /// Settings of a sweep that begins.
    pub fn new(
        spec: &Spec,
        expanded: &Expanded,
        build: &str,
        version: &str,
        command: &str,
    ) -> Self {
        let axes = expanded.axes.clone();
        Self {
            runs: expanded.points.len(),
            statistics: spec.statistics.clone(),
            report: spec.report.clone(),
            ..Self::of_runs(axes, spec.cluster.clone(), build, version, command)
        }
    }

    /// Settings of a sweep whose runs are planned one by one.
    pub fn of_runs(
        axes: Vec<String>,
        cluster: Cluster,
        build: &str,
        version: &str,
        command: &str,
    ) -> Self {
        Self {
            format: FORMAT,
            build: build.to_owned(),
            version: version.to_owned(),
            command: command.to_owned(),
            axes,
            runs: 0,
            limits: cluster.limits,
            statistics: Vec::new(),
            report: ReportSpec::default(),
            slurm: cluster.slurm,
        }
    }

    /// Reads the settings of a sweep.
    ///
    /// # Errors
    /// If there is none, or another version has written it.
    pub fn read(folder: &Folder) -> Result<Self, PlanError> {
        let path = folder.inside("sweep.json");
        let shown = || folder.state().display().to_string();
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(PlanError::None(shown()));
            }
            bytes => bytes.map_err(FolderError::at(&path))?,
        };
        let sweep: Option<Self> = serde_json::from_slice(&bytes).ok();
        let known = sweep.filter(|sweep| sweep.format == FORMAT);
        known.ok_or_else(|| PlanError::Foreign(shown()))
    }

    /// Key of a run of this sweep's program with this identity.
    pub fn key(&self, identity: &str) -> String {
        Digest::new().str(&self.build).str(identity).hex()
    }

    /// The run of a point.
    pub fn plan(&self, point: Point, resolved: Resolved) -> PlannedRun {
        PlannedRun {
            key: self.key(&resolved.identity),
            name: point.name,
            values: point.values,
            settings: point.settings,
            identity: resolved.identity,
            subject: resolved.subject,
            command: resolved.command,
            weight: resolved.weight,
            machine: resolved.machine,
            launches: resolved.launches,
        }
    }

    /// Writes the settings and the runs.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(
        &self,
        folder: &Folder,
        temporary: &Path,
        runs: &[PlannedRun],
    ) -> Result<(), FolderError> {
        write_whole(temporary, &plan_path(folder), |out| {
            for run in runs {
                serde_json::to_writer(&mut *out, run)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        })?;
        write_whole(temporary, &folder.inside("sweep.json"), |out| {
            Ok(serde_json::to_writer_pretty(out, self)?)
        })
    }
}

fn plan_path(folder: &Folder) -> std::path::PathBuf {
    folder.inside("plan.jsonl")
}

/// Runs of a sweep in the order of its table, read one after the other.
pub struct Plan {
    lines: BufReader<File>,
    path: std::path::PathBuf,
}

impl Plan {
    /// Opens the plan of a sweep.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn open(folder: &Folder) -> Result<Self, FolderError> {
        let path = plan_path(folder);
        let file = File::open(&path).map_err(FolderError::at(&path))?;
        Ok(Self {
            lines: BufReader::new(file),
            path,
        })
    }
}

impl Iterator for Plan {
    type Item = Result<PlannedRun, FolderError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line);
        let read = read.and_then(|length| match length {
            0 => Ok(None),
            _ => Ok(Some(serde_json::from_str(&line)?)),
        });
        read.map_err(FolderError::at(&self.path)).transpose()
    }
}

/// Places of the runs in a plan, by key, so that few of them are in memory.
pub struct PlanIndex {
    lines: BufReader<File>,
    path: std::path::PathBuf,
    places: HashMap<String, Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    weight: u64,
}

impl PlanIndex {
    /// Reads the plan of a sweep once.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(folder: &Folder) -> Result<Self, FolderError> {
        let Plan { mut lines, path } = Plan::open(folder)?;
        let mut places = HashMap::new();
        let (mut offset, mut line) = (0, String::new());
        loop {
            line.clear();
            let length = lines.read_line(&mut line).map_err(FolderError::at(&path))?;
            if length == 0 {
                break;
            }
            let run: PlannedRun = serde_json::from_str(&line)
                .map_err(|error| FolderError::at(&path)(error.into()))?;
            let weight = run.weight;
            places.insert(run.key, Place { offset, weight });
            offset += length as u64;
        }
        Ok(Self {
            lines,
            path,
            places,
        })
    }

    /// Orders keys by decreasing work, then by their place in the table. Unknown keys come last.
    pub fn sort(&self, keys: &mut [String]) {
        keys.sort_by_cached_key(|key| {
            let place = self.places.get(key);
            place.map_or((std::cmp::Reverse(0), u64::MAX), |place| {
                (std::cmp::Reverse(place.weight), place.offset)
            })
        });
    }

    /// The run with this key, if the plan has it.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn get(&mut self, key: &str) -> Result<Option<PlannedRun>, FolderError> {
        let Some(place) = self.places.get(key) else {
            return Ok(None);
        };
        let mut line = String::new();
        let found = self.lines.seek(SeekFrom::Start(place.offset));
        let read = found.and_then(|_| self.lines.read_line(&mut line));
        let run = read.and_then(|_| Ok(serde_json::from_str(&line)?));
        run.map(Some).map_err(FolderError::at(&self.path))
    }
}
