//! An energy preset as TOML text that reads back as the preset.

use crate::event::Event;
use crate::preset::{EnergyPreset, Power};
use crate::static_power::UnitMix;
use std::fmt::Write;

impl EnergyPreset {
    /// The preset as TOML without a base. Values read back within rounding to 12 digits.
    pub fn to_toml(&self) -> String {
        self.to_toml_with(&|_| None)
    }

    /// The preset as TOML with a source beside values: `source` gets the key of a value, such as
    /// `flit`, `constant` or `static.int_fp`.
    pub(crate) fn to_toml_with(&self, source: &dyn Fn(&str) -> Option<String>) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "name = {}", quoted(&self.name));
        let _ = writeln!(text, "about = {}", quoted(&self.about));
        let _ = writeln!(text, "gated_lanes = {}", self.gated_lanes);
        let _ = writeln!(text, "sms = {}", self.sms);
        line(&mut text, "volts", self.volts, None);
        text += "\n[picojoules]\n";
        for (event, joules) in Event::ALL.iter().zip(&self.joules) {
            line(&mut text, event.key, joules * 1e12, source(event.key));
        }
        text += "\n[watts]\n";
        for (power, watts) in Power::ALL.iter().zip(self.watts) {
            line(&mut text, power.key(), watts, source(power.key()));
        }
        for (mix, power) in UnitMix::ALL.iter().zip(&self.statics) {
            let _ = write!(text, "\n[static.{}]", mix.key());
            match source(&format!("static.{}", mix.key())) {
                Some(source) => text += &format!(" # {source}\n"),
                None => text.push('\n'),
            }
            line(&mut text, "first_lane_w", power.first_lane_w, None);
            line(&mut text, "added_lane_w", power.added_lane_w, None);
        }
        text
    }
}

/// Writes a key with its value and, where there is one, its source.
fn line(text: &mut String, key: &str, value: f64, source: Option<String>) {
    let _ = match source {
        Some(source) => writeln!(
            text,
            "{:<34}# {source}",
            format!("{key} = {}", digits(value))
        ),
        None => writeln!(text, "{key} = {}", digits(value)),
    };
}

/// A number with at most 12 significant digits and a decimal point or an exponent.
fn digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.11e}").parse().unwrap_or(value);
    format!("{rounded:?}")
}

/// A text as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
