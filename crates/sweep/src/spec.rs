//! Specification of a sweep: axes and their values, filters, limits, and settings of the report and
//! of Slurm.

use crate::condition::Condition;
use crate::pattern::Pattern;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use warploom_diag::{Diagnostics, Source, Span, Style};

/// Names of axes that are not keys of a machine, each with what its values are.
pub const NAMED_AXES: [(&str, &str); 22] = [
    (
        "target",
        "workload, launch file, PTX or CUDA file, or several workloads joined by ` + `",
    ),
    ("size", "test, small or paper"),
    ("seed", "seed of a workload's inputs"),
    ("gpu", "preset or file of a machine"),
    ("max_cycles", "core cycle at which a run is cut"),
    ("max_launches", "launches after which a run stops"),
    (
        "instructions",
        "thread instructions at which each of several programs is halted, separated by spaces",
    ),
    (
        "again",
        "true if programs that end restart, until `max_cycles`",
    ),
    (
        "allocate",
        "registers per thread that are allocated before the run",
    ),
    (
        "spill_shared",
        "bytes of shared memory of a block for values that `allocate` spills",
    ),
    (
        "in_shared",
        "register that `allocate` keeps in shared memory",
    ),
    ("allocator", "how `allocate` spills: full or chaitin-briggs"),
    (
        "kernel",
        "kernel of a PTX file, or the kernels of a program that are timed",
    ),
    ("grid", "blocks of a PTX file's launch, such as `8,8`"),
    ("block", "threads of a block of a PTX file's launch"),
    (
        "args",
        "arguments of a PTX file's launch, separated by spaces",
    ),
    (
        "shared",
        "dynamic shared memory in bytes of a PTX file's launch",
    ),
    (
        "time_kernel",
        "parts of the names of the kernels that are timed, separated by spaces",
    ),
    (
        "sample_error",
        "bound of the error of the cycles, such as `2%`: a part of the launches is timed, and values \
         are estimates",
    ),
    ("app", "CUDA program with its arguments"),
    ("folder", "folder in which the program runs"),
    (
        "launches",
        "launches of the program that are timed, such as `3..7`",
    ),
];

/// A sweep as its file describes it.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Pattern of the runs' names, if the file has one.
    pub pattern: Option<Pattern>,
    /// Products of axes, whose runs are united.
    pub products: Vec<Product>,
    /// Limits of runs and settings of the engine.
    pub cluster: Cluster,
    /// Names of further statistics in the table.
    pub statistics: Vec<String>,
    /// Choice of the report's map and baseline.
    pub report: ReportSpec,
}

/// How and within which limits runs are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Limits of each run.
    pub limits: Limits,
    /// Settings of the engine `slurm`.
    pub slurm: SlurmSpec,
}

/// All combinations of the values of some axes, without those that the filters exclude.
#[derive(Clone, Debug, Default)]
pub struct Product {
    /// Axes in the order of the file; the first varies slowest.
    pub axes: Vec<Axis>,
    /// A run is left out if one of these conditions holds.
    pub skip: Vec<Condition>,
    /// If there are any, a run is kept only if one of these conditions holds.
    pub keep: Vec<Condition>,
}

/// An axis with its values.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Name of the axis.
    pub name: String,
    /// Values in the order of the file.
    pub values: Vec<AxisValue>,
    /// Place of the axis in the file.
    pub place: Span,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisValue {
    /// Text of the value in names and tables.
    pub text: String,
    /// Settings that the value stands for: of the axis itself, or those of a named alternative.
    pub settings: Vec<(String, String)>,
}

/// Limits of each run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Longest time in seconds.
    pub seconds: Option<u64>,
    /// Largest resident memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Number of times that a run's process may be killed from outside before the run counts as
    /// failed.
    pub kills: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            seconds: None,
            memory_bytes: None,
            kills: 5,
        }
    }
}

/// Form of a sweep's picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChartKind {
    /// A map of the rows and columns.
    Map,
    /// A group of bars for each row, with a bar for each column.
    Bars,
}

/// Choice of what the report shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportSpec {
    /// Axis of the map's rows.
    pub rows: Option<String>,
    /// Axis of the map's columns.
    pub columns: Option<String>,
    /// Axes with a picture of their own for each of their values, if the file names them.
    #[serde(default)]
    pub panels: Option<Vec<String>>,
    /// Column of the table that the map shows.
    pub metric: Option<String>,
    /// Title of the picture and of the page, if the file gives one.
    #[serde(default)]
    pub title: Option<String>,
    /// Form of the picture, if the file chooses one.
    #[serde(default)]
    pub chart: Option<ChartKind>,
    /// True if all maps of the sweep have the same colour for the same value, and all bars the same
    /// axis, if the file chooses. Otherwise those of speedups have.
    #[serde(default)]
    pub shared_colours: Option<bool>,
    /// Values of axes that identify the baseline of speedups.
    pub baseline: BTreeMap<String, String>,
}

/// Settings of the engine `slurm`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlurmSpec {
    /// Number of array elements, each of which is a worker.
    pub workers: Option<u32>,
    /// Number of simultaneous runs of a worker, and of its cores.
    pub cores: Option<u32>,
    /// Options of `sbatch`, one each.
    pub options: Vec<String>,
    /// Lines of the shell before the worker starts.
    pub before: Vec<String>,
    /// Words before the worker's command, such as the start of a container.
    pub wrap: String,
}

/// Problems in the file of a sweep, with their places and remedies.
#[derive(Clone, Debug)]
pub struct SpecErrors {
    source: Box<Source>,
    diagnostics: Diagnostics,
}

impl SpecErrors {
    pub(crate) fn check(source: &Source, diagnostics: Diagnostics) -> Result<(), Self> {
        match diagnostics.has_errors() {
            false => Ok(()),
            true => Err(Self {
                source: Box::new(source.clone()),
                diagnostics,
            }),
        }
    }

    /// Text of all problems, one after the other.
    pub fn render(&self, style: Style) -> String {
        self.diagnostics.render(&self.source, style)
    }
}

impl Product {
    /// Number of combinations before the filters.
    pub(crate) fn number(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }
}
