//! Picture of which blocks touch which cache lines: a panel for each array, a colour for each
//! block.

use super::{
    Area, Drawn, FONT, GRID, HEIGHT, PAPER, Shape, TEXT, head, plane, series_colour,
    with_dark_colours, words,
};
use plotters::prelude::*;
use warploom_base::Rect;

/// An array, and the lines that blocks touch.
#[derive(Clone, Debug)]
pub struct TouchMap {
    /// Title of the array's panel.
    pub title: String,
    /// True if the array has no rows. Blocks are then placed one below the other.
    pub is_linear: bool,
    /// Blocks by name, with their rectangles of lines and rows.
    pub blocks: Vec<(String, Vec<Rect>)>,
}

/// Edges of a rectangle in a panel: left, right, top, bottom.
type Edges = [f64; 4];

impl TouchMap {
    /// Edges of the rectangles of the `nth` block.
    fn edges(&self, nth: usize) -> impl Iterator<Item = Edges> + '_ {
        let rects = self.blocks[nth].1.iter();
        rects.map(move |rect| self.edges_of(nth, rect))
    }

    /// Edges of one rectangle of the `nth` block.
    fn edges_of(&self, nth: usize, rect: &Rect) -> Edges {
        let (left, top) = if self.is_linear {
            (f64::from(rect.x), nth as f64)
        } else {
            (f64::from(rect.x), f64::from(rect.y))
        };
        let height = if self.is_linear {
            1.0
        } else {
            f64::from(rect.height)
        };
        [left, left + f64::from(rect.width), top, top + height]
    }

    /// The part of the array that the panel shows.
    fn shown(&self) -> Edges {
        let all = (0..self.blocks.len()).flat_map(|nth| self.edges(nth));
        let hull = all.reduce(|a, b| {
            [
                a[0].min(b[0]),
                a[1].max(b[1]),
                a[2].min(b[2]),
                a[3].max(b[3]),
            ]
        });
        hull.unwrap_or([0.0, 1.0, 0.0, 1.0])
    }
}

/// Draws panels one below the other.
pub fn touch_maps(maps: &[TouchMap]) -> String {
    let mut text = String::new();
    let size = (Shape::Wide.width(), HEIGHT * maps.len().max(1) as u32);
    {
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&root, maps).expect("a string takes every byte");
    }
    with_dark_colours(&text)
}

fn draw(root: &Area<'_>, maps: &[TouchMap]) -> Drawn {
    root.fill(&PAPER.0)?;
    if maps.is_empty() {
        let none = "No block touches an array whose addresses can be computed.";
        root.draw(&Text::new(none, (14, 14), (FONT, TEXT).into_font()))?;
    }
    for (nth, map) in maps.iter().enumerate() {
        let top = nth as u32 * HEIGHT;
        panel(
            &root.clone().shrink((0, top), (Shape::Wide.width(), HEIGHT)),
            map,
        )?;
    }
    root.present()
}

fn panel(area: &Area<'_>, map: &TouchMap) -> Drawn {
    let names: Vec<_> = map.blocks.iter().map(|(name, _)| name.as_str()).collect();
    let below = head(area, &map.title, &names, &[])?;
    let [left, right, top, bottom] = map.shown();
    // Row numbers increase downwards, as in the thesis's figures.
    let mut plane = plane(area, below, left..right, bottom..top)?;
    plane
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(GRID.0)
        .axis_style(GRID.0)
        .label_style(words(TEXT))
        .x_desc("line of 128 bytes in a row")
        .y_desc(if map.is_linear { "block" } else { "row" })
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .draw()?;
    for nth in 0..map.blocks.len() {
        let colour = series_colour(nth);
        for [left, right, top, bottom] in map.edges(nth) {
            let corners = [(left, bottom), (right, top)];
            plane.draw_series([Rectangle::new(corners, colour.mix(0.35).filled())])?;
            plane.draw_series([Rectangle::new(corners, colour.stroke_width(2))])?;
        }
    }
    Ok(())
}

/// Text of an integer on an axis of lines or rows; empty between integers.
fn whole(at: &f64) -> String {
    if (at - at.round()).abs() < 1e-6 {
        format!("{:.0}", at.round())
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x: i32, y: i32, width: u32, height: u32) -> Rect {
        Rect {
            x,
            y,
            width,
            height,
        }
    }

    #[test]
    fn a_panel_shows_what_its_blocks_touch() {
        let map = |is_linear| TouchMap {
            title: "a".to_owned(),
            is_linear,
            blocks: vec![
                ("0".to_owned(), vec![rect(2, 16, 1, 16)]),
                ("1".to_owned(), Vec::new()),
                ("2".to_owned(), vec![rect(5, 0, 2, 4), rect(5, 9, 1, 1)]),
            ],
        };
        assert_eq!(map(false).shown(), [2.0, 7.0, 0.0, 32.0]);
        assert_eq!(map(true).shown(), [2.0, 7.0, 0.0, 3.0]);
        let picture = touch_maps(&[map(false), map(true)]);
        assert!(picture.starts_with("<svg") && picture.contains("line of 128 bytes"));
        // Three rectangles in two panels are each filled and framed.
        assert_eq!(picture.matches("opacity=\"0.35\"").count(), 6);
        assert!(touch_maps(&[]).contains("No block"));
    }
}
