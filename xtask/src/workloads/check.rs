//! All outputs, where tests would take too long.

use std::io::{self, Write};
use std::ops::ControlFlow;

use anyhow::{Context, Result, ensure};
use warploom_config::{Base, GpuSpec};
use warploom_run::{Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target, all};

/// Warp and block schedulers under which outputs must be the same.
const SCHEDULERS: [[&str; 2]; 6] = [
    ["lrr", "rr"],
    ["gto", "rr"],
    ["two-level", "rr"],
    ["gto", "bcs"],
    ["gto", "locality"],
    ["locality", "locality"],
];
/// Those of runs without timing, where they choose nothing.
const PLAIN: [&str; 2] = SCHEDULERS[1];
/// Seed of the inputs.
const SEED: u64 = 1;

/// Checks every variant, or those of the workloads in `only`.
pub fn run(only: &[String], paper: bool) -> Result<()> {
    let mut failed = Vec::new();
    for workload in all() {
        if !only.is_empty() && !only.iter().any(|name| name == workload.name) {
            continue;
        }
        for variant in workload.variants {
            let name = format!("{}@{}", workload.name, variant.name);
            let verdicts = match paper {
                true => vec![("paper".to_owned(), one(&name, Size::Paper, PLAIN, true))],
                false => small(&name),
            };
            for (what, verdict) in verdicts {
                let verdict = verdict.with_context(|| name.clone())?;
                writeln!(io::stdout(), "{name}, {what}: {}", verdict.text)?;
                if !verdict.passed {
                    failed.push(name.clone());
                }
            }
        }
    }
    ensure!(failed.is_empty(), "wrong outputs: {}", failed.join(", "));
    Ok(())
}

fn small(name: &str) -> Vec<(String, Result<Verdict>)> {
    let functional = ("functional".to_owned(), one(name, Size::Small, PLAIN, true));
    let timed = SCHEDULERS.map(|schedulers| {
        let verdict = one(name, Size::Small, schedulers, false);
        (schedulers.join(", "), verdict)
    });
    [functional].into_iter().chain(timed).collect()
}

/// What came of a run.
struct Verdict {
    passed: bool,
    text: String,
}

fn gpu([warps, blocks]: [&str; 2]) -> Result<GpuSpec> {
    let base = Base::Preset("gtx480".to_owned());
    let settings = [
        format!("sm.warp_scheduler={warps}"),
        format!("gpu.block_scheduler={blocks}"),
    ];
    warploom_config::resolve(&base, &settings).map_err(|errors| anyhow::anyhow!("{errors}"))
}

fn one(name: &str, size: Size, schedulers: [&str; 2], functional: bool) -> Result<Verdict> {
    let options = Options {
        functional,
        memory_bytes: 16 << 30,
        ..Options::default()
    };
    let mut program = Target::resolve(name)?.program(size, SEED);
    let report = Session::new(gpu(schedulers)?, options)
        .run(program.as_mut(), &mut |_| ControlFlow::Continue(()))?;
    let wrong = report.checks.iter().find(|check| !check.passed);
    let text = match (&report.outcome, wrong) {
        (Outcome::Finished, None) => {
            let counted = report.totals.figures.warp_instructions;
            let details: Vec<_> = report
                .checks
                .iter()
                .map(|check| format!("{}: {}", check.name, check.detail))
                .collect();
            format!("{counted} warp instructions; {}", details.join("; "))
        }
        (Outcome::Finished, Some(check)) => format!("{}: {}", check.name, check.detail),
        (other, _) => format!("{other:?}"),
    };
    Ok(Verdict {
        passed: report.succeeded() && !report.checks.is_empty(),
        text,
    })
}
