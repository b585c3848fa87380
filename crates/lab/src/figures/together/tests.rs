//! Tests of the study: relations by hand, and both figures at scale `test`.

use super::combination::{Combination, Gains, Relation, summary};
use super::{pairs, single};
use crate::figures::testing::pages;
use warploom_report::page::{Cell, Page};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Single speedups of 1.2, 1.1, 1 and 0.9.
fn gains(together: impl Fn(usize, f64) -> f64) -> Gains {
    let singles = [1.2, 1.1, 1.0, 0.9];
    let product = |bits: usize| -> f64 {
        let own = (0..4).filter(|system| bits >> system & 1 != 0);
        own.map(|system| singles[system]).product()
    };
    Gains {
        name: "w".to_owned(),
        speedups: (0..16).map(|bits| together(bits, product(bits))).collect(),
    }
}

#[test]
fn combinations_are_ordered_by_size_and_named() {
    let all = Combination::all();
    let names: Vec<_> = all.iter().map(|one| one.name(NAMES)).collect();
    let first = ["baseline", "a", "b", "c", "d", "a+b", "a+c", "b+c", "a+d"];
    assert_eq!(names[..9], first);
    assert_eq!(names[15], "a+b+c+d");
}

/// 1.2 times 1.1 is 1.32: 1.33 is within 2 % of it, 1.25 is below, 1.4 is above.
#[test]
fn gains_add_fight_or_help() {
    let both = Combination(0b11);
    for (speedup, relation) in [
        (1.33, Relation::Adds),
        (1.25, Relation::Fights),
        (1.4, Relation::Helps),
    ] {
        let gains = gains(|bits, product| if bits == 0b11 { speedup } else { product });
        assert!((gains.product(both) - 1.32).abs() < 1e-12);
        assert_eq!(gains.relation(both), Some(relation));
        assert_eq!(gains.relation(Combination(0b1)), None, "one system");
        let summary = summary(std::slice::from_ref(&gains), NAMES);
        assert_eq!(summary[&format!("a+b.{}", relation.name())], Cell::Count(1));
        let mean = summary["a+b.speedup"].number().unwrap();
        assert!((mean - speedup).abs() < 1e-12);
    }
}

/// Every workload has all sixteen combinations, the baseline's speedup is 1, and where GPUDuet is
/// off nothing moves.
fn check(page: &Page, duet: &str) {
    let at = |name: &str| {
        let found = page.table.columns.iter().position(|c| c.name == name);
        found.unwrap_or_else(|| panic!("no column {name}"))
    };
    assert_eq!(page.table.rows.len() % 16, 0);
    for row in &page.table.rows {
        assert_eq!(row.len(), page.table.columns.len());
        let combination = row[at("combination")].to_string();
        if combination == "baseline" {
            assert_eq!(row[at("speedup")].number(), Some(1.0));
        }
        let switches = combination.split('+').any(|name| name == duet);
        if !switches {
            assert_eq!(row[at("context.moves")], Cell::Count(0), "{combination}");
            assert_eq!(row[at("context.declined")], Cell::None, "{combination}");
        }
        let shares = row[at("slots.issued")].number().unwrap();
        assert!((0.0..1.0).contains(&shares), "{combination}: {shares}");
        assert!(row[at("tlp")].number().unwrap() > 1.0);
    }
    assert!(page.summary.contains_key("crat+duet.over_product"));
}

#[test]
fn figures_have_every_combination_with_its_evidence() {
    let pages = pages(&[&single::FIGURE, &pairs::FIGURE]);
    for page in &pages {
        check(page, "duet");
    }
    assert_eq!(pages[0].table.rows.len(), 2 * 16);
    assert_eq!(pages[1].table.rows.len(), 16);
}
