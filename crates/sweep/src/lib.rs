//! Sweeps: many runs, described by one file and made by any number of workers on any number of
//! machines that share a folder. There is no server.
//!
//! A file names axes and their values ([`read()`]); [`expand()`] gives the runs. Their plan lies in
//! a [`Folder`], where workers claim runs ([`work`]), have them made by processes ([`serve`]) and
//! store each result under its content. Tables are collected at any time.
//!
//! Invariants: a result is in the folder whole or not at all. A process may end at any moment, and
//! no finished run is lost. The table of results depends neither on the order of the runs, nor on
//! the number of workers, nor on interruptions. Nothing prints.

mod begin;
mod child;
mod claims;
mod collect;
mod condition;
mod expand;
mod folder;
mod host;
mod labels;
mod page;
mod pattern;
mod plan;
mod read;
mod record;
pub mod slurm;
mod spec;
mod status;
mod worker;

pub use begin::{Begun, begin, go_on, retry};
pub use child::{Reply, Simulator, serve};
pub use claims::{
    Job, Worker, WorkerIdentity, WorkerState, cancel, known, request, waiting, workers,
};
pub use collect::{Collector, Row, Times, setting};
pub use condition::{Compare, Condition, Test};
pub use expand::{ExpandError, Expanded, Point, Settings, expand};
pub use folder::{Folder, FolderError, NewFile, write_whole};
pub use host::{ProcessIdentity, host, peak_bytes_of};
pub use page::{AxisValues, PageBuilder, typed};
pub use pattern::Pattern;
pub use plan::{Plan, PlanError, PlanIndex, PlannedRun, Resolved, Sweep};
pub use read::{Known, Refused, read, read_cluster};
pub use record::{
    Cost, Facts, Failure, FailureKind, Record, RunBound, Summary, failure, forget_failure, store,
    store_failure,
};
pub use spec::{
    Axis, AxisValue, ChartKind, Cluster, Limits, NAMED_AXES, Product, ReportSpec, SlurmSpec, Spec,
    SpecErrors,
};
pub use status::{Status, StatusReader};
pub use worker::{Start, Stopped, WorkError, WorkOptions, WorkProgress, work};
