//! Tests of figures of the paper at scale `test`.

use super::{all_pairs, triples};
use crate::figure::Scale;
use crate::figures::{find, testing};
use warploom_report::page::{Cell, Page};
use warploom_stats::result::ConfigValue;

/// Figures with the results of mixes, as many as CI has time for.
const MADE: [&str; 9] = [
    "fig1",
    "fig6",
    "fig6-oracle",
    "table3",
    "fig9",
    "storage",
    "sample",
    "energy",
    "threshold",
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
            .verdicts
            .iter()
            .map(|verdict| verdict.id.clone())
            .collect()
    };
    assert_eq!(claims("fig6"), ["slicer.vs_leftover"]);
    assert_eq!(claims("fig6-oracle"), ["slicer.oracle"]);
    assert_eq!(claims("table3"), ["slicer.partitions"]);
    assert_eq!(claims("fig9"), ["slicer.fairness"]);
    assert_eq!(claims("energy"), ["slicer.energy"]);
    // All four SMs of this scale hold blocks most of the time; the preset has 34.6 W for 16.
    let leakage = page("energy").summary["alone.16_sms.static_w"].number();
    assert!(leakage > Some(30.0) && leakage < Some(34.7), "{leakage:?}");
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
    assert_eq!(sample.summary["700.alone.near"], Cell::Count(3));
    // Shares of scheduler cycles leave space for those that issue.
    for row in &page("fig1").table.rows {
        let stalls: f64 = row[1..].iter().filter_map(Cell::number).sum();
        assert!((0.0..=1.0).contains(&stalls), "{row:?}");
    }
}

/// A row of JSON with these keys and values.
fn row(cells: &[(&str, &str)]) -> String {
    let pairs = cells
        .iter()
        .map(|(name, value)| format!(r#""{name}":{value}"#));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

#[test]
fn partitions_are_compared_with_runs_alone_and_with_the_papers() {
    let partition = |pair: &str, ours: &str, alone: &str| {
        let [pair, ours, alone] = [pair, ours, alone].map(|text| format!("{text:?}"));
        row(&[("pair", &pair), ("dyn", &ours), ("alone", &alone)])
    };
    let rows = [
        partition("DXT_MVP", "(7,1)", "(6,2)"),
        partition("DXT_NN", "(4,4)", "(5,2)"),
        partition("HOT_BFS", "spatial", "(1,2)"),
        partition("MM_BFS", "spatial", "(4,1)"),
    ];
    let verdicts = testing::judged(
        "slicer/table3",
        &["pair", "dyn", "alone"],
        &rows.join(","),
        "",
    );
    // All are decided; the two of the paper are spatial; one of two pairs is within one block of
    // its runs alone; the two partitions are the paper's.
    assert_eq!(testing::letters(&verdicts[0]), "rrdr", "{verdicts:#?}");
    assert_eq!(verdicts[0].statements[2].ours, Cell::from("1 of 2"));
}

#[test]
fn curves_rise_saturate_and_fall() {
    let curves = [
        ("HOT", [0.4, 0.7, 1.0]),
        ("IMG", [0.5, 0.95, 1.0]),
        ("BLK", [0.96, 1.0, 0.99]),
        ("MVP", [0.9, 1.0, 0.94]),
        ("NN", [0.9, 0.95, 1.0]),
    ];
    let rows = curves.iter().flat_map(|(name, curve)| {
        let shares = ["0.3", "0.6", "1"].into_iter().zip(curve);
        shares.map(move |(share, ipc)| {
            let (name, ipc) = (format!("{name:?}"), ipc.to_string());
            row(&[("benchmark", &name), ("share", share), ("normalised", &ipc)])
        })
    });
    let rows = rows.collect::<Vec<_>>().join(",");
    let columns = ["benchmark", "share", "normalised"];
    let verdicts = testing::judged("slicer/fig3a", &columns, &rows, "");
    assert_eq!(testing::letters(&verdicts[0]), "rrrrrd", "{verdicts:#?}");
}

#[test]
fn types_are_those_of_l2_misses_and_of_the_curves() {
    let kind = |name: &str, kind: &str| {
        let [name, kind] = [name, kind].map(|text| format!("{text:?}"));
        row(&[("benchmark", &name), ("type", &kind)])
    };
    let rows = [
        kind("BLK", "memory"),
        kind("DXT", "memory"),
        kind("MVP", "memory"),
        kind("NN", "compute"),
    ];
    let own = || testing::page("slicer/table2", &["benchmark", "type"], &rows.join(","), "");
    let point = |name: &str, share: &str, ipc: &str| {
        let name = format!("{name:?}");
        row(&[("benchmark", &name), ("share", share), ("normalised", ipc)])
    };
    let points = [
        point("BLK", "0.5", "1"),
        point("BLK", "1", "0.94"),
        point("DXT", "1", "1"),
        point("MVP", "0.5", "1"),
        point("MVP", "1", "0.9"),
        point("NN", "0.5", "0.9"),
        point("NN", "1", "1"),
    ];
    let columns = ["benchmark", "share", "normalised"];
    let curves = testing::page("slicer/fig3a", &columns, &points.join(","), "");
    let types = |others| {
        let verdicts = testing::judged_beside(own(), others);
        let judged = verdicts.iter().find(|of| of.id == "slicer.types");
        judged.cloned().unwrap()
    };
    // BLK, BFS, DXT, HOT, IMG, KNN, LBM, MM, MVP, NN: BLK falls, DXT misses, NN does not fall.
    let with = types(vec![curves]);
    assert_eq!(testing::letters(&with), "d-d-----rd", "{with:#?}");
    // Without the curves nobody knows the types of MVP and NN.
    let without = types(Vec::new());
    assert_eq!(testing::letters(&without), "r-d-------", "{without:#?}");
}

#[test]
fn statements_of_another_figure_take_its_machine() {
    let earlier = |mut page: Page| {
        let clock = [("clocks.core_mhz".to_owned(), ConfigValue::Float(1400.0))];
        page.presets = [("fermi-slicer".to_owned(), clock.into())].into();
        page
    };
    let own = testing::page("slicer/fig10a", &["pair"], "", r#""large.ipc.gmean":1.3"#);
    let own = || earlier(own.clone());
    let mut large = testing::page("slicer/large", &["pair"], "", r#""large.ipc.gmean":1.2"#);
    let clock = [("clocks.core_mhz".to_owned(), ConfigValue::Float(700.0))];
    large.presets = [("fermi-slicer".to_owned(), clock.into())].into();
    let ours = |others| {
        let verdicts = testing::judged_beside(own(), others);
        (
            verdicts[0].statements[3].ours.clone(),
            verdicts[0].note.clone(),
        )
    };
    let (value, note) = ours(vec![large]);
    assert_eq!(value, Cell::Number(1.2));
    assert!(note.contains("earlier machine"), "{note}");
    assert!(note.contains("clocks.core_mhz 1400, 700 today"), "{note}");
    // A file of an earlier build has the value itself.
    assert_eq!(ours(Vec::new()).0, Cell::Number(1.3));
}

#[test]
fn a_pair_that_moves_counts_and_not_the_mean() {
    let columns = [
        "pair",
        "profile_cycles 10K",
        "profile_cycles 50K",
        "delay_cycles 1K",
    ];
    let pair = |name: &str, longer: &str, delayed: &str| {
        row(&[
            ("pair", name),
            ("profile_cycles 10K", longer),
            ("profile_cycles 50K", "1"),
            ("delay_cycles 1K", delayed),
        ])
    };
    let rows = [pair("\"A\"", "1.1", "1.1"), pair("\"B\"", "0.9", "0.909")].join(",");
    let own = || testing::page("slicer/fig10a", &columns, &rows, "");
    let of = |figure: &str, summary: &str| testing::page(figure, &["pair"], "", summary);
    let others = vec![
        of(
            "slicer/fig10b",
            r#""gto.speedup":1.16,"lrr.speedup":1.15,"large.fairness.gmean":1.2"#,
        ),
        of("slicer/large", r#""large.ipc.gmean":1.21"#),
    ];
    let verdicts = testing::judged_beside(own(), others);
    // The delay moves both pairs by 10 % and their mean by nothing.
    assert_eq!(testing::letters(&verdicts[0]), "drrr-", "{verdicts:#?}");
    let alone = testing::judged_beside(own(), Vec::new());
    assert_eq!(testing::letters(&alone[0]), "dr---", "{alone:#?}");
}

#[test]
fn the_oracle_is_compared_with_fig_6() {
    let pair = |pair: &str, ipc: &str| row(&[("pair", pair), ("oracle.ipc", ipc)]);
    let rows = [
        pair("\"A\"", "100"),
        pair("\"B\"", "100"),
        pair("\"C\"", "100"),
    ];
    let columns = ["pair", "oracle.ipc"];
    let own = || testing::page("slicer/fig6-oracle", &columns, &rows.join(","), "");
    let fig6 = |pair: &str, left_over: &str, slicer: &str| {
        row(&[
            ("pair", pair),
            ("left-over.ipc", left_over),
            ("warped-slicer", slicer),
        ])
    };
    // Warped-Slicer has 96, 94 and 102 instructions per cycle.
    let rows = [
        fig6("\"A\"", "80", "1.2"),
        fig6("\"B\"", "47", "2"),
        fig6("\"C\"", "102", "1"),
    ];
    let columns = ["pair", "left-over.ipc", "warped-slicer"];
    let fig6 = testing::page("slicer/fig6", &columns, &rows.join(","), "");
    let verdicts = testing::judged_beside(own(), vec![fig6]);
    assert_eq!(testing::letters(&verdicts[0]), "r", "{verdicts:#?}");
    assert_eq!(verdicts[0].statements[0].ours, Cell::from("2 of 3"));
    let alone = testing::judged_beside(own(), Vec::new());
    assert_eq!(testing::letters(&alone[0]), "-", "{alone:#?}");
}
