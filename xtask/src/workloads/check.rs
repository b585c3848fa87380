//! Checks all outputs, where tests would take too long.

use std::io::{self, Write};
use std::ops::ControlFlow;

use anyhow::{Context, Result, ensure};
use warploom_config::{Base, GpuSpec};
use warploom_run::{Options, Session};
use warploom_stats::result::Outcome;
use warploom_workloads::{Size, Target};

use super::variants::{Variant, variants};

/// Warp and block schedulers under which outputs must be the same.
const SCHEDULERS: [[&str; 2]; 6] = [
    ["lrr", "rr"],
    ["gto", "rr"],
    ["two-level", "rr"],
    ["gto", "bcs"],
    ["gto", "locality"],
    ["locality", "locality"],
];
/// Schedulers of runs without timing, in which they choose nothing.
const PLAIN: [&str; 2] = SCHEDULERS[1];
/// Seed of the workloads' inputs.
const SEED: u64 = 1;

/// Checks every variant, or those of the workloads in `only`.
pub fn run(only: &[String]) -> Result<()> {
    let mut failed = Vec::new();
    for Variant { name, .. } in variants().iter().filter(|variant| variant.is_in(only)) {
        for (what, verdict) in small(name)? {
            let verdict = verdict.with_context(|| name.clone())?;
            writeln!(io::stdout(), "{name}, {what}: {}", verdict.text)?;
            if !verdict.passed {
                failed.push(name.clone());
            }
        }
    }
    ensure!(failed.is_empty(), "wrong outputs: {}", failed.join(", "));
    Ok(())
}

type Verdicts = Vec<(String, Result<Verdict>)>;

fn small(name: &str) -> Result<Verdicts> {
    let verdict = one(name, plain()?, true);
    let mut verdicts = vec![("functional".to_owned(), verdict)];
    for schedulers in SCHEDULERS {
        let verdict = one(name, gpu(schedulers)?, false);
        verdicts.push((schedulers.join(", "), verdict));
    }
    Ok(verdicts)
}

/// Result of checking a run.
struct Verdict {
    passed: bool,
    text: String,
}

/// The machine for runs without timing.
pub fn plain() -> Result<GpuSpec> {
    gpu(PLAIN)
}

fn gpu([warps, blocks]: [&str; 2]) -> Result<GpuSpec> {
    let warps = format!("sm.warp_scheduler={warps}");
    machine(
        "gtx480",
        &[&warps, &format!("gpu.block_scheduler={blocks}")],
    )
}

/// A preset with further settings.
pub fn machine(preset: &str, settings: &[&str]) -> Result<GpuSpec> {
    let base = Base::Preset(preset.to_owned());
    let settings: Vec<_> = settings.iter().map(|set| (*set).to_owned()).collect();
    warploom_config::resolve(&base, &settings).map_err(|errors| anyhow::anyhow!("{errors}"))
}

fn one(name: &str, gpu: GpuSpec, functional: bool) -> Result<Verdict> {
    let options = Options {
        functional,
        ..Options::default()
    };
    let mut program = Target::resolve(name)?.program(Size::Small, SEED);
    let report =
        Session::new(gpu, options).run(program.as_mut(), &mut |_| ControlFlow::Continue(()))?;
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
