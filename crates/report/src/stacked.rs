//! Charts of runs as stacked bars: the parts with the largest sums, and the others together.

use crate::figure::{Axis, BarChart, BarSeries, Chart};
use std::collections::BTreeMap;

/// Parts with a colour of their own in a chart; all others are summed.
const SHOWN: usize = 6;
/// Most runs of a chart of causes.
const MOST_RUNS: usize = 40;

/// Series of the parts of runs, times `scale`: `first`, if it is given, then those with the largest
/// sums, then all others together.
pub(crate) fn stacked(
    runs: &[&BTreeMap<String, f64>],
    scale: f64,
    first: Option<&str>,
) -> Vec<BarSeries> {
    let value = |run: &BTreeMap<String, f64>, part: &str| run.get(part).copied().unwrap_or(0.0);
    let mut parts: Vec<(&str, f64)> = Vec::new();
    for part in runs.iter().flat_map(|run| run.keys()) {
        if !parts.iter().any(|(known, _)| known == part) {
            parts.push((part, runs.iter().map(|run| value(run, part)).sum()));
        }
    }
    let is_first = |part: &str| first == Some(part);
    parts.sort_by(|(a, x), (b, y)| {
        let order = is_first(b).cmp(&is_first(a));
        order.then(y.total_cmp(x)).then(a.cmp(b))
    });
    let (own, others) = parts.split_at(parts.len().min(SHOWN));
    let series = |name: &str, parts: &[(&str, f64)]| BarSeries {
        name: name.to_owned(),
        values: runs
            .iter()
            .map(|run| Some(scale * parts.iter().map(|(part, _)| value(run, part)).sum::<f64>()))
            .collect(),
    };
    let mut all: Vec<BarSeries> = own.iter().map(|part| series(part.0, &[*part])).collect();
    if !others.is_empty() {
        all.push(series("others", others));
    }
    all
}

/// The schedulers' cycles of runs by cause, as shares of all; `None` without counts, and for more
/// runs than a chart shows.
pub fn causes_chart(runs: &[(String, &BTreeMap<String, f64>)]) -> Option<Chart> {
    let counted: Vec<_> = runs
        .iter()
        .filter(|(_, causes)| !causes.is_empty())
        .collect();
    if counted.is_empty() || counted.len() > MOST_RUNS {
        return None;
    }
    let causes: Vec<_> = counted.iter().map(|(_, causes)| *causes).collect();
    Some(Chart::Stacks(BarChart {
        title: "Scheduler cycles by cause".to_owned(),
        axis: Axis {
            label: "share of scheduler cycles".to_owned(),
            percent: true,
            max: Some(1.0),
            ..Axis::default()
        },
        groups: counted.iter().map(|(name, _)| name.clone()).collect(),
        series: stacked(&causes, 1.0, Some("issued")),
        marks: Vec::new(),
    }))
}

#[cfg(test)]
mod tests {
    use super::causes_chart;
    use crate::figure::Chart;
    use std::collections::BTreeMap;

    #[test]
    fn issued_cycles_come_first_and_runs_without_counts_are_left_out() {
        let causes = |pairs: &[(&str, f64)]| -> BTreeMap<String, f64> {
            let owned = pairs
                .iter()
                .map(|(name, share)| ((*name).to_owned(), *share));
            owned.collect()
        };
        let (lrr, gto) = (
            causes(&[("issued", 0.2), ("memory_pipe", 0.8)]),
            causes(&[("issued", 0.4), ("barrier", 0.6)]),
        );
        let none = BTreeMap::new();
        let rows = [("lrr", &lrr), ("none", &none), ("gto", &gto)];
        let rows = rows.map(|(name, causes)| (name.to_owned(), causes));
        let Some(Chart::Stacks(chart)) = causes_chart(&rows) else {
            panic!("no stacks")
        };
        assert_eq!(chart.groups, ["lrr", "gto"]);
        let names: Vec<_> = chart.series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["issued", "memory_pipe", "barrier"]);
        assert_eq!(chart.series[1].values, [Some(0.8), Some(0.0)]);
        assert_eq!(causes_chart(&rows[1..2]), None);
        assert_eq!(causes_chart(&vec![rows[0].clone(); 41]), None);
    }
}
