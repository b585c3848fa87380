//! Tests of figures of the paper at scale `test`.

use super::{all_pairs, triples};
use crate::figure::Scale;
use crate::figures::{find, testing};
use warploom_report::page::{Cell, Page};

/// Figures with the results of mixes, as many as CI has time for.
const MADE: [&str; 8] = [
    "fig1",
    "fig6",
    "fig6-oracle",
    "table3",
    "fig9",
    "storage",
    "sample",
    "energy",
];

fn pages() -> Vec<Page> {
    testing::pages(&MADE.map(|name| find(&format!("slicer/{name}")).unwrap()[0]))
}

#[test]
fn mixes_are_those_of_the_paper() {
    let pairs = all_pairs();
    let of = |category: &str| pairs.iter().filter(|p| p.category == category).count();
    let counts = [
        of("compute + cache"),
        of("compute + memory"),
        of("compute + compute"),
    ];
    assert_eq!(counts, [8, 16, 6]);
    assert_eq!(triples(Scale::Paper).len(), 15);
}

#[test]
fn figures_are_made_and_their_policies_act() {
    let pages = pages();
    let page = |name: &str| pages.iter().find(|page| page.figure == name).unwrap();
    for page in &pages {
        assert!(!page.table.rows.is_empty(), "{}", page.figure);
        for row in &page.table.rows {
            assert_eq!(row.len(), page.table.columns.len(), "{}", page.figure);
        }
    }
    let claims = |name: &str| -> Vec<String> {
        page(name)
            .claims
            .iter()
            .map(|verdict| verdict.id.clone())
            .collect()
    };
    assert_eq!(claims("fig6"), ["slicer.vs_leftover"]);
    assert_eq!(claims("fig6-oracle"), ["slicer.oracle"]);
    assert_eq!(claims("table3"), ["slicer.partitions"]);
    assert_eq!(claims("fig9"), ["slicer.fairness"]);
    assert_eq!(claims("energy"), ["slicer.energy"]);
    for row in &page("energy").table.rows {
        let cells: Vec<f64> = row.iter().filter_map(Cell::number).collect();
        let [base, slicer, saved] = cells[..3] else {
            panic!("{row:?}")
        };
        assert!(
            (100.0 * (1.0 - slicer / base) - saved).abs() < 1e-9,
            "{row:?}"
        );
    }
    // Every pair reached a partition or divided SMs, and continued with it.
    for row in &page("table3").table.rows {
        let [_, Cell::Text(ours), .., Cell::Count(at)] = row.as_slice() else {
            panic!("{row:?}")
        };
        assert!(ours != "none" && *at >= 1000, "{row:?}");
    }
    // Three pairs at two clocks: every source of curves leads to a partition.
    let sample = page("sample");
    assert_eq!(sample.table.rows.len(), 6);
    for row in &sample.table.rows {
        let choices = row[2..].iter().map(Cell::shown);
        for (at, choice) in choices.enumerate() {
            let shared = choice.starts_with('(');
            assert!(shared || at > 2 && choice == "spatial", "{row:?}");
        }
    }
    assert_eq!(sample.summary["1400.alone.near"], Cell::Count(3));
    // Shares of scheduler cycles leave space for those that issue.
    for row in &page("fig1").table.rows {
        let stalls: f64 = row[1..].iter().filter_map(Cell::number).sum();
        assert!((0.0..=1.0).contains(&stalls), "{row:?}");
    }
}
