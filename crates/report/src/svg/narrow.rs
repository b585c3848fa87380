//! Charts for narrow screens: bars are horizontal, each with its value, below the name of their
//! group.

use super::labels::{draw_narrow, more_narrow};
use super::{
    Area, Drawn, MARGIN, NARROW_WIDTH, TEXT, bottom_of, head, head_height, mark_colour, mark_names,
    series_colour, text_width, top_of, words,
};
use crate::figure::BarChart;
use plotters::prelude::*;

const GROUP_NAME: i32 = 22;
const ROW: i32 = 17;
const BAR: i32 = 12;
const BETWEEN_GROUPS: i32 = 8;
/// Space between a bar or a mark and the value behind it.
const AFTER_BAR: i32 = 6;
/// Space for a value after its bar.
const VALUE: i32 = 62;
const BELOW: i32 = 22;

/// Height of a bar chart.
pub(super) fn height(chart: &BarChart) -> u32 {
    let rows = chart.series.len().max(1) as i32;
    let group = GROUP_NAME + rows * ROW + BETWEEN_GROUPS;
    let names_of_groups = chart.groups.iter().map(|name| group + more_narrow(name));
    let groups = names_of_groups.sum::<i32>() + more_narrow(&chart.axis.scaled_label());
    let head = head_height(
        &chart.title,
        &names(chart),
        &mark_names(chart),
        NARROW_WIDTH,
    );
    (head + groups + BELOW) as u32
}

fn names(chart: &BarChart) -> Vec<&str> {
    chart.series.iter().map(|s| s.name.as_str()).collect()
}

/// Values of the marks in the row of a bar.
fn marks_of(chart: &BarChart, group: usize, series: usize) -> impl Iterator<Item = f64> {
    let marks = chart.marks.iter();
    let own = marks.filter(move |mark| mark.series.is_none_or(|of| of == series));
    own.filter_map(move |mark| mark.values.get(group).copied().flatten())
}

/// Place of a value after its bar, at `x` or after the marks that it would lie on.
fn beside(x: i32, width: i32, marks: impl Iterator<Item = i32>) -> i32 {
    let mut marks: Vec<i32> = marks.collect();
    marks.sort_unstable();
    let after = |x: i32, mark: i32| match (x - AFTER_BAR..=x + width).contains(&mark) {
        true => mark + AFTER_BAR,
        false => x,
    };
    marks.into_iter().fold(x, after)
}

/// Draws a bar chart.
pub(super) fn bars(area: &Area<'_>, chart: &BarChart) -> Drawn {
    let mut y = head(area, &chart.title, &names(chart), &mark_names(chart))?;
    let values = chart.series.iter().flat_map(|s| s.values.iter().flatten());
    let marked = chart
        .marks
        .iter()
        .flat_map(|mark| mark.values.iter().flatten());
    let places: Vec<f64> = values
        .chain(marked)
        .map(|value| chart.axis.place(*value))
        .collect();
    let top = top_of(&chart.axis, places.iter().copied());
    let bottom = bottom_of(&chart.axis, places.into_iter());
    let room = f64::from(NARROW_WIDTH as i32 - 2 * MARGIN - VALUE);
    let across = |place: f64| {
        let share = (place.clamp(bottom, top) - bottom) / (top - bottom);
        MARGIN + (share * room).round() as i32
    };
    let at = |value: f64| across(chart.axis.place(value));
    let start = across(0.0);
    for (g, group) in chart.groups.iter().enumerate() {
        y += GROUP_NAME + draw_narrow(area, group, y, TEXT)?;
        let first = y;
        for (s, series) in chart.series.iter().enumerate() {
            let value = series.values.get(g).copied().flatten();
            if let Some(value) = value.filter(|value| value.is_finite()) {
                let colour = series_colour(s).filled();
                let (left, right) = (at(value).min(start), at(value).max(start));
                area.draw(&Rectangle::new([(left, y), (right, y + BAR)], colour))?;
                let shown = if chart.axis.percent {
                    format!("{:.1}%", value * 100.0)
                } else {
                    format!("{value:.3}")
                };
                let marks = marks_of(chart, g, s).map(at);
                let x = beside(right + AFTER_BAR, text_width(&shown), marks);
                area.draw(&Text::new(shown, (x, y - 1), words(TEXT - 1)))?;
            }
            y += ROW;
        }
        for mark in &chart.marks {
            if let Some(value) = mark.values.get(g).copied().flatten() {
                let colour = mark_colour(&mark_names(chart), mark).stroke_width(2);
                let ends = match mark.series {
                    Some(s) => [first + s as i32 * ROW - 2, first + s as i32 * ROW + BAR + 2],
                    None => [first - 3, y],
                };
                let line = ends.map(|end| (at(value), end)).to_vec();
                area.draw(&PathElement::new(line, colour))?;
            }
        }
        y += BETWEEN_GROUPS;
    }
    draw_narrow(area, &chart.axis.scaled_label(), y, TEXT - 1).map(drop)
}

#[cfg(test)]
mod tests {
    use super::beside;

    #[test]
    fn a_value_stands_after_the_marks_that_it_would_hide() {
        assert_eq!(beside(100, 40, [].into_iter()), 100);
        assert_eq!(beside(100, 40, [60, 200].into_iter()), 100);
        assert_eq!(beside(100, 40, [120].into_iter()), 126);
        assert_eq!(beside(100, 40, [150, 120].into_iter()), 156);
    }
}
