//! Boxes of the texts of a picture, for tests that no text covers another.

use super::{LINE_HEIGHT, width_at};

/// A text of a picture with the corners of its box: left, top, right, bottom.
pub(super) type TextBox = (String, [f64; 4]);

/// Number of an attribute of a tag.
pub(super) fn attribute(tag: &str, name: &str) -> Option<f64> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"')?.0.parse().ok()
}

/// All texts of a picture with their boxes.
pub(super) fn boxes(picture: &str) -> Vec<TextBox> {
    let of = |part: &str| {
        let (tag, rest) = part.split_once(">\n")?;
        let text = rest.split_once("\n</text>")?.0.to_owned();
        let size = attribute(tag, "font-size")?;
        let (x, y) = (attribute(tag, "x")?, attribute(tag, "y")?);
        let width = f64::from(width_at(&text, (size * LINE_HEIGHT).round() as u32));
        let from = match tag {
            tag if tag.contains("text-anchor=\"end\"") => -width,
            tag if tag.contains("text-anchor=\"middle\"") => -width / 2.0,
            _ => 0.0,
        };
        let down = match tag {
            tag if tag.contains("dy=\"0.76em\"") => size,
            tag if tag.contains("dy=\"0.5ex\"") => size / 2.0,
            _ => 0.0,
        };
        let flat = [from, down - size, from + width, down];
        // A turn by 270 degrees takes (x, y) to (y, -x).
        let [left, top, right, bottom] = match tag.contains("rotate(270") {
            true => [flat[1], -flat[2], flat[3], -flat[0]],
            false => flat,
        };
        Some((text, [x + left, y + top, x + right, y + bottom]))
    };
    picture.split("<text").skip(1).filter_map(of).collect()
}

/// Pairs of texts whose boxes overlap.
pub(super) fn overlaps(boxes: &[TextBox]) -> Vec<(&str, &str)> {
    let apart =
        |a: &[f64; 4], b: &[f64; 4]| a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
    let mut found = Vec::new();
    for (i, (a, of_a)) in boxes.iter().enumerate() {
        let others = boxes[i + 1..].iter().filter(|(_, of_b)| !apart(of_a, of_b));
        found.extend(others.map(|(b, _)| (a.as_str(), b.as_str())));
    }
    found
}

#[test]
fn texts_that_overlap_are_found() {
    let text = |name: &str, x: u32, turn: &str| {
        format!(
            "<text x=\"{x}\" y=\"50\" text-anchor=\"end\" font-size=\"12.4\" {turn}>\n{name}\n</text>"
        )
    };
    let flat = text("abc", 40, "") + &text("abd", 54, "");
    assert_eq!(overlaps(&boxes(&flat)), [("abc", "abd")]);
    let turn = "transform=\"rotate(270, 0, 50)\" ";
    let turned = text("abc", 40, turn) + &text("abd", 54, turn);
    assert_eq!(overlaps(&boxes(&turned)), []);
}
