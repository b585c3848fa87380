//! Maps of a value over two axes: a cell for each pair of values with its number, stronger for a
//! greater value, or of ratios with a colour for gains and one for losses, stronger the farther the
//! ratio is from 1.

use super::labels::{LINE, in_lines, most_lines};
use super::{Area, Drawn, GRID, MARGIN, SERIES, Shape, TEXT, head, head_height, text_width, words};
use crate::figure::HeatMap;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Distance from the first line below a title to the end of the head.
const LEGEND_ABOVE: i32 = 30;
/// Least height of a row of cells.
const ROW: i32 = 30;
/// Space for the names of columns in one line and their axis.
const NAMES: i32 = 46;
/// Distance between names in pixels.
const GAP: i32 = 6;
/// Width of a column from which names that are too long are divided into lines. In narrower ones
/// they are turned.
const WIDE: i32 = 56;
/// Largest share of the width that the names of rows take.
const SHARE: f64 = 0.35;
/// Strength of the colour of the smallest and of the greatest value. Numbers stay readable.
const STRENGTH: (f64, f64) = (0.06, 0.6);

/// Height of a map.
pub(super) fn height(map: &HeatMap, shape: Shape) -> u32 {
    let cells = Cells::of(map, shape);
    let rows = map.rows.len() as i32 * cells.row;
    (cells.top + rows + MARGIN) as u32
}

/// How the names of columns stand above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Above {
    /// In lines of this width.
    Lines(i32),
    /// Turned, and read upwards.
    Turned,
}

/// Edges of the cells.
struct Cells {
    left: i32,
    top: i32,
    width: f64,
    /// Height of a row.
    row: i32,
    /// Width of the names of rows.
    names: i32,
    above: Above,
}

impl Cells {
    fn of(map: &HeatMap, shape: Shape) -> Self {
        let width = shape.width() as i32;
        let widths = map.rows.iter().chain([&map.row_axis]);
        let longest = widths.map(|name| text_width(name)).max().unwrap_or(0);
        let names = longest.min((f64::from(width) * SHARE) as i32);
        let left = MARGIN + names + 10;
        let column = f64::from(width - left - MARGIN) / map.columns.len().max(1) as f64;
        let longest = map.columns.iter().map(|name| text_width(name)).max();
        let longest = longest.unwrap_or(0);
        let room = column as i32 - GAP;
        let (above, more) = match (longest <= room, room >= WIDE) {
            (true, _) => (Above::Lines(room), 0),
            (_, true) => {
                let lines = most_lines(&map.columns, room);
                (Above::Lines(room), (lines - 1) * LINE)
            }
            _ => (Above::Turned, longest - LINE),
        };
        let head = head_height(&map.title, &[], &[], shape.width());
        Self {
            left,
            top: head + legend_height(map, width) + NAMES + more.max(0),
            width: column,
            row: ROW.max(most_lines(&map.rows, names) * LINE + GAP),
            names,
            above,
        }
    }

    /// Left and upper corner of a cell.
    fn corner(&self, row: usize, column: usize) -> (i32, i32) {
        let x = self.left + (self.width * column as f64) as i32;
        (x, self.top + self.row * row as i32)
    }

    fn middle(&self, row: usize, column: usize) -> (i32, i32) {
        let (x, y) = self.corner(row, column);
        (x + (self.width / 2.0) as i32, y + self.row / 2)
    }
}

/// Lines of the text below a title.
fn legend_lines(map: &HeatMap, width: i32) -> Vec<String> {
    let legend = map.legend().into_iter();
    let lines = legend.flat_map(|legend| in_lines(&legend, width - 2 * MARGIN, text_width));
    lines.collect()
}

/// Height of these lines. The first one has room where other charts have the legend.
fn legend_height(map: &HeatMap, width: i32) -> i32 {
    (legend_lines(map, width).len() as i32 - 1).max(0) * LINE
}

/// Draws a map of values.
pub(super) fn draw(area: &Area<'_>, map: &HeatMap, shape: Shape) -> Drawn {
    let width = shape.width() as i32;
    let head = head(area, &map.title, &[], &[])?;
    let first = head - LEGEND_ABOVE;
    let lines = legend_lines(map, width).into_iter();
    for (line, y) in lines.zip((first..).step_by(LINE as usize)) {
        area.draw(&Text::new(line, (MARGIN, y), words(TEXT)))?;
    }
    let below = head + legend_height(map, width);
    let cells = Cells::of(map, shape);
    let all = (cells.width * map.columns.len() as f64) as i32;
    let middle = words(TEXT).pos(Pos::new(HPos::Center, VPos::Top));
    let axis = (cells.left + all / 2, below);
    area.draw(&Text::new(map.column_axis.as_str(), axis, middle))?;
    draw_names(area, map, &cells)?;
    for (row, values) in map.values.iter().enumerate() {
        for (column, value) in values.iter().enumerate() {
            draw_cell(area, map, &cells, (row, column), *value)?;
        }
    }
    Ok(())
}

fn draw_names(area: &Area<'_>, map: &HeatMap, cells: &Cells) -> Drawn {
    let right = words(TEXT).pos(Pos::new(HPos::Right, VPos::Center));
    for (row, name) in map.rows.iter().enumerate() {
        let (x, middle) = (cells.left - 8, cells.middle(row, 0).1);
        let lines = in_lines(name, cells.names, text_width);
        let first = middle - (lines.len() as i32 - 1) * LINE / 2;
        for (line, y) in lines.into_iter().zip((first..).step_by(LINE as usize)) {
            area.draw(&Text::new(line, (x, y), right.clone()))?;
        }
    }
    let above = words(TEXT).pos(Pos::new(HPos::Center, VPos::Bottom));
    for (column, name) in map.columns.iter().enumerate() {
        let (x, y) = (cells.middle(0, column).0, cells.top - 6);
        let Above::Lines(room) = cells.above else {
            let turned = words(TEXT).transform(FontTransform::Rotate270);
            let turned = turned.pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(name.as_str(), (x, y), turned))?;
            continue;
        };
        let lines = in_lines(name, room, text_width);
        let first = y - (lines.len() as i32 - 1) * LINE;
        for (line, y) in lines.into_iter().zip((first..).step_by(LINE as usize)) {
            area.draw(&Text::new(line, (x, y), above.clone()))?;
        }
    }
    let row_axis = right.pos(Pos::new(HPos::Right, VPos::Bottom));
    let corner = (cells.left - 8, cells.top - 6);
    area.draw(&Text::new(map.row_axis.as_str(), corner, row_axis))
}

fn draw_cell(
    area: &Area<'_>,
    map: &HeatMap,
    cells: &Cells,
    (row, column): (usize, usize),
    value: Option<f64>,
) -> Drawn {
    let corners = [cells.corner(row, column), cells.corner(row + 1, column + 1)];
    if let Some(value) = value {
        let is_loss = map.axis.line.is_some_and(|line| value < line);
        let colour = SERIES[usize::from(is_loss)].0.mix(strength(map, value));
        area.draw(&Rectangle::new(corners, colour.filled()))?;
    }
    area.draw(&Rectangle::new(corners, GRID.0.stroke_width(1)))?;
    let text = map.shown(value);
    if text_width(&text) > cells.width as i32 {
        return Ok(());
    }
    let centred = words(TEXT).pos(Pos::new(HPos::Center, VPos::Center));
    area.draw(&Text::new(text, cells.middle(row, column), centred))
}

/// Least difference between the values of the weakest and the strongest colour, relative to the
/// greatest value. Smaller differences have colours that hardly differ.
const LEAST_SPREAD: f64 = 0.05;

/// The smallest and the greatest value of a map.
fn ends(map: &HeatMap) -> [f64; 2] {
    let values = map.values.iter().flatten().flatten();
    values.fold([f64::MAX, f64::MIN], |[low, high], value| {
        [low.min(*value), high.max(*value)]
    })
}

/// Strength of the colour of a value between the ends of the map's range. On a map of ratios it is
/// that of the distance from the value of the line, by factors, and 0 there.
fn strength(map: &HeatMap, value: f64) -> f64 {
    let [low, high] = map.range.unwrap_or_else(|| ends(map));
    if let Some(line) = map.axis.line {
        let distance = |value: f64| match value > 0.0 {
            true => (value / line).ln().abs(),
            false => f64::INFINITY,
        };
        let most = [low, high]
            .map(distance)
            .into_iter()
            .filter(|far| far.is_finite());
        let most = most.fold(LEAST_SPREAD, f64::max);
        return STRENGTH.1 * (distance(value) / most).min(1.0);
    }
    let spread = (high - low).max(LEAST_SPREAD * high.abs());
    let share = match spread > 0.0 {
        true => 0.5 + (value - f64::midpoint(low, high)) / spread,
        false => 0.5,
    };
    STRENGTH.0 + share * (STRENGTH.1 - STRENGTH.0)
}

#[cfg(test)]
mod tests {
    use super::strength;
    use crate::figure::{Chart, HeatMap};
    use crate::svg::boxes::{attribute, boxes, overlaps};
    use crate::svg::{Shape, svg, svg_shaped};

    fn map() -> HeatMap {
        HeatMap {
            title: "speedup".to_owned(),
            rows: vec!["lrr".to_owned(), "gto".to_owned()],
            columns: vec!["4".to_owned(), "8".to_owned()],
            row_axis: "warp_scheduler".to_owned(),
            column_axis: "sms".to_owned(),
            values: vec![vec![Some(1.0), Some(2.0)], vec![Some(1.5), None]],
            ..HeatMap::default()
        }
    }

    #[test]
    fn every_cell_has_its_number_and_greater_ones_are_stronger() {
        let picture = svg(&[Chart::Heat(map())]);
        for text in ["lrr", "gto", "warp_scheduler", "sms", "1.00", "1.50", "-"] {
            assert!(picture.contains(&format!("{text}\n")), "{text}: {picture}");
        }
        let [low, middle, high] = [1.0, 1.5, 2.0].map(|value| strength(&map(), value));
        assert!(low < middle && middle < high && high <= 0.61);
    }

    /// Maps of one picture have the same colour for the same value, and a line below the title
    /// says what is shown.
    #[test]
    fn what_is_shown_stands_below_a_title_of_another_kind() {
        let mut named = map();
        named.axis.label = "speedup over lrr on gtx480".to_owned();
        named.title = "Schedulers".to_owned();
        let picture = svg(&[Chart::Heat(named.clone())]);
        assert!(
            picture.contains("speedup over lrr on gtx480\n"),
            "{picture}"
        );
        named.title = "speedup over lrr on gtx480 by sms".to_owned();
        assert_eq!(named.legend(), None);
        named.range = Some([0.5, 4.0]);
        let colours = "colours of all maps from 0.50 (weak) to 4.00 (strong)";
        assert_eq!(named.legend().as_deref(), Some(colours));
        let other = HeatMap {
            values: vec![vec![Some(2.0), Some(4.0)]],
            ..named.clone()
        };
        assert_eq!(strength(&named, 2.0), strength(&other, 2.0));
        assert!(strength(&named, 2.0) < strength(&map(), 2.0));
        for shape in [Shape::Wide, Shape::Narrow] {
            named.title = "Schedulers".to_owned();
            let picture = svg_shaped(&[Chart::Heat(named.clone())], shape);
            let boxes = boxes(&picture);
            assert_eq!(overlaps(&boxes), [], "{shape:?}");
            let whole: Vec<_> = boxes.iter().map(|(text, _)| text.as_str()).collect();
            assert!(
                whole.join(" ").contains(&named.legend().unwrap()),
                "{whole:?}"
            );
        }
    }

    /// Gains and losses have colours of their own, which are weak near 1.
    #[test]
    fn speedups_above_and_below_1_have_different_colours() {
        let mut map = map();
        map.axis.line = Some(1.0);
        map.values = vec![vec![Some(1.0), Some(0.5)], vec![Some(2.0), Some(1.1)]];
        let [none, loss, gain, small] = [1.0, 0.5, 2.0, 1.1].map(|value| strength(&map, value));
        assert_eq!(none, 0.0);
        assert!((loss - gain).abs() < 1e-9 && (gain - 0.6).abs() < 1e-9);
        assert!(small > 0.0 && small < gain / 4.0, "{small}");
        let picture = svg(&[Chart::Heat(map.clone())]);
        let filled = |colour: &str| picture.matches(&format!("fill=\"{colour}\"")).count();
        // Each colour has a rule for dark pages, too.
        assert_eq!([filled("#0072B2"), filled("#D55E00")], [3, 2], "{picture}");
        assert_eq!(map.legend().as_deref(), Some("blue above 1, orange below"));
        map.range = Some([0.5, 16.0]);
        assert!(strength(&map, 0.5) < loss / 3.0);
    }

    /// The values have the same number of decimals, so that 1.0024 is not `1.` among 1.1 and 1.01.
    #[test]
    fn cells_have_equal_decimals() {
        let shown = |values: &[f64]| {
            let values = vec![values.iter().copied().map(Some).collect()];
            let map = HeatMap { values, ..map() };
            let cells = map.values[0].iter().map(|value| map.shown(*value));
            cells.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&[1.0024, 1.0, 1.1, 12.346]), "1.00 1.00 1.10 12.35");
        assert_eq!(shown(&[1.0, 20_000.0]), "1 20,000");
    }

    #[test]
    fn an_empty_map_and_equal_values_are_drawn() {
        assert!(svg(&[Chart::Heat(HeatMap::default())]).contains("<svg"));
        let equal = HeatMap {
            values: vec![vec![Some(1.0); 2]; 2],
            ..map()
        };
        assert!((strength(&equal, 1.0) - 0.33).abs() < 0.01);
        // A thousandth is no difference that a colour should show.
        let near = HeatMap {
            values: vec![vec![Some(1.0), Some(1.001)]],
            ..map()
        };
        assert!(strength(&near, 1.001) - strength(&near, 1.0) < 0.02);
    }

    /// Long names stand whole in the picture, beside each other, on wide and narrow pages.
    #[test]
    fn long_names_are_neither_cut_off_nor_overlap() {
        let rows = [
            "spmv",
            "folder-of-a-project/kernels/matrix_multiplication_with_tiles",
        ];
        for (count, shape) in [(2, Shape::Wide), (5, Shape::Wide), (30, Shape::Wide)]
            .into_iter()
            .chain([(2, Shape::Narrow), (9, Shape::Narrow)])
        {
            let columns = (0..count)
                .map(|n| format!("long-latency-first-{n}"))
                .collect();
            let map = HeatMap {
                rows: rows.map(str::to_owned).to_vec(),
                columns,
                values: vec![vec![Some(1.0); count]; 2],
                ..map()
            };
            let picture = svg_shaped(&[Chart::Heat(map)], shape);
            let boxes = boxes(&picture);
            assert_eq!(overlaps(&boxes), [], "{count} columns, {shape:?}");
            let whole: String = boxes.iter().map(|(text, _)| text.as_str()).collect();
            assert!(whole.contains(rows[1]), "{whole}");
            let (width, height) = (f64::from(shape.width()), attribute(&picture, "height"));
            for (text, [left, top, right, bottom]) in &boxes {
                let inside = *left >= 0.0 && *top >= 0.0 && *right <= width;
                assert!(
                    inside && Some(*bottom) <= height,
                    "{text}: {left} {top} {right}"
                );
            }
        }
    }
}
