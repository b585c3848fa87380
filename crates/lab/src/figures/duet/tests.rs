//! Tests of all figures of the paper at scale `test`.

use crate::figures::{find, testing};
use warploom_report::page::{Cell, Holds, Page};

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
    assert_eq!(table4.claims[0].holds, Holds::Yes, "{:?}", table4.claims);
}
