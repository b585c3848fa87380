//! Helpers to test figures at scale `test`.

use super::{FigureInfo, judge};
use crate::claims::claims;
use crate::figure::{Request, Scale};
use crate::runner::Runner;
use crate::runs::{FigureJob, FigureOutcome, make};
use warploom_report::page::{Judgement, Page, Verdict};

/// Makes figures without storing runs. Panics if a figure cannot be made.
pub(super) fn pages(infos: &[&FigureInfo]) -> Vec<Page> {
    let request = Request { scale: Scale::Test };
    let wanted: Vec<_> = infos
        .iter()
        .map(|info| FigureJob::figure(info, &request))
        .collect();
    let runner = Runner {
        store: None,
        threads: 2,
        observer: &|_| (),
        interrupted: &|| false,
    };
    let page = |made| match made {
        FigureOutcome::Page(page) => *page,
        FigureOutcome::Failed { name, runs } => panic!("{name}: {runs:?}"),
    };
    let made = make(&wanted, &runner).unwrap();
    made.into_iter().map(page).collect()
}

/// Checks that every claim of a paper, except for those in `without`, has a verdict on a page, and
/// that tables are rectangular.
pub(super) fn check(pages: &[Page], paper: &str, without: &[&str]) {
    let judged = pages.iter().flat_map(|page| &page.verdicts);
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

/// A page of a figure with these rows and summary values, as JSON. The keys of the first row are
/// the columns, in the order of `columns`.
pub(super) fn page(figure: &str, columns: &[&str], rows: &str, summary: &str) -> Page {
    let (paper, figure) = figure.split_once('/').expect("a full name");
    let columns = columns
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","about":""}}"#));
    let columns = columns.collect::<Vec<_>>().join(",");
    let text = format!(
        r#"{{"paper":"{paper}","figure":"{figure}","title":"","scale":"test","version":"",
            "command":"","columns":[{columns}],"rows":[{rows}],"summary":{{{summary}}},
            "charts":[]}}"#
    );
    serde_json::from_str(&text).expect("the test's own page")
}

/// Verdicts on a page, judged beside others.
pub(super) fn judged_beside(own: Page, others: Vec<Page>) -> Vec<Verdict> {
    let mut pages = others;
    pages.insert(0, own);
    judge(&mut pages);
    pages.swap_remove(0).verdicts
}

/// Verdicts on the page of these rows and values alone.
pub(super) fn judged(figure: &str, columns: &[&str], rows: &str, summary: &str) -> Vec<Verdict> {
    judged_beside(page(figure, columns, rows, summary), Vec::new())
}

/// Judgements of a verdict's statements: `r`, `n`, `d`, and `-` for what was not measured.
pub(super) fn letters(verdict: &Verdict) -> String {
    let letter = |judgement: Option<Judgement>| match judgement {
        Some(Judgement::Reproduced) => 'r',
        Some(Judgement::Near) => 'n',
        Some(Judgement::Differs) => 'd',
        None => '-',
    };
    let statements = verdict.statements.iter();
    statements
        .map(|statement| letter(statement.judgement))
        .collect()
}
