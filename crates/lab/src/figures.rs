//! Table of all figures.

mod cooperative;
mod crat;
mod duet;
mod energy;
mod locality;
mod shared;
mod slicer;
#[cfg(test)]
mod testing;
mod together;
mod zoo;

pub(crate) use shared::{add_mean, samples};
pub use slicer::{OracleRequest, every_mix, is_right, oracle};

use crate::data::Data;
use crate::earlier;
use crate::figure::{Figure, Request};
use crate::printed::mark;
use crate::runs::Runs;
use warploom_report::page::{Page, Verdict};

/// A figure or table that can be made.
#[derive(Clone, Copy, Debug)]
pub struct FigureInfo {
    /// Short name of the paper (`duet`, `cooperative`, `crat`, `slicer`, `locality`) or of the
    /// study (`zoo`, `together`).
    pub paper: &'static str,
    /// Name of the figure, such as `fig3b`.
    pub name: &'static str,
    /// Title of the figure.
    pub title: &'static str,
    /// Makes the figure from runs, or requests those that are missing. Equal results give equal
    /// figures.
    pub make: fn(&Request, &mut Runs<'_>) -> Option<Figure>,
}

impl FigureInfo {
    /// Paper and figure, such as `duet/fig3b`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.paper, self.name)
    }
}

/// Figures that must be requested by their own names. They take about as long as all others of
/// their paper, or the paper does not contain them, so the paper's name does not include them.
pub const fn by_name_only() -> &'static [FigureInfo] {
    &BY_NAME
}

const BY_NAME: [FigureInfo; crat::BY_NAME.len() + slicer::BY_NAME.len()] = {
    let mut all = [crat::BY_NAME[0]; crat::BY_NAME.len() + slicer::BY_NAME.len()];
    let mut at = 0;
    while at < slicer::BY_NAME.len() {
        all[crat::BY_NAME.len() + at] = slicer::BY_NAME[at];
        at += 1;
    }
    all
};

/// All other figures of papers, by paper and in its order.
pub const fn all() -> &'static [FigureInfo] {
    &ALL
}

/// Figures of the studies that compare and combine policies. No paper contains them, and they have
/// no claims. The name of a study stands for all of its figures.
pub const fn studies() -> &'static [FigureInfo] {
    &STUDIES
}

const STUDIES: [FigureInfo; 6] = {
    let [a, b, c, d] = zoo::FIGURES;
    let [e, f] = together::FIGURES;
    [a, b, c, d, e, f]
};

/// Figures of each paper.
const PAPERS: [&[FigureInfo]; 5] = [
    &duet::FIGURES,
    &cooperative::FIGURES,
    &crat::FIGURES,
    &locality::FIGURES,
    &slicer::FIGURES,
];

const COUNT: usize = {
    let (mut count, mut paper) = (0, 0);
    while paper < PAPERS.len() {
        count += PAPERS[paper].len();
        paper += 1;
    }
    count
};

const ALL: [FigureInfo; COUNT] = {
    let mut all = [PAPERS[0][0]; COUNT];
    let (mut at, mut paper) = (0, 0);
    while paper < PAPERS.len() {
        let mut figure = 0;
        while figure < PAPERS[paper].len() {
            all[at] = PAPERS[paper][figure];
            figure += 1;
            at += 1;
        }
        paper += 1;
    }
    all
};

/// Error for a name that is neither a figure nor a paper or a study with figures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no figure is called `{name}`")]
pub struct UnknownFigure {
    /// The name that was not found.
    pub name: String,
    /// All names that exist.
    pub known: Vec<String>,
}

/// The figure `PAPER/FIGURE`, or all figures of `PAPER` except for those that must be requested by
/// name. A study is named like a paper.
///
/// # Errors
/// If the name is unknown; the error contains all known names.
pub fn find(name: &str) -> Result<Vec<&'static FigureInfo>, UnknownFigure> {
    let of_paper = all().iter().chain(studies());
    let of_paper = of_paper.filter(|info| info.paper == name);
    let every = || all().iter().chain(studies()).chain(by_name_only());
    let named = every().filter(|info| info.full_name() == name);
    let found: Vec<_> = of_paper.chain(named).collect();
    if found.is_empty() {
        return Err(UnknownFigure {
            name: name.to_owned(),
            known: every().map(FigureInfo::full_name).collect(),
        });
    }
    Ok(found)
}

/// Judges the claims about figures from the data of their pages, and marks the papers' values in
/// their charts. A statement may need the data of another of these pages, and is not measured
/// without it. Pages that were stored before are judged anew without their runs.
pub fn judge(pages: &mut [Page]) {
    let judged: Vec<_> = pages.iter().map(|page| verdicts(page, pages)).collect();
    for (page, verdicts) in pages.iter_mut().zip(judged) {
        page.verdicts = verdicts;
        mark(page);
    }
}

fn verdicts(page: &Page, others: &[Page]) -> Vec<Verdict> {
    let data = Data::new(page, others);
    let mut verdicts = match page.paper.as_str() {
        "duet" => duet::verdicts(&data),
        "cooperative" => cooperative::verdicts(&data),
        "crat" => crat::verdicts(&data),
        "locality" => locality::verdicts(&data),
        "slicer" => slicer::verdicts(&data),
        _ => Vec::new(),
    };
    if let Some(sentence) = earlier::sentence(page) {
        for verdict in &mut verdicts {
            verdict.note += &format!(" {sentence}");
        }
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::{all, by_name_only, find, studies};
    use std::collections::BTreeSet;

    #[test]
    fn figures_are_found_by_name_and_by_paper() {
        let names: BTreeSet<_> = all().iter().map(super::FigureInfo::full_name).collect();
        assert_eq!(names.len(), all().len());
        for figure in all() {
            assert_eq!(find(&figure.full_name()).unwrap().len(), 1);
            assert!(!find(figure.paper).unwrap().is_empty());
            assert!(!figure.title.is_empty());
        }
        for figure in studies() {
            let of_study = find(figure.paper).unwrap();
            assert!(
                of_study
                    .iter()
                    .any(|info| info.full_name() == figure.full_name())
            );
            assert_eq!(find(&figure.full_name()).unwrap().len(), 1);
            assert!(!names.contains(&figure.full_name()));
        }
        for figure in by_name_only() {
            let name = figure.full_name();
            assert_eq!(find(&name).unwrap()[0].full_name(), name);
            let of_paper = find(figure.paper).unwrap();
            assert!(of_paper.iter().all(|info| info.full_name() != name));
        }
        let unknown = find("duet/fig33").unwrap_err();
        assert!(unknown.known.contains(&"duet/fig3b".to_owned()));
    }
}
