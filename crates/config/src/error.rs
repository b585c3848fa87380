//! Errors of a configuration: all problems, each with its place, the line and a remedy.

use std::fmt;
use warploom_diag::{Diagnostic, Source, Style};

/// Problems for which a configuration was refused, in the order of the texts.
#[derive(Clone, Debug)]
pub struct ConfigErrors {
    pub(crate) sources: Vec<Source>,
    /// Problems with the index of their text.
    pub(crate) problems: Vec<(usize, Diagnostic)>,
}

/// Name of the text of an override.
pub(crate) const OVERRIDE: &str = "--set";

impl ConfigErrors {
    pub(crate) fn new(sources: Vec<Source>, mut problems: Vec<(usize, Diagnostic)>) -> Self {
        let place = |(source, problem): &(usize, Diagnostic)| (*source, problem.primary.span.start);
        problems.sort_by_key(place);
        Self { sources, problems }
    }

    /// The same problems, with the option `name` as the place of overrides.
    #[must_use]
    pub fn of_option(mut self, name: &str) -> Self {
        for source in &mut self.sources {
            if source.name() == OVERRIDE {
                *source = Source::new(name, source.text());
            }
        }
        self
    }

    /// Adds further messages about the same texts.
    pub(crate) fn with(self, more: Vec<(usize, Diagnostic)>) -> Self {
        let problems = self.problems.into_iter().chain(more);
        Self::new(self.sources, problems.collect())
    }

    /// Renders all problems, each ending with a line break.
    pub fn render(&self, style: Style) -> String {
        let mut text = String::new();
        for (i, (source, problem)) in self.problems.iter().enumerate() {
            if i > 0 {
                text.push('\n');
            }
            text.push_str(&problem.render(&self.sources[*source], style));
            text.push('\n');
        }
        text
    }

    /// Iterates over the problems in order.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.problems.iter().map(|(_, problem)| problem)
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Style::Plain).trim_end())
    }
}

impl std::error::Error for ConfigErrors {}
