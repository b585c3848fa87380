//! Experiments: reproduced figures and tables of the papers, comparisons, and the runs on which
//! they are based, each made once and stored.
//!
//! A figure is one file in `figures/` and one row of the table there. Most are a [`Grid`] of
//! workloads on several configurations, declared as data. Others are a function
//! that requests runs as results arrive. [`make`] makes figures with the runs that they request, on
//! all cores. A [`Store`] keeps finished runs, so that an interrupted experiment continues where it
//! was.
//!
//! Invariants: equal requests give equal bytes, for any number of threads and any interruptions.
//! The only file that is read or written here is the store's. Nothing prints, and no clock is read.

mod allocated;
mod bound;
mod claims;
mod compare;
mod costs;
mod data;
mod earlier;
mod energy;
mod figure;
mod figures;
mod grid;
mod printed;
mod runner;
mod runs;
mod samples;
mod spec;
mod store;
mod verdict;

pub use allocated::{Allocate, Subject};
pub use bound::{RunBound, bound};
pub use claims::{Claim, claim, claims, claims_on};
pub use compare::{
    Comparison, Programs, Vary, check_keys, measured_columns, sampled_columns, speedup,
};
pub use costs::{Cost, CostBasis, cost};
pub use earlier::{ChangedKey, changed_keys};
pub use energy::{ChooseEnergy, add_energy};
pub use figure::{Figure, Request, Scale, UnknownScale, page};
pub use figures::{
    FigureInfo, OracleRequest, UnknownFigure, all, by_name_only, every_mix, find, is_right, judge,
    oracle, studies,
};
pub use grid::{Config, Grid, IPC, Metric, Workload, geometric_mean, mean};
pub use runner::{Event, Failed, Results, Runner};
pub use runs::{FigureJob, FigureOutcome, MakeRuns, Runs, UsedRun, make, make_by};
pub use samples::{Measured, Samples, rank_correlation};
pub use spec::{Input, MachineVariant, Mix, RunKey, RunSpec, SEED};
pub use store::{Store, StoreError};
pub use verdict::{Judged, judge as judge_value};
