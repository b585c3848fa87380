//! Fig. 10: Warped-Slicer with other lengths of profile and algorithm (a), and schedulers (b).

use super::{
    GPU, Group, LEFT_OVER, Mixed, PAPER, SLICER, Setting, add_mean, number, pairs, samples, study,
    times,
};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
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
    let rows = study(request, runs, GPU, &groups, &settings)?;
    let ratio = |row: &[Mixed], at: usize| row[at].figures.total_ipc / row[0].figures.total_ipc;
    Some(table(&groups, &rows, &settings, ratio))
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
    let mut summary = BTreeMap::new();
    for (at, setting) in settings.iter().enumerate().skip(1) {
        let ratios = samples(groups, rows.iter().map(|row| ratio(row, at)));
        add_mean(
            &mut summary,
            &format!("{}.gmean", setting.name),
            ratios.geometric(),
        );
    }
    Figure {
        table: Table {
            columns,
            rows: groups.iter().zip(rows).map(line).collect(),
        },
        summary,
        ..Figure::default()
    }
}

/// Speed of Warped-Slicer over left-over under greedy-then-oldest and under round-robin, means over
/// pairs.
fn by_scheduler_summary(groups: &[Group], rows: &[Vec<Mixed>]) -> BTreeMap<String, Cell> {
    let mut summary = BTreeMap::new();
    for (name, at) in [("gto", 0), ("lrr", 2)] {
        let ratio = |row: &Vec<Mixed>| row[at + 1].figures.total_ipc / row[at].figures.total_ipc;
        let ratios = samples(groups, rows.iter().map(ratio));
        add_mean(&mut summary, &format!("{name}.speedup"), ratios.geometric());
    }
    summary
}

fn schedulers(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let of = |scheduler: &str, policy: &'static str| Setting {
        name: format!("{scheduler} {policy}"),
        machine: vec![format!("sm.warp_scheduler={scheduler}")],
        ..Setting::policy(policy)
    };
    let settings = [
        of("gto", LEFT_OVER),
        of("gto", SLICER),
        of("lrr", LEFT_OVER),
        of("lrr", SLICER),
    ];
    let groups = pairs(request.scale);
    let rows = study(request, runs, GPU, &groups, &settings)?;
    let ratio = |row: &[Mixed], at: usize| row[at].figures.total_ipc / row[0].figures.total_ipc;
    let mut figure = table(&groups, &rows, &settings, ratio);
    figure.summary = by_scheduler_summary(&groups, &rows);
    Some(figure)
}
