//! The bars of a page in few lines, for a terminal: a mean for each series with the least and the
//! greatest value that is in it, so that one program that decides a mean is seen.

use super::PageBuilder;
use super::charts::{MEAN, Picture, Pictures, is_mean};
use std::fmt::Write;
use warploom_report::{BarChart, Chart};

/// A line: a series of bars, or one of its bars.
struct Line {
    name: String,
    value: f64,
    /// Least and greatest value, with the place of each.
    ends: Option<[(f64, String); 2]>,
}

/// A picture whose bars are told, and the pictures of which its bars are means, or itself.
struct Told<'a> {
    picture: &'a Picture,
    of: &'a [Picture],
}

impl PageBuilder<'_> {
    /// The bars of speedups in few lines: geometric means, or the speedups of the groups over that
    /// of the baseline. They are those over all pictures, or where a mean over these says little,
    /// of each. Empty without such bars.
    pub(super) fn overview(&self, pictures: &Pictures) -> String {
        if !self.is_ratio() {
            return String::new();
        }
        let parts = pictures.wholes().map(|picture| {
            let of = match (&pictures.all, pictures.panels.as_slice()) {
                (Some(_), panels @ [_, ..]) => panels,
                _ => std::slice::from_ref(picture),
            };
            self.told(&Told { picture, of })
        });
        parts.flatten().collect::<Vec<_>>().join("\n")
    }

    /// The bars of one picture.
    fn told(&self, told: &Told<'_>) -> Option<String> {
        let Chart::Bars(bars) = &told.picture.chart else {
            return None;
        };
        let mean = bars.groups.iter().position(|group| is_mean(group));
        let lines = match (mean, self.baseline(self.groups())) {
            (Some(at), _) => self.means(told, bars, at),
            (None, Some(base)) => self.groups_over(told, bars, &base),
            (None, None) => return None,
        };
        let panel = told.picture.panel.as_slice();
        let own = |at: &usize| panel.is_empty() || !self.panels.contains(at);
        let others = self.axes.others(self.map).filter(own);
        let over: Vec<usize> = mean
            .and_then(|_| self.groups())
            .into_iter()
            .chain(others)
            .collect();
        let title = match panel {
            [] => self.title(),
            panel => format!("{}: {}", self.title(), self.panel_label(panel)),
        };
        let over = match (over.is_empty(), panel) {
            (true, _) => String::new(),
            (false, []) => format!(": {MEAN} over {}", self.with_values(&over)),
            (false, _) => format!("; {MEAN} over {}", self.with_values(&over)),
        };
        let ranges = match lines.iter().any(|line| line.ends.is_some()) {
            true => "; from the least to the greatest",
            false => "",
        };
        Some(written(&format!("{title}{over}{ranges}"), &lines))
    }

    /// The mean of each series, which is the bar at `mean`.
    fn means(&self, told: &Told<'_>, all: &BarChart, mean: usize) -> Vec<Line> {
        let line = |nth: usize| {
            let series = &all.series[nth];
            Some(Line {
                name: series.name.clone(),
                value: series.values[mean]?,
                ends: self.ends(told.of, &series.name, None),
            })
        };
        (0..all.series.len()).filter_map(line).collect()
    }

    /// Each bar of the groups other than the baseline's.
    fn groups_over(&self, told: &Told<'_>, all: &BarChart, base: &str) -> Vec<Line> {
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
                    ends: self.ends(told.of, &series.name, Some(group)),
                })
            };
            (0..all.series.len()).filter_map(line).collect::<Vec<_>>()
        };
        others.flat_map(of_group).collect()
    }

    /// Least and greatest bar of a series in some pictures, or in one of their groups, if they are
    /// told apart by three decimals.
    fn ends(
        &self,
        of: &[Picture],
        series: &str,
        group: Option<&str>,
    ) -> Option<[(f64, String); 2]> {
        let several = of.len() > 1;
        let bars = of.iter().flat_map(|picture| {
            let panel = if several {
                self.panel_label(&picture.panel)
            } else {
                String::new()
            };
            bars_of(picture, series, panel)
        });
        let own = |name: &str| group.map_or(!is_mean(name), |group| name == group);
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
}

/// Bars of a series in a picture of a panel: value, group and panel.
fn bars_of(picture: &Picture, series: &str, panel: String) -> Vec<(f64, String, String)> {
    let Chart::Bars(chart) = &picture.chart else {
        return Vec::new();
    };
    let Some(series) = chart.series.iter().find(|own| own.name == series) else {
        return Vec::new();
    };
    let bars = chart.groups.iter().zip(&series.values);
    bars.filter_map(|(group, value)| Some(((*value)?, group.clone(), panel.clone())))
        .collect()
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
