//! The bars of a page in few lines, for a terminal: a mean for each series with the least and the
//! greatest value that is in it, so that one program that decides a mean is seen.

use super::PageBuilder;
use super::charts::{MEAN, Picture, Pictures};
use std::fmt::Write;
use warploom_report::{BarChart, Chart};

/// A line: a series of bars, or one of its bars.
struct Line {
    name: String,
    value: f64,
    /// Least and greatest value, with the place of each.
    ends: Option<[(f64, String); 2]>,
}

impl PageBuilder<'_> {
    /// The bars over all pictures in few lines: geometric means of speedups, or the speedups of
    /// the groups over that of the baseline. Empty without such bars.
    pub(super) fn overview(&self, pictures: &Pictures) -> String {
        let Some(Chart::Bars(all)) = pictures.all.as_ref().map(|all| &all.chart) else {
            return String::new();
        };
        if !self.is_ratio() {
            return String::new();
        }
        let mean = all.groups.iter().position(|group| group == MEAN);
        let lines = match (mean, self.baseline(self.groups())) {
            (Some(at), _) => self.means(pictures, all, at),
            (None, Some(base)) => self.groups_over(pictures, all, &base),
            (None, None) => return String::new(),
        };
        let over = mean.and_then(|_| self.groups());
        let others = self.axes.others(self.map);
        let over: Vec<usize> = over.into_iter().chain(others).collect();
        let title = match over.is_empty() {
            true => self.title(),
            false => format!("{}: {MEAN} over {}", self.title(), self.with_values(&over)),
        };
        let ranges = lines.iter().any(|line| line.ends.is_some());
        let ranges = if ranges {
            "; from the least to the greatest"
        } else {
            ""
        };
        written(&format!("{title}{ranges}"), &lines)
    }

    /// The mean of each series, which is the bar at `mean`.
    fn means(&self, pictures: &Pictures, all: &BarChart, mean: usize) -> Vec<Line> {
        let line = |nth: usize| {
            let series = &all.series[nth];
            Some(Line {
                name: series.name.clone(),
                value: series.values[mean]?,
                ends: self.ends(pictures, nth, None),
            })
        };
        (0..all.series.len()).filter_map(line).collect()
    }

    /// Each bar of the groups other than the baseline's.
    fn groups_over(&self, pictures: &Pictures, all: &BarChart, base: &str) -> Vec<Line> {
        let groups = all.groups.iter().enumerate();
        let others = groups.filter(|(_, group)| *group != base);
        let of_group = |(at, group): (usize, &String)| {
            let line = |nth: usize| {
                let series = &all.series[nth];
                Some(Line {
                    name: match all.series.len() {
                        1 => group.clone(),
                        _ => format!("{group}, {}", series.name),
                    },
                    value: series.values[at]?,
                    ends: self.ends(pictures, nth, Some(group)),
                })
            };
            (0..all.series.len()).filter_map(line).collect::<Vec<_>>()
        };
        others.flat_map(of_group).collect()
    }

    /// Least and greatest bar of a series in all pictures, or in one of their groups, if they are
    /// told apart by three decimals.
    fn ends(
        &self,
        pictures: &Pictures,
        series: usize,
        group: Option<&str>,
    ) -> Option<[(f64, String); 2]> {
        let shown = match pictures.panels.is_empty() {
            true => pictures.all.as_slice(),
            false => pictures.panels.as_slice(),
        };
        let bars = shown
            .iter()
            .flat_map(|picture| self.bars_of(picture, series));
        let own = |name: &str| group.map_or(name != MEAN, |group| name == group);
        let mut bars: Vec<_> = bars
            .filter(|(_, name, _)| own(name))
            .map(|(value, name, panel)| match (group, panel.as_str()) {
                (None, "") => (value, name),
                (None, panel) => (value, format!("{name}, {panel}")),
                (Some(_), _) => (value, panel),
            })
            .collect();
        bars.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ends = [bars.first()?.clone(), bars.last()?.clone()];
        (ends[1].0 - ends[0].0 >= 0.0005).then_some(ends)
    }

    /// Bars of a series in a picture: value, group and panel.
    fn bars_of(&self, picture: &Picture, series: usize) -> Vec<(f64, String, String)> {
        let Chart::Bars(chart) = &picture.chart else {
            return Vec::new();
        };
        let panel = self.panel_label(&picture.panel);
        let Some(series) = chart.series.get(series) else {
            return Vec::new();
        };
        let bars = chart.groups.iter().zip(&series.values);
        bars.filter_map(|(group, value)| Some(((*value)?, group.clone(), panel.clone())))
            .collect()
    }
}

/// Lines below a title, in columns.
fn written(title: &str, lines: &[Line]) -> String {
    let widths = lines.iter().map(|line| line.name.chars().count());
    let width = widths.max().unwrap_or(0);
    let mut text = format!("{title}\n");
    for line in lines {
        let _ = write!(text, "  {:width$} {:>8.3}", line.name, line.value);
        if let Some([least, most]) = &line.ends {
            let end = |(value, name): &(f64, String)| match name.as_str() {
                "" => format!("{value:.3}"),
                name => format!("{value:.3} ({name})"),
            };
            let _ = write!(text, "  {} to {}", end(least), end(most));
        }
        text.push('\n');
    }
    text
}
