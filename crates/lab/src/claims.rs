//! Claims of the papers, from `data/claims.toml`.

use serde::Deserialize;

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
    /// Unit of the value.
    pub kind: String,
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

#[cfg(test)]
mod tests {
    use super::claims;
    use std::collections::BTreeSet;

    #[test]
    fn claims_are_complete_and_named_once() {
        let all = claims();
        let ids: BTreeSet<_> = all.iter().map(|claim| &claim.id).collect();
        assert!(all.len() > 40 && ids.len() == all.len());
        let units = [
            "speedup",
            "percent",
            "percentage_point",
            "count",
            "bytes",
            "text",
        ];
        for claim in &all {
            assert!(
                claim.id.starts_with(&format!("{}.", claim.paper)),
                "{}",
                claim.id
            );
            assert!(units.contains(&claim.kind.as_str()), "{}", claim.id);
            assert!(
                claim.value.is_some() || claim.kind == "text",
                "{}",
                claim.id
            );
            assert!(
                !claim.text.is_empty() && !claim.place.is_empty(),
                "{}",
                claim.id
            );
        }
    }
}
