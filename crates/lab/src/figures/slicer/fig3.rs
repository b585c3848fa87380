//! Fig. 3: IPC of a benchmark alone by its blocks on an SM, and the sweet spot of two benchmarks.

use super::{BENCHMARKS, GPU, PAPER, columns, input, machine, number, times};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::lines;
use crate::runs::Runs;
use crate::spec::{Mix, RunSpec};
use std::collections::BTreeMap;
use warploom_config::{BlockNeeds, preset};
use warploom_policy::multiprogram::{Demand, water_fill};
use warploom_report::LineSeries;
use warploom_report::page::{Cell, Table};
use warploom_workloads::Target;

pub(super) const FIGURE_A: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig3a",
    title: "IPC of each benchmark alone by its blocks on an SM, over its best",
    make: by_blocks,
};

pub(super) const FIGURE_B: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig3b",
    title: "IMG and NN on one SM: the share of its best that each keeps, by the division of blocks",
    make: sweet_spot,
};

/// Label of the figures' lines.
const OVER_BEST: &str = "IPC over the benchmark's best";

/// Resources that a block of a benchmark needs, from the paper's shape.
fn needs(name: &str) -> BlockNeeds {
    let gpu = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let target = Target::resolve(&format!("{PAPER}/{name}"));
    let facts = target.unwrap_or_else(|unknown| panic!("{unknown}")).facts;
    let facts = facts.expect("Table II has it");
    let threads = facts.block_threads.unwrap_or(32);
    let registers = facts.registers.map_or(1, |registers| registers.count);
    // A block's shared memory follows from the shared memory in use and the number of blocks that
    // registers, threads and slots permit.
    let without = BlockNeeds::new(threads, registers, 0, &gpu.sm);
    let blocks = without.blocks_per_sm(u64::MAX, &gpu.sm, &gpu.gpu).0.max(1);
    let percent = facts.shared_percent.unwrap_or(0);
    let shared = gpu.sm.shared_bytes * percent / 100 / blocks;
    BlockNeeds::new(threads, registers, shared, &gpu.sm)
}

/// Number of a benchmark's blocks for which an SM has space.
pub(super) fn most(name: &str) -> u32 {
    let gpu = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    needs(name).blocks_per_sm(u64::MAX, &gpu.sm, &gpu.gpu).0
}

/// IPC of a benchmark with 1, 2, 3 blocks on an SM, alone for a tenth of the scale's time, on a
/// machine with `changes`.
pub(super) fn curve(
    request: &Request,
    runs: &mut Runs<'_>,
    name: &str,
    changes: &[String],
) -> Option<Vec<f64>> {
    let spec = |blocks: u32| {
        let own = [format!("gpu.max_blocks_per_sm={blocks}")];
        let name_of = format!("{blocks} blocks");
        let sets = [changes, &own].concat();
        let machine = machine(request, GPU, &name_of, "left-over", &sets);
        RunSpec {
            max_cycles: Some(times(request.scale).alone / 10),
            mix: Some(Mix {
                again: true,
                ..Mix::default()
            }),
            ..RunSpec::new(&input(request, name), &machine)
        }
    };
    let specs: Vec<RunSpec> = (1..=most(name)).map(spec).collect();
    let reports = runs.all(&specs)?;
    Some(reports.iter().map(|r| r.processes[0].ipc).collect())
}

pub(super) fn over_best(curve: &[f64]) -> Vec<f64> {
    let best = curve.iter().copied().fold(0.0, f64::max);
    curve.iter().map(|ipc| ipc / best).collect()
}

fn by_blocks(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let curves: Vec<_> = BENCHMARKS
        .iter()
        .map(|name| curve(request, runs, name, &[]))
        .collect();
    let curves: Vec<Vec<f64>> = curves.into_iter().collect::<Option<_>>()?;
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (name, curve) in BENCHMARKS.iter().zip(&curves) {
        let shares = over_best(curve);
        let most = shares.len() as f64;
        for (blocks, (ipc, share)) in (1..).zip(curve.iter().zip(&shares)) {
            rows.push(vec![
                Cell::from(*name),
                Cell::Count(blocks),
                number(blocks as f64 / most),
                number(*ipc),
                number(*share),
            ]);
        }
        let point = |(at, share): (usize, &f64)| ((at + 1) as f64 / most, *share);
        let points = shares.iter().enumerate().map(point);
        series.push(LineSeries {
            name: (*name).to_owned(),
            points: points.filter(|(_, y)| y.is_finite()).collect(),
            dots: true,
        });
    }
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("benchmark", "The paper's name."),
                ("blocks", "Most blocks on an SM."),
                ("share", "Blocks on an SM over the most that fit."),
                ("ipc", "Thread instructions per core cycle."),
                ("normalised", "IPC over the benchmark's best."),
            ]),
            rows,
        },
        summary: BTreeMap::new(),
        charts: vec![lines(
            "Performance by blocks on an SM",
            "share of the blocks that fit",
            OVER_BEST,
            series,
        )],
    })
}

/// Input of Algorithm 1 for benchmarks with known curves.
fn demands(names: &[&str], shares: &[Vec<f64>]) -> Vec<Demand> {
    let demand = |(name, share): (&&str, &Vec<f64>)| {
        let needs = needs(name);
        Demand {
            performance: share.clone(),
            needs: [needs.threads, needs.registers, needs.shared_bytes, 1],
        }
    };
    names.iter().zip(shares).map(demand).collect()
}

/// Resources of an SM, in the order of a block's needs.
fn all_of_an_sm() -> [u32; 4] {
    let gpu = preset(GPU).unwrap_or_else(|errors| panic!("{errors}"));
    let sm = &gpu.sm;
    [sm.max_threads, sm.registers, sm.shared_bytes, sm.max_blocks]
}

/// Choice of Algorithm 1 from runs alone. `None` while runs are missing.
pub(super) fn choice_by_runs_alone(
    request: &Request,
    runs: &mut Runs<'_>,
    names: &[&str],
) -> Option<Vec<u32>> {
    let curves = names.iter().map(|name| curve(request, runs, name, &[]));
    let curves: Vec<_> = curves.collect();
    let curves: Vec<Vec<f64>> = curves.into_iter().collect::<Option<_>>()?;
    Some(chosen(names, &curves).unwrap_or_default())
}

/// Choice of Algorithm 1 from curves with 1, 2, 3 blocks. `None` if one block of each does not fit.
pub(super) fn chosen(names: &[&str], curves: &[Vec<f64>]) -> Option<Vec<u32>> {
    let shares: Vec<Vec<f64>> = curves.iter().map(|curve| over_best(curve)).collect();
    water_fill(&demands(names, &shares), all_of_an_sm())
}

fn sweet_spot(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let names = ["IMG", "NN"];
    let curves: Vec<_> = names
        .iter()
        .map(|name| curve(request, runs, name, &[]))
        .collect();
    let curves: Vec<Vec<f64>> = curves.into_iter().collect::<Option<_>>()?;
    let shares: Vec<Vec<f64>> = curves.iter().map(|curve| over_best(curve)).collect();
    let total = all_of_an_sm();
    let demands = demands(&names, &shares);
    let chosen = water_fill(&demands, total);
    let mut rows = Vec::new();
    let mut series = names.map(|name| LineSeries {
        name: name.to_owned(),
        points: Vec::new(),
        dots: true,
    });
    // NN gets the space that IMG leaves.
    for img in 1..=shares[0].len() as u32 {
        let left = |at: usize| total[at] - (demands[0].needs[at] * img).min(total[at]);
        let nn = (0..4)
            .filter_map(|at| left(at).checked_div(demands[1].needs[at]))
            .min();
        let nn = nn.unwrap_or(0).min(shares[1].len() as u32);
        let of = |at: usize, blocks: u32| match blocks {
            0 => 0.0,
            blocks => shares[at][blocks as usize - 1],
        };
        let kept = [of(0, img), of(1, nn)];
        for (line, kept) in series.iter_mut().zip(kept) {
            line.points.push((f64::from(img), kept));
        }
        let is_chosen = chosen.as_ref().is_some_and(|blocks| blocks[0] == img);
        rows.push(vec![
            Cell::Count(img.into()),
            Cell::Count(nn.into()),
            number(kept[0]),
            number(kept[1]),
            number(kept[0].min(kept[1])),
            Cell::from(if is_chosen { "chosen" } else { "" }),
        ]);
    }
    let mut summary = BTreeMap::new();
    let blocks = chosen.unwrap_or_default();
    for (name, blocks) in names.iter().zip(blocks) {
        summary.insert(format!("{name}.blocks"), Cell::Count(blocks.into()));
    }
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("img", "Blocks of IMG on an SM."),
                ("nn", "Blocks of NN that fit on the same SM."),
                (
                    "img.kept",
                    "IPC of IMG alone with this number of blocks, over its best.",
                ),
                (
                    "nn.kept",
                    "IPC of NN alone with this number of blocks, over its best.",
                ),
                ("least", "The smaller of the two."),
                ("water_filling", "What Algorithm 1 chooses."),
            ]),
            rows,
        },
        summary,
        charts: vec![lines(
            "The sweet spot",
            "blocks of IMG on an SM",
            OVER_BEST,
            series.to_vec(),
        )],
    })
}
