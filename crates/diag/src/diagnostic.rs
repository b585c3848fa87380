//! Diagnostics: what is wrong with an input, where, and what to do about it.

use crate::Span;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is accepted, but probably not as intended.
    Warning,
}

/// Place in a text with a short explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Place that the label marks.
    pub span: Span,
    /// Explanation of the place; may be empty.
    pub text: String,
}

/// A problem in a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Severity of the problem.
    pub severity: Severity,
    /// Stable short name of the kind of problem, such as `undefined-name`; for tests and searches.
    pub code: &'static str,
    /// Description of the problem: one line without a full stop.
    pub message: String,
    /// Place of the problem.
    pub primary: Label,
    /// Other places that explain it, such as the first declaration of a duplicate.
    pub secondary: Vec<Label>,
    /// Remedies, one line each.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// Creates an error: the input cannot be used.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, span, message.into())
    }

    /// Creates a warning: the input can be used nevertheless.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, span, message.into())
    }

    fn new(severity: Severity, code: &'static str, span: Span, message: String) -> Self {
        let primary = Label {
            span,
            text: String::new(),
        };
        Self {
            severity,
            code,
            message,
            primary,
            secondary: Vec::new(),
            help: Vec::new(),
        }
    }

    /// Sets the explanation of the primary place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds another place with an explanation.
    #[must_use]
    pub fn and(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label {
            span,
            text: text.into(),
        });
        self
    }

    /// Adds a remedy to the diagnostic.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Adds a remedy, if there is one.
    #[must_use]
    pub fn maybe_help(self, text: Option<String>) -> Self {
        match text {
            Some(text) => self.help(text),
            None => self,
        }
    }
}

/// Collection of diagnostics in the order in which they were found. It keeps the first
/// [`Diagnostics::LIMIT`] and counts the rest, so that memory stays bounded for any input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    dropped: usize,
    errors: usize,
}

impl Diagnostics {
    /// Largest number of diagnostics that are kept.
    pub const LIMIT: usize = 200;

    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a diagnostic to the list.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.errors += usize::from(diagnostic.severity == Severity::Error);
        if self.kept.len() < Self::LIMIT {
            self.kept.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Appends all diagnostics of another collection.
    pub fn append(&mut self, other: Self) {
        let errors = self.errors + other.errors;
        let dropped = self.dropped + other.dropped;
        let room = Self::LIMIT.saturating_sub(self.kept.len());
        self.dropped = dropped + other.kept.len().saturating_sub(room);
        self.kept.extend(other.kept.into_iter().take(room));
        self.errors = errors;
    }

    /// True if a further diagnostic would only be counted, so that hints for it would be wasted.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= Self::LIMIT
    }

    /// Sorts the diagnostics by place in the text; those of one place keep their order.
    pub fn sort(&mut self) {
        self.kept
            .sort_by_key(|diagnostic| diagnostic.primary.span.start);
    }

    /// True if there is an error: the input cannot be used.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Number of errors, including dropped ones.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// True if the collection is empty.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Iterates over the diagnostics that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.kept.iter()
    }

    /// Number of diagnostics that were found but not kept.
    pub fn dropped(&self) -> usize {
        self.dropped
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: T) {
        diagnostics
            .into_iter()
            .for_each(|diagnostic| self.push(diagnostic));
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<T: IntoIterator<Item = Diagnostic>>(diagnostics: T) -> Self {
        let mut all = Self::new();
        all.extend(diagnostics);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::{Diagnostic, Diagnostics};
    use crate::Span;

    fn error(start: u32) -> Diagnostic {
        Diagnostic::error("test", Span::new(start, start + 1), "wrong")
    }

    #[test]
    fn keeps_the_first_and_counts_all() {
        let mut all: Diagnostics = (0..Diagnostics::LIMIT as u32 + 7).map(error).collect();
        assert_eq!((all.iter().count(), all.dropped()), (Diagnostics::LIMIT, 7));
        all.append((0..3).map(error).collect());
        assert_eq!(
            (all.iter().count(), all.dropped()),
            (Diagnostics::LIMIT, 10)
        );
        assert_eq!(all.error_count(), Diagnostics::LIMIT + 10);
    }

    #[test]
    fn warnings_are_no_errors() {
        let mut all = Diagnostics::new();
        all.push(Diagnostic::warning("test", Span::default(), "odd"));
        assert!(!all.has_errors() && !all.is_empty());
    }

    #[test]
    fn sorts_by_place() {
        let mut all: Diagnostics = [error(5), error(1)].into_iter().collect();
        all.sort();
        let starts: Vec<u32> = all.iter().map(|d| d.primary.span.start).collect();
        assert_eq!(starts, [1, 5]);
    }
}
