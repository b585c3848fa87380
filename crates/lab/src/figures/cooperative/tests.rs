//! Tests of all figures of the paper at scale `test`.

use crate::figure::Request;
use crate::figures::{find, testing};
use warploom_report::page::{Cell, Page};

fn pages() -> Vec<Page> {
    testing::pages(&find("cooperative").unwrap())
}

#[test]
fn every_figure_is_made_and_every_claim_has_its_verdict() {
    let pages = pages();
    let names: Vec<_> = pages.iter().map(|page| page.figure.as_str()).collect();
    let all = ["fig3", "fig4", "table3", "stalls", "storage", "series"];
    assert_eq!(names, all);
    testing::check(&pages, "cooperative", &[]);
    // Six workloads run on four machines, whose runs the tables share, and on that of the listing
    // as printed.
    let counts: Vec<_> = pages.iter().map(|page| page.runs.len()).collect();
    assert_eq!(counts[1..4], [24, 24, 30]);
    // The baseline over itself.
    assert!(
        pages[0]
            .table
            .rows
            .iter()
            .all(|row| row[1] == Cell::Number(1.0))
    );
}

#[test]
fn storage_is_that_of_a_counter_a_warp() {
    let request = Request::default();
    let info = find("cooperative/storage").unwrap()[0];
    let results = crate::Results::default();
    let figure = (info.make)(&request, &mut crate::runs::Runs::new(&results)).unwrap();
    let counters: Vec<_> = figure.table.rows.iter().map(|row| row[6].clone()).collect();
    // 1536 threads are 48 warps, and 1024 are the paper's 32.
    use Cell::{Count, None};
    assert_eq!(counters, [Count(48), None, Count(32), None]);
    assert_eq!(figure.table.rows[2][7], Count(32));
    assert_eq!(figure.table.rows[2][4], Count(32 * 32));
}

/// Verdicts on Fig. 3 with these IPCs under round-robin, GTO and long-latency-first.
fn fig3(ipcs: [[f64; 3]; 2]) -> Vec<String> {
    let row = |(name, [lrr, gto, llf]): (&str, [f64; 3])| {
        format!(
            r#"{{"workload":"{name}","lrr.ipc":{lrr},"gto.ipc":{gto},
                "long-latency-first.ipc":{llf}}}"#
        )
    };
    let rows = ["MergeSort", "MUMmerGPU"].into_iter().zip(ipcs).map(row);
    let rows = rows.collect::<Vec<_>>().join(",");
    let columns = ["workload", "lrr.ipc", "gto.ipc", "long-latency-first.ipc"];
    let verdicts = testing::judged("cooperative/fig3", &columns, &rows, "");
    verdicts.iter().map(testing::letters).collect()
}

#[test]
fn claims_about_warp_schedulers_follow_from_the_table() {
    // Over round-robin 1 and 1.2, a mean of 1.095; over GTO 0.95 and 1.1.
    let ipcs = [[10.0, 10.0 / 0.95, 10.0], [10.0, 12.0 / 1.1, 12.0]];
    assert_eq!(fig3(ipcs), ["rrrr", "rr"]);
    // MergeSort gains most and MUMmerGPU nothing: 1.1 and 1 over both.
    let ipcs = [[10.0, 10.0, 11.0], [10.0, 10.0, 10.0]];
    assert_eq!(fig3(ipcs), ["rddr", "nd"]);
    // MergeSort loses more than a tie.
    let ipcs = [[10.0, 10.0, 9.9], [10.0, 10.0, 12.0]];
    assert_eq!(fig3(ipcs)[0], "rrrd");
}

#[test]
fn what_a_stored_page_lacks_is_not_measured() {
    let verdicts = testing::judged("cooperative/fig4", &["workload"], "", "");
    assert_eq!(
        verdicts.iter().map(testing::letters).collect::<Vec<_>>(),
        ["--"]
    );
    assert_eq!(verdicts[0].label(), "not measured");
}
