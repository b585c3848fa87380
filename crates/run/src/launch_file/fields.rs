//! Typed access to a TOML table. Each problem becomes a diagnostic with its place, and reading
//! continues.

use super::element::Number;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use warploom_diag::{Diagnostic, Diagnostics, Span, nearest};

/// Place of a range in the text.
pub(crate) fn span(range: Range<usize>) -> Span {
    Span::new(range.start as u32, range.end as u32)
}

/// A table of the document, with its permitted keys.
pub(crate) struct Fields<'t, 'd> {
    table: &'t DeTable<'t>,
    /// Place of the table.
    pub span: Span,
    /// Name of the table in messages, such as `[[buffer]]`.
    what: &'static str,
    diagnostics: &'d mut Diagnostics,
}

impl<'t, 'd> Fields<'t, 'd> {
    /// A table whose keys must all be in `allowed`.
    pub fn new(
        table: &'t DeTable<'t>,
        span: Span,
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

    /// Adds a problem to the diagnostics.
    pub fn problem(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
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

    fn as_text(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.wrong(value, key, "a text in quotes");
                None
            }
        }
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
}

/// A TOML number without rounding.
pub(crate) fn number(value: &DeValue<'_>) -> Option<Number> {
    match value {
        DeValue::Integer(int) => i128::from_str_radix(int.as_str(), int.radix())
            .ok()
            .map(Number::Int),
        DeValue::Float(float) => float
            .as_str()
            .replace('_', "")
            .parse()
            .ok()
            .map(Number::Float),
        _ => None,
    }
}
