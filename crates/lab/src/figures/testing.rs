//! Figures at scale `test`, for the tests of each paper's.

use super::FigureInfo;
use crate::figure::{Request, Scale};
use crate::runner::Runner;
use crate::runs::{Made, Wanted, make};
use warploom_report::page::Page;

/// Makes figures, keeping no run. Panics where one cannot be made.
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
