//! Figs. 13, 14, 17, 19 and 20: CRAT compared with its rivals.

use super::study::{Solution, Solved, hit_rate};
use super::throttling::{congested, congestion};
use super::{
    FERMI, INSENSITIVE, KEPLER, SENSITIVE, add_mean, allocated, columns, figure, samples, solved,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::{bars, row};
use crate::grid::Workload;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_regalloc::Method;
use warploom_report::page::{Cell, Table};

pub(super) const FIG_13: FigureInfo = figure(
    "fig13",
    "Speed of MaxTLP, CRAT-local and CRAT over OptTLP",
    |request, runs| {
        let all = solved(request, runs, &SENSITIVE, FERMI)?;
        Some(three(&all, &SENSITIVE))
    },
);

pub(super) const FIG_13_FULL: FigureInfo = figure(
    "fig13-full",
    "Fig. 13 with an allocator that schedules, splits lives and recomputes",
    |request, runs| {
        let all = allocated(request, runs, &SENSITIVE, FERMI, Method::Full)?;
        Some(three(&all, &SENSITIVE))
    },
);

pub(super) const FIG_14: FigureInfo =
    figure("fig14", "Blocks on an SM with MaxTLP and with CRAT", blocks);

pub(super) const FIG_17: FigureInfo = figure(
    "fig17",
    "Speed of CRAT over OptTLP with the registers and threads of Kepler",
    kepler,
);

pub(super) const FIG_19: FigureInfo = figure(
    "fig19",
    "Speed of applications that are not sensitive to resources",
    |request, runs| {
        let all = solved(request, runs, &INSENSITIVE, FERMI)?;
        Some(three(&all, &INSENSITIVE))
    },
);

pub(super) const FIG_20: FigureInfo = figure(
    "fig20",
    "Speed of CRAT over OptTLP, the best TLP profiled and guessed",
    guessed,
);

/// Speeds over OptTLP: MaxTLP, CRAT-local, CRAT.
fn speeds(all: &[Solved]) -> [Vec<f64>; 3] {
    let of = |f: fn(&Solved) -> &Solution| all.iter().map(|s| f(s).over(&s.opt)).collect();
    [of(|s| s.max()), of(|s| &s.local), of(|s| &s.crat)]
}

/// A solution as the paper writes it: `(registers, TLP)`.
fn pair(of: &Solution) -> Cell {
    Cell::Text(format!("({}, {})", of.point.registers, of.point.tlp))
}

fn three(all: &[Solved], workloads: &[Workload]) -> Figure {
    let speeds = speeds(all);
    let rows = all.iter().enumerate().map(|(i, s)| {
        let mut cells = vec![Cell::from(workloads[i].name)];
        cells.extend([s.max(), &s.opt, &s.local, &s.crat].map(pair));
        cells.extend(speeds.iter().map(|speeds| Cell::Number(speeds[i])));
        cells
    });
    let names = ["MaxTLP", "CRAT-local", "CRAT"];
    let mut summary = BTreeMap::new();
    for (name, speeds) in names.iter().zip(&speeds) {
        let mean = samples(workloads, speeds).geometric();
        add_mean(&mut summary, &format!("{name}.mean"), mean);
    }
    let rows = rows.collect();
    Figure {
        summary,
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                ("max", "(registers, blocks on an SM) of MaxTLP."),
                ("opt", "(registers, blocks on an SM) of OptTLP."),
                (
                    "local",
                    "(registers, blocks on an SM) of CRAT without spilling to shared memory.",
                ),
                ("crat", "Of CRAT."),
                ("max.speed", "MaxTLP over OptTLP."),
                ("local.speed", "CRAT-local over OptTLP."),
                ("crat.speed", "CRAT over OptTLP."),
            ]),
            rows,
        },
        charts: vec![bars(
            "CRAT and its rivals",
            "speed over OptTLP",
            workloads,
            names.into_iter().zip(speeds).collect(),
        )],
    }
}

fn blocks(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let of = |f: fn(&Solved) -> u32| all.iter().map(|s| f64::from(f(s))).collect::<Vec<_>>();
    let (max, crat) = (of(|s| s.max().point.tlp), of(|s| s.crat.point.tlp));
    let kmn = &all[SENSITIVE.iter().position(|w| w.name == "KMN")?];
    let hits = |of: &Solution| hit_rate(of).unwrap_or(0.0);
    let mut summary = BTreeMap::new();
    for (solution, of) in [("max", kmn.max()), ("crat", &kmn.crat)] {
        let values = [
            ("l1d_hits", hits(of)),
            ("congestion", congestion(kmn, of)),
            ("stalls", congested(kmn, of)),
        ];
        summary.extend(
            values.map(|(what, value)| (format!("KMN.{solution}.{what}"), Cell::Number(value))),
        );
    }
    add_mean(
        &mut summary,
        "max.mean",
        samples(&SENSITIVE, &max).arithmetic(),
    );
    add_mean(
        &mut summary,
        "crat.mean",
        samples(&SENSITIVE, &crat).arithmetic(),
    );
    let pairs = max.iter().zip(&crat).map(|(max, crat)| [*max, *crat]);
    let rows = SENSITIVE.iter().zip(pairs);
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                ("max", "Blocks on an SM with MaxTLP."),
                ("crat", "Blocks on an SM with CRAT."),
            ]),
            rows: rows.map(|(w, pair)| row(w.name, pair)).collect(),
        },
        summary,
        charts: vec![bars(
            "Thread-level parallelism",
            "blocks on an SM",
            &SENSITIVE,
            vec![("MaxTLP", max), ("CRAT", crat)],
        )],
    })
}

fn kepler(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = [FERMI, KEPLER].map(|gpu| solved(request, runs, &SENSITIVE, gpu));
    let [fermi, kepler] = all;
    let (fermi, kepler) = (fermi?, kepler?);
    let [.., on_fermi] = speeds(&fermi);
    let mut figure = three(&kepler, &SENSITIVE);
    figure.table.columns.extend(columns(&[(
        "fermi.speed",
        "CRAT over OptTLP on the machine of Table 2.",
    )]));
    for (row, speed) in figure.table.rows.iter_mut().zip(&on_fermi) {
        row.push(Cell::Number(*speed));
    }
    Some(figure)
}

fn guessed(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let of =
        |f: fn(&Solved) -> &Solution| all.iter().map(|s| f(s).over(&s.opt)).collect::<Vec<f64>>();
    let (profiled, guessed) = (of(|s| &s.crat), of(|s| &s.guessed));
    let mut summary = BTreeMap::new();
    for (name, speeds) in [("CRAT-profile", &profiled), ("CRAT-static", &guessed)] {
        let mean = samples(&SENSITIVE, speeds).geometric();
        add_mean(&mut summary, &format!("{name}.mean"), mean);
    }
    let rows = all.iter().enumerate().map(|(i, s)| {
        let tlp = [s.opt.point.tlp, s.study.guess(runs, s.max())];
        let mut cells = vec![Cell::from(SENSITIVE[i].name)];
        cells.extend(tlp.map(|tlp| Cell::Count(tlp.into())));
        cells.extend([&s.crat, &s.guessed].map(pair));
        cells.extend([profiled[i], guessed[i]].map(Cell::Number));
        cells
    });
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("workload", "The paper's name."),
                ("opt_tlp", "The best TLP by profiling."),
                ("guess", "The best TLP by static analysis."),
                ("profile", "(registers, blocks on an SM) of CRAT-profile."),
                ("static", "(registers, blocks on an SM) of CRAT-static."),
                ("profile.speed", "CRAT-profile over OptTLP."),
                ("static.speed", "CRAT-static over OptTLP."),
            ]),
            rows: rows.collect(),
        },
        summary,
        charts: vec![bars(
            "CRAT",
            "speed over OptTLP",
            &SENSITIVE,
            vec![("CRAT-profile", profiled), ("CRAT-static", guessed)],
        )],
    })
}
