//! Summary of the verdicts on a paper's claims: directions, shares of effect, errors, counts.

use crate::page::{Judgement, Kind, Origin, Statement, Verdict, is_none, points, share_of_effect};

/// Summary of the verdicts on a paper's claims. Claims by construction and arithmetic are only
/// counted as such.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scorecard {
    /// Measured claims by judgement: reproduced, near, differs.
    pub claims: [usize; 3],
    /// Claims of which nothing was measured.
    pub not_measured: usize,
    /// Claims by construction and arithmetic.
    pub apart: usize,
    /// Statements of measured claims by judgement: reproduced, near, differs.
    pub statements: [usize; 3],
    /// Effects that have the paper's sign, and all effects.
    pub direction: [usize; 2],
    /// Number of effects that have the paper's sign but are below one point here.
    pub small: usize,
    /// First quartile, median and third quartile of the shares of the paper's effects.
    pub shares: Option<[f64; 3]>,
    /// Mean of the distances of speedups from the paper's, in points.
    pub error: Option<f64>,
    /// Number of speedups in that mean.
    pub speedups: usize,
    /// Series with their rank correlations.
    pub series: Vec<(String, f64)>,
}

impl Scorecard {
    /// The summary of verdicts, with the number of further claims that have no verdict.
    pub fn new<'a>(verdicts: impl IntoIterator<Item = &'a Verdict>, unjudged: usize) -> Self {
        let mut card = Self {
            not_measured: unjudged,
            ..Self::default()
        };
        let (mut shares, mut errors) = (Vec::new(), Vec::new());
        for verdict in verdicts {
            match (verdict.origin, verdict.judgement) {
                (Origin::Measured, Some(judgement)) => card.claims[place(judgement)] += 1,
                (Origin::Measured, None) => card.not_measured += 1,
                _ => {
                    card.apart += 1;
                    continue;
                }
            }
            for statement in &verdict.statements {
                card.add(statement, &mut shares, &mut errors);
            }
        }
        card.shares = quartiles(shares);
        card.speedups = errors.len();
        let sum: f64 = errors.iter().sum();
        card.error = (!errors.is_empty()).then(|| sum / errors.len() as f64);
        card
    }

    fn add(&mut self, statement: &Statement, shares: &mut Vec<f64>, errors: &mut Vec<f64>) {
        let Some(judgement) = statement.judgement else {
            return;
        };
        self.statements[place(judgement)] += 1;
        let ranks = statement
            .agreement
            .and_then(|agreement| agreement.rank_correlation);
        if let Some(ranks) = ranks {
            self.series.push((statement.what.clone(), ranks));
        }
        let Some([paper, ours]) = statement.effect() else {
            return;
        };
        if statement.kind == Kind::Speedup {
            errors.push((points(paper) - points(ours)).abs());
        }
        if !is_none(paper) {
            let share = share_of_effect(paper, ours);
            self.direction[0] += usize::from(share > 0.0);
            self.small += usize::from(share > 0.0 && is_none(ours));
            self.direction[1] += 1;
            shares.push(share);
        }
    }

    /// The summary in words: what is measured, and the values. Empty for what there is none of.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        let [same, effects] = self.direction;
        if effects > 0 {
            let small = match self.small {
                0 => String::new(),
                small => format!(", {small} of them with less than 1 point here"),
            };
            lines.push((
                "direction",
                format!("{same} of {effects} effects have the paper's sign{small}"),
            ));
        }
        if let Some([low, median, high]) = self.shares {
            let text = format!("median {median:.2}, quartiles {low:.2} and {high:.2}");
            lines.push(("share of effect", text));
        }
        if let Some(error) = self.error {
            let text = format!("{error:.1} points in the mean of {}", self.speedups);
            lines.push(("error of speedups", text));
        }
        let [reproduced, near, differ] = self.statements;
        let text = format!("{reproduced} reproduced, {near} near, {differ} differ");
        lines.push(("statements", text));
        if !self.series.is_empty() {
            let each = self
                .series
                .iter()
                .map(|(what, ranks)| format!("{ranks:.2} ({what})"));
            lines.push(("rank correlation", each.collect::<Vec<_>>().join("; ")));
        }
        lines
    }
}

fn place(judgement: Judgement) -> usize {
    match judgement {
        Judgement::Reproduced => 0,
        Judgement::Near => 1,
        Judgement::Differs => 2,
    }
}

/// First quartile, median and third quartile, interpolated between neighbours. `None` without
/// values.
fn quartiles(mut values: Vec<f64>) -> Option<[f64; 3]> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| {
        let place = share * last as f64;
        let below = place.floor() as usize;
        let above = (below + 1).min(last);
        values[below] + (values[above] - values[below]) * (place - below as f64)
    };
    Some([at(0.25), at(0.5), at(0.75)])
}

#[cfg(test)]
mod tests {
    use super::{Scorecard, quartiles};
    use crate::page::{Agreement, Cell, Judgement, Kind, Origin, Statement, Verdict};

    fn statement(kind: Kind, paper: f64, ours: f64, judgement: Judgement) -> Statement {
        Statement {
            what: "what".to_owned(),
            kind,
            own: false,
            paper: Cell::Number(paper),
            ours: Cell::Number(ours),
            judgement: Some(judgement),
            range: None,
            agreement: None,
        }
    }

    fn verdict(origin: Origin, judgement: Option<Judgement>, of: Vec<Statement>) -> Verdict {
        Verdict {
            id: "id".to_owned(),
            claim: String::new(),
            place: String::new(),
            origin,
            judgement,
            note: String::new(),
            statements: of,
        }
    }

    #[test]
    fn quartiles_lie_between_neighbours() {
        assert_eq!(quartiles(vec![]), None);
        assert_eq!(quartiles(vec![3.0]), Some([3.0; 3]));
        assert_eq!(quartiles(vec![4.0, 1.0, 2.0, 3.0]), Some([1.75, 2.5, 3.25]));
        assert_eq!(
            quartiles(vec![5.0, 1.0, 2.0, 3.0, 4.0]),
            Some([2.0, 3.0, 4.0])
        );
    }

    #[test]
    fn effects_speedups_statements_and_series_are_summarised() {
        use Judgement::{Differs, Near, Reproduced};
        let series = Statement {
            agreement: Some(Agreement {
                pairs: 4,
                rank_correlation: Some(0.8),
                mean_ratio: Some(1.1),
                positive_pairs: 4,
            }),
            ..statement(Kind::Series, 0.0, 0.0, Reproduced)
        };
        let measured = vec![
            // ln 1.1 is half of ln 1.21; 11 points off.
            statement(Kind::Speedup, 1.21, 1.1, Near),
            // The other sign: minus one share; 1.21 and 0.8264 are 38.4 points apart.
            statement(Kind::Speedup, 1.21, 1.0 / 1.21, Differs),
            // No effect: neither direction nor share, but an error of one point.
            statement(Kind::Speedup, 1.0, 1.01, Reproduced),
            // The paper's sign with less than a point; 20.5 points off.
            statement(Kind::Speedup, 1.21, 1.005, Differs),
            // A decrease is an effect, but no speedup.
            statement(Kind::Decrease, 19.0, 10.0, Near),
            series,
        ];
        let verdicts = [
            verdict(Origin::Measured, Some(Near), measured),
            verdict(Origin::Measured, None, vec![]),
            verdict(
                Origin::ByConstruction,
                Some(Reproduced),
                vec![statement(Kind::Speedup, 2.0, 2.0, Reproduced)],
            ),
        ];
        let card = Scorecard::new(&verdicts, 1);
        assert_eq!(
            (card.claims, card.not_measured, card.apart),
            ([0, 1, 0], 2, 1)
        );
        assert_eq!((card.statements, card.direction), ([2, 2, 2], [3, 4]));
        assert_eq!(card.small, 1);
        let [_, _, highest] = card.shares.unwrap();
        assert!((highest - 0.5).abs() < 1e-9, "{highest}");
        let error = (11.0 + (121.0 - 100.0 / 1.21) + 1.0 + 20.5) / 4.0;
        assert!((card.error.unwrap() - error).abs() < 1e-9);
        assert_eq!((card.speedups, card.series.len()), (4, 1));
        let lines = card.lines();
        let expected =
            "3 of 4 effects have the paper's sign, 1 of them with less than 1 point here";
        assert_eq!(lines[0].1, expected);
        assert_eq!(lines[3].1, "2 reproduced, 2 near, 2 differ");
        assert_eq!(lines[4].1, "0.80 (what)");
    }

    #[test]
    fn a_summary_of_nothing_says_little() {
        let lines = Scorecard::new(&[], 0).lines();
        assert_eq!(
            lines,
            [("statements", "0 reproduced, 0 near, 0 differ".to_owned())]
        );
    }
}
