//! Workloads of the papers.

use crate::errors::input_error;
use crate::machine::Machine;
use crate::report::Report;
use crate::run::{RunOptions, run_program};
use pyo3::prelude::*;
use warploom_workloads::{Size, Target, WorkloadInfo, all, architecture};

/// Names, suites and descriptions of all workloads.
#[pyfunction]
pub fn workloads() -> Vec<(&'static str, String, &'static str)> {
    let row =
        |workload: &WorkloadInfo| (workload.name, workload.suite.to_string(), workload.sentence);
    all().iter().map(row).collect()
}

/// Runs a workload and checks its outputs.
#[pyfunction]
pub fn run_workload(
    py: Python<'_>,
    machine: &Machine,
    options: RunOptions,
    target: &str,
    size: &str,
    seed: u64,
) -> PyResult<Report> {
    let target = Target::resolve(target).map_err(|error| input_error(py, &error.to_string()))?;
    let size: Size = size
        .parse()
        .map_err(|error| input_error(py, &format!("{error}")))?;
    let program = target.program_on(size, seed, architecture(&machine.spec.name));
    run_program(py, machine, &options, program)
}
