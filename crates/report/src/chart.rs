//! Charts made of characters: bars, bars with marks, sparklines.

/// A bar of `fraction` (0 to 1) of `width` characters, in eighths of a character. Any value above
/// zero is visible.
pub fn bar(fraction: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let exact = fraction.clamp(0.0, 1.0) * (width * 8) as f64;
    let eighths = match exact.round() as usize {
        0 if fraction > 0.0 => 1,
        eighths => eighths,
    };
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// A bar of `width + 1` characters with a line at each of `marks` (0 to 1).
pub fn bar_with_marks(fraction: f64, marks: &[f64], width: usize) -> String {
    let mut cells: Vec<char> = bar(fraction, width).chars().collect();
    cells.resize(width + 1, ' ');
    for mark in marks {
        let at = (mark.clamp(0.0, 1.0) * width as f64).round() as usize;
        cells[at] = if cells[at] == '█' { '▓' } else { '│' };
    }
    cells.into_iter().collect()
}

/// A line with one character per value (0 to 1), in eighths of its height; a blank for less than a
/// sixteenth.
pub fn sparkline(values: &[f64]) -> String {
    const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let height = |value: &f64| HEIGHTS[(value.clamp(0.0, 1.0) * 8.0).round() as usize];
    values.iter().map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::{bar, bar_with_marks, sparkline};

    #[test]
    fn bars_are_exact_to_an_eighth() {
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.53125, 4), "██▏");
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.0, 4), "");
        assert_eq!(bar(1e-9, 4), "▏");
        assert_eq!(bar(7.0, 2), "██");
        assert_eq!(bar(f64::NAN, 2), "");
    }

    #[test]
    fn marks_show_within_and_beyond_a_bar() {
        assert_eq!(bar_with_marks(0.5, &[0.25, 0.75], 8), "██▓█  │  ");
        assert_eq!(bar_with_marks(1.0, &[1.0], 4), "████│");
        assert_eq!(bar_with_marks(0.0, &[], 4), "     ");
    }

    #[test]
    fn sparklines_are_exact_to_an_eighth() {
        assert_eq!(sparkline(&[0.0, 0.125, 0.5, 0.99, 1.0, 2.0]), " ▁▄███");
        assert_eq!(sparkline(&[f64::NAN]), " ");
    }
}
