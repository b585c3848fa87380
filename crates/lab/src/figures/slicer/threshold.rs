//! The greatest loss from which SMs are divided (section IV), as a part of what division leaves a
//! kernel or of what it takes. First partitions of pairs and triples, compared with Algorithm 1's
//! choice from runs alone. This is not a figure of the paper.

use super::fig3::{choice_by_runs_alone, curve, over_best};
use super::sample::{Choice, first_decision};
use super::{GPU, Group, PAPER, columns, pairs, scale_note, triples};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use std::collections::BTreeMap;
use warploom_report::page::{Cell, Table};

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "threshold",
    title: "First partitions by the loss from which SMs are divided",
    make,
};

/// Values of the key `warped-slicer.loss_base`.
const BASES: [&str; 2] = ["share-kept", "share-lost"];

/// Partitions of some programs.
struct Row {
    group: Group,
    alone: Choice,
    /// The least part of its best that a program keeps with this choice, by runs alone.
    kept: f64,
    sampled: [Choice; BASES.len()],
}

fn row(request: &Request, runs: &mut Runs<'_>, group: &Group) -> Option<Row> {
    let curves: Vec<_> = group
        .names
        .iter()
        .map(|name| curve(request, runs, name, &[]))
        .collect();
    let alone = choice_by_runs_alone(request, runs, &group.names);
    let found = BASES.map(|base| {
        let sets = [format!("warped-slicer.loss_base={base}")];
        first_decision(request, runs, &group.names, &sets, 1)
    });
    let [printed, other] = found;
    let curves: Vec<Vec<f64>> = curves.into_iter().collect::<Option<_>>()?;
    let alone = alone?;
    let kept = curves.iter().zip(&alone).map(|(curve, blocks)| {
        let shares = over_best(curve);
        shares.get(*blocks as usize - 1).copied().unwrap_or(0.0)
    });
    Some(Row {
        group: group.clone(),
        kept: kept.fold(f64::INFINITY, f64::min),
        alone: Choice::Shared(alone),
        sampled: [printed?, other?].map(|decision| Choice::of(decision.as_ref())),
    })
}

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = [pairs(request.scale), triples(request.scale)].concat();
    // Collected first, so that all runs are requested at once.
    let rows: Vec<_> = groups.iter().map(|g| row(request, runs, g)).collect();
    let rows: Vec<Row> = rows.into_iter().collect::<Option<_>>()?;
    let mut summary = BTreeMap::new();
    for kernels in [2, 3] {
        let of = rows.iter().filter(|row| row.group.names.len() == kernels);
        let of: Vec<&Row> = of.collect();
        for (at, base) in BASES.iter().enumerate() {
            let count = |is: &dyn Fn(&Row) -> bool| {
                Cell::Count(of.iter().filter(|row| is(row)).count() as u64)
            };
            let near = count(&|row| row.sampled[at].is_near(&row.alone));
            let spatial = count(&|row| row.sampled[at] == Choice::Spatial);
            summary.insert(format!("{kernels}.{base}.near"), near);
            summary.insert(format!("{kernels}.{base}.spatial"), spatial);
        }
    }
    let line = |row: &Row| {
        let [printed, other] = row.sampled.each_ref().map(|c| Cell::Text(c.text()));
        vec![
            Cell::Text(row.group.name()),
            Cell::Text(row.alone.text()),
            Cell::Number(row.kept),
            printed,
            other,
        ]
    };
    let about = format!(
        "First partition, with the greatest loss of 1.2/K. {} On {GPU}.",
        scale_note(request)
    );
    Some(Figure {
        table: Table {
            columns: columns(&[
                ("kernels", "The paper's names."),
                (
                    "alone",
                    "What Algorithm 1 chooses from runs alone, without a greatest loss.",
                ),
                (
                    "alone.kept",
                    "The least part of its best that a program keeps with it, by runs alone.",
                ),
                (BASES[0], &about),
                (
                    BASES[1],
                    "First partition, with the greatest loss of 1.2 (K - 1)/K.",
                ),
            ]),
            rows: rows.iter().map(line).collect(),
        },
        summary,
        ..Figure::default()
    })
}
