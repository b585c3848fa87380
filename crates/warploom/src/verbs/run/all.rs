//! `warploom run all`: runs every workload, functionally and timed, and checks its outputs.

use super::Args;
use crate::failure::Failure;
use crate::interrupt::{INTERRUPTED, Interrupt, is_interrupted};
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

impl Ran {
    const fn is_interrupted(&self) -> bool {
        is_interrupted(&self.outcome)
    }
}

impl Row {
    fn is_interrupted(&self) -> bool {
        self.functional.is_interrupted() || self.timed.as_ref().is_some_and(Ran::is_interrupted)
    }
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
    let mut rows: Vec<Row> = Vec::new();
    let interrupt = Interrupt::new();
    let variants = all().iter().flat_map(|workload| {
        workload
            .variants
            .iter()
            .map(move |of| (workload.name, of.name))
    });
    for (workload, variant) in variants {
        let name = format!("{workload}@{variant}");
        let target = Target::resolve(&name).expect("a name of the table");
        let run = |functional| run_one(args, gpu, &target, functional, &interrupt);
        let functional = run(true)?;
        let is_last = args.functional || functional.is_interrupted();
        let timed = (!is_last).then(|| run(false)).transpose()?;
        let passed = functional.passed && timed.as_ref().is_none_or(|timed| timed.passed);
        rows.push(Row {
            workload,
            variant,
            passed,
            functional,
            timed,
        });
        if rows.last().is_some_and(Row::is_interrupted) {
            break;
        }
    }
    if args.json {
        print_json(&rows)?
    } else {
        print(&table(&rows))?
    }
    Ok(ExitCode::from(match rows.last() {
        Some(row) if row.is_interrupted() => INTERRUPTED,
        _ => u8::from(!rows.iter().all(|row| row.passed)),
    }))
}

fn run_one(
    args: &Args,
    gpu: &GpuSpec,
    target: &Target,
    functional: bool,
    interrupt: &Interrupt,
) -> Result<Ran, Failure> {
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
        interrupt,
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
        Outcome::Interrupted { .. } => "interrupted".to_owned(),
        other => format!("{other:?}"),
    }
}
