//! PTX text: lexer, syntax tree, parser, printer, checks. Knows no IR.

pub mod ast;
mod check;
mod forms;
mod lexer;
mod parser;
mod printer;
pub mod special;
pub mod tokens;

pub use check::check;
pub use parser::parse;
pub use printer::print;
