//! Input of GPGPU-Sim's lines: counters since the run began, and number formats of C.

use std::collections::BTreeMap;
use warploom_stats::result::{ConfigValue, Counts, Figures, Parts, accumulate};

/// Counters of a kernel, or of the kernels so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub cycles: u64,
    pub instructions: u64,
    pub whole: Counts,
    pub parts: Parts,
}

impl Tally {
    pub fn add(&mut self, figures: &Figures) {
        self.cycles += figures.cycles;
        self.instructions += figures.thread_instructions;
        accumulate(&mut self.whole, &figures.statistics);
        if let Some(parts) = &figures.parts {
            add_each(&mut self.parts.sms, &parts.sms);
            add_each(&mut self.parts.banks, &parts.banks);
            add_each(&mut self.parts.channels, &parts.channels);
            add_each(&mut self.parts.networks, &parts.networks);
        }
    }

    /// Value of a counter of the whole machine.
    pub fn get(&self, name: &str) -> u64 {
        get(&self.whole, name)
    }
}

fn add_each(sums: &mut Vec<Counts>, more: &[Counts]) {
    sums.resize(sums.len().max(more.len()), Counts::new());
    for (sum, more) in sums.iter_mut().zip(more) {
        accumulate(sum, more);
    }
}

/// Value of a counter. Results omit those that are 0.
pub(super) fn get(counts: &Counts, name: &str) -> u64 {
    counts.get(name).copied().unwrap_or(0)
}

/// Configuration of the machine by key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config<'a>(pub &'a BTreeMap<String, ConfigValue>);

impl Config<'_> {
    /// Value of a numeric key, or 0 if it is not a number.
    pub fn number(&self, key: &str) -> f64 {
        match self.0.get(key) {
            Some(ConfigValue::Integer(value)) => *value as f64,
            Some(ConfigValue::Float(value)) => *value,
            _ => 0.0,
        }
    }

    pub fn is(&self, key: &str, value: &str) -> bool {
        self.0.get(key) == Some(&ConfigValue::Text(value.to_owned()))
    }

    pub fn is_on(&self, key: &str) -> bool {
        self.0.get(key) == Some(&ConfigValue::Bool(true))
    }
}

/// A quotient in single precision, as GPGPU-Sim computes it.
pub(super) fn single(part: u64, whole: u64) -> f64 {
    f64::from(part as f32 / whole as f32)
}

/// A quotient in double precision.
pub(super) fn double(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// The format `%width.decimals f` of C. On x86, C prints 0/0 as negative.
pub(super) fn f(value: f64, width: usize, decimals: usize) -> String {
    match value {
        v if v.is_nan() => format!("{:>width$}", "-nan"),
        v => format!("{v:width$.decimals$}"),
    }
}

/// The format `%.digits g` of C: significant digits, without trailing zeros, as a power of ten if
/// that is shorter.
pub(super) fn g(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "-nan".to_owned();
    }
    if value == 0.0 || value.is_infinite() {
        return value.to_string();
    }
    let scientific = format!("{value:.*e}", digits - 1);
    let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    if power < -4 || power >= digits as i32 {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", shortest(mantissa), power.abs());
    }
    let decimals = (digits as i32 - 1 - power) as usize;
    shortest(&format!("{value:.decimals$}")).to_owned()
}

/// Removes zeros at the end of the decimals.
fn shortest(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::{f, g};

    /// Expected texts are those of C's printf.
    #[test]
    fn numbers_are_written_as_in_c() {
        let four = |value| g(value, 4);
        let texts = [0.95135, 0.0009184, 0.00001, 1.0, 12346.0, 0.0, 100.0].map(four);
        let expected = ["0.9514", "0.0009184", "1e-05", "1", "1.235e+04", "0", "100"];
        assert_eq!(texts, expected);
        assert_eq!(g(31.25, 6), "31.25");
        assert_eq!(f(256.8331, 12, 4), "    256.8331");
        assert_eq!(
            (f(f64::NAN, 0, 3), g(f64::NAN, 4)),
            ("-nan".into(), "-nan".into())
        );
    }
}
