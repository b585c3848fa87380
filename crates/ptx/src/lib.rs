//! PTX text: lexer, syntax tree, parser, printer, checks. Knows no IR.

pub mod ast;
pub mod tokens;
