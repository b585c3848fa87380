//! PTX text: lexer, syntax tree, parser, printer and checks. The crate does not know the IR.
//!
//! [`parse`] parses as much of a text as possible and reports the rest. [`check()`] finds errors in
//! the tree, such as unknown names. [`print()`] writes the tree as text again. [`load`] parses and
//! checks a file as a whole; [`read`] does the same and lists problems by function.
//!
//! Source: PTX ISA up to 9.0. Invariants: no input causes a panic; the time is linear in the length
//! of the input; for a text without errors, `parse(print(parse(text))) == parse(text)`.
//!
//! ```
//! use warploom_diag::{Source, Style};
//!
//! let source = Source::new(
//!     "kernel.ptx",
//!     ".version 8.0\n.target sm_75\n.visible .entry k() { .reg .b32 r; mov.u32 r, %tidx; }",
//! );
//! let diagnostics = warploom_ptx::load(&source).unwrap_err();
//! let text = diagnostics.render(&source, Style::Plain);
//! assert!(text.contains("kernel.ptx:3:47"), "{text}");
//! assert!(text.contains("did you mean `%tid.x`?"), "{text}");
//! ```

pub mod access;
mod address_size;
pub mod ast;
mod check;
pub mod forms;
mod legacy;
mod lexer;
mod parser;
mod printer;
mod problems;
pub mod special;
pub mod tokens;

pub use check::check;
pub use parser::parse;
pub use printer::print;
pub use problems::Problems;

use warploom_diag::{Diagnostics, Source};

/// Parses and checks a file. Returns the module and its warnings. Defaults of old versions and
/// targets of PTX, such as the rounding of `mad.f32` for `sm_13`, are written out in the module.
///
/// # Errors
/// Returns every problem of the text. The checks run only if the text parses without an error.
pub fn load(source: &Source) -> Result<(ast::Module, Diagnostics), Diagnostics> {
    let (mut module, mut diagnostics) = parse(source);
    legacy::modernise(&mut module);
    if !diagnostics.has_errors() {
        diagnostics.append(check(&module));
    }
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    Ok((module, diagnostics))
}

/// Parses and checks a file. Returns the module as far as it could be parsed, and the problems of
/// the file and of single functions. Functions with a syntax error are not checked. Defaults of old
/// PTX are written out as by [`load`].
pub fn read(source: &Source) -> (ast::Module, Problems) {
    let (mut module, mut problems) = parser::parse_apart(source);
    legacy::modernise(&mut module);
    if !problems.file.has_errors() {
        check::check_apart(&module, &mut problems);
    }
    (module, problems)
}
