//! Blocks within a launch: estimates of `--sample` and `--until-stable` beside full runs, for drawn
//! kernels and for workloads, on machines drawn at random.
//!
//! Machines are small, so that grids are many times as large as what they hold.

#[path = "../../../crates/gpu/tests/support/drawn_kernels.rs"]
mod drawn_kernels;
mod program;

use super::{Args, Errors};
use anyhow::{Result, anyhow, ensure};
use program::Drawn;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use warploom_base::Rng;
use warploom_config::{Base, GpuSpec, resolve};
use warploom_run::{HostProgram, Options, Session, Timed, TimedBlocks};
use warploom_stats::result::{KernelReport, Outcome, RunReport};
use warploom_workloads::{Size, Target, all};

const GPUS: [&str; 6] = [
    "gtx480",
    "gtx480-gpgpusim4",
    "titanx-pascal",
    "qv100-volta",
    "rtx2060-turing",
    "maxwell-duet",
];
/// Cycles after which a run is given up, so that none takes long.
const MOST_CYCLES: u64 = 700_000;
/// Launches of one kernel in a run that count. Further ones are like these.
const LAUNCHES: usize = 2;

const HEADER: &str = "\
| kernels | option | launches | cycles timed | mean error | worst | mean margin | true value in \
the interval |
|---|---|--:|--:|--:|--:|--:|--:|
";

/// Errors of the estimates with one option, and the share of cycles that was timed.
#[derive(Default)]
struct Measured {
    errors: Errors,
    timed: f64,
}

impl Measured {
    /// Compares launches with those of a full run.
    fn compare(&mut self, full: &RunReport, sampled: &RunReport) {
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (whole, part) in full.kernels.iter().zip(&sampled.kernels) {
            let Some(estimate) = part.sample.and_then(|sample| sample.estimate) else {
                continue;
            };
            let seen = seen.entry(&part.name).or_default();
            *seen += 1;
            if *seen <= LAUNCHES {
                let truth = whole.figures.cycles as f64;
                self.errors.add(estimate.cycles, estimate.margin, truth);
                self.timed += part.figures.cycles as f64 / truth;
            }
        }
    }

    fn row(&self, kernels: &str, option: &str) -> String {
        let count = self.errors.count;
        let share = 100.0 * self.timed / count.max(1) as f64;
        let cells = self.errors.cells();
        format!("| {kernels} | {option} | {count} | {share:.0} % | {cells} |\n")
    }

    fn join(&mut self, other: &Self) {
        self.errors.join(&other.errors);
        self.timed += other.timed;
    }
}

/// Measures drawn kernels, and each workload on one machine.
pub(super) fn table(args: &Args) -> Result<String> {
    let names = [
        "`--sample`, 2 to 4".to_owned(),
        format!("`--until-stable {}%`", args.stable),
    ];
    let mut text = HEADER.to_owned();
    let mut sums = [Measured::default(), Measured::default()];
    for (kernels, is_drawn) in [("drawn", true), ("workloads", false)] {
        let mut measured = [Measured::default(), Measured::default()];
        let cases = match is_drawn {
            true => args.cases,
            false => all().len() as u64,
        };
        for seed in args.first..args.first + cases {
            case(args, seed, is_drawn, &mut measured)?;
        }
        for ((own, sum), name) in measured.iter().zip(&mut sums).zip(&names) {
            text += &own.row(kernels, name);
            sum.join(own);
        }
    }
    for (sum, name) in sums.iter().zip(&names) {
        text += &sum.row("all", name);
    }
    Ok(text)
}

/// Runs one program in full and with each option.
fn case(args: &Args, seed: u64, is_drawn: bool, measured: &mut [Measured; 2]) -> Result<()> {
    let mut rng = Rng::new(seed);
    let (gpu, resident) = draw_machine(&mut rng)?;
    let n = 2 + u64::from(rng.below(3));
    let drawn = Drawn::new(&mut rng, resident * n as u32);
    let workload = all()[seed as usize % all().len()].name;
    let run = |blocks| {
        let mut program: Box<dyn HostProgram> = match is_drawn {
            true => Box::new(drawn.clone()),
            false => Target::resolve(workload)?.program(Size::Small, 1),
        };
        simulate(&gpu, blocks, program.as_mut())
    };
    let Some(full) = run(TimedBlocks::All)? else {
        return Ok(());
    };
    let stable = TimedBlocks::UntilStable(args.stable / 100.0);
    for (blocks, own) in [TimedBlocks::OneOf(n), stable].into_iter().zip(measured) {
        if let Some(sampled) = run(blocks)? {
            own.compare(&full, &sampled);
        }
    }
    Ok(())
}

/// A machine of a preset with few SMs and blocks, and its number of blocks.
fn draw_machine(rng: &mut Rng) -> Result<(GpuSpec, u32)> {
    let gpu = GPUS[rng.below(GPUS.len() as u32) as usize];
    let (sms, blocks) = (1 + rng.below(4), 1 + rng.below(4));
    let sets = [
        format!("gpu.sms={sms}"),
        format!("sm.max_blocks={blocks}"),
        "gpu.sms_per_cluster=1".to_owned(),
    ];
    let spec = resolve(&Base::Preset(gpu.to_owned()), &sets);
    Ok((spec.map_err(|errors| anyhow!("{errors}"))?, sms * blocks))
}

/// Result of a run that comes to its end, and not late.
fn simulate(
    gpu: &GpuSpec,
    blocks: TimedBlocks,
    program: &mut dyn HostProgram,
) -> Result<Option<RunReport>> {
    let options = Options {
        max_cycles: Some(MOST_CYCLES),
        timed: Timed {
            blocks,
            ..Timed::default()
        },
        ..Options::default()
    };
    let session = Session::new(gpu.clone(), options);
    let report = session.run(program, &mut |_| ControlFlow::Continue(()))?;
    if report.outcome != Outcome::Finished {
        return Ok(None);
    }
    ensure!(report.succeeded(), "wrong outputs: {:?}", report.checks);
    let one_by_one = |kernel: &KernelReport| kernel.concurrent.is_none();
    Ok(report.kernels.iter().all(one_by_one).then_some(report))
}
