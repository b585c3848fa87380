//! Parsers of numbers in the forms that GPGPU-Sim reads.

/// Parses a whole number: decimal, hexadecimal after `0x`, or octal after `0`.
pub(super) fn whole(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !plain || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value = match digits.as_bytes() {
        [b'0', b'x', _, ..] => i64::from_str_radix(&digits[2..], 16),
        [b'0', _, ..] => i64::from_str_radix(&digits[1..], 8),
        _ => digits.parse(),
    };
    value.ok().and_then(|value| value.checked_mul(sign))
}

/// Parses a decimal number and returns it times 100, if that is whole: `1.5` is 150.
pub(super) fn percent(text: &str) -> Option<i64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let kept = decimals.trim_end_matches('0');
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if kept.len() > 2 || !digits(whole) || !digits(kept) {
        return None;
    }
    let fraction: i64 = format!("{kept:0<2}").parse().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(100)?
        .checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::{percent, whole};

    #[test]
    fn bases_are_told_by_their_prefix() {
        assert_eq!(whole("10"), Some(10));
        assert_eq!(whole("0x1F"), Some(31));
        assert_eq!(whole("010"), Some(8));
        assert_eq!((whole("0"), whole("-1")), (Some(0), Some(-1)));
        for bad in [
            "",
            "-",
            "+1",
            "1.5",
            "09",
            "0x",
            "12a",
            "0xg",
            "99999999999999999999",
            "0x-1",
        ] {
            assert_eq!(whole(bad), None, "{bad}");
        }
    }

    #[test]
    fn percents_are_exact() {
        assert_eq!((percent("2.0"), percent("1.25")), (Some(200), Some(125)));
        assert_eq!(
            (percent("1.005"), percent("x"), percent("")),
            (None, None, None)
        );
        assert_eq!(percent("3"), Some(300));
    }
}
