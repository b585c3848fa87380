//! Charts of runs as stacked bars: parts with the largest sums and the others together, or
//! scheduler cycles by cause.

use crate::figure::{Axis, BarChart, BarSeries, Chart};
use crate::grouped;
use std::collections::BTreeMap;

/// Parts with a colour of their own in a chart; all others are summed.
const SHOWN: usize = 6;
/// Most runs of a chart of causes.
const MOST_RUNS: usize = 40;
/// Most charts of causes.
const MOST_CHARTS: usize = 4;

/// Causes of scheduler cycles (`sm.slots`) in the order in which bars show them. The place of a
/// cause is its colour in every picture.
pub const CAUSES: [&str; 9] = [
    "issued",
    "memory_dependence",
    "execution_dependence",
    "memory_pipe",
    "execution_pipe",
    "barrier",
    "instruction_buffer",
    "no_warp",
    "policy",
];

/// Name in charts of the cause `policy` of runs that are no slower than others which differ only in
/// the warp scheduler.
const AT_NO_COST: &str = "policy, at no cost";

/// Names of the parts of bars in their order.
pub(crate) fn parts() -> impl Iterator<Item = &'static str> {
    CAUSES.into_iter().chain([AT_NO_COST])
}

/// Series of the parts of runs, times `scale`: those with the largest sums, then all others
/// together.
pub(crate) fn stacked(runs: &[&BTreeMap<String, f64>], scale: f64) -> Vec<BarSeries> {
    let value = |run: &BTreeMap<String, f64>, part: &str| run.get(part).copied().unwrap_or(0.0);
    let mut parts: Vec<(&str, f64)> = Vec::new();
    for part in runs.iter().flat_map(|run| run.keys()) {
        if !parts.iter().any(|(known, _)| known == part) {
            parts.push((part, runs.iter().map(|run| value(run, part)).sum()));
        }
    }
    parts.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
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

/// A run of a chart of causes.
#[derive(Clone, Debug)]
pub struct CausesOf<'a> {
    /// Name of the run.
    pub name: &'a str,
    /// Shares of the schedulers' cycles by cause.
    pub causes: &'a BTreeMap<String, f64>,
    /// Time of the run over that of its baseline, for the same work: the inverse of its speedup.
    /// `None` without a baseline.
    pub time: Option<f64>,
    /// True if the policy holds ready warps back, and the run is no slower than others that differ
    /// only in the warp scheduler and its settings.
    pub holds_at_no_cost: bool,
}

impl CausesOf<'_> {
    /// Share of the schedulers' cycles with a cause.
    fn share(&self, cause: &str) -> f64 {
        let counted = match (cause, self.holds_at_no_cost) {
            ("policy", true) | (AT_NO_COST, false) => return 0.0,
            (AT_NO_COST, true) => "policy",
            (cause, _) => cause,
        };
        self.causes.get(counted).copied().unwrap_or(0.0)
    }
}

/// The schedulers' cycles of runs by cause, in one chart or, of more runs than it shows, in several
/// with as many runs each. The height of a bar is the run's time over that of its baseline, or 1
/// where runs have no baseline. Empty without counts, and for more runs than these charts show.
pub fn causes_charts(runs: &[CausesOf<'_>]) -> Vec<Chart> {
    let counted: Vec<_> = runs.iter().filter(|run| !run.causes.is_empty()).collect();
    let charts = counted.len().div_ceil(MOST_RUNS);
    if counted.is_empty() || charts > MOST_CHARTS {
        return Vec::new();
    }
    let parts = counted.chunks(counted.len().div_ceil(charts));
    let mut parts: Vec<BarChart> = parts.map(causes_chart).collect();
    let height = |chart: &BarChart| {
        let sum = |bar: usize| {
            chart
                .series
                .iter()
                .filter_map(|s| s.values[bar])
                .sum::<f64>()
        };
        (0..chart.groups.len()).map(sum).fold(0.0, f64::max)
    };
    let highest = parts.iter().map(height).fold(0.0, f64::max);
    let number = parts.len();
    for (nth, chart) in parts.iter_mut().enumerate().filter(|_| number > 1) {
        chart.title += &format!(", {} of {number}", nth + 1);
        chart.axis.max = chart.axis.max.or(Some(1.08 * highest));
    }
    parts.into_iter().map(Chart::Stacks).collect()
}

/// Sentence on charts of causes that are left out because there are too many runs.
pub fn causes_left_out(runs: usize) -> Option<String> {
    let most = MOST_RUNS * MOST_CHARTS;
    (runs > most).then(|| {
        format!(
            "there is no picture of the scheduler cycles by cause, which shows up to {most} runs, and \
             these are {}: with fewer values and the same folder of results it is made, and no run \
             is made again",
            grouped(runs as u64)
        )
    })
}

/// The schedulers' cycles of some runs by cause.
fn causes_chart(counted: &[&CausesOf<'_>]) -> BarChart {
    let known = |time: &f64| time.is_finite() && *time > 0.0;
    let times: Option<Vec<f64>> = counted.iter().map(|run| run.time.filter(known)).collect();
    let height = |run: usize| times.as_ref().map_or(1.0, |times| times[run]);
    let value = |cause: &str, run: usize| counted[run].share(cause) * height(run);
    let series = parts().map(|cause| BarSeries {
        name: cause.to_owned(),
        values: (0..counted.len())
            .map(|run| Some(value(cause, run)))
            .collect(),
    });
    let any = |series: &BarSeries| series.values.iter().flatten().any(|value| *value > 0.0);
    let axis = match times {
        Some(_) => Axis {
            label: "time for the same work, over the baseline's".to_owned(),
            ..Axis::default()
        },
        None => Axis {
            label: "share of scheduler cycles".to_owned(),
            percent: true,
            max: Some(1.0),
            ..Axis::default()
        },
    };
    BarChart {
        title: "Scheduler cycles by cause".to_owned(),
        axis,
        groups: counted.iter().map(|run| run.name.to_owned()).collect(),
        series: series.filter(any).collect(),
        marks: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{CausesOf, causes_charts, causes_left_out};
    use crate::figure::{BarChart, BarSeries, Chart};
    use std::collections::BTreeMap;

    fn causes(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
        let owned = pairs
            .iter()
            .map(|(name, share)| ((*name).to_owned(), *share));
        owned.collect()
    }

    fn stacks(runs: &[CausesOf<'_>]) -> BarChart {
        match causes_charts(runs).as_slice() {
            [Chart::Stacks(chart)] => chart.clone(),
            other => panic!("no stacks: {other:?}"),
        }
    }

    #[test]
    fn causes_have_one_order_and_runs_without_counts_are_left_out() {
        let (lrr, gto, none) = (
            causes(&[("issued", 0.2), ("memory_pipe", 0.8)]),
            causes(&[
                ("issued", 0.4),
                ("barrier", 0.5),
                ("memory_dependence", 0.1),
            ]),
            BTreeMap::new(),
        );
        let row = |name, causes, time| CausesOf {
            name,
            causes,
            time,
            holds_at_no_cost: false,
        };
        let rows = [
            row("lrr", &lrr, None),
            row("none", &none, None),
            row("gto", &gto, Some(1.5)),
        ];
        let chart = stacks(&rows);
        assert_eq!(chart.groups, ["lrr", "gto"]);
        let names: Vec<_> = chart.series.iter().map(|s| s.name.as_str()).collect();
        let expected = ["issued", "memory_dependence", "memory_pipe", "barrier"];
        assert_eq!(names, expected);
        assert_eq!(chart.series[2].values, [Some(0.8), Some(0.0)]);
        assert!(chart.axis.percent, "a run has no baseline");
        assert_eq!(causes_charts(&rows[1..2]), []);
    }

    /// Runs that have no room in one picture have several of the same scale, up to a number of runs
    /// beyond which a sentence says so.
    #[test]
    fn many_runs_have_several_pictures_or_a_sentence() {
        let same = causes(&[("issued", 1.0)]);
        let runs = |number: usize| -> Vec<CausesOf<'_>> {
            let run = |nth: usize| CausesOf {
                name: "run",
                causes: &same,
                time: Some(1.0 + nth as f64),
                holds_at_no_cost: false,
            };
            (0..number).map(run).collect()
        };
        let shown = |number: usize| -> Vec<(usize, String, Option<f64>)> {
            let charts = causes_charts(&runs(number)).into_iter();
            let charts = charts.filter_map(|chart| match chart {
                Chart::Stacks(chart) => Some((chart.groups.len(), chart.title, chart.axis.max)),
                _ => None,
            });
            charts.collect()
        };
        let title = |end: &str| format!("Scheduler cycles by cause{end}");
        assert_eq!(shown(40), [(40, title(""), None)]);
        let top = Some(1.08 * 48.0);
        let expected = [(24, title(", 1 of 2"), top), (24, title(", 2 of 2"), top)];
        assert_eq!(shown(48), expected);
        assert_eq!((shown(160).len(), shown(161).len()), (4, 0));
        assert_eq!(causes_left_out(160), None);
        let told = causes_left_out(1610).unwrap();
        assert!(
            told.contains("up to 160 runs, and these are 1,610:"),
            "{told}"
        );
    }

    #[test]
    fn a_policy_that_costs_no_time_has_a_part_of_its_own() {
        let held = causes(&[("issued", 0.1), ("policy", 0.9)]);
        let row = |holds_at_no_cost| CausesOf {
            name: "two-level",
            causes: &held,
            time: None,
            holds_at_no_cost,
        };
        let chart = stacks(&[row(true), row(false)]);
        let named = |s: &BarSeries| (s.name.clone(), s.values.clone());
        let expected = [
            ("issued", [0.1, 0.1]),
            ("policy", [0.0, 0.9]),
            ("policy, at no cost", [0.9, 0.0]),
        ];
        let expected = expected.map(|(name, values)| (name.to_owned(), values.map(Some).to_vec()));
        assert_eq!(chart.series.iter().map(named).collect::<Vec<_>>(), expected);
    }

    /// A run that takes 1.5 times as long as its baseline has a bar that is 1.5 times as high.
    #[test]
    fn bars_are_as_high_as_runs_are_long() {
        let same = causes(&[("issued", 0.25), ("memory_pipe", 0.75)]);
        let row = |name, time| CausesOf {
            name,
            causes: &same,
            time: Some(time),
            holds_at_no_cost: false,
        };
        let chart = stacks(&[row("lrr", 1.0), row("gto", 1.5)]);
        let sum = |at: usize| -> f64 { chart.series.iter().filter_map(|s| s.values[at]).sum() };
        assert_eq!([sum(0), sum(1)], [1.0, 1.5]);
        assert!(!chart.axis.percent && chart.axis.max.is_none());
    }
}
