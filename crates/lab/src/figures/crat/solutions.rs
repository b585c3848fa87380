//! Figs. 13, 14, 17, 19 and 20: CRAT compared with its rivals.

use super::study::{Solution, Solved, hit_rate};
use super::throttling::congestion;
use super::{FERMI, INSENSITIVE, KEPLER, SENSITIVE, columns, figure, note, solved};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::figures::shared::{bars, row};
use crate::grid::{Workload, geometric_mean, mean};
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table, Verdict};

/// Half a point is a tie.
const TIE: f64 = 0.005;
/// A gain that the paper would call remarkable: its own tolerance of means.
const REMARKABLE: f64 = 0.05;

pub(super) const FIG_13: FigureInfo = figure(
    "fig13",
    "Speed of MaxTLP, CRAT-local and CRAT over OptTLP",
    |request, runs| {
        let all = solved(request, runs, &SENSITIVE, FERMI)?;
        let [_, local, crat] = speeds(&all);
        let best = crat.iter().copied().fold(0.0, f64::max);
        let claim = Judged::new("crat.speedup.gmean")
            .value("geometric mean of CRAT", geometric_mean(&crat))
            .also("CRAT-local", "speedup", 1.17, geometric_mean(&local))
            .also("best", "speedup", 1.79, best);
        let claims = vec![claim.verdict(note(request, FERMI))];
        Some(three(&all, &SENSITIVE, claims))
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
        let [max, _, crat] = speeds(&all);
        let opt: Vec<_> = max.iter().map(|speed| 1.0 / speed).collect();
        let states = |claim: Judged, name: &str, gains: &[f64]| {
            let most = gains.iter().copied().fold(0.0, f64::max);
            let what = format!("{name} gains less than {:.0}%", 100.0 * REMARKABLE);
            claim.states(&what, most < 1.0 + REMARKABLE, format!("at most {most:.3}"))
        };
        let claim = states(Judged::new("crat.insensitive"), "OptTLP over MaxTLP", &opt);
        let claim = states(claim, "CRAT over OptTLP", &crat);
        let claims = vec![claim.verdict(note(request, FERMI))];
        Some(three(&all, &INSENSITIVE, claims))
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

fn three(all: &[Solved], workloads: &[Workload], claims: Vec<Verdict>) -> Figure {
    let speeds = speeds(all);
    let rows = all.iter().enumerate().map(|(i, s)| {
        let mut cells = vec![Cell::from(workloads[i].name)];
        cells.extend([s.max(), &s.opt, &s.local, &s.crat].map(pair));
        cells.extend(speeds.iter().map(|speeds| Cell::Number(speeds[i])));
        cells
    });
    let names = ["MaxTLP", "CRAT-local", "CRAT"];
    let mean = |(name, speeds): (&str, &Vec<f64>)| {
        (format!("{name}.mean"), Cell::Number(geometric_mean(speeds)))
    };
    let rows = rows.collect();
    Figure {
        summary: names.into_iter().zip(&speeds).map(mean).collect(),
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
        claims,
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
    let gained = 100.0 * (hits(&kmn.crat) - hits(kmn.max()));
    let (before, after) = (congestion(kmn, kmn.max()), congestion(kmn, &kmn.crat));
    let stalls = 100.0 * (after / before - 1.0);
    let fewer = format!("{} to {}", kmn.max().point.tlp, kmn.crat.point.tlp);
    let claim = Judged::new("crat.tlp")
        .also("mean of MaxTLP", "count", 5.1, mean(&max))
        .also("mean of CRAT", "count", 2.6, mean(&crat))
        .states("KMN 6 to 1", fewer == "6 to 1", fewer)
        .also("KMN's L1D hits, points", "percentage_point", 82.1, gained)
        .also("KMN's congestion, percent", "percent", -97.2, stalls);
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
        summary: BTreeMap::from([
            ("max.mean".to_owned(), Cell::Number(mean(&max))),
            ("crat.mean".to_owned(), Cell::Number(mean(&crat))),
        ]),
        claims: vec![claim.verdict(note(request, FERMI))],
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
    let ([.., on_fermi], [.., on_kepler]) = (speeds(&fermi), speeds(&kepler));
    let mean = Judged::new("crat.kepler").value("geometric mean", geometric_mean(&on_kepler));
    let mut directions = Judged::new("crat.kepler.directions");
    for (names, more) in [
        (&["LBM", "FDTD", "CFD"][..], false),
        (&["SPMV", "HST", "BLK", "STE"][..], true),
    ] {
        for name in names {
            let at = SENSITIVE.iter().position(|w| w.name == *name)?;
            let (fermi, kepler) = (on_fermi[at], on_kepler[at]);
            let holds = if more {
                kepler > fermi + TIE
            } else {
                kepler < fermi - TIE
            };
            let what = format!(
                "{name} gains {} on Kepler",
                if more { "more" } else { "less" }
            );
            directions = directions.states(&what, holds, format!("{fermi:.3} to {kepler:.3}"));
        }
    }
    let mut figure = three(&kepler, &SENSITIVE, Vec::new());
    figure.table.columns.extend(columns(&[(
        "fermi.speed",
        "CRAT over OptTLP on the machine of Table 2.",
    )]));
    for (row, speed) in figure.table.rows.iter_mut().zip(&on_fermi) {
        row.push(Cell::Number(*speed));
    }
    let note = note(request, KEPLER);
    figure.claims = vec![mean.verdict(note.as_str()), directions.verdict(note)];
    Some(figure)
}

fn guessed(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let all = solved(request, runs, &SENSITIVE, FERMI)?;
    let of =
        |f: fn(&Solved) -> &Solution| all.iter().map(|s| f(s).over(&s.opt)).collect::<Vec<f64>>();
    let (profiled, guessed) = (of(|s| &s.crat), of(|s| &s.guessed));
    let claim = Judged::new("crat.static")
        .value("CRAT-static", geometric_mean(&guessed))
        .also("CRAT-profile", "speedup", 1.25, geometric_mean(&profiled));
    let rows = all.iter().enumerate().map(|(i, s)| {
        let tlp = [s.opt.point.tlp, s.study.guess(s.max())];
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
        summary: BTreeMap::new(),
        claims: vec![claim.verdict(note(request, FERMI))],
        charts: vec![bars(
            "CRAT",
            "speed over OptTLP",
            &SENSITIVE,
            vec![("CRAT-profile", profiled), ("CRAT-static", guessed)],
        )],
    })
}
