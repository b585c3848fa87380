//! Labels in as many lines as they need, so that none is cut off.

use super::{Area, Drawn, MARGIN, NARROW_WIDTH, text_width, words};
use plotters::element::Text;

/// Height of a line of labels.
pub(super) const LINE: i32 = 16;

/// A name in lines of at most `room` pixels each, if a line has room for a character: divided after
/// blanks and signs where possible, otherwise anywhere.
pub(super) fn in_lines(name: &str, room: i32, width: fn(&str) -> i32) -> Vec<String> {
    let mut lines = vec![String::new()];
    for part in name.split_inclusive([' ', '/', '-', '_', '.', ',', '+', ':']) {
        let line = lines.last_mut().expect("one line");
        let whole = format!("{line}{part}");
        if width(whole.trim_end()) <= room {
            *line = whole;
            continue;
        }
        if !line.is_empty() {
            lines.push(String::new());
        }
        for c in part.chars() {
            let line = lines.last_mut().expect("one line");
            line.push(c);
            if width(line.trim_end()) > room && line.chars().count() > 1 {
                line.pop();
                lines.push(c.to_string());
            }
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Draws a name in as many lines as it needs on a narrow screen, from `y` down. Returns the height
/// of the lines after the first.
pub(super) fn draw_narrow(area: &Area<'_>, name: &str, y: i32, size: u32) -> Drawn<i32> {
    for (line, y) in narrow_lines(name)
        .into_iter()
        .zip((y..).step_by(LINE as usize))
    {
        area.draw(&Text::new(line, (MARGIN, y), words(size)))?;
    }
    Ok(more_narrow(name))
}

/// Height of a name's lines after the first on a narrow screen.
pub(super) fn more_narrow(name: &str) -> i32 {
    (narrow_lines(name).len() as i32 - 1) * LINE
}

fn narrow_lines(name: &str) -> Vec<String> {
    in_lines(name, NARROW_WIDTH as i32 - 2 * MARGIN, text_width)
}

/// Most lines that one of the names needs in `room` pixels.
pub(super) fn most_lines(names: &[String], room: i32) -> i32 {
    let lines = names
        .iter()
        .map(|name| in_lines(name, room, text_width).len());
    lines.max().unwrap_or(1) as i32
}

#[cfg(test)]
mod tests {
    use super::{in_lines, text_width};

    #[test]
    fn long_names_are_divided_after_signs_and_nothing_is_lost() {
        let width = |text: &str| text.chars().count() as i32;
        let lines = |name, room| in_lines(name, room, width);
        assert_eq!(lines("spmv", 8), ["spmv"]);
        assert_eq!(lines("long-latency-first", 13), ["long-latency-", "first"]);
        assert_eq!(lines("a b c", 3), ["a b", "c"]);
        assert_eq!(lines("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(lines("", 3), [""]);
        let name = "folder-of-a-project/matrix_multiplication.toml";
        for room in [1, 20, 60, 200] {
            let lines = in_lines(name, room, text_width);
            assert_eq!(lines.concat(), name);
            let fits = |line: &String| text_width(line) <= room || line.chars().count() == 1;
            assert!(lines.iter().all(fits), "{lines:?}");
        }
    }
}
