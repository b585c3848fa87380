//! Experiments: figures and tables of the papers made again, comparisons, and the runs that they
//! rest on, each made once and kept.
//!
//! A figure is one file in `figures/` and one row of the table there: most are a [`Grid`] of
//! workloads across configurations with its claims, declared as data; others are a function that
//! asks for runs as results come in. [`make`] makes figures with the runs that they ask for, on all
//! cores; a [`Store`] keeps finished runs, so that an experiment that was interrupted goes on where
//! it was.
//!
//! Invariants: equal requests give equal bytes, on any number of threads and however often they
//! were interrupted. The store's file is all that is read or written here; nothing prints, and no
//! clock is read.

mod allocated;
mod claims;
mod compare;
mod figure;
mod figures;
mod grid;
mod runner;
mod runs;
mod spec;
mod store;
mod verdict;

pub use allocated::{Allocate, Subject};
pub use claims::{Claim, claim, claims};
pub use compare::{Comparison, Vary, speedup};
pub use figure::{Figure, Request, Scale, UnknownScale, page};
pub use figures::{
    FigureInfo, OracleRequest, UnknownFigure, all, by_name_only, every_mix, find, is_right, oracle,
};
pub use grid::{Config, Expectation, Grid, IPC, Metric, Statement, Workload, geometric_mean, mean};
pub use runner::{Event, Failed, Results, Runner};
pub use runs::{Made, Runs, UsedRun, Wanted, make};
pub use spec::{Input, Machine, Mix, RunKey, RunSpec, SEED};
pub use store::{Store, StoreError};
pub use verdict::{Judged, POINTS, compare};
