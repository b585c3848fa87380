//! `together/pairs`: CRAT, Warped-Slicer, GPUDuet and locality-aware scheduling on pairs of
//! programs.
//!
//! Programs, pairs and targets are those of Warped-Slicer's figures. The baseline is `left-over`
//! under `gto` and round-robin blocks. Of CRAT only the registers act: the sharing policy decides
//! on the number of blocks. Every combination does the same work, so that spilled code has a larger
//! target: by the ratio of its instructions to those of the plain program, at size `test`. The
//! speedup is the ratio of the times until the last program has ended.

use super::combination::{Combination, Gains, SYSTEMS, charts, columns, summary};
use super::{STUDY, evidence};
use crate::figure::{Figure, Request, Scale};
use crate::figures::FigureInfo;
use crate::figures::crat::{Chosen, chosen};
use crate::figures::slicer::{
    GPU, Group, LEFT_OVER, SLICER, all_pairs, figures_of, input, machine, size, targets, times,
};
use crate::runs::Runs;
use crate::spec::{Input, Mix, RunSpec};
use std::sync::Arc;
use warploom_report::page::{Cell, Column, Table};
use warploom_stats::mix::MixFigures;
use warploom_stats::result::RunReport;
use warploom_workloads::Size;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: STUDY,
    name: "pairs",
    title: "CRAT, Warped-Slicer, GPUDuet and locality-aware scheduling together on pairs",
    make,
};

const NAMES: [&str; SYSTEMS] = ["crat", "slicer", "duet", "locality"];
const CRAT: usize = 0;
const SLICED: usize = 1;
const DUET: usize = 2;
const LOCALITY: usize = 3;

/// Pairs of a scale: two of each category at scale `small`.
fn pairs(scale: Scale) -> Vec<Group> {
    let shown: &[&str] = match scale {
        Scale::Test => &["HOT_BLK"],
        Scale::Small => &[
            "IMG_NN", "HOT_MVP", "HOT_BLK", "MM_LBM", "DXT_IMG", "MM_HOT",
        ],
        Scale::Paper => return all_pairs(),
    };
    let all = all_pairs().into_iter();
    all.filter(|pair| shown.contains(&pair.name().as_str()))
        .collect()
}

/// Results of a pair under a combination.
struct Mixed {
    report: Arc<RunReport>,
    figures: MixFigures,
    /// Core cycles until the last program has ended.
    cycles: u64,
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let pairs = pairs(request.scale);
    let all: Vec<_> = pairs
        .iter()
        .map(|pair| results(request, runs, pair))
        .collect();
    let all: Vec<Vec<Mixed>> = all.into_iter().collect::<Option<_>>()?;
    let gains = |(pair, mixes): (&Group, &Vec<Mixed>)| Gains {
        name: pair.name(),
        speedups: mixes
            .iter()
            .map(|mix| mixes[0].cycles as f64 / mix.cycles as f64)
            .collect(),
    };
    let gains: Vec<Gains> = pairs.iter().zip(&all).map(gains).collect();
    let rows = gains.iter().zip(&all).flat_map(|(gains, mixes)| {
        Combination::all().into_iter().map(move |one| {
            let mix = &mixes[one.0];
            let mut row = gains.cells(one, NAMES);
            row.extend([mix.figures.stp, mix.figures.antt].map(Cell::Number));
            row.extend(evidence::cells(&mix.report));
            row
        })
    });
    let mut heads = columns(
        "pair",
        "Time until both have ended under left-over and gto, over this.",
    );
    heads.push(Column::new(
        "stp",
        "System throughput: the sum of the speeds over those alone.",
    ));
    heads.push(Column::new("antt", "Mean of the times over those alone."));
    heads.extend(evidence::columns());
    Some(Figure {
        table: Table {
            columns: heads,
            rows: rows.collect(),
        },
        summary: summary(&gains, NAMES),
        charts: charts(&gains, NAMES, "left-over under GTO"),
    })
}

/// A program of a pair: plain, and with CRAT's registers and its larger target.
struct Program {
    plain: (Input, u64),
    allocated: (Input, u64),
}

/// Results of a pair by the bits of the combination, or `None` while runs are missing.
fn results(request: &Request, runs: &mut Runs<'_>, pair: &Group) -> Option<Vec<Mixed>> {
    let plain = targets(request, runs, GPU, pair, &base_sets());
    let programs: Vec<_> = pair
        .names
        .iter()
        .map(|name| allocated(request, runs, name))
        .collect();
    let programs: Vec<(Input, f64)> = programs.into_iter().collect::<Option<_>>()?;
    let programs = pair.names.iter().zip(plain?).zip(programs);
    let program = |((name, target), (allocated, more)): ((&&str, u64), (Input, f64))| Program {
        plain: (input(request, name), target),
        allocated: (allocated, (target as f64 * more).round() as u64),
    };
    let programs: Vec<Program> = programs.map(program).collect();
    let specs: Vec<RunSpec> = (0..1 << SYSTEMS)
        .map(|bits| spec(request, &programs, Combination(bits)))
        .collect();
    let reports = runs.all(&specs)?;
    let alone = times(request.scale).alone;
    let mixed = |report: Arc<RunReport>| {
        let ends = report
            .processes
            .iter()
            .filter_map(|process| process.ended_at);
        Mixed {
            cycles: ends.max().unwrap_or(0).max(1),
            figures: figures_of(&report, alone),
            report,
        }
    };
    Some(reports.into_iter().map(mixed).collect())
}

fn base_sets() -> Vec<String> {
    vec!["sm.warp_scheduler=gto".to_owned()]
}

/// A program with CRAT's registers, and its instructions over those of the plain program.
fn allocated(request: &Request, runs: &mut Runs<'_>, name: &str) -> Option<(Input, f64)> {
    let target = format!("slicer/{name}");
    let chosen = chosen(request, runs, &target, GPU)?;
    let more = more_instructions(request, runs, &target, &chosen)?;
    Some((chosen.allocated(runs, &target, size(request.scale)), more))
}

/// Instructions of the allocated program over those of the plain one, executed without timing.
fn more_instructions(
    request: &Request,
    runs: &mut Runs<'_>,
    target: &str,
    chosen: &Chosen,
) -> Option<f64> {
    let machine = machine(request, GPU, "without timing", LEFT_OVER, &[]);
    let plain = Input::workload(target, Size::Test, crate::spec::SEED);
    let plain = plain.unwrap_or_else(|unknown| panic!("{unknown}"));
    let inputs = [plain, chosen.allocated(runs, target, Size::Test)];
    let spec = |input: &Input| RunSpec {
        sharing: true,
        ..RunSpec::new(input, &machine)
    };
    let reports = runs.all(&inputs.each_ref().map(spec))?;
    let instructions = |at: usize| reports[at].totals.figures.thread_instructions.max(1) as f64;
    Some(instructions(1) / instructions(0))
}

fn spec(request: &Request, programs: &[Program], one: Combination) -> RunSpec {
    let policy = match one.has(SLICED) {
        true => SLICER,
        false => LEFT_OVER,
    };
    let mut sets = match one.has(LOCALITY) {
        true => ["sm.warp_scheduler=locality", "gpu.block_scheduler=locality"]
            .map(str::to_owned)
            .to_vec(),
        false => base_sets(),
    };
    sets.extend(one.has(DUET).then(|| "sm.context=duet".to_owned()));
    let machine = machine(request, GPU, &one.name(NAMES), policy, &sets);
    let own = |program: &Program| match one.has(CRAT) {
        true => program.allocated.clone(),
        false => program.plain.clone(),
    };
    let (inputs, targets): (Vec<Input>, Vec<u64>) = programs.iter().map(own).unzip();
    RunSpec {
        mix: Some(Mix {
            others: inputs[1..].to_vec(),
            targets,
            again: true,
        }),
        ..RunSpec::new(&inputs[0], &machine)
    }
}
