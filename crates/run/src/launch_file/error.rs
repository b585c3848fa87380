//! Everything that is wrong with a user's files.

use std::fmt;
use warploom_diag::{Diagnostic, Diagnostics, Source, Style};

/// Problems of one or more texts, or a file that cannot be read.
#[derive(Clone, Debug)]
pub enum InputErrors {
    /// A file that cannot be read; the text says which, why, and what to do.
    Unreadable(String),
    /// The module's PTX was refused; the text holds every problem with its place.
    Module(String),
    /// Problems with their places.
    Located(Box<Source>, Diagnostics),
}

impl InputErrors {
    /// The problems drawn one after the other, ending with a line break.
    pub fn render(&self, style: Style) -> String {
        match self {
            Self::Unreadable(message) => format!("error: {message}\n"),
            Self::Module(problems) => problems.clone(),
            Self::Located(source, diagnostics) => diagnostics.render(source, style),
        }
    }

    /// `Err` with the problems if there are errors among them.
    pub(crate) fn check(source: &Source, diagnostics: Diagnostics) -> Result<(), Self> {
        match diagnostics.has_errors() {
            true => Err(Self::Located(Box::new(source.clone()), diagnostics)),
            false => Ok(()),
        }
    }

    pub(crate) fn one(source: &Source, diagnostic: Diagnostic) -> Self {
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(diagnostic);
        Self::Located(Box::new(source.clone()), diagnostics)
    }
}

impl fmt::Display for InputErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Style::Plain).trim_end())
    }
}

impl std::error::Error for InputErrors {}
