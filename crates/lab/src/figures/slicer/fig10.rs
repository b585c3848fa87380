//! Fig. 10: Warped-Slicer with other lengths of profile and algorithm (a), and schedulers (b).

use super::{
    GPU, Group, LEFT_OVER, Mixed, PAPER, SLICER, Setting, number, pairs, scale_note, study, times,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::grid::geometric_mean;
use crate::runs::Runs;
use crate::verdict::Judged;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Column, Table};

pub(super) const FIGURE_A: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig10a",
    title: "Total IPC under warped-slicer with longer profiles and with time for the algorithm",
    make: lengths,
};

pub(super) const FIGURE_B: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "fig10b",
    title: "Warped-slicer over left-over with greedy-then-oldest and with round-robin",
    make: schedulers,
};

/// A setting of the policy, with a length in thousands of cycles of the paper's scale.
fn slicer(request: &Request, key: &str, thousands: u64) -> Setting {
    // Cycles that correspond to the paper's 5,000 at this scale.
    let cycles = times(request.scale).profile * thousands / 5;
    Setting {
        name: format!("{key} {thousands}K"),
        more: vec![format!("warped-slicer.{key}={cycles}")],
        ..Setting::policy(SLICER)
    }
}

fn lengths(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    // 50,000 cycles exceed the time of a block of every benchmark except the longest.
    let settings = [
        Setting::policy(SLICER),
        slicer(request, "profile_cycles", 10),
        slicer(request, "profile_cycles", 50),
        slicer(request, "delay_cycles", 1),
        slicer(request, "delay_cycles", 5),
        slicer(request, "delay_cycles", 10),
    ];
    let groups = pairs(request.scale);
    let rows = study(request, runs, GPU, &groups, &settings);
    let by_scheduler = under_schedulers(request, runs).1;
    let large = super::large::speedup(request, runs);
    let (rows, by_scheduler, large) = (rows?, by_scheduler?, large?);
    let [gto, lrr] = speedups(&by_scheduler);
    let ratio = |row: &[Mixed], at: usize| row[at].figures.total_ipc / row[0].figures.total_ipc;
    let gmean =
        |at: usize| geometric_mean(&rows.iter().map(|row| ratio(row, at)).collect::<Vec<_>>());
    let moved = |range: std::ops::Range<usize>| {
        range
            .map(|at| (gmean(at) - 1.0).abs() * 100.0)
            .fold(0.0, f64::max)
    };
    let (profile, delay) = (moved(1..3), moved(3..6));
    let verdict = Judged::new("slicer.sensitivity")
        .states(
            "at most 2% with longer profiles",
            profile <= 2.0,
            format!("{profile:.2}%"),
        )
        .states(
            "under 1.5% with 1K to 10K cycles of delay",
            delay < 1.5,
            format!("{delay:.2}%"),
        )
        .states(
            "over left-over the same with round-robin as with GTO, within 5 points",
            (gto - lrr).abs() <= 0.05,
            format!("{lrr:.3} and {gto:.3} (fig10b)"),
        )
        .also("over left-over on larger SMs", "speedup", 1.26, large);
    let note = format!(
        "{} Means over pairs; for schedulers see fig10b, for larger SMs large.",
        scale_note(request)
    );
    let mut figure = table(&groups, &rows, &settings, ratio);
    figure.claims = vec![verdict.verdict(note)];
    Some(figure)
}

fn table(
    groups: &[Group],
    rows: &[Vec<Mixed>],
    settings: &[Setting],
    ratio: impl Fn(&[Mixed], usize) -> f64,
) -> Figure {
    let mut columns = vec![Column::new("pair", "The paper's names.")];
    columns.extend(
        settings
            .iter()
            .skip(1)
            .map(|setting| Column::new(&setting.name, "Total IPC over that of the first setting.")),
    );
    let line = |(group, row): (&Group, &Vec<Mixed>)| {
        let name = std::iter::once(Cell::Text(group.name()));
        name.chain((1..settings.len()).map(|at| number(ratio(row, at))))
            .collect()
    };
    let summary = settings.iter().enumerate().skip(1).map(|(at, setting)| {
        let ratios: Vec<f64> = rows.iter().map(|row| ratio(row, at)).collect();
        (
            format!("{}.gmean", setting.name),
            number(geometric_mean(&ratios)),
        )
    });
    Figure {
        table: Table {
            columns,
            rows: groups.iter().zip(rows).map(line).collect(),
        },
        summary: summary.collect(),
        ..Figure::default()
    }
}

/// Results under greedy-then-oldest and under round-robin: left-over, then Warped-Slicer.
fn under_schedulers(
    request: &Request,
    runs: &mut Runs<'_>,
) -> (Vec<Setting>, Option<Vec<Vec<Mixed>>>) {
    let of = |scheduler: &str, policy: &'static str| Setting {
        name: format!("{scheduler} {policy}"),
        machine: vec![format!("sm.warp_scheduler={scheduler}")],
        ..Setting::policy(policy)
    };
    let settings = vec![
        of("gto", LEFT_OVER),
        of("gto", SLICER),
        of("lrr", LEFT_OVER),
        of("lrr", SLICER),
    ];
    let rows = study(request, runs, GPU, &pairs(request.scale), &settings);
    (settings, rows)
}

/// Speed of Warped-Slicer over left-over under greedy-then-oldest and under round-robin, mean over
/// pairs.
fn speedups(rows: &[Vec<Mixed>]) -> [f64; 2] {
    [0, 2].map(|at| {
        let ratios = rows
            .iter()
            .map(|row| row[at + 1].figures.total_ipc / row[at].figures.total_ipc);
        geometric_mean(&ratios.collect::<Vec<_>>())
    })
}

fn schedulers(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let (settings, rows) = under_schedulers(request, runs);
    let rows = rows?;
    let ratio = |row: &[Mixed], at: usize| row[at].figures.total_ipc / row[0].figures.total_ipc;
    let mut figure = table(&pairs(request.scale), &rows, &settings, ratio);
    let [gto, lrr] = speedups(&rows);
    figure.summary = BTreeMap::from([
        ("gto.speedup".to_owned(), number(gto)),
        ("lrr.speedup".to_owned(), number(lrr)),
    ]);
    Some(figure)
}
