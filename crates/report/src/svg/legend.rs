//! Places of a legend's entries, in as many lines as they need.

use super::labels::in_lines;
use super::{MARGIN, text_width};

pub(super) const LEGEND_LINE: i32 = 20;

/// An entry of a legend.
pub(super) struct Entry {
    /// Upper left corner of the entry.
    pub place: (i32, i32),
    /// Distance from the left edge of the symbol to the name.
    pub symbol: i32,
    /// The name in lines that have room.
    pub lines: Vec<String>,
}

/// The legend's entries, in the number of lines that the width requires.
pub(super) fn legend(series: &[&str], marks: &[&str], width: u32) -> Vec<Entry> {
    let (mut x, mut y) = (MARGIN, 39);
    let symbols = series.iter().map(|name| (17, name));
    let symbols = symbols.chain(marks.iter().map(|name| (20, name)));
    let entry = |(symbol, name): (i32, &&str)| {
        let room = width as i32 - 2 * MARGIN - symbol;
        let lines = in_lines(name, room, text_width);
        let entry = symbol + text_width(name).min(room) + 18;
        if x > MARGIN && x + entry > width as i32 {
            (x, y) = (MARGIN, y + LEGEND_LINE);
        }
        let place = (x, y);
        x += entry;
        y += (lines.len() as i32 - 1) * LEGEND_LINE;
        Entry {
            place,
            symbol,
            lines,
        }
    };
    symbols.map(entry).collect()
}
