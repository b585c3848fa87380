//! Chart of a paper's effects with ours, from verdicts.

use crate::figure::{EffectChart, EffectDot};
use crate::page::{Judgement, Origin, Verdict};

/// The effects of measured claims. With one group, dots that represent claims have names; with
/// several, those of them whose effect is not reproduced.
pub fn effect_chart(title: &str, groups: &[(&str, Vec<&Verdict>)]) -> EffectChart {
    let mut dots = Vec::new();
    for (group, (_, verdicts)) in groups.iter().enumerate() {
        for verdict in verdicts
            .iter()
            .filter(|verdict| verdict.origin == Origin::Measured)
        {
            dots.extend(dots_of(verdict, group, groups.len() == 1));
        }
    }
    EffectChart {
        title: title.to_owned(),
        groups: groups.iter().map(|(name, _)| (*name).to_owned()).collect(),
        dots,
    }
}

fn dots_of(verdict: &Verdict, group: usize, named: bool) -> Vec<EffectDot> {
    let headline = verdict.headline();
    let mut dots = Vec::new();
    for statement in &verdict.statements {
        let Some([paper, ours]) = statement.effect() else {
            continue;
        };
        let is_claim = headline.is_some_and(|headline| std::ptr::eq(headline, statement));
        let is_named = named || statement.judgement != Some(Judgement::Reproduced);
        dots.push(EffectDot {
            name: (is_claim && is_named).then(|| verdict.id.clone()),
            group,
            paper,
            ours,
            is_claim,
        });
    }
    dots
}

#[cfg(test)]
mod tests {
    use super::effect_chart;
    use crate::page::{Cell, Judgement, Kind, Origin, Statement, Verdict};

    fn statement(kind: Kind, own: bool, ours: Cell) -> Statement {
        Statement {
            what: String::new(),
            kind,
            own,
            paper: Cell::Number(20.0),
            judgement: ours.number().map(|_| Judgement::Near),
            ours,
            range: None,
            agreement: None,
        }
    }

    fn verdict(origin: Origin, statements: Vec<Statement>) -> Verdict {
        Verdict {
            id: "a.b".to_owned(),
            claim: String::new(),
            place: String::new(),
            origin,
            judgement: Some(Judgement::Near),
            note: String::new(),
            statements,
        }
    }

    #[test]
    fn measured_effects_are_dots_and_one_of_them_is_the_claim() {
        let increase = |own, ours| statement(Kind::Increase, own, ours);
        let measured = verdict(
            Origin::Measured,
            vec![
                increase(false, Cell::Number(10.0)),
                increase(true, Cell::Number(-5.0)),
                increase(false, Cell::None),
                statement(Kind::Percent, false, Cell::Number(1.0)),
            ],
        );
        let apart = verdict(Origin::Arithmetic, vec![increase(true, Cell::Number(1.0))]);
        let chart = effect_chart("t", &[("p", vec![&measured, &apart])]);
        let dots: Vec<_> = chart
            .dots
            .iter()
            .map(|dot| (dot.ours, dot.is_claim))
            .collect();
        assert_eq!(dots, [(1.1, false), (0.95, true)]);
        assert_eq!(chart.dots[1].name.as_deref(), Some("a.b"));
        assert!((chart.dots[0].paper - 1.2).abs() < 1e-12);
        // In a chart of several papers only claims have names whose effects are not reproduced.
        let mut same = measured.clone();
        same.statements[1].judgement = Some(Judgement::Reproduced);
        let chart = effect_chart("t", &[("p", vec![&measured]), ("q", vec![&same])]);
        assert_eq!((chart.dots.len(), chart.dots[3].group), (4, 1));
        let named: Vec<bool> = chart.dots.iter().map(|dot| dot.name.is_some()).collect();
        assert_eq!(named, [false, true, false, false]);
    }
}
