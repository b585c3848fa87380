//! Typed access to the tables of a TOML document that a user wrote. Each problem becomes a
//! diagnostic with its place and a remedy, and reading continues.
//!
//! A reader parses the document, makes [`Fields`] of each table with the keys that it permits, and
//! asks for values by their keys.

mod number;

use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Diagnostics, Span, nearest};

pub use number::{Number, number};

/// Place of a range in the text.
pub fn span(range: Range<usize>) -> Span {
    Span::new(range.start as u32, range.end as u32)
}

/// Entries of a list; any other value is a list of one.
pub fn entries<'t>(value: &'t Spanned<DeValue<'t>>) -> Vec<&'t Spanned<DeValue<'t>>> {
    match value.get_ref().as_array() {
        Some(array) => array.iter().collect(),
        None => vec![value],
    }
}

/// A table of a document with its place.
pub type PlacedTable<'t> = (&'t DeTable<'t>, Span);

/// A table of the document with its permitted keys.
pub struct Fields<'t, 'd> {
    table: &'t DeTable<'t>,
    span: Span,
    /// Name of the table in messages, such as `[[buffer]]`.
    what: &'static str,
    diagnostics: &'d mut Diagnostics,
}

impl<'t, 'd> Fields<'t, 'd> {
    /// A table whose keys must all be in `allowed`. `what` names it in messages.
    pub fn new(
        (table, span): PlacedTable<'t>,
        what: &'static str,
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
            let place = self::span(key.span());
            diagnostics.push(Diagnostic::error("unknown-key", place, message).help(hint));
        }
        Self {
            table,
            span,
            what,
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

    /// Place of the table.
    pub fn span(&self) -> Span {
        self.span
    }

    /// Value of an optional key.
    pub fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    /// Place of a key's value, or of the table if the key is absent.
    pub fn place(&self, key: &str) -> Span {
        self.get(key).map_or(self.span, |value| span(value.span()))
    }

    /// Value of a required key.
    pub fn required(&mut self, key: &str, example: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        let value = self.get(key);
        if value.is_none() {
            let message = format!("{} without `{key}`", self.what);
            let help = format!("write `{key} = {example}`");
            self.problem(Diagnostic::error("missing-key", self.span, message).help(help));
        }
        value
    }

    /// Reports a value of the wrong type.
    pub fn wrong(&mut self, value: &Spanned<DeValue<'_>>, key: &str, wanted: &str) {
        let kind = value.get_ref().type_str();
        let message = format!("`{key}` is a value of type {kind}");
        let place = span(value.span());
        self.problem(
            Diagnostic::error("wrong-type", place, message).help(format!("write {wanted}")),
        );
    }

    /// Value of a required string.
    pub fn text(&mut self, key: &str, example: &str) -> Option<String> {
        let value = self.required(key, example)?;
        self.as_text(value, key)
    }

    /// Value of an optional string.
    pub fn optional_text(&mut self, key: &str) -> Option<String> {
        self.as_text(self.get(key)?, key)
    }

    /// Texts of an optional list, each with its place; one text is a list of one.
    pub fn texts(&mut self, key: &str) -> Vec<(String, Span)> {
        let listed = self.get(key).map_or(Vec::new(), entries).into_iter();
        let text = |entry: &Spanned<DeValue<'_>>| {
            let text = self.as_text(entry, key)?;
            Some((text, span(entry.span())))
        };
        listed.filter_map(text).collect()
    }

    fn as_text(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.wrong(value, key, "a text in quotes");
                None
            }
        }
    }

    /// Text of a value that is a text, a number, true or false.
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

    /// Value of an optional number.
    pub fn number(&mut self, key: &str) -> Option<Number> {
        let value = self.get(key)?;
        let number = number(value.get_ref());
        if number.is_none() {
            self.wrong(value, key, "a number");
        }
        number
    }

    /// Value of an optional integer from `min` to `max`.
    pub fn integer(&mut self, key: &str, min: i128, max: i128) -> Option<i128> {
        let value = self.get(key)?;
        match number(value.get_ref()) {
            Some(Number::Int(int)) if (min..=max).contains(&int) => Some(int),
            _ => {
                let message = format!("`{key}` is not a whole number from {min} to {max}");
                let problem = Diagnostic::error("impossible-value", span(value.span()), message);
                self.problem(problem.help(format!("write a number from {min} to {max}")));
                None
            }
        }
    }

    /// Value of an optional text that consists of a whole number and a unit, in the unit of factor
    /// 1.
    pub fn measured(&mut self, key: &str, example: &str, units: &[(&str, u64)]) -> Option<u64> {
        let text = self.optional_text(key)?;
        let of = |(unit, factor): &(&str, u64)| {
            let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            number.checked_mul(*factor).filter(|value| *value > 0)
        };
        let found = units.iter().find_map(of);
        if found.is_none() {
            let names: Vec<_> = units.iter().map(|(unit, _)| *unit).collect();
            let message = format!("`{text}` is not a whole number with a unit");
            let help = format!("write {example}; the units are {}", names.join(", "));
            let problem = Diagnostic::error("impossible-value", self.place(key), message);
            self.problem(problem.help(help));
        }
        found
    }

    /// An optional table with its place.
    pub fn table(&mut self, key: &str) -> Option<PlacedTable<'t>> {
        let value = self.get(key)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wrong(value, key, &format!("`[{key}]` above its keys"));
        }
        table.map(|table| (table, span(value.span())))
    }

    /// Tables of an optional list, with their places.
    pub fn tables(&mut self, key: &str) -> Vec<PlacedTable<'t>> {
        let Some(value) = self.get(key) else {
            return Vec::new();
        };
        let Some(array) = value.get_ref().as_array() else {
            self.no_tables(value, key);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for entry in array.iter() {
            match entry.get_ref().as_table() {
                Some(table) => tables.push((table, span(entry.span()))),
                None => self.no_tables(entry, key),
            }
        }
        tables
    }

    fn no_tables(&mut self, value: &Spanned<DeValue<'_>>, key: &str) {
        let message = format!("`{key}` is not a list of tables");
        let problem = Diagnostic::error("wrong-type", span(value.span()), message);
        self.problem(problem.help(format!("write `[[{key}]]` above its keys")));
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, Number};
    use toml::de::DeTable;
    use warploom_diag::{Diagnostics, Source, Span, Style};

    /// Calls `ask` with the table of a document, and gives the problems.
    fn problems(text: &str, ask: impl FnOnce(&mut Fields<'_, '_>)) -> String {
        let document = DeTable::parse(text).unwrap();
        let mut diagnostics = Diagnostics::new();
        let top = (document.get_ref(), Span::default());
        let allowed = ["n", "t", "list", "table"];
        ask(&mut Fields::new(top, "a test", &allowed, &mut diagnostics));
        diagnostics.render(&Source::new("t.toml", text), Style::Plain)
    }

    #[test]
    fn values_are_read_without_rounding() {
        let text = "n = 0xffff_ffff_ffff_ffff\nt = \"3m\"\nlist = [\"a\", \"b\"]";
        let told = problems(text, |fields| {
            assert_eq!(fields.number("n"), Some(Number::Int(u64::MAX.into())));
            assert_eq!(
                fields.measured("t", "1m", &[("s", 1), ("m", 60)]),
                Some(180)
            );
            let texts = fields.texts("list").into_iter().map(|(text, _)| text);
            assert_eq!(texts.collect::<Vec<_>>(), ["a", "b"]);
            assert_eq!(fields.integer("table", 0, 1), None);
        });
        assert_eq!(told, "");
    }

    #[test]
    fn every_problem_has_its_place_and_a_remedy() {
        let text = "n = 9\nt = 5\nlist = [\"a\", 7]\ntbale = {}\ntable = {}\n";
        let told = problems(text, |fields| {
            assert_eq!(fields.integer("n", 1, 8), None);
            assert_eq!(fields.optional_text("t"), None);
            assert_eq!(fields.texts("list").len(), 1);
            assert!(fields.tables("table").is_empty());
        });
        for part in [
            "t.toml:1:5",
            "`n` is not a whole number from 1 to 8",
            "t.toml:2:5",
            "`t` is a value of type integer",
            "t.toml:3:14",
            "t.toml:4:1",
            "did you mean `table`?",
            "t.toml:5:9",
            "write `[[table]]` above its keys",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
}
