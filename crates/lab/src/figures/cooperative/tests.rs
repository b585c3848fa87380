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
