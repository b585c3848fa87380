//! PTX text: lexer, syntax tree, parser, printer, checks.

pub mod ast;
pub mod tokens;
