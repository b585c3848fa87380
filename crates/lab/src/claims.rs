//! Claims of the papers, from `data/claims.toml`.

use serde::Deserialize;
use warploom_report::page::{Kind, Origin};

/// A claim of a paper that can be compared with a measurement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Short name of the paper.
    pub paper: String,
    /// Stable identifier, such as `duet.crossbar.sustainable`.
    pub id: String,
    /// Sections and figures of the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// Text of the claim.
    pub text: String,
    /// Value that the claim states, if any.
    pub value: Option<f64>,
    /// Kind of the value. Claims without a value have none.
    pub kind: Option<Kind>,
    /// How the claim's values come about.
    #[serde(default)]
    pub origin: Origin,
}

#[derive(Deserialize)]
struct File {
    claim: Vec<Claim>,
}

/// All claims, in the order of the papers.
pub fn claims() -> Vec<Claim> {
    let file: File = toml::from_str(include_str!("../data/claims.toml")).expect("a test reads it");
    file.claim
}

/// The claim with this identifier, which must exist.
pub fn claim(id: &str) -> Claim {
    let found = claims().into_iter().find(|claim| claim.id == id);
    found.unwrap_or_else(|| panic!("`{id}` is no claim of data/claims.toml"))
}

/// The claims on a figure, by its name such as `fig1`, that name other figures of the paper too,
/// with the names of these.
pub fn claims_on(paper: &str, figure: &str) -> Vec<(Claim, Vec<String>)> {
    let of_paper = claims().into_iter().filter(|claim| claim.paper == paper);
    let with_figures = of_paper.map(|claim| {
        let figures: Vec<_> = claim.place.split(", ").filter_map(figure_name).collect();
        (claim, figures)
    });
    let on_it = with_figures.filter(|(_, figures)| figures.iter().any(|name| name == figure));
    let without = on_it.map(|(claim, figures)| {
        let others = figures.into_iter().filter(|name| name != figure);
        (claim, others.collect())
    });
    without.collect()
}

/// Name of a figure at the beginning of a part of a place: `fig5` of `Fig. 5 (16 B wires)`.
fn figure_name(part: &str) -> Option<String> {
    let number = part.strip_prefix("Fig. ")?.split_whitespace().next()?;
    Some(format!("fig{number}"))
}

#[cfg(test)]
mod tests {
    use super::{claims, claims_on};
    use std::collections::BTreeSet;
    use warploom_report::page::Kind;

    #[test]
    fn a_claim_on_several_figures_names_the_others() {
        let found = claims_on("duet", "fig1");
        let (claim, others) = found.first().expect("SPMV's claim");
        assert_eq!((claim.id.as_str(), found.len()), ("duet.spmv.warps", 1));
        assert_eq!(others, &["fig5"]);
        assert!(claims_on("slicer", "fig2").is_empty());
    }

    #[test]
    fn claims_are_complete_and_named_once() {
        let all = claims();
        let ids: BTreeSet<_> = all.iter().map(|claim| &claim.id).collect();
        assert!(all.len() > 60 && ids.len() == all.len());
        for claim in &all {
            let id = &claim.id;
            assert!(id.starts_with(&format!("{}.", claim.paper)), "{id}");
            assert_eq!(claim.value.is_some(), claim.kind.is_some(), "{id}");
            assert!(!claim.text.is_empty() && !claim.place.is_empty(), "{id}");
            let without_value = [Kind::Predicate, Kind::Series];
            assert!(
                claim.kind.is_none_or(|kind| !without_value.contains(&kind)),
                "{id}"
            );
        }
    }
}
