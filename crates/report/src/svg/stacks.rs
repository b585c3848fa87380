//! Bars whose series lie on each other, one bar per group: vertical on a wide page, horizontal with
//! their sums on a narrow one.

use super::bars::{GROUP, group_names, group_plane};
use super::labels::{draw_narrow, more_narrow};
use super::{
    Area, Drawn, FURTHER, MARGIN, NARROW_WIDTH, SERIES, TEXT, head_coloured, head_height,
    series_colour, top_of, words,
};
use crate::figure::BarChart;
use crate::stacked::parts as causes;
use plotters::prelude::*;

const GROUP_NAME: i32 = 22;
const BAR: i32 = 16;
const BETWEEN_GROUPS: i32 = 12;
/// Space for a sum after its bar.
const VALUE: i32 = 62;
const BELOW: i32 = 22;

fn names(chart: &BarChart) -> Vec<&str> {
    chart.series.iter().map(|s| s.name.as_str()).collect()
}

/// Colours of the series. Each cause of scheduler cycles has the same one in all charts.
fn colours(chart: &BarChart) -> Vec<RGBColor> {
    let colour = |(nth, name): (usize, &&str)| {
        let cause = causes().position(|cause| cause == *name);
        let own = |cause| SERIES.iter().chain(&FURTHER).nth(cause);
        cause
            .and_then(own)
            .map_or_else(|| series_colour(nth), |ink| ink.0)
    };
    names(chart).iter().enumerate().map(colour).collect()
}

/// The part of each series in a group: its number, and where it begins and ends.
fn parts(chart: &BarChart, group: usize) -> Vec<(usize, f64, f64)> {
    let values = chart.series.iter().enumerate().filter_map(|(s, series)| {
        let value = series.values.get(group).copied().flatten()?;
        (value.is_finite() && value > 0.0).then_some((s, value))
    });
    let mut end = 0.0;
    let part = |(s, value)| {
        let start = end;
        end += value;
        (s, start, end)
    };
    values.map(part).collect()
}

fn sum(chart: &BarChart, group: usize) -> f64 {
    parts(chart, group).last().map_or(0.0, |(.., end)| *end)
}

fn sums(chart: &BarChart) -> impl Iterator<Item = f64> {
    (0..chart.groups.len()).map(|group| sum(chart, group))
}

/// Draws the chart on a page of normal width.
pub(super) fn wide(area: &Area<'_>, chart: &BarChart) -> Drawn {
    let colours = colours(chart);
    let below = head_coloured(area, &chart.title, (&names(chart), &colours), &[])?;
    let mut plane = group_plane(area, chart, below, 0.0..top_of(&chart.axis, sums(chart)))?;
    for group in 0..chart.groups.len() {
        let left = group as f64 + (1.0 - GROUP) / 2.0;
        for (s, start, end) in parts(chart, group) {
            let corners = [(left, start), (left + GROUP, end)];
            let colour = colours[s].filled();
            plane.draw_series([Rectangle::new(corners, colour)])?;
        }
    }
    group_names(area, &plane, chart)
}

/// Height of the chart on a narrow screen.
pub(super) fn narrow_height(chart: &BarChart) -> u32 {
    let group = GROUP_NAME + BAR + BETWEEN_GROUPS;
    let groups = chart.groups.iter().map(|name| group + more_narrow(name));
    let below = BELOW + more_narrow(&chart.axis.label);
    let head = head_height(&chart.title, &names(chart), &[], NARROW_WIDTH);
    (head + groups.sum::<i32>() + below) as u32
}

/// Draws the chart on a narrow screen.
pub(super) fn narrow(area: &Area<'_>, chart: &BarChart) -> Drawn {
    let colours = colours(chart);
    let mut y = head_coloured(area, &chart.title, (&names(chart), &colours), &[])?;
    let top = top_of(&chart.axis, sums(chart));
    let room = f64::from(NARROW_WIDTH as i32 - 2 * MARGIN - VALUE);
    let at = |value: f64| MARGIN + (value.clamp(0.0, top) / top * room).round() as i32;
    for (g, group) in chart.groups.iter().enumerate() {
        y += GROUP_NAME + draw_narrow(area, group, y, TEXT)?;
        for (s, start, end) in parts(chart, g) {
            let corners = [(at(start), y), (at(end), y + BAR)];
            let colour = colours[s].filled();
            area.draw(&Rectangle::new(corners, colour))?;
        }
        let total = sum(chart, g);
        let shown = match chart.axis.percent {
            true => format!("{:.1}%", total * 100.0),
            false => format!("{total:.3}"),
        };
        area.draw(&Text::new(shown, (at(total) + 6, y + 1), words(TEXT - 1)))?;
        y += BAR + BETWEEN_GROUPS;
    }
    draw_narrow(area, &chart.axis.label, y, TEXT - 1).map(drop)
}

#[cfg(test)]
mod tests {
    use super::colours;
    use crate::figure::{BarChart, BarSeries};
    use crate::stacked::parts as causes;

    fn chart(names: &[&str]) -> BarChart {
        let series = names.iter().map(|name| BarSeries {
            name: (*name).to_owned(),
            values: Vec::new(),
        });
        BarChart {
            series: series.collect(),
            ..BarChart::default()
        }
    }

    #[test]
    fn a_cause_has_one_colour_in_all_charts_and_no_other_has_it() {
        let causes: Vec<_> = causes().collect();
        let all = colours(&chart(&causes));
        let distinct: Vec<_> = (0..all.len())
            .filter(|at| !all[..*at].contains(&all[*at]))
            .collect();
        assert_eq!(distinct.len(), causes.len());
        let few = colours(&chart(&["issued", "policy", "memory_pipe"]));
        assert_eq!(few, [all[0], all[8], all[3]]);
    }
}
