//! Formatted output of `printf` in kernels. The rules are those of C (ISO C, "The fprintf
//! function") as far as CUDA adopts them, with glibc's output where C leaves it open. According to
//! the CUDA C++ Programming Guide ("Formatted Output"), the host formats the text, and at most 32
//! arguments are used. A directive whose arguments exceed them is printed unchanged.

use crate::inst::Exec;
use std::ops::Range;

/// Maximum number of arguments.
const MOST_ARGUMENTS: u32 = 32;
/// Maximum width of a field and maximum precision. Larger values are reduced, so that the text
/// remains bounded.
const LONGEST: usize = u16::MAX as usize;

/// Source of the arguments of a `printf`.
pub(crate) trait Arguments {
    /// Reads the next argument, of 4 or 8 bytes.
    fn next(&mut self, bytes: u64) -> Exec<u64>;
    /// Reads a string up to its terminating zero, at most `most` bytes.
    fn string(&mut self, address: u64, most: usize) -> Exec<Vec<u8>>;
}

/// A conversion directive of a format, which begins with `%`.
#[derive(Clone, Debug, Default)]
struct Directive {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zeros: bool,
    width: Option<Count>,
    precision: Option<Count>,
    /// Size of an integer argument in bytes.
    size: u64,
    conversion: u8,
}

/// Field width or precision in a directive.
#[derive(Clone, Copy, Debug)]
enum Count {
    Given(usize),
    /// The value is the next argument (`*`).
    Argument,
}

/// Formats a text. Returns it with the number of arguments used.
pub(crate) fn format(text: &[u8], arguments: &mut impl Arguments) -> Exec<(Vec<u8>, u32)> {
    let (mut out, mut taken) = (Vec::with_capacity(text.len()), 0);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if byte != b'%' {
            out.push(byte);
            at += 1;
            continue;
        }
        let (directive, range) = parse(text, at);
        at = range.end;
        let needs = directive.as_ref().map_or(0, Directive::arguments);
        match directive {
            Some(directive) if taken + needs <= MOST_ARGUMENTS => {
                directive.write(arguments, &mut out)?;
                taken += needs;
            }
            _ => out.extend_from_slice(&text[range]),
        }
    }
    Ok((out, taken))
}

/// Parses the directive at a `%`. Returns it with its range in the text, or without a directive if
/// it is unknown.
fn parse(text: &[u8], start: usize) -> (Option<Directive>, Range<usize>) {
    let mut at = start + 1;
    let mut directive = Directive {
        size: 4,
        ..Directive::default()
    };
    while let Some(flag) = text.get(at) {
        match flag {
            b'-' => directive.left = true,
            b'+' => directive.plus = true,
            b' ' => directive.space = true,
            b'#' => directive.alternate = true,
            b'0' => directive.zeros = true,
            _ => break,
        }
        at += 1;
    }
    directive.width = count(text, &mut at);
    if text.get(at) == Some(&b'.') {
        at += 1;
        directive.precision = Some(count(text, &mut at).unwrap_or(Count::Given(0)));
    }
    directive.size = size(text, &mut at);
    let Some(&conversion) = text.get(at) else {
        return (None, start..at);
    };
    directive.conversion = conversion;
    let known = b"diouxXcspnfFeEgGaA%".contains(&conversion);
    (known.then_some(directive), start..at + 1)
}

/// Parses a field width or a precision.
fn count(text: &[u8], at: &mut usize) -> Option<Count> {
    if text.get(*at) == Some(&b'*') {
        *at += 1;
        return Some(Count::Argument);
    }
    let mut number = None;
    while let Some(digit) = text.get(*at).filter(|byte| byte.is_ascii_digit()) {
        let so_far = number.unwrap_or(0) * 10 + usize::from(digit - b'0');
        number = Some(so_far.min(LONGEST));
        *at += 1;
    }
    number.map(Count::Given)
}

/// Size in bytes of the integer that a directive's length modifier denotes. `long` has the size of
/// 64-bit Linux.
fn size(text: &[u8], at: &mut usize) -> u64 {
    let mut size = 4;
    while let Some(letter) = text.get(*at) {
        size = match (letter, size) {
            (b'h', 2) => 1,
            (b'h', _) => 2,
            (b'l' | b'L' | b'q' | b'j' | b'z' | b't', _) => 8,
            _ => break,
        };
        *at += 1;
    }
    size
}

impl Directive {
    /// Number of arguments that the directive uses.
    fn arguments(&self) -> u32 {
        let counts = [self.width, self.precision];
        let given = |count: &&Option<Count>| matches!(count, Some(Count::Argument));
        let own = u32::from(self.conversion != b'%');
        own + counts.iter().filter(given).count() as u32
    }

    /// Reads the arguments of the directive and appends its text.
    fn write(mut self, arguments: &mut impl Arguments, out: &mut Vec<u8>) -> Exec {
        let width = match self.width {
            None => 0,
            Some(Count::Given(width)) => width,
            Some(Count::Argument) => {
                let width = arguments.next(4)? as i32;
                self.left |= width < 0;
                (width.unsigned_abs() as usize).min(LONGEST)
            }
        };
        let precision = match self.precision {
            None => None,
            Some(Count::Given(precision)) => Some(precision),
            // A negative precision counts as absent.
            Some(Count::Argument) => {
                let precision = arguments.next(4)? as i32;
                usize::try_from(precision).ok().map(|p| p.min(LONGEST))
            }
        };
        let (prefix, body) = match self.conversion {
            b'%' => return self.plain(0, vec![b'%'], out),
            b'n' => return arguments.next(8).map(drop),
            b'c' => {
                let byte = arguments.next(4)? as u8;
                return self.plain(width, vec![byte], out);
            }
            b's' => {
                let address = arguments.next(8)?;
                let text = string(address, precision, arguments)?;
                return self.plain(width, text, out);
            }
            b'p' => match arguments.next(8)? {
                0 => return self.plain(width, b"(nil)".to_vec(), out),
                address => ("0x".to_owned(), format!("{address:x}")),
            },
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' => {
                self.zeros &= precision.is_none();
                let value = arguments.next(self.size.max(4))?;
                self.integer(value, precision)
            }
            _ => {
                let value = f64::from_bits(arguments.next(8)?);
                self.zeros &= value.is_finite();
                self.float(value, precision)
            }
        };
        let missing = width.saturating_sub(prefix.len() + body.len());
        let (before, zeros, after) = match (self.left, self.zeros) {
            (true, _) => (0, 0, missing),
            (_, true) => (0, missing, 0),
            _ => (missing, 0, 0),
        };
        out.extend(std::iter::repeat_n(b' ', before));
        out.extend(prefix.bytes());
        out.extend(std::iter::repeat_n(b'0', zeros));
        out.extend(body.bytes());
        out.extend(std::iter::repeat_n(b' ', after));
        Ok(())
    }

    /// Appends a text, padded to the width of its field.
    fn plain(&self, width: usize, text: Vec<u8>, out: &mut Vec<u8>) -> Exec {
        let missing = std::iter::repeat_n(b' ', width.saturating_sub(text.len()));
        if self.left {
            out.extend(text.into_iter().chain(missing))
        } else {
            out.extend(missing.chain(text))
        }
        Ok(())
    }

    /// Sign of a number, as the flags of the directive require.
    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (.., true) => " ",
            _ => "",
        }
    }

    /// Sign or base prefix, and digits, of an integer.
    fn integer(&self, raw: u64, precision: Option<usize>) -> (String, String) {
        let unused = 64 - 8 * self.size as u32;
        let unsigned = raw << unused >> unused;
        let signed = (raw << unused) as i64 >> unused;
        let (mut prefix, mut digits) = match self.conversion {
            b'o' => (String::new(), format!("{unsigned:o}")),
            b'u' => (String::new(), unsigned.to_string()),
            b'x' => ("0x".to_owned(), format!("{unsigned:x}")),
            b'X' => ("0X".to_owned(), format!("{unsigned:X}")),
            _ => (
                self.sign(signed < 0).to_owned(),
                signed.unsigned_abs().to_string(),
            ),
        };
        let hexadecimal = matches!(self.conversion, b'x' | b'X');
        if hexadecimal && (!self.alternate || unsigned == 0) {
            prefix.clear();
        }
        if unsigned == 0 && precision == Some(0) {
            digits.clear();
        }
        let missing = precision.unwrap_or(1).saturating_sub(digits.len());
        digits.insert_str(0, &"0".repeat(missing));
        if self.conversion == b'o' && self.alternate && !digits.starts_with('0') {
            digits.insert(0, '0');
        }
        (prefix, digits)
    }

    /// Sign or base prefix, and digits, of a floating-point number.
    fn float(&self, value: f64, precision: Option<usize>) -> (String, String) {
        let mut prefix = self.sign(value.is_sign_negative()).to_owned();
        let size = value.abs();
        let mut digits = match self.conversion.to_ascii_lowercase() {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => "inf".to_owned(),
            b'f' => fixed(size, precision.unwrap_or(6), self.alternate),
            b'e' => scientific(size, precision.unwrap_or(6), self.alternate),
            b'g' => shorter(size, precision.unwrap_or(6), self.alternate),
            _ => {
                prefix.push_str("0x");
                hexadecimal(size, precision, self.alternate)
            }
        };
        if self.conversion.is_ascii_uppercase() {
            prefix.make_ascii_uppercase();
            digits.make_ascii_uppercase();
        }
        (prefix, digits)
    }
}

fn string(address: u64, precision: Option<usize>, arguments: &mut impl Arguments) -> Exec<Vec<u8>> {
    const NULL: &[u8] = b"(null)";
    match (address, precision) {
        // A null pointer is printed completely or not at all, as in glibc.
        (0, Some(0..=5)) => Ok(Vec::new()),
        (0, _) => Ok(NULL.to_vec()),
        _ => arguments.string(address, precision.unwrap_or(usize::MAX)),
    }
}

/// Digits of the conversion `%f`.
fn fixed(value: f64, precision: usize, alternate: bool) -> String {
    let point = if alternate && precision == 0 { "." } else { "" };
    format!("{value:.precision$}{point}")
}

/// Digits and decimal exponent.
fn rounded(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}

/// Digits followed by an exponent of at least `width` digits.
fn with_exponent(digits: &str, letter: char, exponent: i32, width: usize) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}{letter}{sign}{:0width$}", exponent.unsigned_abs())
}

/// Digits of the conversion `%e`.
fn scientific(value: f64, precision: usize, alternate: bool) -> String {
    let (mut digits, exponent) = rounded(value, precision);
    if alternate && precision == 0 {
        digits.push('.');
    }
    with_exponent(&digits, 'e', exponent, 2)
}

/// Digits of `%g`: fixed or scientific notation by C's rule, without trailing zeros.
fn shorter(value: f64, precision: usize, alternate: bool) -> String {
    let precision = precision.max(1);
    let (digits, exponent) = rounded(value, precision - 1);
    let trim = |digits: String| {
        if digits.contains('.') && !alternate {
            digits
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        } else {
            digits
        }
    };
    let point = |digits: String| {
        if alternate && !digits.contains('.') {
            digits + "."
        } else {
            digits
        }
    };
    if (-4..precision as i64).contains(&i64::from(exponent)) {
        let behind = (precision as i64 - 1 - i64::from(exponent)) as usize;
        return point(trim(format!("{value:.behind$}")));
    }
    with_exponent(&point(trim(digits)), 'e', exponent, 2)
}

/// Digits of `%a` after its `0x`. The digit before the point is 0 for subnormal numbers.
fn hexadecimal(value: f64, precision: Option<usize>, alternate: bool) -> String {
    const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    const DIGITS: usize = FRACTION as usize / 4;
    let bits = value.to_bits();
    let (fraction, field) = (bits & ((1 << FRACTION) - 1), (bits >> FRACTION) as i32);
    let normal = field != 0;
    let exponent = if value == 0.0 {
        0
    } else {
        field.max(1) - (f64::MAX_EXP - 1)
    };
    let mut whole = u64::from(normal) << FRACTION | fraction;
    let mut places = DIGITS;
    if let Some(precision) = precision.filter(|p| *p < DIGITS) {
        let cut = 4 * (DIGITS - precision) as u32;
        let (rest, half) = (whole & ((1 << cut) - 1), 1 << (cut - 1));
        whole >>= cut;
        whole += u64::from(rest > half || rest == half && whole & 1 == 1);
        places = precision;
    }
    let first = whole >> (4 * places);
    let behind = whole & ((1 << (4 * places)) - 1);
    let mut digits = match places {
        0 => String::new(),
        _ => format!("{behind:0places$x}"),
    };
    match precision {
        None => digits.truncate(digits.trim_end_matches('0').len()),
        Some(precision) => digits.push_str(&"0".repeat(precision.saturating_sub(digits.len()))),
    }
    let point = if alternate || !digits.is_empty() {
        "."
    } else {
        ""
    };
    with_exponent(&format!("{first}{point}{digits}"), 'p', exponent, 1)
}

#[cfg(test)]
mod tests;
