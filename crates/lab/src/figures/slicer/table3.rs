//! Table III: blocks of each kernel on an SM.

use super::fig3::choice_by_runs_alone;
use super::{GPU, Group, PAPER, SLICER, Setting, columns, pairs, study};
use crate::figure::{Figure, Request};
use crate::figures::FigureInfo;
use crate::runs::Runs;
use warploom_report::page::{Cell, Table};
use warploom_stats::result::{DecisionReport, RunReport};
use warploom_workloads::Target;

pub(super) const FIGURE: FigureInfo = FigureInfo {
    paper: PAPER,
    name: "table3",
    title: "Blocks of each kernel on an SM under warped-slicer and even",
    make,
};

/// The paper's column Dyn; `None` where it is spatial.
pub(super) const DYN: &[(&str, Option<[u32; 2]>)] = &[
    ("DXT_MVP", Some([7, 1])),
    ("DXT_NN", Some([4, 4])),
    ("HOT_MVP", Some([3, 1])),
    ("HOT_NN", Some([2, 4])),
    ("IMG_MVP", Some([7, 1])),
    ("IMG_NN", Some([3, 5])),
    ("MM_MVP", Some([5, 1])),
    ("MM_NN", Some([3, 5])),
    ("DXT_BFS", Some([6, 2])),
    ("DXT_BLK", Some([4, 4])),
    ("DXT_KNN", Some([4, 4])),
    ("DXT_LBM", Some([5, 3])),
    ("HOT_BFS", None),
    ("HOT_BLK", Some([2, 4])),
    ("HOT_KNN", Some([2, 4])),
    ("HOT_LBM", Some([3, 1])),
    ("IMG_BFS", Some([6, 2])),
    ("IMG_BLK", Some([5, 3])),
    ("IMG_KNN", Some([4, 4])),
    ("IMG_LBM", Some([7, 1])),
    ("MM_BFS", None),
    ("MM_BLK", Some([3, 4])),
    ("MM_KNN", Some([4, 4])),
    ("MM_LBM", Some([5, 1])),
    ("DXT_IMG", Some([4, 4])),
    ("HOT_DXT", Some([2, 6])),
    ("HOT_IMG", Some([2, 6])),
    ("MM_DXT", Some([3, 5])),
    ("MM_HOT", Some([2, 2])),
    ("MM_IMG", Some([3, 5])),
];

/// The first decision of a run that divides an SM or the SMs.
pub(super) fn first(report: &RunReport) -> Option<&DecisionReport> {
    let mut decisions = report.decisions.iter();
    decisions.find(|decision| decision.verdict != "profile")
}

fn text(blocks: Option<&[u32]>) -> String {
    match blocks {
        Some(blocks) => {
            let blocks: Vec<String> = blocks.iter().map(u32::to_string).collect();
            format!("({})", blocks.join(","))
        }
        None => "spatial".to_owned(),
    }
}

fn even(group: &Group) -> Vec<u32> {
    let of = |name: &&str| {
        let target = Target::resolve(&format!("{PAPER}/{name}"));
        let target = target.unwrap_or_else(|unknown| panic!("{unknown}"));
        target
            .facts
            .and_then(|facts| facts.blocks_of_half_an_sm)
            .unwrap_or(0)
    };
    group.names.iter().map(of).collect()
}

/// Names and descriptions of the table's columns.
const COLUMNS: &[(&str, &str)] = &[
    ("pair", "The paper's names."),
    (
        "dyn",
        "Blocks on an SM under warped-slicer, at its first decision.",
    ),
    (
        "dyn.paper",
        "Blocks on an SM under warped-slicer in Table III.",
    ),
    (
        "alone",
        "What Algorithm 1 chooses from a tenth of the time alone with 1, 2, 3 blocks (Fig. 3a).",
    ),
    ("even", "Blocks on an SM under even, as in Table III."),
    ("decided_at", "Core cycle of the first decision."),
];

fn make(request: &Request, runs: &mut Runs<'_>) -> Option<Figure> {
    let groups = pairs(request.scale);
    let rows = study(request, runs, GPU, &groups, &[Setting::policy(SLICER)])?;
    // Collected first, so that all runs are requested at once.
    let known: Vec<_> = groups
        .iter()
        .map(|group| choice_by_runs_alone(request, runs, &group.names))
        .collect();
    let known: Vec<Vec<u32>> = known.into_iter().collect::<Option<_>>()?;
    let lines = groups.iter().zip(&rows).zip(&known);
    let lines = lines.map(|((group, row), known)| line(group, first(&row[0].report), known));
    Some(Figure {
        table: Table {
            columns: columns(COLUMNS),
            rows: lines.collect(),
        },
        ..Figure::default()
    })
}

/// Line of the table for a pair with its first decision and the choice from runs alone.
fn line(group: &Group, decision: Option<&DecisionReport>, known: &[u32]) -> Vec<Cell> {
    let name = group.name();
    let paper = DYN.iter().find(|(pair, _)| *pair == name);
    let paper = paper.and_then(|(_, blocks)| *blocks);
    let ours = decision.filter(|d| d.verdict == "shared");
    let ours = ours.map(|d| &d.blocks[..]);
    vec![
        Cell::Text(name),
        Cell::Text(decision.map_or("none".to_owned(), |_| text(ours))),
        Cell::Text(text(paper.as_ref().map(|blocks| &blocks[..]))),
        Cell::Text(text(Some(known))),
        Cell::Text(text(Some(&even(group)))),
        decision.map_or(Cell::None, |d| Cell::Count(d.cycle)),
    ]
}
