//! All outputs, where tests would take too long.

use std::io::{self, Write};
use std::ops::ControlFlow;

use anyhow::{Context, Result, ensure};
use warploom_base::Rng;
use warploom_config::{Base, GpuSpec};
use warploom_lab::{Event, Results, RunSpec, Runner, every_mix, is_right};
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
/// Systems of context switching under which they must be, on one SM of Maxwell's.
const CONTEXTS: [&[&str]; 3] = [
    &["sm.context=duet", "duet.extra_blocks=30", "duet.l1d=always"],
    &[
        "sm.context=duet",
        "duet.warm_up_cycles=2000",
        "duet.window_cycles=1000",
    ],
    &["sm.context=virtual-thread"],
];
/// Those with a fixed number of extra blocks, of which every one is tried.
const FIXED_CONTEXTS: [&str; 2] = ["duet", "duet-tb"];
/// Seed of the inputs, and of the latencies that are drawn.
const SEED: u64 = 1;

/// Checks every variant, or those of the workloads in `only`.
pub fn run(only: &[String], what: Checked) -> Result<()> {
    let mut failed = Vec::new();
    for workload in all() {
        if !only.is_empty() && !only.iter().any(|name| name == workload.name) {
            continue;
        }
        for variant in workload.variants {
            let name = format!("{}@{}", workload.name, variant.name);
            let verdicts = match what {
                Checked::Schedulers => small(&name)?,
                Checked::Contexts => contexts(&name)?,
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

/// Checks the mixes of seed 003, two at a time.
pub fn mixes() -> Result<()> {
    let specs = every_mix(Size::Small);
    let runner = Runner {
        store: None,
        threads: 2,
        observer: &|event| {
            if let Event::Started { number, label } = event {
                // Who runs this reads along; a closed pipe is no reason to stop.
                let _ = writeln!(io::stdout(), "{}: {label}", number + 1);
            }
        },
    };
    let mut results = Results::default();
    runner.run(&specs, &mut results)?;
    let wrong = specs.iter().filter(|spec| {
        let report = results.get(&spec.key());
        !report.is_some_and(|report| is_right(report))
    });
    let wrong: Vec<String> = wrong.map(RunSpec::command).collect();
    ensure!(wrong.is_empty(), "wrong outputs: {}", wrong.join(", "));
    writeln!(io::stdout(), "outputs of {} mixes are right", specs.len())?;
    Ok(())
}

/// What is checked of each variant.
#[derive(Clone, Copy)]
pub enum Checked {
    /// Size small under several warp and block schedulers.
    Schedulers,
    /// Size small under several systems of context switching and latencies.
    Contexts,
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

fn contexts(name: &str) -> Result<Verdicts> {
    let mut rng = Rng::new(SEED);
    let mut verdicts = Vec::new();
    let mut check = |settings: &[&str]| -> Result<u32> {
        let latency = format!("partition.rop_cycles={}", 50 + rng.below(800));
        let settings = [&["gpu.sms=1", latency.as_str()], settings].concat();
        let verdict = one(name, machine("maxwell-duet", &settings)?, false);
        let bound = verdict.as_ref().map_or(0, |verdict| verdict.bound);
        verdicts.push((settings.join(" "), verdict));
        Ok(bound)
    };
    for settings in CONTEXTS {
        check(settings)?;
    }
    for system in FIXED_CONTEXTS {
        let context = format!("sm.context={system}");
        let mut blocks = 1;
        while blocks <= check(&[&context, &format!("{system}.extra_blocks={blocks}")])? {
            blocks += 1;
        }
    }
    Ok(verdicts)
}

/// What came of a run.
struct Verdict {
    passed: bool,
    text: String,
    /// Most extra blocks on an SM that any kernel had room for.
    bound: u32,
}

/// The machine of runs without timing.
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

fn machine(preset: &str, settings: &[&str]) -> Result<GpuSpec> {
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
    let contexts = report.kernels.iter().filter_map(|k| k.context.as_ref());
    Ok(Verdict {
        bound: contexts.map(|c| c.extra_blocks).max().unwrap_or(0),
        passed: report.succeeded() && !report.checks.is_empty(),
        text,
    })
}
