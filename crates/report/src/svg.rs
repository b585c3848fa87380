//! Charts as SVG. Equal charts give equal bytes. Colours follow the reader's preference for light
//! or dark pages.

mod bars;
mod beside;
#[cfg(test)]
mod boxes;
mod effects;
mod heat;
mod labels;
mod legend;
mod lines;
mod narrow;
mod stacks;
mod touches;

pub use touches::{TouchMap, touch_maps};

use crate::figure::{Axis, BarChart, Chart, Mark};
use legend::{LEGEND_LINE, legend};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::ops::Range;

const WIDTH: u32 = 920;
const NARROW_WIDTH: u32 = 420;
/// Height of a chart. Charts are placed one below the other.
const HEIGHT: u32 = 360;
/// Height of the title and a legend of one line.
const HEAD: i32 = 68;
const MARGIN: i32 = 14;
/// Length of the axis of values for whose label there is room in a chart of the usual height.
const LABEL: i32 = 220;
/// Space for the numbers and the label of an axis.
const X_LABELS: u32 = 48;
const Y_LABELS: u32 = 70;
const FONT: &str = "sans-serif";
const TEXT: u32 = 15;
/// Smallest font of a title in one line.
const LEAST_TITLE: u32 = 11;
/// Height of a line of a title in several.
const TITLE_LINE: i32 = 16;

/// Height of a line over the size of its font, by which the library divides sizes.
const LINE_HEIGHT: f64 = 1.24;

/// A colour on light pages and its counterpart on dark pages.
struct Ink(RGBColor, &'static str);

const PAPER: Ink = Ink(RGBColor(255, 255, 255), "#0D1117");
const WORDS: Ink = Ink(RGBColor(31, 35, 40), "#E6EDF3");
const GRID: Ink = Ink(RGBColor(208, 215, 222), "#373E47");
/// Colours for any kind of colour vision: M. Okabe, K. Ito, "Color Universal Design", 2008;
/// darkened for light pages.
const SERIES: [Ink; 7] = [
    Ink(RGBColor(0, 114, 178), "#56B4E9"),
    Ink(RGBColor(213, 94, 0), "#FF9248"),
    Ink(RGBColor(0, 134, 98), "#2FCF9F"),
    Ink(RGBColor(170, 70, 140), "#E39AC7"),
    Ink(RGBColor(150, 116, 0), "#F0E442"),
    Ink(RGBColor(110, 110, 110), "#A8A8A8"),
    Ink(RGBColor(40, 80, 230), "#8FA8FF"),
];
/// Colours after those of [`SERIES`], for charts whose series have colours of their own.
const FURTHER: [Ink; 3] = [
    Ink(RGBColor(120, 60, 20), "#C9986B"),
    Ink(RGBColor(190, 30, 60), "#FF8095"),
    Ink(RGBColor(228, 170, 182), "#8C4D58"),
];
const MARKS: [Ink; 2] = [
    Ink(RGBColor(120, 129, 139), "#9198A1"),
    Ink(RGBColor(176, 30, 40), "#FF7B72"),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plane<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn<T = ()> =
    Result<T, DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>>;

/// Shape of the screen for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A page of normal width.
    Wide,
    /// The screen of a phone.
    Narrow,
}

impl Shape {
    fn width(self) -> u32 {
        match self {
            Self::Wide => WIDTH,
            Self::Narrow => NARROW_WIDTH,
        }
    }

    fn height(self, chart: &Chart) -> u32 {
        match (self, chart) {
            (Self::Narrow, Chart::Bars(chart)) => narrow::height(chart),
            (Self::Narrow, Chart::Stacks(chart)) => stacks::narrow_height(chart),
            (Self::Wide, Chart::Bars(chart) | Chart::Stacks(chart)) => {
                HEIGHT + bars::more_height(chart)
            }
            (_, Chart::Effects(chart)) => effects::height(chart, self),
            (_, Chart::Heat(map)) => heat::height(map, self),
            (_, Chart::Lines(chart)) => HEIGHT + lines::more_height(chart, self.width()),
        }
    }
}

/// Draws charts one below the other.
pub fn svg(charts: &[Chart]) -> String {
    svg_shaped(charts, Shape::Wide)
}

/// Draws charts one below the other for a shape of screen.
pub fn svg_shaped(charts: &[Chart], shape: Shape) -> String {
    let mut text = String::new();
    let heights: Vec<_> = charts.iter().map(|chart| shape.height(chart)).collect();
    let height = heights.iter().sum::<u32>();
    let size = (shape.width(), if height == 0 { HEIGHT } else { height });
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&root, charts, &heights, shape).expect("a string takes every byte");
    }
    with_dark_colours(&text)
}

fn draw(root: &Area<'_>, charts: &[Chart], heights: &[u32], shape: Shape) -> Drawn {
    root.fill(&PAPER.0)?;
    let mut top = 0;
    for (chart, &height) in charts.iter().zip(heights) {
        let area = root.clone().shrink((0, top), (shape.width(), height));
        match (chart, shape) {
            (Chart::Bars(chart), Shape::Wide) => bars::draw(&area, chart)?,
            (Chart::Bars(chart), Shape::Narrow) => narrow::bars(&area, chart)?,
            (Chart::Stacks(chart), Shape::Wide) => stacks::wide(&area, chart)?,
            (Chart::Stacks(chart), Shape::Narrow) => stacks::narrow(&area, chart)?,
            (Chart::Lines(chart), _) => lines::draw(&area, chart)?,
            (Chart::Effects(chart), _) => effects::draw(&area, chart, shape)?,
            (Chart::Heat(map), _) => heat::draw(&area, map, shape)?,
        }
        top += height;
    }
    root.present()
}

/// Adds a rule for each colour, which applies on a dark page.
fn with_dark_colours(text: &str) -> String {
    let mut rules = String::new();
    let inks = [PAPER, WORDS, GRID].into_iter();
    let light = |Ink(RGBColor(r, g, b), _): &Ink| format!("#{r:02X}{g:02X}{b:02X}");
    let further = FURTHER.into_iter().filter(|ink| text.contains(&light(ink)));
    for ink in inks.chain(SERIES).chain(MARKS).chain(further) {
        for property in ["fill", "stroke"] {
            let (light, dark) = (light(&ink), ink.1);
            rules += &format!("[{property}=\"{light}\"]{{{property}:{dark}}}");
        }
    }
    let style = format!("<style>@media(prefers-color-scheme:dark){{{rules}}}</style>\n");
    let head = text.find(">\n").map_or(0, |end| end + 2);
    let (head, body) = text.split_at(head);
    format!("{head}{style}{body}")
}

/// Names of a chart's marks, each once.
fn mark_names(chart: &BarChart) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for mark in &chart.marks {
        if !names.contains(&mark.name.as_str()) {
            names.push(&mark.name);
        }
    }
    names
}

/// Colour of a mark, which is that of all marks of its name.
fn mark_colour(names: &[&str], mark: &Mark) -> RGBColor {
    let at = names.iter().position(|name| *name == mark.name);
    name_colour(names, at.unwrap_or(0))
}

/// Colour of the marks with a name. The only name of a chart has the striking colour.
fn name_colour(names: &[&str], at: usize) -> RGBColor {
    let at = if names.len() == 1 { 1 } else { at };
    MARKS[at % MARKS.len()].0
}

fn words(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&WORDS.0)
}

/// Draws title and legend: squares for series, lines for marks. Returns the lower edge.
fn head(area: &Area<'_>, title: &str, series: &[&str], marks: &[&str]) -> Drawn<i32> {
    let colours: Vec<RGBColor> = (0..series.len()).map(series_colour).collect();
    head_coloured(area, title, (series, &colours), marks)
}

/// Colour of the nth series of a chart.
fn series_colour(nth: usize) -> RGBColor {
    let nth = nth % (SERIES.len() + FURTHER.len());
    let ink = SERIES.iter().chain(&FURTHER).nth(nth);
    ink.unwrap_or(&SERIES[0]).0
}

/// Draws title and legend of series with these colours, and returns their height.
fn head_coloured(
    area: &Area<'_>,
    title: &str,
    (series, colours): (&[&str], &[RGBColor]),
    marks: &[&str],
) -> Drawn<i32> {
    let width = area.dim_in_pixel().0;
    let (size, lines) = title_lines(title, width);
    for (line, y) in lines.into_iter().zip((12..).step_by(TITLE_LINE as usize)) {
        area.draw(&Text::new(line, (MARGIN, y), words(size)))?;
    }
    let below = more_title(title, width);
    for (at, entry) in legend(series, marks, width).into_iter().enumerate() {
        let (x, y) = (entry.place.0, entry.place.1 + below);
        if let Some(colour) = colours.get(at) {
            area.draw(&Rectangle::new([(x, y), (x + 11, y + 11)], colour.filled()))?;
        } else {
            let colour = name_colour(marks, at - series.len()).stroke_width(2);
            let line = vec![(x, y + 6), (x + 14, y + 6)];
            area.draw(&PathElement::new(line, colour))?;
        }
        let lines = entry.lines.into_iter();
        for (line, y) in lines.zip((y - 1..).step_by(LEGEND_LINE as usize)) {
            area.draw(&Text::new(line, (x + entry.symbol, y), words(TEXT)))?;
        }
    }
    Ok(head_height(title, series, marks, width))
}

/// Size of a title's font, and its lines: more than one if it has no room in the smallest font.
fn title_lines(title: &str, width: u32) -> (u32, Vec<String>) {
    let room = width as i32 - 2 * MARGIN;
    let size = title_size(title, room);
    if width_at(title, size) <= room {
        return (size, vec![title.to_owned()]);
    }
    let lines = labels::in_lines(title, room, |text| width_at(text, LEAST_TITLE + 1));
    (LEAST_TITLE + 1, lines)
}

/// Height of the lines of a title after the first.
fn more_title(title: &str, width: u32) -> i32 {
    (title_lines(title, width).1.len() as i32 - 1) * TITLE_LINE
}

/// Size of a title's font: the usual one, or the largest that is legible and with which the title
/// is at most `room` pixels wide.
fn title_size(title: &str, room: i32) -> u32 {
    let sizes = (LEAST_TITLE..=TEXT + 3).rev();
    let mut fitting = sizes.filter(|size| width_at(title, *size) <= room);
    fitting.next().unwrap_or(LEAST_TITLE)
}

/// Lower edge of title and legend.
fn head_height(title: &str, series: &[&str], marks: &[&str], width: u32) -> i32 {
    let last = legend(series, marks, width).last().map_or(39, |entry| {
        entry.place.1 + (entry.lines.len() as i32 - 1) * LEGEND_LINE
    });
    HEAD + last - 39 + more_title(title, width)
}

/// Approximate width of a text of the usual size in pixels.
fn text_width(text: &str) -> i32 {
    width_at(text, TEXT)
}

/// Approximate width of a text in pixels. Fonts are not available for measurement; the widths of
/// characters are those of wide sans-serif fonts.
fn width_at(text: &str, size: u32) -> i32 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ' ' | '|' | '(' | ')' => 0.36,
        'm' | 'w' | 'M' | 'W' | '%' => 0.95,
        'A'..='Z' => 0.72,
        _ => 0.6,
    };
    (text.chars().map(em).sum::<f64>() * f64::from(size) / LINE_HEIGHT).ceil() as i32
}

fn plane<'a>(area: &Area<'a>, head: i32, x: Range<f64>, y: Range<f64>) -> Drawn<Plane<'a>> {
    plane_above(area, head, X_LABELS, x, y)
}

/// A plane with this space for the labels below it.
fn plane_above<'a>(
    area: &Area<'a>,
    head: i32,
    labels: u32,
    x: Range<f64>,
    y: Range<f64>,
) -> Drawn<Plane<'a>> {
    let below = area.margin(head, MARGIN, MARGIN, MARGIN + 6);
    ChartBuilder::on(&below)
        .x_label_area_size(labels)
        .y_label_area_size(Y_LABELS)
        .build_cartesian_2d(x, y)
}

/// Place on an axis of bars where the lowest of these places, or its smallest value, is.
fn bottom_of(axis: &Axis, places: impl Iterator<Item = f64>) -> f64 {
    let least = (axis.doubling && axis.min > 0.0).then(|| axis.place(axis.min));
    let places = places.filter(|place| place.is_finite()).chain(least);
    places.fold(0.0, f64::min)
}

/// Largest value on an axis.
fn top_of(axis: &Axis, values: impl Iterator<Item = f64>) -> f64 {
    let highest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    match axis.max {
        Some(max) => axis.place(max),
        None if highest > 0.0 => highest * 1.08,
        None => 1.0,
    }
}

/// Text of a number on an axis.
fn number(axis: &Axis, at: f64) -> String {
    if axis.percent {
        return format!("{:.0}%", at * 100.0);
    }
    let value = if axis.doubling { at.exp2() } else { at };
    let whole = value.round();
    match (value - whole).abs() < 1e-6 {
        true => crate::grouped(whole.max(0.0) as u64),
        false if axis.doubling && (at - at.round()).abs() > 1e-6 => String::new(),
        false => {
            let digits = if axis.doubling { 4 } else { 2 };
            let text = format!("{value:.digits$}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::svg;
    use crate::figure::*;

    fn bars() -> Chart {
        Chart::Bars(BarChart {
            title: "Bars & marks".into(),
            axis: Axis {
                label: "share".into(),
                percent: true,
                max: Some(1.0),
                ..Axis::default()
            },
            groups: vec!["one".into(), "two".into()],
            series: vec![BarSeries {
                name: "used".into(),
                values: vec![Some(0.5), None],
            }],
            marks: vec![Mark {
                name: "high".into(),
                values: vec![Some(0.6), Some(0.5)],
                series: None,
            }],
        })
    }

    fn lines() -> Chart {
        Chart::Lines(LineChart {
            title: "Lines".into(),
            x: Axis {
                label: "ports".into(),
                doubling: true,
                ..Axis::default()
            },
            y: Axis {
                label: "share".into(),
                percent: true,
                ..Axis::default()
            },
            series: vec![LineSeries {
                name: "measured".into(),
                points: vec![(2.0, 0.75), (4.0, 0.65), (8.0, 0.62)],
                dots: true,
            }],
        })
    }

    #[test]
    fn pictures_are_the_same_twice_and_say_what_they_show() {
        let picture = svg(&[bars(), lines()]);
        assert_eq!(picture, svg(&[bars(), lines()]));
        for word in [
            "Bars &amp; marks",
            "used",
            "high",
            "one",
            "two",
            "Lines",
            "ports",
        ] {
            assert!(picture.contains(word), "{word}");
        }
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
        // The only bar: its colour fills the legend's square and the bar, and the gap has none.
        assert_eq!(picture.matches("<circle").count(), 3);
        insta::assert_snapshot!(svg(&[bars()]));
    }

    /// The bars of two groups, one on the other: 1 on 3, and 2 alone.
    #[test]
    fn stacks_lie_on_each_other() {
        let series = |name: &str, values: Vec<Option<f64>>| BarSeries {
            name: name.into(),
            values,
        };
        let chart = Chart::Stacks(BarChart {
            title: "Energy".into(),
            groups: vec!["a".into(), "b".into()],
            series: vec![
                series("dram", vec![Some(3.0), None]),
                series("static", vec![Some(1.0), Some(2.0)]),
            ],
            ..BarChart::default()
        });
        let picture = svg(std::slice::from_ref(&chart));
        // Rectangles by colour, without the legend's squares of 11 pixels: x, y, height.
        let of = |colour: &str| -> Vec<[i64; 3]> {
            let number = |part: &str, key: &str| -> i64 {
                let (_, rest) = part.split_once(&format!(" {key}=\"")).unwrap();
                rest.split_once('"').unwrap().0.parse().unwrap()
            };
            let parts = picture.split("<rect").skip(1);
            let tags = parts.filter_map(|part| part.split_once('>').map(|(tag, _)| tag));
            let parts = tags.filter(|tag| tag.contains(colour));
            let of = |part: &str| ["x", "y", "height"].map(|key| number(part, key));
            parts.map(of).filter(|[.., h]| *h != 11).collect()
        };
        let (dram, rest) = (of("#0072B2"), of("#D55E00"));
        let ([[x, y, height]], [on, alone]) = (dram.as_slice(), rest.as_slice()) else {
            panic!("{dram:?} {rest:?}")
        };
        assert_eq!(on[0], *x);
        assert!(
            (on[1] + on[2] - y).abs() <= 1,
            "{on:?} ends where {y} begins"
        );
        assert!((height - 3 * on[2]).abs() <= 3 && (alone[2] - 2 * on[2]).abs() <= 2);
        assert!(
            (alone[1] + alone[2] - y - height).abs() <= 1,
            "both stand on the axis"
        );
        let narrow = super::svg_shaped(&[chart], super::Shape::Narrow);
        assert!(
            narrow.contains("4.000") && narrow.contains("2.000"),
            "sums are shown"
        );
    }

    #[test]
    fn every_colour_has_a_counterpart_on_dark_pages() {
        let picture = svg(&[bars(), lines()]);
        let (style, body) = picture.split_once("</style>").expect("a style");
        for property in ["fill", "stroke"] {
            for part in body.split(&format!(" {property}=\"#")).skip(1) {
                let colour = &part[..6];
                let rule = format!("[{property}=\"#{colour}\"]");
                assert!(style.contains(&rule), "{rule} is not in {style}");
            }
        }
    }

    /// A name that is longer than a narrow page has several lines, which the next entry is below.
    #[test]
    fn long_names_of_a_legend_stand_whole() {
        use super::boxes::{boxes, overlaps};
        let long = "folder-of-a-project/kernels/matrix_multiplication_with_tiles.toml";
        let series = ["lrr", long, "gto"].map(|name| BarSeries {
            name: name.into(),
            values: vec![Some(1.0)],
        });
        let chart = Chart::Bars(BarChart {
            groups: vec!["spmv".into()],
            series: series.to_vec(),
            ..BarChart::default()
        });
        let picture = super::svg_shaped(&[chart], super::Shape::Narrow);
        let boxes = boxes(&picture);
        assert_eq!(overlaps(&boxes), []);
        let whole: String = boxes.iter().map(|(text, _)| text.as_str()).collect();
        assert!(whole.contains(long), "{whole}");
        assert!(
            boxes.iter().all(|(_, place)| place[2] <= 420.0),
            "{boxes:?}"
        );
    }

    #[test]
    fn charts_of_nothing_draw_their_frames() {
        let empty = [
            Chart::Bars(BarChart::default()),
            Chart::Lines(LineChart::default()),
        ];
        assert!(svg(&empty).contains("</svg>"));
        assert!(svg(&[]).contains("</svg>"));
    }

    #[test]
    fn a_long_title_gets_a_smaller_font() {
        use super::{LEAST_TITLE, TEXT, title_size, width_at};
        assert_eq!(title_size("bfs", 392), TEXT + 3);
        let title = "conv5x5 on rtx3070-ampere: bound by load/store units";
        let size = title_size(title, 392);
        assert!(size < TEXT + 3 && width_at(title, size) <= 392);
        assert!(width_at(title, size + 1) > 392);
        assert_eq!(title_size(&"m".repeat(200), 392), LEAST_TITLE);
    }
}
