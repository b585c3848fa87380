//! `warploom run all`: runs every workload, functionally and timed, and checks its outputs.

use super::Args;
use crate::failure::Failure;
use crate::output::{command_line, print, print_json, width};
use crate::simulate::simulate;
use serde::Serialize;
use std::process::ExitCode;
use warploom_config::GpuSpec;
use warploom_report::{grouped, listing};
use warploom_run::Options;
use warploom_stats::result::{CheckReport, Outcome, RunReport};
use warploom_workloads::{Target, all, architecture};

/// Results of one workload.
#[derive(Serialize)]
struct Row {
    workload: &'static str,
    variant: &'static str,
    passed: bool,
    functional: Ran,
    #[serde(skip_serializing_if = "Option::is_none")]
    timed: Option<Ran>,
}

/// Result of one run.
#[derive(Serialize)]
struct Ran {
    outcome: Outcome,
    launches: u64,
    warp_instructions: u64,
    cycles: u64,
    ipc: f64,
    digest: String,
    checks: Vec<CheckReport>,
    #[serde(skip)]
    passed: bool,
}

impl From<RunReport> for Ran {
    fn from(report: RunReport) -> Self {
        let figures = &report.totals.figures;
        Self {
            launches: report.kernels.len() as u64,
            warp_instructions: figures.warp_instructions,
            cycles: figures.cycles,
            ipc: figures.ipc,
            // A run that was cut has no outputs to compare.
            passed: report.succeeded()
                && (report.outcome != Outcome::Finished || !report.checks.is_empty()),
            outcome: report.outcome,
            digest: report.digest,
            checks: report.checks,
        }
    }
}

/// Runs every variant of every workload. Fails if any run failed.
pub(super) fn run(args: &Args, gpu: &GpuSpec) -> Result<ExitCode, Failure> {
    let mut rows = Vec::new();
    for workload in all() {
        for variant in workload.variants {
            let name = format!("{}@{}", workload.name, variant.name);
            let target = Target::resolve(&name).expect("a name of the table");
            let run = |functional| run_one(args, gpu, &target, functional);
            let functional = run(true)?;
            let timed = if args.functional {
                None
            } else {
                Some(run(false)?)
            };
            let passed = functional.passed && timed.as_ref().is_none_or(|timed| timed.passed);
            rows.push(Row {
                workload: workload.name,
                variant: variant.name,
                passed,
                functional,
                timed,
            });
        }
    }
    if args.json {
        print_json(&rows)?
    } else {
        print(&table(&rows))?
    }
    Ok(ExitCode::from(u8::from(!rows.iter().all(|row| row.passed))))
}

fn run_one(args: &Args, gpu: &GpuSpec, target: &Target, functional: bool) -> Result<Ran, Failure> {
    let options = Options {
        threads: args.threads,
        max_cycles: args.max_cycles.filter(|_| !functional),
        functional,
        checks: super::checks(&args.check),
        command: command_line(),
        ..Options::default()
    };
    let mut program = target.program_on(
        args.workload.size,
        args.workload.seed,
        architecture(&gpu.name),
    );
    Ok(simulate(
        gpu.clone(),
        options,
        program.as_mut(),
        args.watch.interval(),
    )?
    .into())
}

fn table(rows: &[Row]) -> String {
    let cells = |row: &Row| {
        let timed = |cell: fn(&Ran) -> String| row.timed.as_ref().map_or("-".to_owned(), cell);
        vec![
            format!("{}@{}", row.workload, row.variant),
            row.functional.launches.to_string(),
            grouped(row.functional.warp_instructions),
            timed(|ran| grouped(ran.cycles)),
            timed(|ran| format!("{:.1}", ran.ipc)),
            verdict(&row.functional),
            row.timed.as_ref().map_or("-".to_owned(), verdict),
        ]
    };
    let header = [
        "workload",
        "launches",
        "warp instructions",
        "cycles",
        "IPC",
        "functional",
        "timed",
    ];
    let cells: Vec<_> = rows.iter().map(cells).collect();
    let table = listing(&header, &cells, width());
    let failed = rows.iter().filter(|row| !row.passed).count();
    format!("{table}\n{} ran, {failed} failed.\n", rows.len())
}

fn verdict(ran: &Ran) -> String {
    if let Some(check) = ran.checks.iter().find(|check| !check.passed) {
        return format!("{}: {}", check.name, check.detail);
    }
    match &ran.outcome {
        Outcome::Finished => format!("{} checks passed", ran.checks.len()),
        other => format!("{other:?}"),
    }
}
