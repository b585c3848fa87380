//! Bars of block characters.

/// A bar of `fraction` (0 to 1) of `width` characters, in eighths of a character. Anything above
/// zero shows.
pub fn bar(fraction: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let exact = fraction.clamp(0.0, 1.0) * (width * 8) as f64;
    let eighths = match exact.round() as usize {
        0 if fraction > 0.0 => 1,
        eighths => eighths,
    };
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::bar;

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
}
