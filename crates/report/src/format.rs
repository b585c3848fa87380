//! Formats numbers and places for people.

/// Number of warps of an interrupted run whose places are shown.
const PLACES_SHOWN: usize = 8;

/// A count with separated thousands: `1,234,567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A fraction in percent with one decimal, or a dash if it is undefined.
pub fn percent(fraction: Option<f64>) -> String {
    // An empty sum of floating-point numbers is -0.
    fraction.map_or_else(|| "-".to_owned(), |f| format!("{:.1}%", f * 100.0 + 0.0))
}

/// A rate with three digits: `987`, `12.3 k`, `4.56 M`.
pub fn rate(per_second: f64) -> String {
    let steps = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let step = steps.iter().find(|(size, _)| per_second >= *size);
    match step {
        Some((size, letter)) => {
            let value = per_second / size;
            let decimals = if value >= 100.0 {
                0
            } else {
                2 - usize::from(value >= 10.0)
            };
            format!("{value:.decimals$} {letter}")
        }
        None => format!("{per_second:.0}"),
    }
}

/// A time in a suitable unit: `12 ms`, `3.4 s`, `2 min 05 s`.
pub fn seconds(seconds: f64) -> String {
    if seconds < 1.0 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 60.0 {
        format!("{seconds:.1} s")
    } else {
        let whole = seconds.round() as u64;
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

/// Lines with the places of the first warps of an interrupted run.
pub fn places(waits: &[String]) -> String {
    let shown = waits.iter().take(PLACES_SHOWN);
    let shown: String = shown.map(|place| format!("\n  {place}")).collect();
    match waits.len().saturating_sub(PLACES_SHOWN) {
        0 => shown,
        hidden => format!("{shown}\n({hidden} further warps in --json and --stats)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        let texts = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn rates_keep_three_digits() {
        let texts = [0.0, 987.4, 12_345.0, 4_560_000.0, 250e9].map(rate);
        assert_eq!(texts, ["0", "987", "12.3 k", "4.56 M", "250 G"]);
    }

    #[test]
    fn times_take_the_unit_that_suits() {
        assert_eq!(
            [0.0123, 3.44, 125.0].map(seconds),
            ["12 ms", "3.4 s", "2 min 05 s"]
        );
    }

    #[test]
    fn a_rate_of_nothing_is_a_dash() {
        assert_eq!(
            (percent(Some(0.5)), percent(None)),
            ("50.0%".to_owned(), "-".to_owned())
        );
    }

    #[test]
    fn a_share_of_no_terms_has_no_sign() {
        assert_eq!(percent(Some([0.0; 0].iter().sum())), "0.0%");
    }
}
