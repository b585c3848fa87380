//! Source text, spans and diagnostics with a caret and a remedy.
//!
//! A reader of user input (PTX, TOML) collects [`Diagnostic`]s into [`Diagnostics`] while it goes
//! on reading, and whoever owns the terminal renders them. Nothing here prints.
//!
//! Invariants: offsets are bytes, lines and columns count from 1, columns count characters. A
//! span that points outside its text or into the middle of a character is moved, never a panic.

mod diagnostic;
mod hint;
mod render;
mod source;

pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity};
pub use hint::nearest;
pub use render::Style;
pub use source::{Position, Source, SourceError, Span};
