//! Source text, spans and diagnostics with a caret and a remedy.
//!
//! A reader of user input (PTX, TOML) collects [`Diagnostic`]s in [`Diagnostics`] and continues to
//! read. The program that owns the terminal renders them. Nothing in this crate prints.
//!
//! Invariants: offsets are in bytes; lines and columns are numbered from 1; columns count
//! characters. A span that points outside its text, or into the middle of a character, is moved to
//! a valid place and never causes a panic.

mod diagnostic;
mod hint;
mod render;
mod source;

pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity};
pub use hint::{nearest, nearest_by_words};
pub use render::Style;
pub use source::{Position, Source, SourceError, Span};
