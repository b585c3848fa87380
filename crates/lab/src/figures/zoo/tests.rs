//! Tests of the study at scale `test`.

use super::members::rows;
use super::{Class, FEW, Level, members};
use crate::figures::testing::pages;
use warploom_report::page::Page;

/// Every row of the tables is a member once, and every machine exists.
#[test]
fn every_row_of_the_tables_is_a_member() {
    let all = [Level::Warps, Level::Blocks].map(members);
    let names: Vec<_> = all
        .iter()
        .flatten()
        .map(|member| member.name.as_str())
        .collect();
    for scheduler in rows("sm.warp_scheduler") {
        assert_eq!(
            names.iter().filter(|name| **name == scheduler).count(),
            1,
            "{scheduler}"
        );
    }
    for (key, word, base) in [
        ("gpu.block_scheduler", "blocks", "rr"),
        ("gpu.sm_filter", "filter", "all"),
        ("l1d.replacement", "L1D", "lru"),
        ("sm.l1d_allocation", "allocation", "always"),
        ("sm.l1d_victims", "victims", "none"),
        ("sm.context", "context", "none"),
    ] {
        for row in rows(key) {
            let count = names
                .iter()
                .filter(|name| **name == format!("{word} {row}"))
                .count();
            assert_eq!(count, usize::from(row != base), "{word} {row}");
        }
    }
    all.iter()
        .flatten()
        .for_each(|member| drop(member.machine()));
}

#[test]
fn classes_begin_at_their_limits() {
    let names = [2.0, 1.99, 1.1, 1.09, 0.9].map(|speedup| Class::of(speedup).name());
    let expected = ["high", "moderate", "moderate", "insensitive", "insensitive"];
    assert_eq!(names, expected);
}

fn of<'a>(page: &'a Page, column: &str) -> Vec<&'a warploom_report::page::Cell> {
    let at = page.table.columns.iter().position(|c| c.name == column);
    let at = at.expect("a column of the figure");
    page.table.rows.iter().map(|row| &row[at]).collect()
}

/// The rows of gto are 1 over gto, and a workload's classes agree in all figures.
#[test]
fn figures_are_over_their_baselines() {
    let pages = pages(&[&super::policies::WARPS, &super::classes::FIGURE]);
    let [warps, classes] = pages.as_slice() else {
        panic!("two pages")
    };
    let workloads = FEW.len();
    assert_eq!(classes.table.rows.len(), workloads);
    assert_eq!(
        warps.table.rows.len(),
        workloads * members(Level::Warps).len()
    );
    let policies = of(warps, "policy").into_iter().zip(of(warps, "over_gto"));
    let of_gto: Vec<_> = policies
        .filter(|(name, _)| name.to_string() == "gto")
        .collect();
    assert_eq!(of_gto.len(), workloads);
    assert!(of_gto.iter().all(|(_, speed)| speed.number() == Some(1.0)));
    assert_eq!(warps.summary["gto.over_gto"].number(), Some(1.0));
    let spreads = of(classes, "spread")
        .into_iter()
        .filter_map(|cell| cell.number());
    assert!(spreads.clone().all(|spread| spread >= 1.0));
    assert!(
        spreads.fold(1.0, f64::max) > 1.2,
        "some workload depends on its scheduler"
    );
    let energy = of(warps, "energy_over_gto");
    assert!(
        energy
            .iter()
            .all(|cell| cell.number().is_some_and(|ratio| ratio > 0.3))
    );
}
