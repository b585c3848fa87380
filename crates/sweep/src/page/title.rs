//! Titles of a sweep's page and of its pictures.

use super::charts::MEAN;
use super::{CUT, PageBuilder, SAMPLED, STOPPED, metric};
use warploom_report::grouped;

/// Most values of an axis that a title names.
const MOST_NAMED: usize = 6;

impl PageBuilder<'_> {
    /// The cycles at which runs were cut, if it is one number.
    pub(super) fn limit(&self) -> Option<String> {
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
        let title = match self.stopped_after() {
            Some(launches) => format!("{title}, first {launches}"),
            None => title,
        };
        match (self.counts.get(CUT), self.limit()) {
            (None, _) if self.counts.contains_key(SAMPLED) => format!("{title}, sampled"),
            (None, _) => title,
            (Some(_), Some(at)) => format!("{title}, first {at} cycles"),
            (Some(_), None) => format!("{title}, runs cut"),
        }
    }

    /// Launches after which runs were stopped, if it is one number.
    fn stopped_after(&self) -> Option<String> {
        self.counts.get(STOPPED)?;
        let at = self
            .sweep
            .axes
            .iter()
            .position(|axis| axis == "max_launches")?;
        match self.axes.values[at].as_slice() {
            [one] if one == "1" => Some("launch".to_owned()),
            [number] => Some(format!("{number} launches")),
            _ => None,
        }
    }

    /// The metric, the program and the machine if all runs have the same, and the axes.
    fn described(&self) -> String {
        let name = |at: Option<usize>| at.map_or("", |at| self.sweep.axes[at].as_str());
        let mut title = self.metric_label();
        if let Some(program) = self.program() {
            title += &format!(": {program}");
        }
        if let Some(machine) = self.machine() {
            title += &format!(" on {machine}");
        }
        match self.map.map(name) {
            ["", _] => title,
            [rows, ""] => format!("{title} by {rows}"),
            [rows, columns] => format!("{title} by {rows} and {columns}"),
        }
    }

    /// Name of the machine, if all runs have the same.
    fn machine(&self) -> Option<&str> {
        let mut machines = self.machines.iter().filter(|machine| !machine.is_empty());
        let (machine, None) = (machines.next()?, machines.next()) else {
            return None;
        };
        Some(machine)
    }

    /// Name of the program, if all runs have the same: of a CUDA program that without folder and
    /// arguments.
    fn program(&self) -> Option<&str> {
        let mut axes = self.sweep.axes.iter().zip(&self.axes.labels);
        let mut programs = axes
            .by_ref()
            .filter(|(axis, _)| matches!(axis.as_str(), "target" | "app"));
        let ((axis, labels), None) = (programs.next()?, programs.next()) else {
            return None;
        };
        let [only] = labels.as_slice() else {
            return None;
        };
        match axis.as_str() {
            "app" => only.split_whitespace().next()?.rsplit('/').next(),
            _ => Some(only),
        }
    }

    /// Label of the cells of a map: below a title of the file with program and machine, which other
    /// titles have.
    pub(super) fn map_label(&self) -> String {
        let label = self.bars_label();
        if self.sweep.report.title.is_none() {
            return label;
        }
        let program = self.program().map(|program| format!(": {program}"));
        let machine = self.machine().map(|machine| format!(" on {machine}"));
        label + &program.unwrap_or_default() + &machine.unwrap_or_default()
    }

    /// Label of the values of bars.
    pub(super) fn bars_label(&self) -> String {
        let has = |status: &str| self.counts.contains_key(status);
        match (has(SAMPLED), has(CUT) && self.is_ratio()) {
            (true, _) => self.metric_label() + " (estimated)",
            (false, true) => self.metric_label() + " (ratio of IPC)",
            (false, false) => self.metric_label(),
        }
    }

    /// The metric, of speedups with the values of the baseline.
    pub(super) fn metric_label(&self) -> String {
        let value = |axis: &String| {
            let value = self.sweep.report.baseline.get(axis)?;
            let at = self.sweep.axes.iter().position(|name| name == axis)?;
            Some(self.named(at, value))
        };
        let base: Vec<_> = self.sweep.axes.iter().filter_map(value).collect();
        match self.is_ratio() && !base.is_empty() {
            true => format!("speedup over {}", base.join(", ")),
            false => metric(self.sweep).to_owned(),
        }
    }

    /// Title of a picture: that of the page with the values of the panel, and the axes over which
    /// its cells are means.
    pub(super) fn title_of(&self, title: &str, panel: Option<&[String]>) -> String {
        let mut title = title.to_owned();
        if let Some(values) = panel {
            title += &format!(": {}", self.panel_label(values));
        }
        let own = |at: &usize| panel.is_none() || !self.panels.contains(at);
        let others: Vec<usize> = self.axes.others(self.map).filter(own).collect();
        if others.is_empty() {
            return title;
        }
        let how = if self.is_ratio() { MEAN } else { "mean" };
        let mark = if panel.is_some() { ";" } else { ":" };
        format!("{title}{mark} {how} over {}", self.with_values(&others))
    }

    /// Values of the axes of a panel.
    pub(super) fn panel_label(&self, values: &[String]) -> String {
        let named = self.panels.iter().zip(values);
        let named: Vec<_> = named.map(|(at, value)| self.named(*at, value)).collect();
        named.join(", ")
    }

    /// A value of an axis, after the last word of the axis' name if it is a number.
    fn named(&self, at: usize, value: &str) -> String {
        let axis = &self.sweep.axes[at];
        let label = self.axes.label(self.sweep, axis, value);
        match value.parse::<f64>() {
            Ok(_) => format!("{} {label}", axis.rsplit('.').next().unwrap_or(axis)),
            Err(_) => label,
        }
    }

    /// Axes, each with its values if they are few.
    pub(super) fn with_values(&self, axes: &[usize]) -> String {
        let named = |at: &usize| {
            let (name, labels) = (&self.sweep.axes[*at], &self.axes.labels[*at]);
            match labels.len() <= MOST_NAMED {
                true => format!("{name} ({})", labels.join(", ")),
                false => format!("{} values of {name}", labels.len()),
            }
        };
        axes.iter().map(named).collect::<Vec<_>>().join(" and ")
    }
}
