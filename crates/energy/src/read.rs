//! Reading an energy preset from TOML.
//!
//! ```toml
//! name = "mine"                   # optional: otherwise that of the file
//! base = "qv100"                  # optional: whatever is not written here is as there
//! about = "One sentence."
//! gated_lanes = true              # inactive lanes use no energy
//! sms = 80                        # SMs that static powers are for
//! volts = 1.0                     # supply voltage of all values
//!
//! [scale]                         # with a base: its values times these, see `Scale`
//! events = 0.52
//!
//! [picojoules]                    # an event each, see `Event::ALL`
//! l1d_read_hit = 356.94
//!
//! [watts]                         # a `Power` each
//! constant = 32.3
//!
//! [static.int_fp]                 # a `UnitMix` each; those that are absent are as `other`
//! first_lane_w = 18.6
//! added_lane_w = 0.65
//! ```

use crate::event::Event;
use crate::preset::{EnergyPreset, PRESETS, Power, find};
use crate::scale::Scale;
use crate::static_power::{StaticPower, UnitMix};
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Diagnostics, Source, Span, Style, nearest};

/// Everything wrong with an energy preset, each problem with its place.
#[derive(Clone, Debug)]
pub struct EnergyErrors {
    pub(crate) source: Source,
    pub(crate) problems: Diagnostics,
}

impl EnergyErrors {
    /// The problems as text, with the lines that they are in.
    pub fn render(&self, style: Style) -> String {
        self.problems.render(&self.source, style)
    }
}

impl fmt::Display for EnergyErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Style::Plain).trim_end())
    }
}

impl std::error::Error for EnergyErrors {}

/// Reads a preset. Without a name in the text its name is the source's.
///
/// # Errors
/// Every problem of the text: no TOML, unknown or missing keys, values that are no numbers.
pub fn read(source: &Source) -> Result<EnergyPreset, EnergyErrors> {
    let mut reader = Reader::default();
    let preset = reader.preset(source);
    match (preset, reader.problems.has_errors()) {
        (Some(preset), false) => Ok(preset),
        _ => {
            reader.problems.sort();
            Err(EnergyErrors {
                source: source.clone(),
                problems: reader.problems,
            })
        }
    }
}

#[derive(Default)]
struct Reader {
    problems: Diagnostics,
}

/// A table of numbers by key, with the places of its keys.
type Numbers = Vec<(String, Span, f64)>;

impl Reader {
    fn problem(&mut self, code: &'static str, place: Span, message: String, help: String) {
        let problem = Diagnostic::error(code, place, message).help(help);
        self.problems.push(problem);
    }

    fn preset(&mut self, source: &Source) -> Option<EnergyPreset> {
        let (document, errors) = DeTable::parse_recoverable(source.text());
        for error in &errors {
            let place = error.span().map_or(Span::default(), span);
            let help = "an energy preset is TOML: `key = value` lines under `[table]` headers";
            self.problem(
                "bad-toml",
                place,
                error.message().to_owned(),
                help.to_owned(),
            );
        }
        if !errors.is_empty() {
            return None;
        }
        let table = document.get_ref();
        self.known(table);
        let base = self.base(table);
        let mut preset = base.clone().unwrap_or_else(empty);
        source.name().clone_into(&mut preset.name);
        self.header(table, &mut preset);
        self.scale(table, &mut preset, base.is_some());
        self.events(table, &mut preset, base.is_some());
        self.powers(table, &mut preset, base.is_some());
        self.statics(table, &mut preset);
        Some(preset)
    }

    fn known(&mut self, table: &DeTable<'_>) {
        let known = [
            "name",
            "base",
            "about",
            "gated_lanes",
            "sms",
            "volts",
            "scale",
            "picojoules",
            "watts",
            "static",
        ];
        for (key, _) in table.iter() {
            let (name, place) = (key.get_ref().as_ref(), span(key.span()));
            if !known.contains(&name) {
                self.unknown(name, place, &known);
            }
        }
    }

    fn unknown(&mut self, name: &str, place: Span, known: &[&str]) {
        let help = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write one of {}", known.join(", ")),
        };
        self.problem(
            "unknown-key",
            place,
            format!("there is no key `{name}`"),
            help,
        );
    }

    fn base(&mut self, table: &DeTable<'_>) -> Option<EnergyPreset> {
        let value = table.get("base")?;
        let found = value.get_ref().as_str().and_then(find);
        if found.is_none() {
            let names: Vec<&str> = PRESETS.iter().map(|row| row.name).collect();
            let help = format!("write one of {}", names.join(", "));
            let message = "`base` is not the name of an energy preset".to_owned();
            self.problem("unknown-preset", span(value.span()), message, help);
        }
        found
    }

    fn header(&mut self, table: &DeTable<'_>, preset: &mut EnergyPreset) {
        let text = |key: &str| table.get(key).and_then(|value| value.get_ref().as_str());
        if let Some(name) = text("name") {
            name.clone_into(&mut preset.name);
        }
        if let Some(about) = text("about") {
            about.clone_into(&mut preset.about);
        }
        if let Some(value) = table.get("gated_lanes") {
            match value.get_ref() {
                DeValue::Boolean(gated) => preset.gated_lanes = *gated,
                _ => self.wrong("gated_lanes", span(value.span()), "true or false"),
            }
        }
        if let Some(value) = table.get("sms") {
            match number(value.get_ref()).filter(|sms| *sms >= 1.0 && sms.fract() == 0.0) {
                Some(sms) => preset.sms = sms as u32,
                None => self.wrong("sms", span(value.span()), "a whole number, at least 1"),
            }
        }
        if let Some(value) = table.get("volts") {
            match number(value.get_ref()).filter(|volts| *volts > 0.0) {
                Some(volts) => preset.volts = volts,
                None => self.wrong("volts", span(value.span()), "a number above 0"),
            }
        }
    }

    fn wrong(&mut self, key: &str, place: Span, wanted: &str) {
        let message = format!("`{key}` must be {wanted}");
        self.problem("wrong-value", place, message, format!("write {wanted}"));
    }

    /// The numbers of a table; none if it is not there.
    fn numbers(&mut self, table: &DeTable<'_>, known: &[&str]) -> Numbers {
        let mut numbers = Numbers::new();
        for (key, value) in table.iter() {
            let (name, place) = (key.get_ref().as_ref(), span(key.span()));
            if !known.contains(&name) {
                self.unknown(name, place, known);
                continue;
            }
            match number(value.get_ref()).filter(|number| number.is_finite() && *number >= 0.0) {
                Some(number) => numbers.push((name.to_owned(), place, number)),
                None => self.wrong(name, span(value.span()), "a finite number, at least 0"),
            }
        }
        numbers
    }

    /// Scales the values of the base.
    fn scale(&mut self, document: &DeTable<'_>, preset: &mut EnergyPreset, has_base: bool) {
        let Some(value) = document.get("scale") else {
            return;
        };
        let place = span(value.span());
        if !has_base {
            let help = "name the preset whose values it scales as `base`".to_owned();
            let message = "`scale` needs a base".to_owned();
            return self.problem("missing-key", place, message, help);
        }
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong("scale", place, "a table");
        };
        for (key, _, factor) in self.numbers(table, &Scale::ALL.map(Scale::key)) {
            let scale = Scale::ALL.into_iter().find(|scale| scale.key() == key);
            if let Some(scale) = scale {
                scale.apply(factor, preset);
            }
        }
    }

    fn events(&mut self, table: &DeTable<'_>, preset: &mut EnergyPreset, has_base: bool) {
        let keys: Vec<&str> = Event::ALL.iter().map(|event| event.key).collect();
        let numbers = self.table(table, "picojoules", &keys, has_base);
        for (at, key) in keys.iter().enumerate() {
            if let Some((_, _, pj)) = numbers.iter().find(|(name, ..)| name == key) {
                preset.joules[at] = pj * 1e-12;
            }
        }
    }

    fn powers(&mut self, table: &DeTable<'_>, preset: &mut EnergyPreset, has_base: bool) {
        let keys = Power::ALL.map(Power::key);
        let numbers = self.table(table, "watts", &keys, has_base);
        for (at, key) in keys.iter().enumerate() {
            if let Some((_, _, watts)) = numbers.iter().find(|(name, ..)| name == key) {
                preset.watts[at] = *watts;
            }
        }
    }

    /// A table of numbers that has all keys, unless there is a base.
    fn table(
        &mut self,
        document: &DeTable<'_>,
        name: &str,
        keys: &[&str],
        has_base: bool,
    ) -> Numbers {
        let value = document.get(name);
        let place = value.map_or(Span::default(), |value| span(value.span()));
        let numbers = match value.map(|value| value.get_ref()) {
            Some(DeValue::Table(table)) => self.numbers(table, keys),
            Some(_) => {
                self.wrong(name, place, "a table");
                return Numbers::new();
            }
            None => Numbers::new(),
        };
        let is_missing = |key: &&&str| !numbers.iter().any(|(name, ..)| name == **key);
        let missing: Vec<&str> = keys.iter().filter(is_missing).copied().collect();
        if !has_base && !missing.is_empty() {
            let message = format!("`{name}` lacks {}", missing.join(", "));
            let help = "write them, or name a `base` that has them".to_owned();
            self.problem("missing-key", place, message, help);
        }
        numbers
    }

    fn statics(&mut self, document: &DeTable<'_>, preset: &mut EnergyPreset) {
        let Some(value) = document.get("static") else {
            return;
        };
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong("static", span(value.span()), "a table of tables");
        };
        let known = UnitMix::ALL.map(UnitMix::key);
        let mut written = [None; UnitMix::ALL.len()];
        for (key, value) in table.iter() {
            let (name, place) = (key.get_ref().as_ref(), span(key.span()));
            match known.iter().position(|known| *known == name) {
                Some(at) => written[at] = self.pair(name, value),
                None => self.unknown(name, place, &known),
            }
        }
        let other = written[UnitMix::Other as usize];
        for (power, written) in preset.statics.iter_mut().zip(written) {
            *power = written.or(other).unwrap_or(*power);
        }
    }

    /// Static power of one kind of work.
    fn pair(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Option<StaticPower> {
        let DeValue::Table(pair) = value.get_ref() else {
            self.wrong(name, span(value.span()), "a table");
            return None;
        };
        let numbers = self.numbers(pair, &["first_lane_w", "added_lane_w"]);
        let of = |key: &str| numbers.iter().find(|(name, ..)| name == key);
        Some(StaticPower {
            first_lane_w: of("first_lane_w").map_or(0.0, |(_, _, watts)| *watts),
            added_lane_w: of("added_lane_w").map_or(0.0, |(_, _, watts)| *watts),
        })
    }
}

fn empty() -> EnergyPreset {
    EnergyPreset {
        name: String::new(),
        about: String::new(),
        gated_lanes: true,
        sms: 1,
        volts: 1.0,
        joules: vec![0.0; Event::ALL.len()],
        watts: [0.0; Power::ALL.len()],
        statics: [StaticPower::default(); UnitMix::ALL.len()],
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => number.as_str().parse().ok(),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

fn span(range: std::ops::Range<usize>) -> Span {
    Span::new(range.start as u32, range.end as u32)
}
