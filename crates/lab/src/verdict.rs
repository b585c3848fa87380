//! Verdicts: statements of claims compared with measured values. The same rules apply to every
//! figure; `docs/reproducing.md` describes them.

use crate::claims::{Claim, claim};
use crate::samples::{Measured, Samples};
use warploom_report::page::{
    Agreement, Cell, Judgement, Kind, NEAR_POINTS, POINTS, Statement, Verdict, is_none,
    reproduced_effects, share_of_effect,
};

/// Share of the paper's effect from which an effect is near.
const NEAR_SHARE: f64 = 0.25;
/// Differences of a level in points, and relative ones, for reproduced and for near.
const LEVEL: [(f64, f64); 2] = [(POINTS, 0.1), (NEAR_POINTS, 0.25)];
/// Relative difference within which a count or a size is near.
const COUNT: f64 = 0.1;
/// Rank correlations of a series for reproduced and for near.
const RANKS: [f64; 2] = [0.8, 0.5];
/// Difference from 1 of a series' geometric-mean ratio within which the series is reproduced.
const RATIO: f64 = 0.25;
/// Error of floating-point arithmetic that never decides.
const EPSILON: f64 = 1e-9;

/// Judges a value of a kind other than predicate and series.
pub fn judge(kind: Kind, paper: f64, ours: f64) -> Judgement {
    if let (Some(paper), Some(ours)) = (kind.ratio(paper), kind.ratio(ours)) {
        return effect(paper, ours);
    }
    match kind {
        Kind::Count | Kind::Bytes => count(paper, ours),
        Kind::Number => level(paper, ours, false),
        _ => level(paper, ours, true),
    }
}

/// Judges an effect, given as ratios to a baseline.
fn effect(paper: f64, ours: f64) -> Judgement {
    let [low, high] = reproduced_effects(paper);
    if (low - EPSILON..=high + EPSILON).contains(&ours) {
        Judgement::Reproduced
    } else if !is_none(paper) && share_of_effect(paper, ours) + EPSILON >= NEAR_SHARE {
        Judgement::Near
    } else {
        Judgement::Differs
    }
}

fn level(paper: f64, ours: f64, in_points: bool) -> Judgement {
    let difference = (paper - ours).abs();
    let agrees = |(points, relative): (f64, f64)| {
        difference <= relative * paper.abs() + EPSILON
            || in_points && difference <= points + EPSILON
    };
    match LEVEL.map(agrees) {
        [true, _] => Judgement::Reproduced,
        [_, true] => Judgement::Near,
        _ => Judgement::Differs,
    }
}

fn count(paper: f64, ours: f64) -> Judgement {
    let difference = (paper - ours).abs();
    match difference {
        0.0 => Judgement::Reproduced,
        _ if difference <= COUNT * paper.abs() + EPSILON => Judgement::Near,
        _ => Judgement::Differs,
    }
}

fn is(so: bool) -> Judgement {
    match so {
        true => Judgement::Reproduced,
        false => Judgement::Differs,
    }
}

/// Judges a series. `None` if there are fewer than three pairs.
fn series(agreement: &Agreement) -> Option<Judgement> {
    if agreement.pairs < 3 {
        return None;
    }
    let ranks = agreement.rank_correlation.unwrap_or(0.0) + EPSILON;
    let off = agreement.mean_ratio.map(|ratio| (ratio - 1.0).abs());
    let is_close = off.is_some_and(|off| off <= RATIO + EPSILON);
    Some(match RANKS.map(|least| ranks >= least) {
        [true, _] if is_close => Judgement::Reproduced,
        [_, true] => Judgement::Near,
        _ => Judgement::Differs,
    })
}

/// A claim that is being judged.
pub struct Judged {
    claim: Claim,
    statements: Vec<Statement>,
}

impl Judged {
    /// The claim with this identifier, which must exist.
    pub fn new(id: &str) -> Self {
        Self {
            claim: claim(id),
            statements: Vec::new(),
        }
    }

    /// Compares our value with the value that the claim itself states.
    pub fn own(self, what: &str, ours: Option<impl Into<Measured>>) -> Self {
        let paper = self.claim.value.expect("a claim with a figure");
        let kind = self.claim.kind.expect("a claim with a figure");
        let mut judged = self.value(what, kind, paper, ours);
        if let Some(last) = judged.statements.last_mut() {
            last.own = true;
        }
        judged
    }

    /// Compares a further value in the claim's text. `None` means that it was not measured.
    pub fn value(
        self,
        what: &str,
        kind: Kind,
        paper: f64,
        ours: Option<impl Into<Measured>>,
    ) -> Self {
        let ours: Option<Measured> = ours.map(Into::into).filter(|ours| ours.value.is_finite());
        let (value, range) = ours.map_or((None, None), |ours| (Some(ours.value), ours.range));
        self.add(Statement {
            judgement: value.map(|value| judge(kind, paper, value)),
            range,
            ..stated(what, kind, number(paper), value.map_or(Cell::None, number))
        })
    }

    /// Adds a statement that is true or false, with the measured values. `None` means that it was
    /// not measured.
    pub fn says(self, what: &str, measured: Option<(bool, String)>) -> Self {
        let ours = measured
            .as_ref()
            .map_or(Cell::None, |(_, text)| Cell::Text(text.clone()));
        self.add(Statement {
            judgement: measured.map(|(so, _)| is(so)),
            ..stated(what, Kind::Predicate, Cell::None, ours)
        })
    }

    /// Compares a category, such as a type or a limit, with the paper's.
    pub fn category(self, what: &str, paper: &str, ours: Option<&str>) -> Self {
        let cell = ours.map_or(Cell::None, Cell::from);
        self.add(Statement {
            judgement: ours.map(|ours| is(ours == paper)),
            ..stated(what, Kind::Predicate, Cell::from(paper), cell)
        })
    }

    /// Compares a series with the one that the paper prints.
    pub fn series(self, what: &str, paper: &Samples, ours: &Samples) -> Self {
        let agreement = ours.agreement(paper);
        let shown =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let text = format!(
            "rank correlation {}, geometric-mean ratio {} of {} values",
            shown(agreement.rank_correlation),
            shown(agreement.mean_ratio),
            agreement.positive_pairs
        );
        let judgement = series(&agreement);
        let ours = judgement.map_or(Cell::None, |_| Cell::Text(text));
        let theirs = Cell::Text(format!("{} values", paper.0.len()));
        self.add(Statement {
            judgement,
            agreement: judgement.map(|_| agreement),
            ..stated(what, Kind::Series, theirs, ours)
        })
    }

    fn add(mut self, statement: Statement) -> Self {
        self.statements.push(statement);
        self
    }

    /// The verdict. `note` describes the measurement.
    pub fn verdict(self, note: impl Into<String>) -> Verdict {
        let Claim {
            id,
            place,
            text,
            origin,
            ..
        } = self.claim;
        Verdict {
            id,
            claim: text,
            place,
            origin,
            judgement: together(&self.statements),
            note: note.into(),
            statements: self.statements,
        }
    }
}

/// A statement that is not judged yet.
fn stated(what: &str, kind: Kind, paper: Cell, ours: Cell) -> Statement {
    Statement {
        what: what.to_owned(),
        kind,
        own: false,
        paper,
        ours,
        judgement: None,
        range: None,
        agreement: None,
    }
}

/// A cell with a number; integers have no decimals in JSON either.
fn number(value: f64) -> Cell {
    Cell::Number(value)
}

/// Judgement of a claim: reproduced if all statements are, near if at least half are at least near
/// and its own figure does not differ. Statements that were not measured do not count, but a claim
/// of which something is missing is not reproduced.
fn together(statements: &[Statement]) -> Option<Judgement> {
    let measured: Vec<_> = statements.iter().filter_map(|s| s.judgement).collect();
    let own_differs = |s: &Statement| s.own && s.judgement == Some(Judgement::Differs);
    if measured.is_empty() {
        return None;
    }
    let reproduced = measured.iter().all(|of| *of == Judgement::Reproduced);
    let near = measured.iter().filter(|of| **of >= Judgement::Near).count();
    Some(if reproduced && measured.len() == statements.len() {
        Judgement::Reproduced
    } else if 2 * near >= measured.len() && !statements.iter().any(own_differs) {
        Judgement::Near
    } else {
        Judgement::Differs
    })
}

#[cfg(test)]
mod tests;
