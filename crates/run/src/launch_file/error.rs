//! Errors in a user's files.

use std::fmt;
use warploom_diag::{Diagnostic, Diagnostics, Source, Style};

/// Problems of one or more texts, or a file that cannot be read.
#[derive(Clone, Debug)]
pub enum InputErrors {
    /// A file cannot be read. The text contains its path, the reason and the remedy.
    Unreadable(String),
    /// The module's PTX was refused. The text contains all problems with their places.
    Module(String),
    /// Problems with their places.
    Located(Box<Source>, Diagnostics),
}

impl InputErrors {
    /// Text of all problems, one after the other, which ends with a line break.
    pub fn render(&self, style: Style) -> String {
        match self {
            Self::Unreadable(message) => format!("error: {message}\n"),
            Self::Module(problems) => problems.clone(),
            Self::Located(source, diagnostics) => diagnostics.render(source, style),
        }
    }

    /// Returns the problems as `Err` if there are errors among them.
    pub(crate) fn check(source: &Source, diagnostics: Diagnostics) -> Result<(), Self> {
        if diagnostics.has_errors() {
            Err(Self::Located(Box::new(source.clone()), diagnostics))
        } else {
            Ok(())
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
