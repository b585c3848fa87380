//! Records of runs: those that are finished, and those without a result.
//!
//! The file of a finished run has two lines of JSON: a summary, which is all that a table needs,
//! and the whole result.

use crate::folder::{Folder, FolderError, remove, write_whole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use warploom_report::launch_share;
use warploom_stats::result::{Begun, ConfigValue, Reached, RunReport};
use warploom_stats::sampling::{Interval, SamplingReport};

/// Summary of a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Everything on which the run depends, from which its key is made.
    pub identity: String,
    /// Target, size and limits, by which runs of similar length are found.
    pub subject: String,
    /// Way in which the run ended: `finished`, `cycle-limit` where it was cut, or `launch-limit`.
    pub outcome: String,
    /// Digest of outputs, cycles and statistics.
    pub digest: String,
    /// Number of core cycles.
    pub cycles: u64,
    /// Number of warp instructions.
    pub warp_instructions: u64,
    /// Number of thread instructions.
    pub thread_instructions: u64,
    /// Thread instructions per core cycle.
    pub ipc: f64,
    /// Hits over accesses of the L1 data caches.
    pub l1d_hit_rate: Option<f64>,
    /// Hits over accesses of L2.
    pub l2_hit_rate: Option<f64>,
    /// Share of DRAM's cycles in which data moved.
    pub dram_utilisation: Option<f64>,
    /// Number of the first launch's blocks that fit an SM.
    pub blocks_per_sm: Option<u32>,
    /// Number of timed launches.
    pub launches: u64,
    /// Number of outputs that were compared; `None` in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<u64>,
    /// Facts that tables and notes state beside the figures; empty in records of earlier versions.
    #[serde(default)]
    pub facts: Facts,
    /// Time and place of the run.
    pub cost: Cost,
}

/// Bound and progress of a run, for tables and notes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Resource that limits the first launch's blocks on an SM.
    pub limit: Option<String>,
    /// Bound of the kernel that took the most cycles, as `run --explain` names it.
    pub bound: Option<String>,
    /// Bound if that is the scheduling policy, and holding warps back costs no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_without_policy: Option<String>,
    /// Number of blocks of the launch with the most.
    pub largest_grid: Option<u64>,
    /// Progress of the run before its first instruction.
    pub begun: Begun,
    /// Number of SMs of the machine.
    pub sms: u64,
    /// Core cycles from a launch to its first block.
    pub launch_cycles: u64,
    /// Share of the run's cycles that its launches take so; 0 where kernels ran at once.
    pub launch_share: f64,
    /// Blocks and waves that had ended when the run did.
    pub reached: Option<Reached>,
    /// Shares of the schedulers' cycles by cause.
    pub causes: BTreeMap<String, f64>,
    /// Estimates of a sampled run with their margins.
    pub sampled: Option<Sampled>,
}

/// Estimates of a run of which a part of the launches was timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampled {
    /// Requested bound of the relative error of the cycles.
    pub bound: f64,
    /// Number of launches of the program.
    pub launches: u64,
    /// Core cycles of all launches.
    pub cycles: Interval,
    /// Thread instructions per core cycle.
    pub ipc: Interval,
    /// Number of timed launches whose results were not those of their execution without timing.
    pub differing: u64,
}

impl Sampled {
    fn new(sampling: &SamplingReport) -> Self {
        Self {
            bound: sampling.bound,
            launches: sampling.launches,
            cycles: sampling.cycles(),
            ipc: estimate(sampling, "ipc").unwrap_or_default(),
            differing: sampling.differing,
        }
    }
}

fn estimate(sampling: &SamplingReport, name: &str) -> Option<Interval> {
    sampling.estimates.get(name).copied()
}

/// Bound of a run in a few words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunBound {
    /// Bound of the kernel that took the most cycles; `None` where nothing was timed.
    pub name: Option<String>,
    /// Bound if that is the scheduling policy, and holding warps back costs no time.
    pub without_policy: Option<String>,
}

impl Facts {
    fn new(report: &RunReport, bound: RunBound) -> Self {
        let key = |name: &str| match report.gpu.config.get(name) {
            Some(ConfigValue::Integer(value)) => u64::try_from(*value).unwrap_or(0),
            _ => 0,
        };
        let first = report.kernels.first();
        let grids = report.kernels.iter().map(|kernel| kernel.grid.count());
        Self {
            limit: first.map(|kernel| kernel.occupancy_limit.clone()),
            bound: bound.name,
            bound_without_policy: bound.without_policy,
            largest_grid: grids.max().filter(|_| report.processes.is_empty()),
            begun: report.begun(),
            sms: key("gpu.sms"),
            launch_cycles: key("gpu.kernel_launch_cycles"),
            launch_share: launch_share(report, key("gpu.kernel_launch_cycles")),
            reached: report.reached(),
            causes: report.totals.figures.stalls.clone(),
            sampled: report.sampling.as_ref().map(Sampled::new),
        }
    }
}

/// Time and place of a run, which differ between equal runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Real time in seconds, from its start to its stored result.
    pub seconds: f64,
    /// Largest resident memory in bytes of the process during the run; 0 if the system does not
    /// tell.
    pub memory_bytes: u64,
    /// Name of the computer.
    pub host: String,
}

/// A run without a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Description with place and remedy.
    pub reason: String,
    /// Time and place of the run.
    pub cost: Cost,
}

/// Kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The input was refused, the simulated program failed, or an output is wrong.
    Failed,
    /// The run exceeded the limit of time.
    Time,
    /// The run exceeded the limit of memory.
    Memory,
    /// The process that made the run ended before its time.
    Crashed,
}

impl FailureKind {
    /// Name of the kind, as it stands in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Time => "time",
            Self::Memory => "memory",
            Self::Crashed => "crashed",
        }
    }
}

impl Summary {
    /// Summary of a result, with what bound the run. Of a sampled run, cycles and rates are the
    /// estimates for all launches.
    pub fn new(
        identity: &str,
        subject: &str,
        report: &RunReport,
        bound: RunBound,
        cost: Cost,
    ) -> Self {
        let figures = &report.totals.figures;
        let timed = Self {
            identity: identity.to_owned(),
            subject: subject.to_owned(),
            outcome: report.outcome.kind().to_owned(),
            digest: report.digest.clone(),
            cycles: figures.cycles,
            warp_instructions: figures.warp_instructions,
            thread_instructions: figures.thread_instructions,
            ipc: figures.ipc,
            l1d_hit_rate: figures.l1d.hit_rate,
            l2_hit_rate: figures.l2.hit_rate,
            dram_utilisation: figures.dram.utilisation,
            blocks_per_sm: report.kernels.first().map(|kernel| kernel.blocks_per_sm),
            launches: report.kernels.len() as u64,
            checks: Some(report.checks.len() as u64),
            facts: Facts::new(report, bound),
            cost,
        };
        match &report.sampling {
            Some(sampling) => timed.estimated(sampling),
            None => timed,
        }
    }

    /// The summary with the estimates for all launches.
    fn estimated(self, sampling: &SamplingReport) -> Self {
        let of = |name: &str| estimate(sampling, name).map(|rate| rate.value);
        Self {
            cycles: sampling.cycles().value.round() as u64,
            warp_instructions: sampling.warp_instructions,
            thread_instructions: sampling.thread_instructions,
            ipc: of("ipc").unwrap_or(0.0),
            l1d_hit_rate: of("l1d.hit_rate"),
            l2_hit_rate: of("l2.hit_rate"),
            dram_utilisation: of("dram.utilisation"),
            ..self
        }
    }
}

/// Stores a finished run.
///
/// # Errors
/// If the file cannot be written.
pub fn store(
    folder: &Folder,
    temporary: &Path,
    key: &str,
    summary: &Summary,
    report: &RunReport,
) -> Result<(), FolderError> {
    write_whole(temporary, &folder.run(key), |out| {
        serde_json::to_writer(&mut *out, summary)?;
        out.write_all(b"\n")?;
        serde_json::to_writer(&mut *out, report)?;
        out.write_all(b"\n")
    })
}

/// Stores a run without a result.
///
/// # Errors
/// If the file cannot be written.
pub fn store_failure(
    folder: &Folder,
    temporary: &Path,
    key: &str,
    failure: &Failure,
) -> Result<(), FolderError> {
    write_whole(temporary, &folder.failed(key), |out| {
        Ok(serde_json::to_writer(out, failure)?)
    })
}

/// A finished run that was opened.
pub struct Record {
    /// Summary of the run.
    pub summary: Summary,
    rest: BufReader<File>,
}

impl Record {
    /// Opens a finished run. `None` if it is not stored, or if the file is damaged, so that the run
    /// is made again.
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn open(folder: &Folder, key: &str) -> Result<Option<Self>, FolderError> {
        Self::read(&folder.run(key))
    }

    /// Opens the finished run in a file, as [`Record::open`].
    ///
    /// # Errors
    /// If the file exists and cannot be read.
    pub fn read(path: &Path) -> Result<Option<Self>, FolderError> {
        let file = match File::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(FolderError::at(path))?,
        };
        let mut rest = BufReader::with_capacity(1 << 11, file);
        let mut line = String::new();
        match rest.read_line(&mut line) {
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => return Ok(None),
            read => read.map_err(FolderError::at(path))?,
        };
        let summary = serde_json::from_str(&line).ok();
        Ok(summary.map(|summary| Self { summary, rest }))
    }

    /// The whole result, or `None` if the file is damaged.
    pub fn report(self) -> Option<RunReport> {
        serde_json::from_reader(self.rest).ok()
    }
}

/// A run without a result, if there is one of this key.
///
/// # Errors
/// If the file exists and cannot be read.
pub fn failure(folder: &Folder, key: &str) -> Result<Option<Failure>, FolderError> {
    let path = folder.failed(key);
    match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => {
            let bytes = read.map_err(FolderError::at(&path))?;
            Ok(serde_json::from_slice(&bytes).ok())
        }
    }
}

/// Removes a run without a result, so that it can be made again; it is no error if there is none.
///
/// # Errors
/// If the file cannot be removed.
pub fn forget_failure(folder: &Folder, key: &str) -> Result<(), FolderError> {
    remove(&folder.failed(key))
}
