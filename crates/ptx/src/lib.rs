//! PTX text: lexer, syntax tree, parser, printer, checks. Knows no IR.
//!
//! [`parse`] reads whatever can be read and says what cannot; [`check()`] looks for what the tree
//! says wrongly; [`print()`] writes the tree as text again. [`load`] is the first two together, and
//! [`read`] tells apart which function is concerned.
//!
//! Source: PTX ISA up to 9.0. Invariants: no input makes any of them panic; time is linear in the
//! length of the input; for a text without errors, `parse(print(parse(text))) == parse(text)`.
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

/// Reads and checks a file: the module and its warnings. What an old version or target of PTX
/// leaves to be understood, such as the rounding of `mad.f32` for `sm_13`, is written out in the
/// module.
///
/// # Errors
/// Everything that is wrong with the text; the checks run only on what reads without an error.
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

/// Reads and checks a file: what could be read, and what is wrong with the file or with single
/// functions. Functions that cannot be read are not checked. Old PTX is written out as by [`load`].
pub fn read(source: &Source) -> (ast::Module, Problems) {
    let (mut module, mut problems) = parser::parse_apart(source);
    legacy::modernise(&mut module);
    if !problems.file.has_errors() {
        check::check_apart(&module, &mut problems);
    }
    (module, problems)
}
