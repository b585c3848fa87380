//! Verdicts: comparisons of claims with measured values. The same rules apply to every figure.
//!
//! A claim's value holds if ours is within five points of the paper's and has the same sign. It
//! holds partly if only the sign agrees. A ratio of 1.075 is a gain of 7.5 points. An ordering
//! holds or does not hold. A claim of several statements holds if all of them do. It does not hold
//! if its value does not, or if no statement does.

use crate::claims::{Claim, claim};
use warploom_report::page::{Cell, Holds, Part, Verdict};

/// Difference in points between a paper's value and ours that counts as agreement.
pub const POINTS: f64 = 5.0;
/// Relative difference of a count or a size that counts as partial agreement.
const SHARE: f64 = 0.1;

/// Compares a value of this kind with the paper's.
pub fn compare(kind: &str, paper: f64, ours: f64) -> Holds {
    let points = |value: f64| match kind {
        "speedup" => (value - 1.0) * 100.0,
        _ => value,
    };
    if matches!(kind, "count" | "bytes") {
        let difference = (ours - paper).abs();
        return match difference {
            0.0 => Holds::Yes,
            _ if difference <= SHARE * paper.abs() => Holds::Partly,
            _ => Holds::No,
        };
    }
    let (paper, ours) = (points(paper), points(ours));
    let same_sign = (paper > 0.0) == (ours > 0.0) && (paper < 0.0) == (ours < 0.0);
    match (same_sign, (paper - ours).abs() <= POINTS) {
        (true, true) => Holds::Yes,
        (true, false) => Holds::Partly,
        (false, _) => Holds::No,
    }
}

fn tolerance(kind: &str) -> String {
    match kind {
        "text" => "each statement as an ordering or a predicate: all, some or none hold".to_owned(),
        "count" | "bytes" => format!(
            "equal: yes; within {:.0}%: partly; further statements as orderings",
            SHARE * 100.0
        ),
        _ => format!(
            "within {POINTS} points and of the same sign: yes; of the same sign: partly; further \
             statements likewise, or as orderings"
        ),
    }
}

/// A claim that is being judged.
pub struct Judged {
    claim: Claim,
    ours: Cell,
    headline: Option<Holds>,
    parts: Vec<Part>,
}

impl Judged {
    /// The claim with this identifier, which must exist.
    pub fn new(id: &str) -> Self {
        Self {
            claim: claim(id),
            ours: Cell::None,
            headline: None,
            parts: Vec::new(),
        }
    }

    /// Compares our value with the claim's value.
    pub fn value(mut self, what: &str, ours: f64) -> Self {
        let paper = self.claim.value.expect("a claim with a figure");
        let holds = compare(&self.claim.kind, paper, ours);
        self.ours = Cell::Number(ours);
        self.headline = Some(holds);
        self.part(what, Cell::Number(paper), Cell::Number(ours), holds)
    }

    /// Compares a further value in the claim's text.
    pub fn also(self, what: &str, kind: &str, paper: f64, ours: f64) -> Self {
        let holds = compare(kind, paper, ours);
        self.part(what, Cell::Number(paper), Cell::Number(ours), holds)
    }

    /// Adds a statement that is true or false, with the measured values.
    pub fn states(self, what: &str, is_so: bool, measured: String) -> Self {
        let holds = if is_so { Holds::Yes } else { Holds::No };
        self.part(what, Cell::None, Cell::Text(measured), holds)
    }

    /// Adds a statement with its own verdict.
    pub fn part(mut self, what: &str, paper: Cell, ours: Cell, holds: Holds) -> Self {
        self.parts.push(Part {
            what: what.to_owned(),
            paper,
            ours,
            holds,
        });
        self
    }

    /// The verdict. `note` describes the measurement.
    pub fn verdict(self, note: impl Into<String>) -> Verdict {
        let holds = together(self.headline, &self.parts);
        let so = self.parts.iter().filter(|part| part.holds == Holds::Yes);
        let ours = match self.ours {
            Cell::None => Cell::Text(format!("{} of {} hold", so.count(), self.parts.len())),
            ours => ours,
        };
        let Claim {
            id,
            place,
            text,
            value,
            kind,
            ..
        } = self.claim;
        Verdict {
            id,
            claim: text,
            place,
            paper: value.map_or(Cell::None, Cell::Number),
            ours,
            tolerance: tolerance(&kind),
            kind,
            holds,
            note: note.into(),
            parts: self.parts,
        }
    }
}

fn together(headline: Option<Holds>, parts: &[Part]) -> Holds {
    let all = |holds| parts.iter().all(|part| part.holds == holds);
    match headline {
        Some(Holds::No) => Holds::No,
        _ if all(Holds::Yes) => Holds::Yes,
        _ if all(Holds::No) => Holds::No,
        _ => Holds::Partly,
    }
}

#[cfg(test)]
mod tests {
    use super::{Judged, compare};
    use warploom_report::page::Holds::{self, No, Partly, Yes};

    #[test]
    fn figures_hold_within_five_points_and_of_the_same_sign() {
        let speedup = |ours| compare("speedup", 1.075, ours);
        assert_eq!([1.075, 1.124, 1.026].map(speedup), [Yes, Yes, Yes]);
        assert_eq!([1.126, 1.02, 1.001].map(speedup), [Partly, Partly, Partly]);
        assert_eq!([1.0, 0.999, 0.9].map(speedup), [No, No, No]);
        // The value is within five points but has the other sign.
        assert_eq!(compare("speedup", 1.02, 0.99), No);
        assert_eq!(compare("percent", 44.0, 48.9), Yes);
        assert_eq!(compare("percent", 44.0, 50.0), Partly);
        assert_eq!(compare("percent", -2.0, -1.0), Yes);
        assert_eq!(compare("percent", 0.0, 0.0), Yes);
        assert_eq!(compare("percentage_point", 15.0, -1.0), No);
        let count = |ours| compare("count", 8.0, ours);
        assert_eq!([8.0, 8.5, 7.0].map(count), [Yes, Partly, No]);
    }

    fn judged(value: f64, states: &[bool]) -> Holds {
        let claim = Judged::new("cooperative.warp.vs_rr").value("mean", value);
        let judge = |claim: Judged, so: &bool| claim.states("so", *so, String::new());
        states.iter().fold(claim, judge).verdict("").holds
    }

    #[test]
    fn a_claim_is_as_good_as_its_statements() {
        assert_eq!(judged(1.07, &[]), Yes);
        assert_eq!(judged(1.07, &[true, true]), Yes);
        assert_eq!(judged(1.07, &[true, false]), Partly);
        assert_eq!(judged(1.20, &[true]), Partly);
        // A wrong sign cannot be compensated.
        assert_eq!(judged(0.99, &[true, true]), No);
    }

    #[test]
    fn a_claim_of_words_holds_by_its_statements() {
        let judged = |states: &[bool]| {
            let claim = Judged::new("cooperative.throttle.who");
            let judge = |claim: Judged, so: &bool| claim.states("so", *so, String::new());
            states.iter().fold(claim, judge).verdict("note")
        };
        assert_eq!(judged(&[true, true]).holds, Yes);
        assert_eq!(judged(&[false, true]).holds, Partly);
        assert_eq!(judged(&[false, false]).holds, No);
        assert_eq!(judged(&[false, true]).ours.to_string(), "1 of 2 hold");
    }
}
