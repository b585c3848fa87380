//! Verdicts on a paper's claims. A claim consists of statements, each judged alone.

use super::Cell;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Judgement of a statement or of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// The value differs from the paper's by more than `near` permits.
    Differs,
    /// The value is in the paper's direction, but farther away than `reproduced` permits.
    Near,
    /// The value agrees with the paper's within the rule of its kind.
    Reproduced,
}

impl Judgement {
    /// All judgements, the best first.
    pub const ALL: [Self; 3] = [Self::Reproduced, Self::Near, Self::Differs];

    /// Name of the judgement.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Near => "near",
            Self::Differs => "differs",
        }
    }
}

/// Difference in points within which an effect or a level is reproduced.
pub const POINTS: f64 = 5.0;
/// Difference in points within which a level is near.
pub const NEAR_POINTS: f64 = 10.0;
/// Effect in points below which a paper's effect counts as none.
const NONE: f64 = 1.0;
/// Share of the paper's effect above which one that is near is called larger.
const LARGER: f64 = 4.0;
/// Shares of the paper's effect within which an effect is reproduced.
const SHARES: [f64; 2] = [0.5, 2.0];

/// An effect in points: 1.2 is a gain of 20.
pub fn points(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// True if an effect, given as a ratio to the baseline, counts as none.
pub fn is_none(ratio: f64) -> bool {
    points(ratio).abs() < NONE - 1e-9
}

/// Share of a paper's effect: the ratio of the logarithms. Negative for the other sign.
pub fn share_of_effect(paper: f64, ours: f64) -> f64 {
    ours.ln() / paper.ln()
}

/// Smallest and largest ratio to the baseline with which a paper's effect is reproduced.
pub fn reproduced_effects(paper: f64) -> [f64; 2] {
    if is_none(paper) {
        return [1.0 - NONE / 100.0, 1.0 + NONE / 100.0];
    }
    let shares = SHARES.map(|share| paper.powf(share));
    let (low, high) = (shares[0].min(shares[1]), shares[0].max(shares[1]));
    let off = POINTS / 100.0;
    [low.max(paper - off), high.min(paper + off)]
}

/// Remark on a judgement, which tells more than the judgement alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remark {
    /// The effect is near, but more than four times the paper's.
    Larger,
    /// The paper's level is so small that 0 would have the same judgement.
    AsZero,
}

impl Remark {
    /// The remark in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Larger => "larger",
            Self::AsZero => "as 0 would be",
        }
    }
}

/// Explanation of the remarks on pages.
pub const REMARKS: &str = "An effect that is near and more than four times the paper's is \
                           \"near, larger\".\nA level so small in the paper that 0 would have the \
                           same verdict is \"as 0 would be\".";

/// Kind of a statement, which decides the rule by which it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An effect as a ratio to a baseline; 1.2 is a gain of 20 points.
    Speedup,
    /// An effect as an increase over a baseline in per cent.
    Increase,
    /// An effect as a decrease against a baseline in per cent, such as a saving.
    Decrease,
    /// A level in per cent.
    Percent,
    /// A difference of two levels in percentage points.
    Points,
    /// A level as a number, such as a mean of counts.
    Number,
    /// A number of things.
    Count,
    /// A size in bytes.
    Bytes,
    /// A sentence that is true or false, such as an ordering.
    Predicate,
    /// Values that the paper prints for each benchmark.
    Series,
}

impl Kind {
    /// Name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Speedup => "speedup",
            Self::Increase => "increase, %",
            Self::Decrease => "decrease, %",
            Self::Percent => "%",
            Self::Points => "points",
            Self::Number => "number",
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Predicate => "predicate",
            Self::Series => "series",
        }
    }

    /// Rule by which statements of this kind are judged, for people.
    pub const fn rule(self) -> &'static str {
        match self {
            Self::Speedup | Self::Increase | Self::Decrease => {
                "an effect is reproduced with the paper's sign, within 5 points and with half to \
                 twice its logarithm, near from a quarter on; an effect below 1 point is none, \
                 which is reproduced within 1 point"
            }
            Self::Percent | Self::Points => {
                "a level is reproduced within 5 points or 10 % of it, near within 10 points or 25 %"
            }
            Self::Number => "a number is reproduced within 10 %, near within 25 %",
            Self::Count | Self::Bytes => {
                "a count or a size is reproduced if it is equal, near within 10 %"
            }
            Self::Predicate => "a predicate or an ordering is reproduced if it is true",
            Self::Series => {
                "a series is reproduced with a rank correlation of 0.8 and a geometric-mean ratio \
                 within 25 %, near with a rank correlation of 0.5"
            }
        }
    }

    /// A value of the kind with its unit, for people. Digits that never decide are left out.
    pub fn quantity(self, cell: &Cell) -> String {
        let Some(value) = cell.number() else {
            return cell.shown();
        };
        let decimals = match self {
            Self::Speedup | Self::Number | Self::Count => 3,
            _ if value.abs() < 10.0 => 2,
            _ => 1,
        };
        let rounded = 10_f64.powi(decimals);
        let shown = match cell {
            Cell::Count(_) => cell.shown(),
            _ => Cell::Number((value * rounded).round() / rounded).shown(),
        };
        match self {
            Self::Speedup => format!("{shown}x"),
            Self::Increase | Self::Decrease | Self::Percent => format!("{shown} %"),
            Self::Points => format!("{shown} points"),
            Self::Bytes => format!("{shown} bytes"),
            Self::Number | Self::Count | Self::Predicate | Self::Series => shown,
        }
    }

    /// Word for the direction of an effect, which its value alone does not tell.
    pub const fn direction(self) -> Option<&'static str> {
        match self {
            Self::Increase => Some("increase"),
            Self::Decrease => Some("decrease"),
            _ => None,
        }
    }

    /// The ratio to the baseline that a value states, if the kind is an effect.
    pub fn ratio(self, value: f64) -> Option<f64> {
        match self {
            Self::Speedup => Some(value),
            Self::Increase => Some(1.0 + value / 100.0),
            Self::Decrease => Some(1.0 - value / 100.0),
            _ => None,
        }
    }
}

/// How a claim's values came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The values were measured in simulations.
    #[default]
    Measured,
    /// An input was chosen so that the claim comes out.
    ByConstruction,
    /// The values are computed from sizes alone.
    Arithmetic,
}

impl Origin {
    /// Name of the origin.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::ByConstruction => "by construction",
            Self::Arithmetic => "arithmetic",
        }
    }
}

/// A mean without one of its members, for the member that changes it most in each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// Number of members of the mean.
    pub of: usize,
    /// The smallest mean without one member.
    pub least: f64,
    /// The member whose absence gives the smallest mean.
    pub least_without: String,
    /// The largest mean without one member.
    pub most: f64,
    /// The member whose absence gives the largest mean.
    pub most_without: String,
}

/// Agreement of two series.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Number of pairs of values.
    pub pairs: usize,
    /// Spearman's rank correlation, -1 to 1, if neither series is constant.
    pub rank_correlation: Option<f64>,
    /// Geometric mean of ours over the paper's values, over pairs of positive values.
    pub mean_ratio: Option<f64>,
    /// Number of pairs of positive values.
    pub positive_pairs: usize,
}

/// A statement of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Text of the statement.
    pub what: String,
    /// Kind of the statement.
    pub kind: Kind,
    /// True for the figure that the claim itself states.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// The paper's value, if it has one.
    pub paper: Cell,
    /// Our value in the same unit.
    pub ours: Cell,
    /// Judgement of the statement. `None` if it was not measured.
    pub judgement: Option<Judgement>,
    /// Leave-one-out range, if our value is a mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Agreement of the two series, if the statement is about series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
}

impl Statement {
    /// The paper's and our ratio to the baseline, if the statement is an effect that was measured.
    pub fn effect(&self) -> Option<[f64; 2]> {
        let ratio = |cell: &Cell| self.kind.ratio(cell.number()?);
        Some([ratio(&self.paper)?, ratio(&self.ours)?])
    }

    /// Remark on the judgement, if one applies.
    pub fn remark(&self) -> Option<Remark> {
        let paper = self.paper.number()?;
        let is_small = |points: f64| paper.abs() <= points + 1e-9;
        let as_zero = match (self.kind, self.judgement?) {
            (Kind::Percent | Kind::Points, Judgement::Reproduced) => is_small(POINTS),
            (Kind::Percent | Kind::Points, Judgement::Near) => is_small(NEAR_POINTS),
            _ => false,
        };
        let near = || {
            self.effect()
                .filter(|_| self.judgement == Some(Judgement::Near))
        };
        let is_larger =
            || near().is_some_and(|[paper, ours]| share_of_effect(paper, ours) > LARGER);
        match as_zero {
            true => Some(Remark::AsZero),
            false => is_larger().then_some(Remark::Larger),
        }
    }

    /// The judgement and the remark on it, for people.
    pub fn judged(&self) -> String {
        let judgement = self.judgement.map_or("not measured", Judgement::name);
        match self.remark() {
            Some(remark) => format!("{judgement}, {}", remark.words()),
            None => judgement.to_owned(),
        }
    }

    /// The paper's value for people, with its unit.
    pub fn paper_shown(&self) -> String {
        self.kind.quantity(&self.paper)
    }

    /// Our value for people, with its unit and its range.
    pub fn ours_shown(&self) -> String {
        let ours = self.kind.quantity(&self.ours);
        match &self.range {
            None => ours,
            Some(range) => format!(
                "{ours} ({:.3} without {} to {:.3} without {})",
                range.least, range.least_without, range.most, range.most_without
            ),
        }
    }
}

/// Verdict on a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Identifier of the claim.
    pub id: String,
    /// Text of the paper's claim.
    pub claim: String,
    /// Place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// How the values came about. Only measured claims are counted.
    pub origin: Origin,
    /// Judgement of the claim. `None` if nothing of it was measured.
    pub judgement: Option<Judgement>,
    /// How it was measured, and further remarks.
    pub note: String,
    /// Statements of the claim.
    pub statements: Vec<Statement>,
}

impl Verdict {
    /// The statement that represents the claim: its own figure, otherwise its first effect.
    pub fn headline(&self) -> Option<&Statement> {
        let own = self.statements.iter().find(|statement| statement.own);
        let effect = || self.statements.iter().find(|s| s.kind.ratio(1.0).is_some());
        own.or_else(effect)
    }

    /// Word for the claim in tables: its judgement, or its origin if it is not counted.
    pub const fn label(&self) -> &'static str {
        match (self.origin, self.judgement) {
            (Origin::Measured, Some(judgement)) => judgement.name(),
            (Origin::Measured, None) => "not measured",
            (origin, _) => origin.name(),
        }
    }

    /// The statement with the figure that the claim itself states.
    pub fn own(&self) -> Option<&Statement> {
        self.statements.iter().find(|statement| statement.own)
    }

    fn count(&self, judgement: Option<Judgement>) -> usize {
        let same = |statement: &&Statement| statement.judgement == judgement;
        self.statements.iter().filter(same).count()
    }

    /// Number of statements at each judgement, such as `1 of 6 reproduced, 1 near, 4 differ`.
    pub fn tally(&self) -> String {
        let of = |judgement| self.count(Some(judgement));
        let reproduced = of(Judgement::Reproduced);
        let mut text = format!("{reproduced} of {} reproduced", self.statements.len());
        for (count, one, more) in [
            (of(Judgement::Near), "near", "near"),
            (of(Judgement::Differs), "differs", "differ"),
            (self.count(None), "not measured", "not measured"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {}", if count == 1 { one } else { more });
            }
        }
        text
    }

    /// Why a claim of several statements is near or differs.
    pub fn why(&self) -> Option<String> {
        let judgement = self.judgement.filter(|_| self.statements.len() > 1)?;
        let own_differs = self
            .own()
            .filter(|own| own.judgement == Some(Judgement::Differs));
        let reason = match (judgement, own_differs) {
            (Judgement::Reproduced, _) => return None,
            (Judgement::Differs, Some(own)) => {
                format!("the claim's own figure differs ({})", own.what)
            }
            (Judgement::Differs, None) => {
                "fewer than half of the measured ones are at least near".to_owned()
            }
            (Judgement::Near, _) => {
                "it suffices that half of the measured ones are at least near and the claim's own \
                 figure does not differ"
                    .to_owned()
            }
        };
        Some(format!(
            "{}: of the statements {}; {reason} (docs/reproducing.md, Verdicts)",
            judgement.name(),
            self.tally()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{Judgement, Kind, Origin, Statement, Verdict};
    use crate::page::Cell;

    #[test]
    fn values_have_the_unit_of_their_kind_and_few_digits() {
        for (kind, value, shown) in [
            (Kind::Decrease, 1.3052, "1.31 %"),
            (Kind::Increase, 18.98, "19 %"),
            (Kind::Percent, 58.63, "58.6 %"),
            (Kind::Points, -0.126, "-0.13 points"),
            (Kind::Speedup, 1.07, "1.07x"),
            (Kind::Speedup, 1.30519, "1.305x"),
            (Kind::Bytes, 1034.0, "1034 bytes"),
            (Kind::Count, 7.0, "7"),
        ] {
            assert_eq!(kind.quantity(&Cell::Number(value)), shown, "{kind:?}");
        }
        let text = Cell::Text("16 warps".to_owned());
        assert_eq!(Kind::Predicate.quantity(&text), "16 warps");
        assert_eq!(Kind::Speedup.quantity(&Cell::None), "-");
    }

    fn statement(kind: Kind, values: [f64; 2], judgement: Option<Judgement>) -> Statement {
        Statement {
            what: "CRAT over MaxTLP".to_owned(),
            kind,
            own: false,
            paper: Cell::Number(values[0]),
            ours: Cell::Number(values[1]),
            judgement,
            range: None,
            agreement: None,
        }
    }

    #[test]
    fn remarks_tell_what_near_and_reproduced_do_not() {
        let [reproduced, near, differs] = Judgement::ALL.map(Some);
        for (kind, values, judgement, shown) in [
            // ln 1.169 / ln 1.031 is 5.1, and ln 1.12 / ln 1.031 is 3.7.
            (Kind::Increase, [3.1, 16.9], near, "near, larger"),
            (Kind::Increase, [3.1, 12.0], near, "near"),
            (Kind::Increase, [16.0, 6.27], near, "near"),
            (Kind::Percent, [3.8, 10.5], near, "near, as 0 would be"),
            (Kind::Points, [10.0, 2.33], near, "near, as 0 would be"),
            (Kind::Points, [15.0, 23.2], near, "near"),
            (
                Kind::Points,
                [2.0, 2.95],
                reproduced,
                "reproduced, as 0 would be",
            ),
            (Kind::Percent, [5.1, 5.0], reproduced, "reproduced"),
            (Kind::Percent, [3.8, 14.0], differs, "differs"),
            // A number is judged relative to itself, so that 0 differs.
            (Kind::Number, [2.0, 2.1], reproduced, "reproduced"),
            (Kind::Percent, [3.8, 3.8], None, "not measured"),
        ] {
            let judged = statement(kind, values, judgement).judged();
            assert_eq!(judged, shown, "{kind:?} {values:?}");
        }
    }

    #[test]
    fn a_claim_says_why_it_is_near_or_differs() {
        let of = |all: &[Option<Judgement>], judgement| Verdict {
            id: String::new(),
            claim: String::new(),
            place: String::new(),
            origin: Origin::Measured,
            judgement: Some(judgement),
            note: String::new(),
            statements: all
                .iter()
                .map(|of| statement(Kind::Speedup, [1.2, 1.2], *of))
                .collect(),
        };
        let [yes, near, no] = Judgement::ALL.map(Some);
        let rules = "(docs/reproducing.md, Verdicts)";
        let told = of(&[yes, near, no, None], Judgement::Near).why();
        let expected = "near: of the statements 1 of 4 reproduced, 1 near, 1 differs, 1 not \
                        measured; it suffices that half of the measured ones are at least near \
                        and the claim's own figure does not differ ";
        assert_eq!(told, Some(expected.to_owned() + rules));
        let told = of(&[no, no], Judgement::Differs).why();
        let expected = "differs: of the statements 0 of 2 reproduced, 2 differ; fewer than half of \
                        the measured ones are at least near ";
        assert_eq!(told, Some(expected.to_owned() + rules));
        let mut own = of(&[yes, no, yes], Judgement::Differs);
        own.statements[1].own = true;
        let expected = "differs: of the statements 2 of 3 reproduced, 1 differs; the claim's own \
                        figure differs (CRAT over MaxTLP) ";
        assert_eq!(own.why(), Some(expected.to_owned() + rules));
        assert_eq!(of(&[near], Judgement::Near).why(), None);
        assert_eq!(of(&[yes, yes], Judgement::Reproduced).why(), None);
    }
}
