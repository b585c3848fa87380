//! Figs. 2, 3, 6 and 12: the design space of CFD on the GTX680.

use super::study::{Solution, Study, hit_rate};
use super::{GTX680, columns, figure};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::{lines, row};
use crate::runs::Runs;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_crat::{Candidate, Point, Spill};
use warploom_report::LineSeries;
use warploom_report::page::{Cell, Table};

pub(super) const FIG_2: FigureInfo = figure(
    "fig2",
    "Speed of CFD over its registers and its blocks on an SM",
    space,
);
pub(super) const FIG_3: FigureInfo = figure(
    "fig3",
    "Speed, L1D hits and registers in use of CFD's solutions",
    solutions,
);
pub(super) const FIG_6: FigureInfo = figure(
    "fig6",
    "Blocks on an SM and instructions of CFD over its registers",
    registers,
);
pub(super) const FIG_12: FigureInfo = figure(
    "fig12",
    "Bytes that CFD's spills move over its registers",
    spills,
);

fn study(request: &Request, runs: &Runs<'_>) -> Arc<Study> {
    Study::get(request, runs, "crat/CFD", GTX680)
}

/// The rightmost points of all stairs of the whole space, with spills to local memory.
fn stairs(study: &Study, runs: &Runs<'_>) -> Vec<Point> {
    let space = study.space(runs, u32::MAX, Spill::Local);
    space.candidates.iter().map(Candidate::point).collect()
}

fn series(name: String, points: Vec<(f64, f64)>) -> LineSeries {
    LineSeries {
        name,
        points,
        dots: true,
    }
}

fn space(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let study = study(request, runs);
    let max = study.solution(runs, study.default, 0);
    let mut found = Vec::new();
    for stair in stairs(&study, runs) {
        for tlp in 1..=study.most_blocks(stair.registers) {
            let registers = stair.registers;
            found.push(study.solution(runs, Point { registers, tlp }, 0));
        }
    }
    let (max, found) = (max?, found.into_iter().collect::<Option<Vec<Solution>>>()?);
    let mut by_registers: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for of in &found {
        let line = by_registers.entry(of.point.registers).or_default();
        line.push((of.point.tlp.into(), of.over(&max)));
    }
    let cells = |of: &Solution| {
        vec![
            Cell::Count(of.point.registers.into()),
            Cell::Count(of.point.tlp.into()),
            Cell::Number(of.over(&max)),
        ]
    };
    let best = found.iter().min_by_key(|of| of.cycles)?;
    let named = by_registers.into_iter();
    let named = named.map(|(registers, line)| series(format!("{registers} registers"), line));
    Some(Figure {
        table: Table {
            columns: columns(&[
                (
                    "registers",
                    "Registers of a thread: the most of each stair.",
                ),
                ("tlp", "Blocks on an SM, at most."),
                ("speedup", "Over MaxTLP."),
            ]),
            rows: found.iter().map(cells).collect(),
        },
        summary: BTreeMap::from([
            (
                "best.registers".to_owned(),
                Cell::Count(best.point.registers.into()),
            ),
            ("best.tlp".to_owned(), Cell::Count(best.point.tlp.into())),
            ("best.speedup".to_owned(), Cell::Number(best.over(&max))),
        ]),
        charts: vec![lines(
            "CFD",
            "blocks on an SM",
            "speedup over MaxTLP",
            named.collect(),
        )],
    })
}

fn solutions(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let solved = study(request, runs).solve(runs)?;
    let study = &solved.study;
    let more = study.solution(runs, study.rightmost(runs, solved.opt.point.tlp), 0)?;
    let max = solved.max();
    let all = [
        ("MaxTLP", max),
        ("OptTLP", &solved.opt),
        ("OptTLP+Reg", &more),
        ("CRAT", &solved.crat),
    ];
    let rows = all.iter().map(|(name, of)| {
        let numbers = [of.point.registers.into(), of.point.tlp.into(), of.over(max)];
        let mut cells = row(name, numbers);
        cells.push(hit_rate(of).map_or(Cell::None, Cell::Number));
        cells.push(Cell::Number(solved.register_share(of)));
        cells
    });
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("solution", "The paper's name."),
                ("registers", "Registers of a thread."),
                ("tlp", "Blocks on an SM."),
                ("speedup", "Over MaxTLP."),
                (
                    "l1d_hits",
                    "Share of L1D's accesses that hit; empty without accesses.",
                ),
                (
                    "register_share",
                    "Share of an SM's registers that its blocks hold.",
                ),
            ]),
            rows: rows.collect(),
        },
        summary: BTreeMap::new(),
        charts: Vec::new(),
    })
}

fn registers(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let study = study(request, runs);
    let most = |stair: Point| Point {
        tlp: study.most_blocks(stair.registers),
        ..stair
    };
    let points: Vec<Point> = stairs(&study, runs).into_iter().map(most).collect();
    let found: Vec<_> = points
        .iter()
        .map(|point| study.solution(runs, *point, 0))
        .collect();
    let found: Vec<Solution> = found.into_iter().collect::<Option<_>>()?;
    let instructions = |of: &Solution| {
        let launches = study.launches(&of.report);
        launches
            .map(|kernel| kernel.figures.warp_instructions)
            .sum::<u64>() as f64
    };
    let last = instructions(found.last()?);
    let measured = |of: &Solution| [of.point.tlp.into(), instructions(of) / last];
    let measured: Vec<[f64; 2]> = found.iter().map(measured).collect();
    let line = |at: usize| {
        let points = found.iter().zip(&measured);
        points
            .map(|(of, m)| (of.point.registers.into(), m[at]))
            .collect::<Vec<_>>()
    };
    let chart = |name: &str, y: &str, at: usize| {
        lines(
            name,
            "registers of a thread",
            y,
            vec![series("CFD".to_owned(), line(at))],
        )
    };
    let rows = found.iter().zip(&measured).map(|(of, measured)| {
        let mut cells = vec![Cell::Count(of.point.registers.into())];
        cells.extend(measured.map(Cell::Number));
        cells
    });
    Some(Figure {
        table: Table {
            columns: columns(&[
                (
                    "registers",
                    "Registers of a thread: the most of each stair.",
                ),
                ("tlp", "Blocks on an SM."),
                (
                    "instructions",
                    "Warp instructions over those with the most registers.",
                ),
            ]),
            rows: rows.collect(),
        },
        summary: BTreeMap::new(),
        charts: vec![
            chart("Thread-level parallelism", "blocks on an SM", 0),
            chart("Instructions", "over those with the most registers", 1),
        ],
    })
}

/// Makes the figure without runs: the code that the allocator adds. `docs/regalloc.md` compares it
/// with ptxas.
fn spills(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let study = study(request, runs);
    let space = study.space(runs, u32::MAX, Spill::Local);
    let assembled = assembled_spills();
    let mut rows = Vec::new();
    for limit in space.min_reg..=space.max_reg {
        let options = study.options(limit);
        let added = study.kernel.allocate(&options).ok()?.report.added;
        let of_ptxas = |at: usize| match assembled.get(&limit) {
            Some(bytes) => Cell::Count(bytes[at]),
            None => Cell::None,
        };
        rows.push(vec![
            Cell::Count(limit.into()),
            Cell::Count(added.store_bytes),
            Cell::Count(added.load_bytes),
            of_ptxas(0),
            of_ptxas(1),
        ]);
    }
    let names = ["stores", "loads", "stores of ptxas", "loads of ptxas"];
    let line = |(at, name): (usize, &str)| {
        let point = |row: &Vec<Cell>| Some((row[0].number()?, row[at + 1].number()?));
        series(name.to_owned(), rows.iter().filter_map(point).collect())
    };
    let lines_of = names.into_iter().enumerate().map(line).collect();
    Some(Figure {
        charts: vec![lines("CFD", "registers of a thread", "bytes", lines_of)],
        table: Table {
            columns: columns(&[
                ("registers", "Registers of a thread, at most."),
                (
                    "stores",
                    "Bytes that stores of spilled values move, each counted once.",
                ),
                (
                    "loads",
                    "Bytes that loads of spilled values move, each counted once.",
                ),
                ("ptxas.stores", "The same of ptxas 12.9 for sm_50."),
                ("ptxas.loads", "The same of ptxas 12.9 for sm_50."),
            ]),
            rows,
        },
        summary: BTreeMap::new(),
    })
}

/// Bytes of stores and loads of spilled values at each limit, as ptxas reports them for CFD's
/// kernel. `cargo xtask ptxas` writes the table.
fn assembled_spills() -> BTreeMap<u32, [u64; 2]> {
    let table = include_str!("../../../data/ptxas-spills.csv");
    let row = |line: &str| {
        let mut cells = line.split(',').map(str::parse);
        let mut cell = || cells.next()?.ok();
        Some((u32::try_from(cell()?).ok()?, [cell()?, cell()?]))
    };
    table.lines().filter_map(row).collect()
}
