//! Tests of all figures of the paper at scale `test`.

use crate::figures::{find, testing};
use warploom_report::page::{Cell, Judgement, Page};

fn pages() -> Vec<Page> {
    testing::pages(&find("duet").unwrap())
}

#[test]
fn every_figure_is_made_and_every_claim_has_its_verdict() {
    let pages = pages();
    let names: Vec<_> = pages.iter().map(|page| page.figure.as_str()).collect();
    let all = "fig1 fig3b fig4 fig5 fig6 fig7 fig12 fig13 fig14 fig15 table3 table4 contexts \
               transfers bfs";
    let all: Vec<_> = all.split_whitespace().collect();
    assert_eq!(names, all);
    testing::check(&pages, "duet", &[]);
    let table4 = &pages[11];
    let totals: Vec<_> = table4.table.rows.iter().map(|row| row[3].clone()).collect();
    assert_eq!(totals, [3072, 3456, 1440, 224, 80].map(Cell::Count));
    let bytes = &table4.verdicts[0];
    assert_eq!(bytes.judgement, Some(Judgement::Reproduced), "{bytes:?}");
}

#[test]
fn numbers_of_extra_blocks_beyond_a_bound_do_not_count() {
    let columns = [
        "workload", "bound", "me1", "me2", "me3", "me4", "me6", "me8", "dynamic",
    ];
    let row = |name: &str, bound: u32, fixed: [f64; 6]| {
        let [a, b, c, d, e, f] = fixed;
        format!(
            r#"{{"workload":"{name}","bound":{bound},"me1":{a},"me2":{b},"me3":{c},"me4":{d},
                "me6":{e},"me8":{f},"dynamic":1.3}}"#
        )
    };
    let rows = [
        // Best at its bound of two; the later columns are of other machines in this test.
        row("BFS", 2, [1.1, 1.3, 0.5, 0.5, 0.5, 2.0]),
        // Best with three of at most six.
        row("MM", 6, [1.1, 1.2, 1.3, 1.2, 1.1, 9.0]),
        row("SPMV", 1, [0.9, 9.0, 9.0, 9.0, 9.0, 9.0]),
        row("KM", 8, [0.9, 0.9, 0.8, 0.8, 0.8, 0.75]),
    ];
    let verdicts = testing::judged("duet/fig12", &columns, &rows.join(","), "");
    let ranges = &verdicts[2];
    assert_eq!(ranges.id, "duet.speedup.underutilised.range");
    // A gain of 1.3 is 7 points from 1.23, 17 from 1.47, 23 from 1.07 and 5 from 1.25; KM loses
    // 25 %.
    assert_eq!(testing::letters(ranges), "nnrnrrrr", "{ranges:#?}");
    // The loss without L1D is not on this page.
    assert_eq!(testing::letters(&verdicts[3]), "-");
}

#[test]
fn registers_kept_are_judged_against_those_granted() {
    // The preset grants four registers at a time: 11 are 12, and 20 are 20.
    let rows = r#"{"workload":"BFS","registers":11,"kept":4},
                  {"workload":"BT","registers":20,"kept":12}"#;
    let columns = ["workload", "registers", "kept"];
    let verdicts = testing::judged("duet/contexts", &columns, rows, "");
    let ours = verdicts[0].statements[0].ours.number().unwrap();
    assert!((ours - (100.0 / 3.0 + 60.0) / 2.0).abs() < 1e-9, "{ours}");
    assert!(verdicts[0].note.contains("in units of 4"));
}
