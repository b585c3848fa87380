//! `glibc.txt` holds what C's library writes.

use super::{Arguments, format};
use crate::inst::Exec;
use std::collections::VecDeque;

enum Value {
    Number(u64),
    Text(Vec<u8>),
}

#[derive(Default)]
struct Given(VecDeque<(u64, Value)>, Vec<u8>);

impl Arguments for Given {
    fn next(&mut self, bytes: u64) -> Exec<u64> {
        let (size, value) = self.0.pop_front().expect("an argument is left");
        assert_eq!(size, bytes);
        Ok(match value {
            Value::Number(number) => number,
            Value::Text(text) => {
                self.1 = text;
                1
            }
        })
    }

    fn string(&mut self, _: u64, most: usize) -> Exec<Vec<u8>> {
        Ok(self.1[..self.1.len().min(most)].to_vec())
    }
}

/// The value of C's `%a`.
fn double(text: &str) -> f64 {
    let (sign, size) = match text.strip_prefix('-') {
        Some(size) => (-1.0, size),
        None => (1.0, text),
    };
    let Some(hexadecimal) = size.strip_prefix("0x") else {
        return sign * size.parse::<f64>().expect("a number");
    };
    let (digits, exponent) = hexadecimal.split_once('p').expect("an exponent");
    let (whole, fraction) = digits.split_once('.').expect("a point");
    let number = u64::from_str_radix(&format!("{whole}{fraction}"), 16).expect("digits");
    let exponent = exponent.parse::<i32>().expect("a number") - 4 * fraction.len() as i32;
    // Two steps, for a power of two may be too small to be a number.
    let half = exponent / 2;
    sign * number as f64 * 2f64.powi(half) * 2f64.powi(exponent - half)
}

fn value(text: &str) -> (u64, Value) {
    let (kind, value) = text.split_once(':').expect("a kind");
    match kind {
        "i" => (
            4,
            Value::Number(u64::from(value.parse::<i32>().expect("an int") as u32)),
        ),
        "l" => (
            8,
            Value::Number(value.parse::<i64>().expect("a long") as u64),
        ),
        "f" => (8, Value::Number(double(value).to_bits())),
        _ => (8, Value::Text(value.as_bytes().to_vec())),
    }
}

fn written(text: &str, arguments: &str) -> (String, u32) {
    let values = arguments.split(' ').filter(|text| !text.is_empty());
    let mut given = Given(values.map(value).collect(), Vec::new());
    let (out, count) = format(text.as_bytes(), &mut given).expect("no fault");
    assert!(given.0.is_empty() || count == 32, "{text}: too few taken");
    (String::from_utf8_lossy(&out).into_owned(), count)
}

#[test]
fn texts_are_those_of_the_c_library() {
    let lines = include_str!("glibc.txt").lines();
    let mut count = 0;
    for line in lines.filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split('\t').collect();
        let [format, arguments, expected] = parts[..] else {
            panic!("three columns: {line}");
        };
        assert_eq!(
            written(format, arguments).0,
            expected,
            "{format} {arguments}"
        );
        count += 1;
    }
    assert!(count > 500);
}

#[test]
fn arguments_are_counted() {
    assert_eq!(written("plain\n", ""), ("plain\n".to_owned(), 0));
    assert_eq!(written("%d %*d%%", "i:1 i:3 i:2"), ("1   2%".to_owned(), 3));
    assert_eq!(written("%n.", "l:1"), (".".to_owned(), 1));
}

#[test]
fn what_is_unknown_or_too_much_stays_as_it_is() {
    assert_eq!(written("%y %", "").0, "%y %");
    assert_eq!(written("50%", "").0, "50%");
    let many = "%d".repeat(34);
    let ones = "i:1 ".repeat(34);
    assert_eq!(written(&many, &ones), ("1".repeat(32) + "%d%d", 32));
}

#[test]
fn a_string_that_is_not_there_is_told() {
    let null = |text: &str| {
        let mut given = Given([(8, Value::Number(0))].into(), Vec::new());
        String::from_utf8(format(text.as_bytes(), &mut given).expect("no fault").0)
    };
    assert_eq!(null("%s").as_deref(), Ok("(null)"));
    assert_eq!(null("%8s").as_deref(), Ok("  (null)"));
    assert_eq!(null("%.3s").as_deref(), Ok(""));
}

#[test]
fn no_field_grows_out_of_bounds() {
    assert_eq!(written("%999999999999d", "i:1").0.len(), 65_535);
    assert_eq!(written("%.*f", "i:2147483647 f:1.0").0.len(), 65_537);
}
