//! Axes and filters of a product.

use super::fields::{Fields, entries, span};
use crate::condition::{Condition, Test};
use crate::spec::{Axis, AxisValue, NAMED_AXES, Product};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Span, nearest};

/// A value of the file with the place of its key.
pub struct Placed<'t> {
    /// Value of the key.
    pub value: &'t Spanned<DeValue<'t>>,
    /// Place of the key.
    pub place: Span,
}

/// Reads `axes`, `skip` and `keep` of a product.
pub fn product(fields: &mut Fields<'_, '_>) -> Product {
    let axes = match fields.table("axes") {
        Some((table, _)) => axes(table, fields),
        None => Vec::new(),
    };
    let mut conditions = |key: &str| {
        let tables = fields.tables(key);
        let read = tables
            .into_iter()
            .map(|(table, _)| condition(table, fields));
        read.collect()
    };
    Product {
        skip: conditions("skip"),
        keep: conditions("keep"),
        axes,
    }
}

/// Keys of a table and of the tables in it, whose names are joined by dots, in the order of the
/// file: `gpu.sms` without quotes is the same key as `"gpu.sms"`.
pub fn flat<'t>(table: &'t DeTable<'t>) -> Vec<(String, Placed<'t>)> {
    let mut found = Vec::new();
    for (key, value) in table {
        let name = key.get_ref();
        match super::as_table(value.get_ref()) {
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

fn axes(table: &DeTable<'_>, fields: &mut Fields<'_, '_>) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for (name, Placed { value, place }) in flat(table) {
        let values = values(&name, value, fields);
        if values.is_empty() {
            let message = format!("the axis `{name}` has no values");
            let problem = Diagnostic::error("empty-axis", place, message);
            fields.problem(problem.help("write at least one value, or leave the axis out"));
        }
        check_name(&name, &values, place, fields);
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

fn values(name: &str, value: &Spanned<DeValue<'_>>, fields: &mut Fields<'_, '_>) -> Vec<AxisValue> {
    let mut values = Vec::new();
    for entry in entries(value) {
        match super::as_table(entry.get_ref()) {
            Some(table) => values.extend(alternative(name, table, span(entry.span()), fields)),
            None => values.extend(fields.scalar(entry, name).map(|text| AxisValue {
                settings: vec![(name.to_owned(), text.clone())],
                text,
            })),
        }
    }
    values
}

/// A named alternative: `{ name = "big", gpu = "gtx480", "gpu.sms" = 15 }`.
fn alternative(
    axis: &str,
    table: &DeTable<'_>,
    place: Span,
    fields: &mut Fields<'_, '_>,
) -> Option<AxisValue> {
    let mut text = None;
    let mut settings = Vec::new();
    for (key, placed) in flat(table) {
        let value = fields.scalar(placed.value, &key)?;
        if key == "name" {
            text = Some(value);
        } else {
            check_setting(&key, placed.place, fields);
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

/// An axis of plain values is one of the named axes or a key, which has a dot.
fn check_name(name: &str, values: &[AxisValue], place: Span, fields: &mut Fields<'_, '_>) {
    let plain = |value: &AxisValue| matches!(value.settings.as_slice(), [(key, _)] if key == name);
    if values.iter().any(plain) {
        check_setting(name, place, fields);
    }
}

fn check_setting(name: &str, place: Span, fields: &mut Fields<'_, '_>) {
    let known = || NAMED_AXES.iter().map(|(name, _)| *name);
    if name.contains('.') || known().any(|known| known == name) {
        return;
    }
    let help = match nearest(name, known()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "write {}, a key such as \"gpu.sms\", or alternatives with names and settings",
            known().collect::<Vec<_>>().join(", ")
        ),
    };
    let message = format!("`{name}` is neither a setting of a run nor a key");
    fields.problem(Diagnostic::error("unknown-axis", place, message).help(help));
}

fn check_twice(name: &str, values: &[AxisValue], place: Span, fields: &mut Fields<'_, '_>) {
    let mut seen = std::collections::BTreeSet::new();
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
        all.map(|(name, _)| name.clone())
            .collect::<std::collections::BTreeSet<_>>()
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

fn condition(table: &DeTable<'_>, fields: &mut Fields<'_, '_>) -> Condition {
    let mut tests = Vec::new();
    for (name, Placed { value, place }) in flat(table) {
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
