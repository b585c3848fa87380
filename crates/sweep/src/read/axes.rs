//! Axes and filters of a product.

use super::{KEYS, Known, Refused};
use crate::condition::{Condition, Test};
use crate::spec::{Axis, AxisValue, NAMED_AXES, Product};
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Span, nearest};
use warploom_fields::{Fields, entries, span};

/// A value of the file with the place of its key.
pub struct Placed<'t> {
    /// Value of the key.
    pub value: &'t Spanned<DeValue<'t>>,
    /// Place of the key.
    pub place: Span,
}

/// Reads the products of a sweep, with the names that it knows.
pub struct ProductReader<'k> {
    known: Known<'k>,
    /// Names in filters with their places.
    filtered: Vec<(String, Span)>,
}

impl<'k> ProductReader<'k> {
    /// A reader that knows these names.
    pub fn new(known: Known<'k>) -> Self {
        Self {
            known,
            filtered: Vec::new(),
        }
    }

    /// Reads `axes`, `skip` and `keep` of a product.
    pub fn product(&mut self, fields: &mut Fields<'_, '_>) -> Product {
        let axes = match fields.table("axes") {
            Some((table, _)) => self.axes(table, fields),
            None => Vec::new(),
        };
        let mut conditions = |key: &str| {
            let tables = fields.tables(key).into_iter();
            let read = tables.map(|(table, _)| self.condition(table, fields));
            read.collect()
        };
        Product {
            skip: conditions("skip"),
            keep: conditions("keep"),
            axes,
        }
    }

    /// Refuses filters by names that no run has.
    pub fn check_filters(&self, products: &[Product], fields: &mut Fields<'_, '_>) {
        let axes = || products.iter().flat_map(|product| &product.axes);
        let settings = axes().flat_map(|axis| &axis.values);
        let settings = settings.flat_map(|value| &value.settings);
        let names = axes().map(|axis| axis.name.as_str());
        let names: BTreeSet<&str> = names
            .chain(settings.map(|(name, _)| name.as_str()))
            .collect();
        for (name, place) in &self.filtered {
            if names.contains(name.as_str()) {
                continue;
            }
            let help = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let all: Vec<&str> = names.iter().copied().collect();
                    format!("the runs have {}", all.join(", "))
                }
            };
            let message = format!("no run has `{name}`");
            fields.problem(Diagnostic::error("unknown-axis", *place, message).help(help));
        }
    }

    fn axes(&self, table: &DeTable<'_>, fields: &mut Fields<'_, '_>) -> Vec<Axis> {
        let mut axes: Vec<Axis> = Vec::new();
        for (name, Placed { value, place }) in flat(table) {
            let values = self.values(&name, value, fields);
            if values.is_empty() {
                let message = format!("the axis `{name}` has no values");
                let problem = Diagnostic::error("empty-axis", place, message);
                fields.problem(problem.help("write at least one value, or leave the axis out"));
            }
            let name = self.checked_name(name, &values, place, fields);
            check_twice(&name, &values, place, fields);
            axes.push(Axis {
                name,
                values,
                place,
            });
        }
        check_conflicts(&axes, fields);
        axes
    }

    fn values(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        fields: &mut Fields<'_, '_>,
    ) -> Vec<AxisValue> {
        let mut values = Vec::new();
        for entry in entries(value) {
            match entry.get_ref().as_table() {
                Some(table) => {
                    let place = span(entry.span());
                    values.extend(self.alternative(name, table, place, fields));
                }
                None => values.extend(self.value(name, entry, fields).map(|text| AxisValue {
                    settings: vec![(name.to_owned(), text.clone())],
                    text,
                })),
            }
        }
        values
    }

    /// Text of a setting's value, which is checked by itself.
    fn value(
        &self,
        name: &str,
        entry: &Spanned<DeValue<'_>>,
        fields: &mut Fields<'_, '_>,
    ) -> Option<String> {
        let text = fields.scalar(entry, name)?;
        if let Err(Refused { reason, help }) = (self.known.check)(name, &text) {
            let problem = Diagnostic::error("impossible-value", span(entry.span()), reason);
            fields.problem(help.into_iter().fold(problem, Diagnostic::help));
        }
        Some(text)
    }

    /// A named alternative: `{ name = "big", gpu = "gtx480", "gpu.sms" = 15 }`.
    fn alternative(
        &self,
        axis: &str,
        table: &DeTable<'_>,
        place: Span,
        fields: &mut Fields<'_, '_>,
    ) -> Option<AxisValue> {
        let mut text = None;
        let mut settings = Vec::new();
        for (key, placed) in flat(table) {
            if key == "name" {
                text = Some(fields.scalar(placed.value, &key)?);
            } else {
                self.check_setting(&key, placed.place, fields);
                let value = self.value(&key, placed.value, fields)?;
                settings.push((key, value));
            }
        }
        if text.is_none() {
            let message = format!("an alternative of the axis `{axis}` has no name");
            let problem = Diagnostic::error("missing-key", place, message);
            fields.problem(problem.help("write `{ name = \"big\", \"gpu.sms\" = 15 }`"));
        }
        Some(AxisValue {
            text: text?,
            settings,
        })
    }

    /// Name of an axis. One of plain values must be a setting of a run; an unknown name is reported
    /// once, here, and replaced by the one that was meant, so that the places that use the right
    /// name are not reported, too.
    fn checked_name(
        &self,
        name: String,
        values: &[AxisValue],
        place: Span,
        fields: &mut Fields<'_, '_>,
    ) -> String {
        let plain =
            |value: &AxisValue| matches!(value.settings.as_slice(), [(key, _)] if *key == name);
        if !values.iter().any(plain) {
            return name;
        }
        self.check_setting(&name, place, fields).unwrap_or(name)
    }

    /// Refuses a name that is neither a named axis nor a key, and returns the one that was meant.
    fn check_setting(
        &self,
        name: &str,
        place: Span,
        fields: &mut Fields<'_, '_>,
    ) -> Option<String> {
        let named = || NAMED_AXES.iter().map(|(name, _)| *name);
        let keys = || self.known.keys.iter().copied();
        if named().chain(keys()).any(|known| known == name) {
            return None;
        }
        let near = nearest(name, named().chain(keys()));
        let help = match near {
            _ if KEYS.contains(&name) => format!(
                "write `{name}` above `[axes]`: all that stands below `[axes]`, up to the next \
                 table, is an axis"
            ),
            Some(near) => format!("did you mean `{near}`?"),
            None if name.contains('.') => {
                "`warploom show gpu gtx480 --keys` shows all keys".to_owned()
            }
            None => format!(
                "write {}, a key such as \"gpu.sms\", or alternatives with names and settings",
                named().collect::<Vec<_>>().join(", ")
            ),
        };
        let message = format!("`{name}` is neither a setting of a run nor a key of a machine");
        fields.problem(Diagnostic::error("unknown-axis", place, message).help(help));
        near.map(str::to_owned)
    }

    fn condition(&mut self, table: &DeTable<'_>, fields: &mut Fields<'_, '_>) -> Condition {
        let mut tests = Vec::new();
        for (name, Placed { value, place }) in flat(table) {
            self.filtered.push((name.clone(), place));
            let texts: Vec<String> = entries(value)
                .into_iter()
                .filter_map(|entry| fields.scalar(entry, &name))
                .collect();
            let test = match texts.as_slice() {
                [text] => Test::read(text),
                texts => Ok(Test::OneOf(texts.to_vec())),
            };
            match test {
                Ok(test) => tests.push((name, test)),
                Err(reason) => fields.problem(
                    Diagnostic::error("bad-condition", place, reason)
                        .help("write a value, a list of values, or a comparison such as \">8\""),
                ),
            }
        }
        Condition(tests)
    }
}

/// Keys of a table and of the tables in it, whose names are joined by dots, in the order of the
/// file: `gpu.sms` without quotes is the same key as `"gpu.sms"`.
pub fn flat<'t>(table: &'t DeTable<'t>) -> Vec<(String, Placed<'t>)> {
    let mut found = Vec::new();
    for (key, value) in table {
        let name = key.get_ref();
        match value.get_ref().as_table() {
            Some(inner) => {
                let inner = flat(inner).into_iter();
                found.extend(inner.map(|(rest, placed)| (format!("{name}.{rest}"), placed)));
            }
            None => {
                let place = span(key.span());
                found.push((name.to_string(), Placed { value, place }));
            }
        }
    }
    found.sort_by_key(|(_, placed)| placed.place.start);
    found
}

fn check_twice(name: &str, values: &[AxisValue], place: Span, fields: &mut Fields<'_, '_>) {
    let mut seen = BTreeSet::new();
    let mut again = values.iter().filter(|value| !seen.insert(&value.text));
    if let Some(value) = again.next() {
        let message = format!("the axis `{name}` has the value `{}` twice", value.text);
        fields.problem(Diagnostic::error("twice", place, message).help("leave one out"));
    }
}

/// Refuses a setting that two axes make.
fn check_conflicts(axes: &[Axis], fields: &mut Fields<'_, '_>) {
    let settings = |axis: &Axis| {
        let all = axis.values.iter().flat_map(|value| &value.settings);
        all.map(|(name, _)| name.clone()).collect::<BTreeSet<_>>()
    };
    for (at, axis) in axes.iter().enumerate() {
        for earlier in &axes[..at] {
            if let Some(both) = settings(axis).intersection(&settings(earlier)).next() {
                let message = format!(
                    "the axes `{}` and `{}` both set `{both}`",
                    earlier.name, axis.name
                );
                let problem = Diagnostic::error("twice", axis.place, message);
                let problem = problem.and(earlier.place, "the other axis");
                fields.problem(problem.help("leave it out of one of them"));
            }
        }
    }
}
