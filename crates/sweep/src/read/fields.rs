//! Typed access to a table of a sweep's file. Each problem becomes a diagnostic with its place, and
//! reading continues.

use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Diagnostics, Span, nearest};

/// Place of a range in the text.
pub fn span(range: Range<usize>) -> Span {
    Span::new(range.start as u32, range.end as u32)
}

/// A table of the document with its permitted keys.
pub struct Fields<'t, 'd> {
    table: &'t DeTable<'t>,
    place: Span,
    diagnostics: &'d mut Diagnostics,
}

impl<'t, 'd> Fields<'t, 'd> {
    /// A table whose keys must all be in `allowed`. `what` names it in messages.
    pub fn new(
        table: &'t DeTable<'t>,
        place: Span,
        what: &str,
        allowed: &[&str],
        diagnostics: &'d mut Diagnostics,
    ) -> Self {
        for key in table
            .keys()
            .filter(|key| !allowed.contains(&key.get_ref().as_ref()))
        {
            let name = key.get_ref();
            let hint = match nearest(name, allowed.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("{what} takes {}", allowed.join(", ")),
            };
            let message = format!("{what} has no key `{name}`");
            diagnostics
                .push(Diagnostic::error("unknown-key", span(key.span()), message).help(hint));
        }
        Self {
            table,
            place,
            diagnostics,
        }
    }

    /// Problems found so far, for tables inside of this one.
    pub fn diagnostics(&mut self) -> &mut Diagnostics {
        self.diagnostics
    }

    /// Adds a problem to the diagnostics.
    pub fn problem(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    /// Place of a key's value, or of the table if the key is absent.
    pub fn place(&self, key: &str) -> Span {
        self.get(key).map_or(self.place, |value| span(value.span()))
    }

    fn wrong(&mut self, value: &Spanned<DeValue<'_>>, key: &str, wanted: &str) {
        let kind = value.get_ref().type_str();
        let message = format!("`{key}` is a value of type {kind}");
        let place = span(value.span());
        self.problem(
            Diagnostic::error("wrong-type", place, message).help(format!("write {wanted}")),
        );
    }

    /// Value of an optional text.
    pub fn optional_text(&mut self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong(value, key, "a text in quotes");
        }
        text
    }

    /// Texts of an optional list; one text is a list of one.
    pub fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.get(key) else {
            return Vec::new();
        };
        let mut texts = Vec::new();
        for entry in entries(value) {
            match entry.get_ref().as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong(entry, key, "texts in quotes"),
            }
        }
        texts
    }

    /// An optional table with its place.
    pub fn table(&mut self, key: &str) -> Option<(&'t DeTable<'t>, Span)> {
        let value = self.get(key)?;
        let table = super::as_table(value.get_ref());
        if table.is_none() {
            self.wrong(value, key, &format!("`[{key}]` above its keys"));
        }
        table.map(|table| (table, span(value.span())))
    }

    /// Tables of an optional list, with their places.
    pub fn tables(&mut self, key: &str) -> Vec<(&'t DeTable<'t>, Span)> {
        let Some(value) = self.get(key) else {
            return Vec::new();
        };
        let mut tables = Vec::new();
        for entry in entries(value) {
            match super::as_table(entry.get_ref()) {
                Some(table) => tables.push((table, span(entry.span()))),
                None => self.wrong(entry, key, &format!("`[[{key}]]` above its keys")),
            }
        }
        tables
    }

    /// Value of an optional whole number.
    pub fn whole(&mut self, key: &str, min: u64, max: u64) -> Option<u64> {
        let value = self.get(key)?;
        let number = match value.get_ref() {
            DeValue::Integer(int) => u64::from_str_radix(int.as_str(), int.radix()).ok(),
            _ => None,
        };
        let number = number.filter(|number| (min..=max).contains(number));
        if number.is_none() {
            self.wrong(value, key, &format!("a whole number from {min} to {max}"));
        }
        number
    }

    /// Value of an optional text of a whole number and a unit, in the unit of factor 1.
    pub fn measured(&mut self, key: &str, example: &str, units: &[(&str, u64)]) -> Option<u64> {
        let text = self.optional_text(key)?;
        let of = |(unit, factor): &(&str, u64)| {
            let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            number.checked_mul(*factor).filter(|value| *value > 0)
        };
        let found = units.iter().find_map(of);
        if found.is_none() {
            let names: Vec<_> = units.iter().map(|(unit, _)| *unit).collect();
            let place = self.place(key);
            let message = format!("`{text}` is not a whole number with a unit");
            let help = format!("write {example}; the units are {}", names.join(", "));
            self.problem(Diagnostic::error("impossible-value", place, message).help(help));
        }
        found
    }

    /// Text of a single value of an axis.
    pub fn scalar(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<String> {
        let text = match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Boolean(on) => Some(on.to_string()),
            DeValue::Float(float) => Some(float.as_str().replace('_', "")),
            DeValue::Integer(int) => i128::from_str_radix(int.as_str(), int.radix())
                .ok()
                .map(|int| int.to_string()),
            _ => None,
        };
        if text.is_none() {
            self.wrong(value, key, "a text, a number, true or false");
        }
        text
    }
}

/// Entries of a list; any other value is a list of one.
pub fn entries<'t>(value: &'t Spanned<DeValue<'t>>) -> Vec<&'t Spanned<DeValue<'t>>> {
    match value.get_ref().as_array() {
        Some(array) => array.iter().collect(),
        None => vec![value],
    }
}
