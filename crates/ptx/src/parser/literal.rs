//! Literals (PTX ISA 4.5): integers in four bases, exact and decimal floating point.

use super::{Parsed, Parser};
use crate::ast::Constant;
use warploom_diag::{Diagnostic, Span};

impl Parser<'_> {
    /// Constant that a number token means.
    pub(super) fn number(&mut self, span: Span) -> Parsed<Constant> {
        let text = self.slice(span);
        read_number(text).map_err(|problem| {
            let diagnostic = Diagnostic::error("bad-number", span, problem.message(text))
                .label("not a number")
                .help(problem.help());
            self.error(diagnostic)
        })
    }

    /// Value of a decimal floating-point token.
    pub(super) fn float(&mut self, span: Span) -> f64 {
        // The token's pattern is a subset of what Rust parses; an overflow becomes infinity, as in
        // C.
        self.slice(span).parse().unwrap_or(f64::NAN)
    }
}

/// Problem of a number literal.
#[derive(Debug, PartialEq)]
enum Problem {
    Digits(u32),
    TooLarge,
    HexFloat(usize),
}

impl Problem {
    fn message(&self, text: &str) -> String {
        match self {
            Self::Digits(radix) => format!("`{text}` is not an integer in base {radix}"),
            Self::TooLarge => format!("`{text}` does not fit in 64 bits"),
            Self::HexFloat(_) => format!("`{text}` is not an exact floating-point literal"),
        }
    }

    fn help(&self) -> &'static str {
        match self {
            Self::Digits(8) => "drop the leading 0 if a decimal number is meant",
            Self::Digits(_) => "write 12, 0xC, 014, 0b1100, or with a suffix U",
            Self::TooLarge => "integer constants have 64 bits; split the value",
            Self::HexFloat(8) => "write 0f and exactly 8 hexadecimal digits, e.g. 0f3F800000",
            Self::HexFloat(_) => "write 0d and exactly 16 hexadecimal digits",
        }
    }
}

fn read_number(text: &str) -> Result<Constant, Problem> {
    let lower = text.as_bytes().get(1).map(u8::to_ascii_lowercase);
    match (text.as_bytes()[0], lower) {
        (b'0', Some(b'f')) => hex_float(&text[2..], 8).map(|bits| Constant::F32(bits as u32)),
        (b'0', Some(b'd')) => hex_float(&text[2..], 16).map(Constant::F64),
        (b'0', Some(b'x')) => integer(&text[2..], 16),
        (b'0', Some(b'b')) => integer(&text[2..], 2),
        (b'0', Some(b'0'..=b'9')) => integer(&text[1..], 8),
        _ => integer(text, 10),
    }
}

fn hex_float(digits: &str, count: usize) -> Result<u64, Problem> {
    let valid = digits.len() == count && digits.bytes().all(|b| b.is_ascii_hexdigit());
    let bits = u64::from_str_radix(digits, 16).ok().filter(|_| valid);
    bits.ok_or(Problem::HexFloat(count))
}

/// Integer constant. Unsigned if written so, or if it needs the top bit (PTX ISA 4.5.1).
fn integer(digits: &str, radix: u32) -> Result<Constant, Problem> {
    let (digits, suffixed) = match digits.strip_suffix(['U', 'u']) {
        Some(digits) => (digits, true),
        None => (digits, false),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(Problem::Digits(radix));
    }
    let value = u64::from_str_radix(digits, radix).map_err(|_| Problem::TooLarge)?;
    Ok(Constant::Int(
        value,
        suffixed || i64::try_from(value).is_err(),
    ))
}

#[cfg(test)]
mod tests {
    use super::{Problem, read_number};
    use crate::ast::Constant;

    #[test]
    fn bases_and_suffixes() {
        for text in ["42", "0x2A", "0X2a", "052", "0b101010", "0B101010"] {
            assert_eq!(read_number(text), Ok(Constant::Int(42, false)), "{text}");
        }
        assert_eq!(read_number("42U"), Ok(Constant::Int(42, true)));
        assert_eq!(read_number("0x2AU"), Ok(Constant::Int(42, true)));
        assert_eq!(read_number("0"), Ok(Constant::Int(0, false)));
        assert_eq!(read_number("00"), Ok(Constant::Int(0, false)));
        let top = 0x8000_0000_0000_0000;
        assert_eq!(
            read_number("0x8000000000000000"),
            Ok(Constant::Int(top, true))
        );
    }

    #[test]
    fn exact_floats() {
        assert_eq!(
            read_number("0f3F800000"),
            Ok(Constant::F32(1.0_f32.to_bits()))
        );
        assert_eq!(
            read_number("0d3FF0000000000000"),
            Ok(Constant::F64(1.0_f64.to_bits()))
        );
        assert_eq!(
            read_number("0fbf800000"),
            Ok(Constant::F32((-1.0_f32).to_bits()))
        );
    }

    #[test]
    fn refusals() {
        let refused = |text, problem| assert_eq!(read_number(text), Err(problem), "{text}");
        refused("089", Problem::Digits(8));
        refused("12ab", Problem::Digits(10));
        refused("0x", Problem::Digits(16));
        refused("0b12", Problem::Digits(2));
        refused("99999999999999999999", Problem::TooLarge);
        refused("0f3F8", Problem::HexFloat(8));
        refused("0d3FF", Problem::HexFloat(16));
        refused("1U2", Problem::Digits(10));
    }
}
