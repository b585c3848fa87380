//! Charts of lines through points.

use super::{
    Area, Drawn, GRID, LABEL, NARROW_WIDTH, TEXT, head, more_title, number, plane, series_colour,
    text_width, top_of, words,
};
use crate::figure::{Axis, LineChart};
use plotters::prelude::*;
use std::ops::Range;

/// Share of the greatest value below which the values of all lines lie close together.
const CLOSE: f64 = 0.2;
/// Space above and below lines that lie close together, as a share of the range of their values.
const AROUND: f64 = 0.1;

/// Range and label of the vertical axis. Where values lie close together, and the chart does not
/// choose the ends of the axis, these are near the values, and the label says so.
fn y_axis(axis: &Axis, values: impl Iterator<Item = f64>) -> (Range<f64>, String) {
    let finite: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let top = top_of(axis, finite.iter().copied());
    let least = finite.iter().copied().fold(f64::MAX, f64::min);
    let most = finite.iter().copied().fold(f64::MIN, f64::max);
    let spread = most - least;
    let is_free = axis.min == 0.0 && axis.max.is_none();
    if !is_free || least <= 0.0 || spread <= 0.0 || spread >= CLOSE * most {
        return (axis.min..top, axis.label.clone());
    }
    let around = AROUND * spread;
    let label = format!("{} (not from 0)", axis.label);
    (least - around..most + around, label)
}

/// Height of a chart beyond the usual one, for its title and the label of its vertical axis.
pub(super) fn more_height(chart: &LineChart, width: u32) -> u32 {
    let points = chart.series.iter().flat_map(|series| series.points.iter());
    let (_, label) = y_axis(&chart.y, points.map(|(_, y)| *y));
    let label = (text_width(&label) - LABEL).max(0);
    (more_title(&chart.title, width) + label) as u32
}

/// Draws a chart of lines.
pub(super) fn draw(area: &Area<'_>, chart: &LineChart) -> Drawn {
    let names: Vec<_> = chart.series.iter().map(|s| s.name.as_str()).collect();
    let below = head(area, &chart.title, &names, &[])?;
    let points = chart.series.iter().flat_map(|series| series.points.iter());
    let at = |x: f64| chart.x.place(x);
    let xs = points.clone().map(|(x, _)| at(*x));
    let (first, last) = xs.fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
    let across = if first < last {
        first..last
    } else {
        first.min(0.0)..first.max(1.0)
    };
    let (up, label) = y_axis(&chart.y, points.map(|(_, y)| *y));
    let widest = [across.start, across.end].map(|x| text_width(&number(&chart.x, x)));
    let labels = x_labels(area.dim_in_pixel().0, widest[0].max(widest[1]));
    let mut plane = plane(area, below, across, up)?;
    plane
        .configure_mesh()
        .x_labels(labels)
        .max_light_lines(0)
        .bold_line_style(GRID.0)
        .axis_style(GRID.0)
        .label_style(words(TEXT))
        .x_desc(chart.x.label.as_str())
        .y_desc(label)
        .x_label_formatter(&|x| number(&chart.x, *x))
        .y_label_formatter(&|y| number(&chart.y, *y))
        .draw()?;
    for (s, series) in chart.series.iter().enumerate() {
        let colour = series_colour(s);
        let points: Vec<_> = series.points.iter().map(|&(x, y)| (at(x), y)).collect();
        if series.dots {
            let dot = |point: &(f64, f64)| Circle::new(*point, 4, colour.filled());
            plane.draw_series(points.iter().map(dot))?;
        }
        plane.draw_series([PathElement::new(points, colour.stroke_width(2))])?;
    }
    Ok(())
}

/// Space left and right of the plane of a chart, in pixels.
const BESIDE_PLANE: i32 = 90;
/// Least space between two labels of an axis, in pixels.
const BETWEEN_LABELS: i32 = 14;
/// Most labels of an axis.
const MOST_LABELS: i32 = 11;

/// Number of labels of the horizontal axis of a chart for which there is room.
fn x_labels(width: u32, widest: i32) -> usize {
    let room = match width > NARROW_WIDTH {
        true => MOST_LABELS,
        false => (width as i32 - BESIDE_PLANE) / (widest + BETWEEN_LABELS),
    };
    room.clamp(2, MOST_LABELS) as usize
}

#[cfg(test)]
mod tests {
    use super::{x_labels, y_axis};
    use crate::figure::{Axis, Chart, LineChart, LineSeries};
    use crate::svg::boxes::{boxes, overlaps};
    use crate::svg::{Shape, svg, svg_shaped};

    #[test]
    fn lines_that_lie_close_together_have_an_axis_of_their_own() {
        let axis = Axis {
            label: "IPC".to_owned(),
            ..Axis::default()
        };
        let of = |axis: &Axis, values: [f64; 2]| y_axis(axis, values.into_iter());
        assert_eq!(
            of(&axis, [90.0, 100.0]),
            (89.0..101.0, "IPC (not from 0)".to_owned())
        );
        let whole = |top: f64| (0.0..top * 1.08, "IPC".to_owned());
        assert_eq!(of(&axis, [80.0, 100.0]), whole(100.0));
        assert_eq!(of(&axis, [100.0, 100.0]), whole(100.0));
        assert_eq!(of(&axis, [0.0, 0.0]), (0.0..1.0, "IPC".to_owned()));
        let chosen = Axis {
            max: Some(1.0),
            ..axis.clone()
        };
        assert_eq!(of(&chosen, [0.95, 1.0]), (0.0..1.0, "IPC".to_owned()));
        let chart = LineChart {
            y: axis,
            series: vec![LineSeries {
                points: vec![(0.0, 90.0), (1.0, 100.0)],
                ..LineSeries::default()
            }],
            ..LineChart::default()
        };
        let picture = svg(&[Chart::Lines(chart.clone())]);
        assert!(picture.contains("IPC (not from 0)\n"), "{picture}");
        // A long label has room beside the axis, below the legend.
        let mut long = chart;
        long.y.label = "thread instructions over those of round-robin".to_owned();
        long.series[0].name = "lrr".to_owned();
        for shape in [Shape::Wide, Shape::Narrow] {
            let picture = svg_shaped(&[Chart::Lines(long.clone())], shape);
            assert_eq!(overlaps(&boxes(&picture)), [], "{picture}");
        }
    }

    #[test]
    fn labels_of_a_narrow_axis_do_not_overlap() {
        assert_eq!(x_labels(1000, 48), 11);
        let chart = Chart::Lines(LineChart {
            series: vec![LineSeries {
                name: "ipc".into(),
                points: vec![(0.0, 1.0), (54_714.0, 2.0)],
                dots: false,
            }],
            ..LineChart::default()
        });
        let picture = svg_shaped(&[chart], Shape::Narrow);
        let labels = picture.split("<text").skip(1).filter_map(|part| {
            let (_, rest) = part.split_once(" x=\"")?;
            let place: i32 = rest.split_once('"')?.0.parse().ok()?;
            let text = part.split_once('>')?.1.split_once("</text>")?.0.trim();
            text.ends_with("000")
                .then(|| (place, super::text_width(text)))
        });
        let labels: Vec<_> = labels.collect();
        assert!(labels.len() >= 2, "{labels:?}");
        for pair in labels.windows(2) {
            let apart = (pair[1].0 - pair[0].0).abs();
            assert!(apart > (pair[0].1 + pair[1].1) / 2, "{labels:?}");
        }
    }
}
