//! Reasons for the refusal of a kernel.

use warploom_diag::{Diagnostic, Span};

/// Result of lowering a part.
pub(crate) type Res<T> = Result<T, Box<Diagnostic>>;

/// Error for a part of PTX that the simulator does not execute.
pub(crate) fn unsupported(span: Span, what: &str) -> Box<Diagnostic> {
    let message = format!("not supported yet: {what}");
    Box::new(Diagnostic::error("not-supported", span, message))
}

/// Error for text that is not PTX.
pub(crate) fn invalid(code: &'static str, span: Span, message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, span, message))
}

/// Error for text that is not PTX, with a remedy.
pub(crate) fn invalid_help(
    code: &'static str,
    span: Span,
    message: String,
    help: impl Into<String>,
) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(code, span, message).help(help))
}
