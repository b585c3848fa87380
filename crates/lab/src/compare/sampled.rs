//! Comparisons of sampled runs: estimates with their margins, and which differences they decide.

use super::{Comparison, Shown};
use crate::runs::UsedRun;
use crate::spec::percent;
use warploom_report::page::Cell;
use warploom_report::{Mark, grouped};
use warploom_stats::result::RunReport;
use warploom_stats::sampling::{Interval, SamplingReport};

/// Columns of a sampled comparison, with what they mean.
pub(super) const ESTIMATED: [(&str, &str); 16] = [
    ("cycles", "Estimated core cycles of all launches."),
    (
        "cycles.margin",
        "Half of the width of the interval in which the cycles of a full run lie, at 95% confidence.",
    ),
    ("ipc", "Estimated thread instructions per core cycle."),
    ("ipc.margin", "Half of the width of its interval."),
    (
        "speedup",
        "Estimated speed over that of the first row: ratio of the cycles.",
    ),
    (
        "speedup.margin",
        "Half of the width of its interval. Where 1 is in the interval, the sample does not decide \
         which of the two is faster.",
    ),
    (
        "l1d.hit_rate",
        "Estimated hits over accesses of the L1 data caches.",
    ),
    ("l1d.hit_rate.margin", "Half of the width of its interval."),
    ("l2.hit_rate", "Estimated hits over accesses of L2."),
    ("l2.hit_rate.margin", "Half of the width of its interval."),
    ("launches", "Number of launches of the program."),
    ("timed", "Number of launches that were timed."),
    (
        "blocks_per_sm",
        "Number of the first launch's blocks that fit an SM.",
    ),
    (
        "limit",
        "What limits this number: `grid` if an SM gets no more blocks of it.",
    ),
    (
        "bound",
        "What bound the kernel whose timed launches took the most cycles, as `run --explain` names \
         it.",
    ),
    ("status", "`sampled`: the values are estimates."),
];

/// Pairs of rows that are told one by one.
const SHOWN: usize = 6;

/// Names of the columns of a sampled comparison with what they mean, in their order.
pub fn sampled_columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    ESTIMATED.into_iter()
}

/// Speed of a sampled run over another one. That over itself is known.
fn ratio(run: &SamplingReport, over: &SamplingReport) -> Interval {
    match std::ptr::eq(run, over) {
        true => Interval {
            value: 1.0,
            margin: 0.0,
        },
        false => over.cycles().over(&run.cycles()),
    }
}

/// Marks at both ends of the intervals of speedups over the first row, for `bars` bars in a group;
/// none if the runs are not sampled.
pub(super) fn interval_marks(shown: &[Option<Shown>], bars: usize) -> Vec<Mark> {
    let sampling = |row: &'_ Option<Shown>| row.as_ref()?.report.sampling.clone();
    let all: Vec<Option<SamplingReport>> = shown.iter().map(sampling).collect();
    let Some(first) = all.iter().flatten().next() else {
        return Vec::new();
    };
    let end = |bar: usize, sign: f64| {
        let rows = all.iter().skip(bar).step_by(bars);
        let value = |row: &Option<SamplingReport>| {
            let Interval { value, margin } = ratio(row.as_ref()?, first);
            (margin > 0.0).then_some(value + sign * margin)
        };
        Mark {
            name: "95% interval".to_owned(),
            values: rows.map(value).collect(),
            series: Some(bar),
        }
    };
    let ends = (0..bars).flat_map(|bar| [end(bar, -1.0), end(bar, 1.0)]);
    ends.collect()
}

impl Comparison {
    /// Cells of a sampled run after those of the keys, with what bound its timed launches. `first`
    /// is the run of the first row.
    pub(super) fn estimated(
        &self,
        (report, sampling): (&RunReport, &SamplingReport),
        bound: Option<&str>,
        first: &RunReport,
    ) -> Vec<Cell> {
        let pair = |interval: Option<Interval>| match interval {
            Some(Interval { value, margin }) if value.is_finite() => {
                [Cell::Number(value), Cell::Number(margin)]
            }
            _ => [Cell::None, Cell::None],
        };
        let of = |name: &str| pair(sampling.estimates.get(name).copied());
        let Interval { value, margin } = sampling.cycles();
        let cycles = [value, margin].map(|number| Cell::Count(number.round() as u64));
        let speedup = first.sampling.as_ref().map(|first| ratio(sampling, first));
        let launch = report.kernels.first();
        let blocks = launch.map(|kernel| Cell::Count(kernel.blocks_per_sm.into()));
        let text = |text: Option<&str>| text.map_or(Cell::None, Cell::from);
        // What timed launches read from DRAM depends on L2's contents, which are made up for only
        // in part.
        let rates = ["l1d.hit_rate", "l2.hit_rate"].map(of);
        let pairs = [cycles, of("ipc"), pair(speedup)].into_iter().chain(rates);
        let counts = [sampling.launches, sampling.timed].map(Cell::Count);
        let rest = [
            blocks.unwrap_or(Cell::None),
            text(launch.map(|kernel| kernel.occupancy_limit.as_str())),
            text(bound),
            Cell::from("sampled"),
        ];
        pairs.flatten().chain(counts).chain(rest).collect()
    }

    /// Sentences on what was timed, on differences that the sample does not decide, and on
    /// estimates that are worse than they were to be.
    pub(super) fn sampled(&self, runs: &[&UsedRun]) -> Vec<String> {
        let Some(bound) = self.sample_error else {
            return Vec::new();
        };
        let all = runs.iter().filter_map(|(spec, report)| {
            let sampling = report.sampling.as_ref()?;
            Some((spec.machine.name.as_str(), sampling))
        });
        let all: Vec<(&str, &SamplingReport)> = all.collect();
        let mut notes: Vec<String> = timed(&all, bound).into_iter().collect();
        notes.extend(undecided(&all));
        notes.extend(wide(&all, bound));
        notes.extend(differing(&all));
        notes
    }
}

/// How many launches were timed.
fn timed(runs: &[(&str, &SamplingReport)], bound: f64) -> Option<String> {
    let timed = runs.iter().map(|(_, sampling)| sampling.timed);
    let (least, most) = (timed.clone().min()?, timed.max()?);
    let launches = runs.iter().map(|(_, sampling)| sampling.launches).max()?;
    let timed = match least == most {
        true => grouped(least),
        false => format!("{} to {}", grouped(least), grouped(most)),
    };
    Some(format!(
        "sampled: {timed} of {} launches were timed for each run, and the others executed without \
         timing. Values are estimates for all launches with margins at 95% confidence, for a bound \
         of {} of the cycles; `bound` is that of the timed launches \
         (docs/comparing.md, Sampled comparisons)",
        grouped(launches),
        percent(bound)
    ))
}

/// Pairs of runs whose order the sample does not decide.
fn undecided(runs: &[(&str, &SamplingReport)]) -> Option<String> {
    let pairs = (0..runs.len()).flat_map(|at| (at + 1..runs.len()).map(move |later| (at, later)));
    let told = |(at, later): (usize, usize)| {
        let ((name, one), (other, later)) = (runs[at], runs[later]);
        let ratio = ratio(later, one);
        let Interval { value, margin } = ratio;
        ratio
            .contains(1.0)
            .then(|| format!("{other} over {name} ({value:.3} +- {margin:.3})"))
    };
    let pairs: Vec<String> = pairs.filter_map(told).collect();
    let more = pairs.len().saturating_sub(SHOWN);
    let more = match more {
        0 => String::new(),
        more => format!("; and {more} more pairs"),
    };
    let shown = pairs.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    (!pairs.is_empty()).then(|| {
        format!(
            "these differences lie within their margins, so that the sample does not decide which of the \
             two is faster; a smaller --sample-error may: {}{more}",
            shown.join("; ")
        )
    })
}

/// Runs whose intervals are wider than the bound.
fn wide(runs: &[(&str, &SamplingReport)], bound: f64) -> Option<String> {
    let wide = runs
        .iter()
        .filter(|(_, sampling)| sampling.cycles().relative_margin() > bound);
    let names: Vec<&str> = wide.map(|(name, _)| *name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "intervals wider than the bound, because the program ended before enough launches had been \
             timed: {}",
            names.join("; ")
        )
    })
}

/// Runs with timed launches that had other results.
fn differing(runs: &[(&str, &SamplingReport)]) -> Option<String> {
    let some = runs.iter().filter(|(_, sampling)| sampling.differing > 0);
    let names: Vec<String> = some
        .map(|(name, sampling)| format!("{name} ({})", grouped(sampling.differing)))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "timed launches had other results than their execution without timing, with which the program \
             went on: what they compute depends on the order of threads or on the time. Number for \
             each run: {}",
            names.join("; ")
        )
    })
}

#[cfg(test)]
mod tests;
