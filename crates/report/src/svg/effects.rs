//! Charts of a paper's effects across with ours up. Both axes are logarithmic, so that a share of
//! an effect is a slope.

use super::beside::{Dot, places};
use super::{
    Area, Drawn, GRID, MARGIN, SERIES, Shape, TEXT, WORDS, head, head_height, width_at, words,
};
use crate::figure::{EffectChart, EffectDot};
use crate::page::reproduced_effects;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Ratios at which axes have a line and a label.
const TICKS: [f64; 12] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.75, 2.0];
/// Smallest range of an axis, as ratios.
const LEAST: [f64; 2] = [0.95, 1.25];
/// Steps along the edge of the band.
const STEPS: usize = 200;
/// Side of the square with the dots, in pixels.
const SIDE: i32 = 480;
/// Space left of the square and below it.
const LEFT: i32 = 92;
const BELOW: i32 = 62;
const ROW: i32 = 18;
const DOT: i32 = 6;
const SMALL_DOT: i32 = 3;
/// Smallest distances of the labels of an axis.
const LABEL_WIDTH: i32 = 50;
const LABEL_HEIGHT: i32 = 18;
/// Size of the list, and of the numbers of dots.
const LIST: u32 = TEXT - 2;
const NUMBER: u32 = LIST - 2;

/// Place of the square in pixels, and the range of both axes as logarithms.
struct Square {
    left: i32,
    top: i32,
    side: i32,
    low: f64,
    high: f64,
}

impl Square {
    fn new(chart: &EffectChart, shape: Shape, top: i32) -> Self {
        let effects = chart.dots.iter().flat_map(|dot| [dot.paper, dot.ours]);
        let inside = effects.filter(|ratio| *ratio > 0.0);
        let inside = inside.map(|ratio| ratio.clamp(TICKS[0], TICKS[TICKS.len() - 1]));
        let [low, high] = inside.fold(LEAST, |[low, high], ratio| {
            [low.min(ratio), high.max(ratio)]
        });
        Self {
            left: MARGIN + LEFT,
            top,
            side: side(shape),
            low: low.ln() - 0.02,
            high: high.ln() + 0.02,
        }
    }

    /// Distance of a ratio from the lower edge in pixels, at most that of the edges.
    fn at(&self, ratio: f64) -> i32 {
        let share = (ratio.max(1e-9).ln() - self.low) / (self.high - self.low);
        (share.clamp(0.0, 1.0) * f64::from(self.side)).round() as i32
    }

    fn place(&self, paper: f64, ours: f64) -> (i32, i32) {
        (
            self.left + self.at(paper),
            self.top + self.side - self.at(ours),
        )
    }

    /// Left, top, right and bottom edge in pixels.
    fn edges(&self) -> [i32; 4] {
        let (left, top) = (self.left, self.top);
        [left, top, left + self.side, top + self.side]
    }

    fn has(&self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio.max(1e-9).ln())
    }
}

fn side(shape: Shape) -> i32 {
    match shape {
        Shape::Wide => SIDE,
        Shape::Narrow => shape.width() as i32 - 2 * MARGIN - LEFT,
    }
}

fn names(chart: &EffectChart) -> Vec<&str> {
    chart.groups.iter().map(String::as_str).collect()
}

/// Names of the numbered dots.
fn listed(chart: &EffectChart) -> impl Iterator<Item = (&EffectDot, &str)> {
    let named = chart.dots.iter();
    named.filter_map(|dot| Some((dot, dot.name.as_deref()?)))
}

/// Height of a chart, with the list of names below the square on a narrow screen.
pub(super) fn height(chart: &EffectChart, shape: Shape) -> u32 {
    let top = head_height(&chart.title, &names(chart), &[], shape.width());
    let list = listed(chart).count() as i32 * ROW;
    let square = side(shape) + BELOW;
    let below = match shape {
        Shape::Wide => square.max(list + ROW),
        Shape::Narrow => square + list,
    };
    (top + below + MARGIN) as u32
}

/// Draws a chart of effects.
pub(super) fn draw(area: &Area<'_>, chart: &EffectChart, shape: Shape) -> Drawn {
    let top = head(area, &chart.title, &names(chart), &[])?;
    let square = Square::new(chart, shape, top);
    band(area, &square)?;
    grid(area, &square)?;
    let smaller = chart.dots.iter().filter(|dot| !dot.is_claim);
    let claims = chart.dots.iter().filter(|dot| dot.is_claim);
    let labels = places(&dots(&square, chart), square.edges());
    for (label, (dot, _)) in labels.iter().zip(listed(chart)) {
        let colour = SERIES[dot.group % SERIES.len()].0.stroke_width(1);
        let line = label
            .line
            .map(|ends| PathElement::new(ends.to_vec(), colour));
        line.map_or(Ok(()), |line| area.draw(&line))?;
    }
    for dot in smaller.chain(claims) {
        draw_dot(area, &square, dot)?;
    }
    for (number, (label, (dot, _))) in (1..).zip(labels.iter().zip(listed(chart))) {
        let number: i32 = number;
        let style = coloured(NUMBER, dot).pos(Pos::new(HPos::Center, VPos::Center));
        area.draw(&Text::new(number.to_string(), label.at, style))?;
    }
    list(area, &square, chart, shape)
}

/// All dots in pixels, those with a name with the size of their number.
fn dots(square: &Square, chart: &EffectChart) -> Vec<Dot> {
    let mut number = 0;
    let dot = |dot: &EffectDot| Dot {
        at: square.place(dot.paper, dot.ours),
        radius: if dot.is_claim { DOT } else { SMALL_DOT },
        label: dot.name.as_ref().map(|_| {
            number += 1;
            (width_at(&number.to_string(), NUMBER), NUMBER as i32)
        }),
    };
    chart.dots.iter().map(dot).collect()
}

/// Draws the band in which effects are reproduced, and the diagonal.
fn band(area: &Area<'_>, square: &Square) -> Drawn {
    let step = (square.high - square.low) / STEPS as f64;
    let ratios = (0..=STEPS).map(|n| (square.low + step * n as f64).exp());
    let ratios: Vec<f64> = ratios.collect();
    let edge = |side: usize| {
        let of = |paper: &f64| square.place(*paper, reproduced_effects(*paper)[side]);
        ratios.iter().map(of).collect::<Vec<_>>()
    };
    let mut outline = edge(0);
    outline.extend(edge(1).into_iter().rev());
    area.draw(&Polygon::new(outline, SERIES[2].0.mix(0.18)))?;
    let ends = [ratios[0], ratios[STEPS]].map(|ratio| square.place(ratio, ratio));
    area.draw(&PathElement::new(
        ends.to_vec(),
        SERIES[2].0.stroke_width(1),
    ))
}

/// Draws lines and labels of both axes. A line without space for its label is left out.
fn grid(area: &Area<'_>, square: &Square) -> Drawn {
    let (left, top, side) = (square.left, square.top, square.side);
    let (right, bottom) = (left + side, top + side);
    let style = |ratio: f64| match ratio == 1.0 {
        true => WORDS.0.stroke_width(1),
        false => GRID.0.stroke_width(1),
    };
    let label = |ratio: f64| match ratio == 1.0 {
        true => "0%".to_owned(),
        false => format!("{:+.0}%", (ratio - 1.0) * 100.0),
    };
    for ratio in labelled(square, LABEL_WIDTH) {
        let (x, _) = square.place(ratio, ratio);
        area.draw(&PathElement::new(vec![(x, top), (x, bottom)], style(ratio)))?;
        let below = words(LIST).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(label(ratio), (x, bottom + 6), below))?;
    }
    for ratio in labelled(square, LABEL_HEIGHT) {
        let (_, y) = square.place(ratio, ratio);
        area.draw(&PathElement::new(vec![(left, y), (right, y)], style(ratio)))?;
        let beside = words(LIST).pos(Pos::new(HPos::Right, VPos::Center));
        area.draw(&Text::new(label(ratio), (left - 6, y), beside))?;
    }
    let below = words(TEXT).pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new(
        "the paper's effect",
        (left + side / 2, bottom + 28),
        below,
    ))?;
    let turned = words(TEXT).transform(FontTransform::Rotate270);
    let turned = turned.pos(Pos::new(HPos::Center, VPos::Top));
    area.draw(&Text::new("effect here", (MARGIN, top + side / 2), turned))
}

/// Ratios whose labels keep this distance in pixels, beginning with no effect.
fn labelled(square: &Square, distance: i32) -> Vec<f64> {
    let mut kept: Vec<f64> = Vec::new();
    let first = TICKS.iter().filter(|ratio| **ratio == 1.0);
    let others = TICKS.iter().filter(|ratio| **ratio != 1.0);
    for ratio in first.chain(others).filter(|ratio| square.has(**ratio)) {
        let apart = |other: &f64| (square.at(*ratio) - square.at(*other)).abs() >= distance;
        if kept.iter().all(apart) {
            kept.push(*ratio);
        }
    }
    kept
}

/// Draws a dot, or a triangle at the edge for an effect beyond it.
fn draw_dot(area: &Area<'_>, square: &Square, dot: &EffectDot) -> Drawn {
    let at = square.place(dot.paper, dot.ours);
    let colour = SERIES[dot.group % SERIES.len()].0;
    let size = if dot.is_claim { DOT } else { SMALL_DOT };
    if square.has(dot.paper) && square.has(dot.ours) {
        return area.draw(&Circle::new(at, size, colour.filled()));
    }
    area.draw(&TriangleMarker::new(at, size + 1, colour.filled()))
}

/// Words in the colour of a dot's group.
fn coloured(size: u32, dot: &EffectDot) -> TextStyle<'static> {
    words(size).color(&SERIES[dot.group % SERIES.len()].0)
}

/// Writes the list of names right of the square or below it.
fn list(area: &Area<'_>, square: &Square, chart: &EffectChart, shape: Shape) -> Drawn {
    let right = square.left + square.side;
    let (x, mut y) = match shape {
        Shape::Wide => (right + 3 * MARGIN, square.top),
        Shape::Narrow => (MARGIN, square.top + square.side + BELOW),
    };
    for (number, (dot, name)) in (1..).zip(listed(chart)) {
        let line = format!("{number} {name}: {:.3}, here {:.3}", dot.paper, dot.ours);
        area.draw(&Text::new(line, (x, y), coloured(LIST, dot)))?;
        y += ROW;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Square;
    use crate::figure::{Chart, EffectChart, EffectDot};
    use crate::svg::boxes::{boxes, overlaps};
    use crate::svg::{Shape, svg, svg_shaped};

    fn chart(effects: &[[f64; 2]]) -> EffectChart {
        let dot = |(at, [paper, ours]): (usize, &[f64; 2])| EffectDot {
            name: (at == 0).then(|| "paper.claim".to_owned()),
            group: 0,
            paper: *paper,
            ours: *ours,
            is_claim: at == 0,
        };
        EffectChart {
            title: "Effects".to_owned(),
            groups: vec!["paper".to_owned()],
            dots: effects.iter().enumerate().map(dot).collect(),
        }
    }

    #[test]
    fn equal_effects_lie_on_the_diagonal_and_no_effect_where_the_lines_cross() {
        let square = Square::new(&chart(&[[1.2, 0.9]]), Shape::Wide, 100);
        for ratio in [0.95, 1.0, 1.1] {
            let (x, y) = square.place(ratio, ratio);
            assert_eq!(x - square.left, square.top + square.side - y);
        }
        // Twice the logarithm is twice the distance from the lines without effect.
        let from_none = |ratio: f64| square.at(ratio) - square.at(1.0);
        assert!((from_none(1.21) - 2 * from_none(1.1)).abs() <= 1);
    }

    #[test]
    fn effects_beyond_the_axes_are_triangles_at_the_edge() {
        let picture = svg(&[Chart::Effects(chart(&[
            [1.2, 1.1],
            [1.78, 4.7],
            [0.03, 0.4],
        ]))]);
        assert_eq!(picture.matches("<circle").count(), 1);
        // The band and two triangles.
        assert_eq!(picture.matches("<polygon").count(), 3);
        assert!(picture.contains("1 paper.claim: 1.200, here 1.100"));
    }

    /// A number and its line in the list have the colour of their dot's group.
    #[test]
    fn numbers_have_the_colour_of_their_dots() {
        let mut groups = chart(&[[1.2, 1.1], [1.3, 1.0]]);
        groups.dots[1].name = Some("other.claim".to_owned());
        groups.dots[1].group = 1;
        groups.groups.push("other".to_owned());
        let picture = svg(&[Chart::Effects(groups)]);
        let colour_of = |text: &str| {
            let end = picture.find(text).unwrap_or_else(|| panic!("{text}"));
            let tag = &picture[picture[..end].rfind("<text").unwrap()..end];
            let start = tag.find("fill=\"").unwrap() + 6;
            tag[start..start + 7].to_owned()
        };
        let circle = |number: usize| {
            let tag = picture.split("<circle").nth(number).unwrap();
            let start = tag.find("fill=\"").unwrap() + 6;
            tag[start..start + 7].to_owned()
        };
        let lines = ["1 paper.claim", "2 other.claim"].map(colour_of);
        let numbers = ["\n1\n", "\n2\n"].map(colour_of);
        // Further effects are drawn first.
        assert_eq!(lines, [circle(2), circle(1)]);
        assert_eq!(numbers, lines);
        assert_ne!(lines[0], lines[1]);
    }

    #[test]
    fn labels_of_the_axes_do_not_overlap() {
        for most in [1.3, 1.6, 2.5] {
            for shape in [Shape::Wide, Shape::Narrow] {
                let chart = Chart::Effects(chart(&[[0.4, most], [most, 0.6]]));
                let mut boxes = boxes(&svg_shaped(&[chart], shape));
                boxes.retain(|(text, _)| text.ends_with('%'));
                assert!(boxes.len() > 10, "{boxes:?}");
                assert_eq!(overlaps(&boxes), [], "up to {most}, {shape:?}");
            }
        }
    }

    /// Numbers of claims with nearly the same effects stand apart from each other and from all dots.
    #[test]
    fn numbers_of_dots_do_not_overlap() {
        let near: Vec<[f64; 2]> = (0..12)
            .map(|n| [1.2 + 0.004 * f64::from(n), 1.17 - 0.002 * f64::from(n % 4)])
            .collect();
        let mut crowd = chart(&near);
        for dot in &mut crowd.dots {
            dot.name = Some("paper.claim".to_owned());
            dot.is_claim = true;
        }
        for shape in [Shape::Wide, Shape::Narrow] {
            let picture = svg_shaped(&[Chart::Effects(crowd.clone())], shape);
            let mut numbers = boxes(&picture);
            numbers.retain(|(text, _)| text.parse::<u32>().is_ok());
            assert_eq!(numbers.len(), near.len(), "{shape:?}");
            assert_eq!(overlaps(&numbers), [], "{shape:?}");
        }
    }

    #[test]
    fn both_shapes_of_screen_show_the_same_dots() {
        let chart = Chart::Effects(chart(&[[1.2, 1.1], [0.9, 0.95]]));
        for shape in [Shape::Wide, Shape::Narrow] {
            let picture = svg_shaped(std::slice::from_ref(&chart), shape);
            assert_eq!(picture.matches("<circle").count(), 2, "{shape:?}");
        }
        let empty = svg(&[Chart::Effects(EffectChart::default())]);
        assert!(empty.contains("the paper's effect") || empty.contains("the paper&apos;s effect"));
    }
}
