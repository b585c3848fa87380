//! Titles of a sweep's page, and what they say of runs that were cut.

use super::{CUT, PageBuilder, metric};
use warploom_report::grouped;

/// Most values of an axis that a title names.
const MOST_NAMED: usize = 6;

impl PageBuilder<'_> {
    /// A sentence on runs that were cut, if any were.
    pub(super) fn cut_runs(&self) -> Option<String> {
        let cut = *self.counts.get(CUT)?;
        let all = cut + self.counts.get("finished").copied().unwrap_or(0);
        let speedups = match self.sweep.report.baseline.is_empty() {
            true => "",
            false => "their speedups are ratios of IPC in that time, and ",
        };
        Some(format!(
            "{cut} of {all} runs were cut at max_cycles{}: {speedups}whole runs may differ \
             (docs/comparing.md, Cut runs)",
            self.limit().map_or(String::new(), |at| format!(" {at}"))
        ))
    }

    /// The cycles at which runs were cut, if it is one number.
    fn limit(&self) -> Option<String> {
        let mut limits = self.limits.iter();
        let (one, None) = (limits.next()?, limits.next()) else {
            return None;
        };
        Some(grouped(*one))
    }

    /// Title of the page: that of the file, or the metric, the machine if all runs have the same,
    /// and the axes. It states where runs were cut.
    pub(super) fn title(&self) -> String {
        let title = match &self.sweep.report.title {
            Some(title) => title.clone(),
            None => self.described(),
        };
        match (self.counts.get(CUT), self.limit()) {
            (None, _) => title,
            (Some(_), Some(at)) => format!("{title}, first {at} cycles"),
            (Some(_), None) => format!("{title}, runs cut"),
        }
    }

    /// The metric, the machine if all runs have the same, and the axes.
    fn described(&self) -> String {
        let name = |at: Option<usize>| at.map_or("", |at| self.sweep.axes[at].as_str());
        let mut title = self.metric_label();
        let mut machines = self.machines.iter().filter(|machine| !machine.is_empty());
        if let (Some(machine), None) = (machines.next(), machines.next()) {
            title += &format!(" on {machine}");
        }
        match self.map.map(name) {
            ["", _] => title,
            [rows, ""] => format!("{title} by {rows}"),
            [rows, columns] => format!("{title} by {rows} and {columns}"),
        }
    }

    /// The metric, of speedups with the values of the baseline.
    pub(super) fn metric_label(&self) -> String {
        let value = |axis: &String| {
            let value = self.sweep.report.baseline.get(axis)?;
            let is_number = value.parse::<f64>().is_ok();
            let word = axis.rsplit('.').next().unwrap_or(axis);
            let label = self.axes.label(self.sweep, axis, value);
            Some(match is_number {
                true => format!("{word} {label}"),
                false => label,
            })
        };
        let base: Vec<_> = self.sweep.axes.iter().filter_map(value).collect();
        match self.is_ratio() && !base.is_empty() {
            true => format!("speedup over {}", base.join(", ")),
            false => metric(self.sweep).to_owned(),
        }
    }

    /// The axes over which a cell is a mean, each with its values if they are few.
    pub(super) fn others(&self) -> Option<String> {
        let axes = (0..self.axes.values.len()).filter(|at| !self.map.contains(&Some(*at)));
        let axes = axes.filter(|at| self.axes.values[*at].len() > 1);
        let named = |at: usize| {
            let (name, labels) = (&self.sweep.axes[at], &self.axes.labels[at]);
            match labels.len() <= MOST_NAMED {
                true => format!("{name} ({})", labels.join(", ")),
                false => format!("{} values of {name}", labels.len()),
            }
        };
        let named: Vec<_> = axes.map(named).collect();
        (!named.is_empty()).then(|| named.join(" and "))
    }
}
