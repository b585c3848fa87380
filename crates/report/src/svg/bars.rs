//! Bar charts for pages of normal width. Bars are vertical; long names of many groups are turned.

use super::labels::{LINE, in_lines, most_lines};
use super::{
    Area, Drawn, GRID, LABEL, MARGIN, MARKS, Plane, TEXT, WIDTH, X_LABELS, Y_LABELS, bottom_of,
    head, mark_colour, mark_names, more_title, number, plane_above, series_colour, text_width,
    top_of, width_at, words,
};
use crate::figure::{Axis, BarChart, Mark};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::ops::Range;

/// Share of a group's width that its bars occupy.
pub(super) const GROUP: f64 = 0.72;
/// Share of its space that a bar occupies.
const BAR: f64 = 0.94;
/// Distance between names in pixels.
const GAP: i32 = 6;
/// Size of the values above bars.
const VALUE: u32 = 13;
/// Least distance between the values above bars in pixels.
const VALUE_GAP: i32 = 2;
/// Width of a group from which names that are too long are divided into lines.
const WIDE: i32 = 100;
/// Most lines of a name.
const MOST_LINES: i32 = 5;

/// Arrangement of the names below the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// All names in one line.
    Line,
    /// Names alternate between two lines.
    TwoLines,
    /// Each name has this many lines of its own at most, of the width of its group.
    Broken(i32),
    /// Names are turned and read upwards; the longest has this length.
    Turned(i32),
}

impl Names {
    fn of(chart: &BarChart) -> Self {
        let room = room(chart);
        let widths = chart.groups.iter().map(|name| text_width(name));
        let longest = widths.max().unwrap_or(0);
        match longest + GAP {
            needed if needed <= room => Self::Line,
            needed if needed <= 2 * room => Self::TwoLines,
            _ => match most_lines(&chart.groups, room - GAP) {
                lines if lines <= MOST_LINES && room >= WIDE => Self::Broken(lines),
                _ => Self::Turned(longest),
            },
        }
    }

    /// Space below the groups in pixels.
    fn height(self) -> u32 {
        match self {
            Self::Line | Self::TwoLines => X_LABELS,
            Self::Broken(lines) => X_LABELS.max((lines * LINE + 2 * GAP) as u32),
            Self::Turned(longest) => X_LABELS.max((longest + 2 * GAP) as u32),
        }
    }
}

/// Width of a group in pixels.
fn room(chart: &BarChart) -> i32 {
    (WIDTH - Y_LABELS - 3 * MARGIN as u32) as i32 / chart.groups.len().max(1) as i32
}

/// Height of a chart beyond the usual one, for its title, its names and the label of its axis.
pub(super) fn more_height(chart: &BarChart) -> u32 {
    let title = more_title(&chart.title, WIDTH);
    let label = (text_width(&chart.axis.scaled_label()) - LABEL).max(0);
    Names::of(chart).height() - X_LABELS + (title + label) as u32
}

/// Range of the axis: from 0, or where each step doubles the value around that of 1, to the
/// greatest value, with room for values that are turned.
fn range_of(chart: &BarChart) -> Range<f64> {
    let axis = &chart.axis;
    let values = chart.series.iter().flat_map(|series| series.values.iter());
    let marked = chart.marks.iter().flat_map(|mark| mark.values.iter());
    let shown = values
        .chain(marked)
        .flatten()
        .map(|value| axis.place(*value));
    let finite: Vec<f64> = shown.filter(|place| place.is_finite()).collect();
    let lowest = bottom_of(axis, finite.iter().copied());
    let top = top_of(axis, finite.into_iter());
    let above = match (Values::of(chart), axis.max) {
        (Values::Turned, None) => TURNED * (top - lowest),
        _ => 0.0,
    };
    match axis.doubling {
        true => 1.08 * lowest..top + above,
        false => 0.0..top + above,
    }
}

/// Draws a bar chart.
pub(super) fn draw(area: &Area<'_>, chart: &BarChart) -> Drawn {
    let names = chart.series.iter().map(|series| series.name.as_str());
    let marks = mark_names(chart);
    let below = head(area, &chart.title, &names.collect::<Vec<_>>(), &marks)?;
    let range = range_of(chart);
    let mut plane = group_plane(area, chart, below, range.clone())?;
    let width = GROUP / chart.series.len().max(1) as f64;
    for (s, series) in chart.series.iter().enumerate() {
        let colour = series_colour(s);
        for (g, value) in series.values.iter().enumerate() {
            let Some(value) = value.filter(|value| value.is_finite()) else {
                continue;
            };
            let left = left_of(g, s, width);
            let corners = [(left, 0.0), (left + width * BAR, chart.axis.place(value))];
            plane.draw_series([Rectangle::new(corners, colour.filled())])?;
        }
    }
    let line = chart.axis.line.map(|value| chart.axis.place(value));
    if let Some(at) = line.filter(|at| range.contains(at)) {
        let line = vec![(0.0, at), (chart.groups.len() as f64, at)];
        plane.draw_series([PathElement::new(line, MARKS[0].0)])?;
    }
    for mark in &chart.marks {
        draw_mark(
            &mut plane,
            (&chart.axis, mark),
            width,
            mark_colour(&marks, mark),
        )?;
    }
    values_above(area, &plane, chart, range.end)?;
    group_names(area, &plane, chart)
}

/// How the values of bars stand above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// Upright, with room in the width of a bar.
    Upright,
    /// Turned, and read upwards.
    Turned,
    /// Left out, as they have no room, or marks would cross them.
    None,
}

/// Most steps of an axis of values.
const MOST_STEPS: usize = 11;

/// Share of the axis' length for values that are turned.
const TURNED: f64 = 0.16;

impl Values {
    fn of(chart: &BarChart) -> Self {
        let all = chart.series.iter().flat_map(|series| series.values.iter());
        let known = all.flatten().filter(|value| value.is_finite());
        let widths = known.map(|value| width_at(&bar_value(&chart.axis, *value), VALUE));
        let room = f64::from(room(chart)) * GROUP / chart.series.len().max(1) as f64;
        match widths.max() {
            Some(widest) if chart.marks.is_empty() => match room {
                room if f64::from(widest + VALUE_GAP) <= room => Self::Upright,
                room if f64::from(VALUE as i32 + VALUE_GAP) <= room => Self::Turned,
                _ => Self::None,
            },
            _ => Self::None,
        }
    }
}

/// Draws the value of each bar above it, or above the place where bars begin, and above the line of
/// the axis that would cross it.
fn values_above(area: &Area<'_>, plane: &Plane<'_>, chart: &BarChart, top: f64) -> Drawn {
    let width = GROUP / chart.series.len().max(1) as f64;
    let (left, upper) = area.get_base_pixel();
    let place = |at: (f64, f64)| plane.plotting_area().map_coordinate(&at);
    let above = words(VALUE).pos(Pos::new(HPos::Center, VPos::Bottom));
    let turned = words(VALUE).transform(FontTransform::Rotate270);
    let turned = turned.pos(Pos::new(HPos::Left, VPos::Center));
    let style = match Values::of(chart) {
        Values::Upright => above,
        Values::Turned => turned,
        Values::None => return Ok(()),
    };
    let line = chart.axis.line.map(|line| chart.axis.place(line));
    for (s, series) in chart.series.iter().enumerate() {
        for (g, value) in series.values.iter().enumerate() {
            let Some(value) = value.filter(|value| value.is_finite()) else {
                continue;
            };
            let text = bar_value(&chart.axis, value);
            let length = match Values::of(chart) {
                Values::Turned => width_at(&text, VALUE),
                _ => LINE,
            };
            let middle = left_of(g, s, width) + width * BAR / 2.0;
            let (x, y) = place((middle, chart.axis.place(value).clamp(0.0, top)));
            let line = line.map(|line| place((middle, line)).1);
            let y = line
                .filter(|line| (y - length..y).contains(line))
                .unwrap_or(y);
            let at = (x - left, y - upper - 2);
            area.draw(&Text::new(text, at, style.clone()))?;
        }
    }
    Ok(())
}

/// Text of a bar's value, with about three digits.
fn bar_value(axis: &Axis, value: f64) -> String {
    match axis.percent {
        true => format!("{:.1}%", value * 100.0),
        false if value.abs() < 10.0 => format!("{value:.2}"),
        false if value.abs() < 100.0 => format!("{value:.1}"),
        false => number(axis, value.round()),
    }
}

/// A plane with one unit of width for each group and space for their names, and with the axis of
/// the values.
pub(super) fn group_plane<'a>(
    area: &Area<'a>,
    chart: &BarChart,
    below: i32,
    values: Range<f64>,
) -> Drawn<Plane<'a>> {
    let groups = chart.groups.len().max(1) as f64;
    let labels = Names::of(chart).height();
    // Steps of a logarithmic axis are whole powers of 2.
    let steps = match chart.axis.doubling {
        true => (values.end - values.start) as usize + 1,
        false => MOST_STEPS,
    };
    let mut plane = plane_above(area, below, labels, 0.0..groups, values)?;
    plane
        .configure_mesh()
        .y_labels(steps)
        .disable_x_mesh()
        .disable_x_axis()
        .max_light_lines(0)
        .bold_line_style(GRID.0)
        .axis_style(GRID.0)
        .label_style(words(TEXT))
        .y_desc(chart.axis.scaled_label())
        .y_label_formatter(&|y| number(&chart.axis, *y))
        .draw()?;
    Ok(plane)
}

/// Left edge of a bar.
fn left_of(group: usize, series: usize, width: f64) -> f64 {
    group as f64 + (1.0 - GROUP) / 2.0 + series as f64 * width
}

fn draw_mark(
    plane: &mut Plane<'_>,
    (axis, mark): (&Axis, &Mark),
    width: f64,
    colour: RGBColor,
) -> Drawn {
    for (g, value) in mark.values.iter().enumerate() {
        let Some(value) = value.filter(|value| value.is_finite()) else {
            continue;
        };
        let (left, right) = match mark.series {
            Some(s) => (left_of(g, s, width), left_of(g, s + 1, width)),
            None => (left_of(g, 0, width), left_of(g, 0, width) + GROUP),
        };
        let over = 0.06_f64.min(width / 2.0);
        let at = axis.place(value);
        let line = vec![(left - over, at), (right + over, at)];
        plane.draw_series([PathElement::new(line, colour.stroke_width(2))])?;
    }
    Ok(())
}

/// Draws names below the groups.
pub(super) fn group_names(area: &Area<'_>, plane: &Plane<'_>, chart: &BarChart) -> Drawn {
    let (left, top) = area.get_base_pixel();
    let names = Names::of(chart);
    let bottom = plane.plotting_area().get_y_range().start;
    for (g, name) in chart.groups.iter().enumerate() {
        let middle = (g as f64 + 0.5, bottom);
        let (x, y) = plane.plotting_area().map_coordinate(&middle);
        let (x, y) = (x - left, y - top + 8);
        if let Names::Broken(_) = names {
            let lines = in_lines(name, room(chart) - GAP, text_width).into_iter();
            let below = words(TEXT).pos(Pos::new(HPos::Center, VPos::Top));
            for (line, y) in lines.zip((y..).step_by(LINE as usize)) {
                area.draw(&Text::new(line, (x, y), below.clone()))?;
            }
            continue;
        }
        let below = Pos::new(HPos::Center, VPos::Top);
        let (at, style) = match names {
            Names::Line | Names::Broken(_) => ((x, y), words(TEXT).pos(below)),
            Names::TwoLines => ((x, y + LINE * (g % 2) as i32), words(TEXT).pos(below)),
            Names::Turned(_) => {
                let turned = words(TEXT).transform(FontTransform::Rotate270);
                ((x, y), turned.pos(Pos::new(HPos::Right, VPos::Center)))
            }
        };
        area.draw(&Text::new(name.as_str(), at, style))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Names;
    use crate::figure::{Axis, BarChart, BarSeries, Chart, Mark};
    use crate::svg::boxes::{attribute, boxes, overlaps};
    use crate::svg::{Shape, svg, svg_shaped};

    fn chart(names: Vec<String>) -> BarChart {
        BarChart {
            title: "Pairs".into(),
            series: vec![BarSeries {
                name: "ours".into(),
                values: vec![Some(1.0); names.len()],
            }],
            groups: names,
            ..BarChart::default()
        }
    }

    /// The line has the width of all groups, and is left out above the axis.
    #[test]
    fn a_line_crosses_all_bars_at_its_value() {
        let with = |line| {
            let mut chart = chart(pairs(3));
            chart.axis.line = line;
            let picture = svg(&[Chart::Bars(chart)]);
            picture.matches("<polyline").count()
        };
        assert_eq!(with(Some(1.0)), with(None) + 1);
        assert_eq!(with(Some(9.0)), with(None));
    }

    /// The value of a bar that ends just below the line stands where that of a bar of 1 does.
    #[test]
    fn a_line_crosses_no_value() {
        let mut chart = chart(pairs(3));
        chart.series[0].values = vec![Some(1.0), Some(0.97), Some(0.5)];
        chart.axis.line = Some(1.0);
        let picture = svg(&[Chart::Bars(chart)]);
        let boxes = boxes(&picture);
        let top = |text: &str| {
            let found = boxes.iter().find(|(own, _)| own == text);
            found.unwrap_or_else(|| panic!("{text}: {picture}")).1[1]
        };
        assert_eq!(top("0.97"), top("1.00"));
        assert!(top("0.50") > top("1.00"));
    }

    fn pairs(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("HOT_DXT{n}")).collect()
    }

    #[test]
    fn names_of_many_groups_neither_overlap_nor_leave_the_picture() {
        for count in [1, 5, 9, 15, 22, 31, 40] {
            let picture = svg(&[Chart::Bars(chart(pairs(count)))]);
            let boxes = boxes(&picture);
            let named = boxes
                .iter()
                .filter(|(text, _)| text.starts_with("HOT"))
                .count();
            assert_eq!(named, count, "{picture}");
            assert_eq!(overlaps(&boxes), [], "{count} groups");
            let height = attribute(&picture, "height").unwrap();
            for (text, [left, top, right, bottom]) in &boxes {
                let inside = *left >= 0.0 && *top >= 0.0 && *right <= 920.0 && *bottom <= height;
                assert!(
                    inside,
                    "{text}: {left} {top} {right} {bottom} of 920 x {height}"
                );
            }
        }
    }

    /// The names of long files stand whole below their groups, and the label of the axis has room.
    #[test]
    fn long_names_of_few_groups_have_lines_of_their_own() {
        let names = [
            "spmv",
            "a-project/kernels/matrix_multiplication_with_shared_memory_tiles",
        ];
        let mut chart = chart(names.map(|name| format!("{name}-{name}")).to_vec());
        chart.axis.label =
            "speedup over long-latency-first, max_blocks_per_sm 1 (ratio of IPC)".into();
        chart.title = "speedup by a key and another one ".repeat(8);
        assert!(matches!(Names::of(&chart), Names::Broken(_)));
        let picture = svg(&[Chart::Bars(chart.clone())]);
        let boxes = boxes(&picture);
        assert_eq!(overlaps(&boxes), [], "{picture}");
        let whole: String = boxes.iter().map(|(text, _)| text.as_str()).collect();
        assert!(whole.contains(&chart.groups[1]), "{whole}");
        let height = attribute(&picture, "height").unwrap();
        for (text, [left, top, right, bottom]) in &boxes {
            let inside = *left >= 0.0 && *top >= 0.0 && *right <= 920.0 && *bottom <= height;
            assert!(inside, "{text}: {left} {top} {right} {bottom}");
        }
    }

    #[test]
    fn names_are_turned_only_if_two_lines_do_not_suffice() {
        let of = |count| Names::of(&chart(pairs(count)));
        assert_eq!((of(3), of(15)), (Names::Line, Names::TwoLines));
        assert!(matches!(of(30), Names::Turned(_)));
    }

    /// Speedups of 1.06 and 1.07 are told apart by their numbers; many bars have none.
    #[test]
    fn bars_have_their_values_above_them_where_all_have_room() {
        let mut one = chart(pairs(5));
        one.series[0].values[1] = Some(1.063);
        let mut four = one.clone();
        four.series = vec![one.series[0].clone(); 4];
        let mut six = four.clone();
        six.series.extend(vec![one.series[0].clone(); 2]);
        let many = vec![one.series[0].clone(); 16];
        let many = BarChart {
            series: many,
            ..one.clone()
        };
        // Six bars a group have turned values, and sixteen have none.
        for (chart, shown) in [(one, 1), (four, 4), (six, 6), (many, 0)] {
            let picture = svg(&[Chart::Bars(chart)]);
            assert_eq!(picture.matches("1.06\n").count(), shown, "{picture}");
            assert_eq!(overlaps(&boxes(&picture)), [], "{picture}");
        }
    }

    /// Bars of speedups from 0.8 to 9 begin at 1 and go up or down, and the axis says so.
    #[test]
    fn speedups_that_lie_far_apart_have_a_logarithmic_axis() {
        let speedups = [1.0, 0.8, 9.0, 1.1];
        let mut chart = chart(pairs(4));
        chart.series[0].values = speedups.map(Some).to_vec();
        chart.axis = Axis::of_speedups("speedup over lrr", speedups.into_iter());
        assert!(chart.axis.doubling);
        let near = Axis::of_speedups("speedup", [0.8, 3.0].into_iter());
        assert!(!near.doubling);
        for shape in [Shape::Wide, Shape::Narrow] {
            let picture = svg_shaped(&[Chart::Bars(chart.clone())], shape);
            assert_eq!(overlaps(&boxes(&picture)), [], "{picture}");
            for value in ["0.8", "9.0", "1.1", "logarithmic"] {
                assert!(picture.contains(value), "{value}: {picture}");
            }
        }
        let picture = svg(&[Chart::Bars(chart)]);
        let blue = "fill=\"#0072B2\"";
        let bars = picture
            .lines()
            .filter(|line| line.starts_with("<rect") && line.contains(blue));
        let bars: Vec<[f64; 2]> = bars
            .filter(|bar| attribute(bar, "height") != Some(11.0))
            .filter_map(|bar| Some([attribute(bar, "y")?, attribute(bar, "height")?]))
            .collect();
        let [_, [loss, _], [gain, length], [near, small]] = bars[..] else {
            panic!("{bars:?}")
        };
        // Bars that gain end where those that lose begin.
        assert!(
            (gain + length - loss).abs() < 1.5 && (near + small - loss).abs() < 1.5,
            "{bars:?}"
        );
        let ratio = length / small;
        assert!((ratio - 9.0_f64.ln() / 1.1_f64.ln()).abs() < 3.0, "{ratio}");
    }

    #[test]
    fn a_mark_stands_over_its_series_alone() {
        let mut chart = chart(pairs(2));
        chart.series.push(chart.series[0].clone());
        let of = |series, values: Vec<Option<f64>>| Mark {
            name: "paper".into(),
            values,
            series,
        };
        let lines = |mark: Mark| {
            let marks = vec![mark];
            let picture = svg(&[Chart::Bars(BarChart {
                marks,
                ..chart.clone()
            })]);
            picture
                .matches("stroke=\"#B01E28\" stroke-width=\"2\"")
                .count()
        };
        // The legend has a line, too.
        assert_eq!(lines(of(Some(1), vec![Some(1.2), None])), 2);
        assert_eq!(lines(of(None, vec![Some(1.2), Some(0.5)])), 3);
        assert_eq!(lines(of(None, vec![None, None])), 1);
    }
}
