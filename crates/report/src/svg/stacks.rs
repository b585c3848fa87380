//! Bars whose series lie on each other, one bar per group: vertical on a wide page, horizontal with
//! their sums on a narrow one.

use super::bars::{GROUP, group_names, group_plane};
use super::labels::{draw_narrow, more_narrow};
use super::{Area, Drawn, MARGIN, NARROW_WIDTH, SERIES, TEXT, head, head_height, top_of, words};
use crate::figure::BarChart;
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
    let below = head(area, &chart.title, &names(chart), &[])?;
    let mut plane = group_plane(area, chart, below, top_of(&chart.axis, sums(chart)))?;
    for group in 0..chart.groups.len() {
        let left = group as f64 + (1.0 - GROUP) / 2.0;
        for (s, start, end) in parts(chart, group) {
            let corners = [(left, start), (left + GROUP, end)];
            let colour = SERIES[s % SERIES.len()].0.filled();
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
    let mut y = head(area, &chart.title, &names(chart), &[])?;
    let top = top_of(&chart.axis, sums(chart));
    let room = f64::from(NARROW_WIDTH as i32 - 2 * MARGIN - VALUE);
    let at = |value: f64| MARGIN + (value.clamp(0.0, top) / top * room).round() as i32;
    for (g, group) in chart.groups.iter().enumerate() {
        y += GROUP_NAME + draw_narrow(area, group, y, TEXT)?;
        for (s, start, end) in parts(chart, g) {
            let corners = [(at(start), y), (at(end), y + BAR)];
            let colour = SERIES[s % SERIES.len()].0.filled();
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
