//! Helpers to test figures at scale `test`.

use super::FigureInfo;
use crate::claims::claims;
use crate::figure::{Request, Scale};
use crate::runner::Runner;
use crate::runs::{Made, Wanted, make};
use warploom_report::page::Page;

/// Makes figures without storing runs. Panics if a figure cannot be made.
pub(super) fn pages(infos: &[&FigureInfo]) -> Vec<Page> {
    let request = Request { scale: Scale::Test };
    let wanted: Vec<_> = infos
        .iter()
        .map(|info| Wanted::figure(info, &request))
        .collect();
    let runner = Runner {
        store: None,
        threads: 2,
        observer: &|_| (),
    };
    let page = |made| match made {
        Made::Page(page) => *page,
        Made::Failed { name, runs } => panic!("{name}: {runs:?}"),
    };
    let made = make(&wanted, &runner).unwrap();
    made.into_iter().map(page).collect()
}

/// Checks that every claim of a paper, except for those in `without`, has a verdict on a page, and
/// that tables are rectangular.
pub(super) fn check(pages: &[Page], paper: &str, without: &[&str]) {
    let judged = pages.iter().flat_map(|page| &page.claims);
    let mut judged: Vec<_> = judged.map(|verdict| verdict.id.clone()).collect();
    let all = claims().into_iter().filter(|claim| claim.paper == paper);
    let mut all: Vec<_> = all.map(|claim| claim.id).collect();
    all.retain(|id| !without.contains(&id.as_str()));
    judged.sort();
    all.sort();
    assert_eq!(judged, all);
    for page in pages {
        assert!(!page.table.rows.is_empty(), "{}", page.figure);
        for row in &page.table.rows {
            assert_eq!(row.len(), page.table.columns.len(), "{}", page.figure);
        }
    }
}
