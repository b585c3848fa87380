//! Directives that are kept as text (PTX ISA 11.5 and 11.7): line numbers, files, pragmas, debug
//! sections.

use super::{Parsed, Parser};
use crate::ast::Kept;
use crate::lexer::Kind;

impl Parser<'_> {
    /// Parses a kept directive, if the next token starts one.
    pub(super) fn kept_directive(&mut self) -> Parsed<Option<Kept>> {
        let first = self.next;
        match self.word() {
            ".loc" => self.location()?,
            ".file" => self.file()?,
            ".pragma" => self.pragma()?,
            ".section" => self.section()?,
            _ => return Ok(None),
        }
        Ok(Some(self.kept_since(first)))
    }

    /// Skips the rest of the line, as written: `@@DWARF` lines of old compilers.
    pub(super) fn kept_line(&mut self) -> Kept {
        let first = self.next;
        self.bump();
        while self.peek() != Kind::End && !self.at_new_line() {
            self.bump();
        }
        self.kept_since(first)
    }

    /// Parses `.loc file line column`, with `, function_name label+4, inlined_at file line column`.
    fn location(&mut self) -> Parsed<()> {
        self.bump();
        for what in ["a file number", "a line number", "a column number"] {
            self.expect(Kind::Number, what)?;
        }
        while self.peek() == Kind::Comma && self.peek_at(1) == Kind::Word {
            self.bump();
            let attribute = self.bump();
            match self.slice(attribute.span) {
                "inlined_at" => {
                    for what in ["a file number", "a line number", "a column number"] {
                        self.expect(Kind::Number, what)?;
                    }
                }
                _ => {
                    self.name("a label")?;
                    self.offset()?;
                }
            }
        }
        Ok(())
    }

    /// Parses `.file 1 "name", timestamp, size`.
    fn file(&mut self) -> Parsed<()> {
        self.bump();
        self.expect(Kind::Number, "a file number")?;
        self.expect(Kind::Text, "a file name in quotes")?;
        while self.eat(Kind::Comma) {
            self.expect(Kind::Number, "a number")?;
        }
        Ok(())
    }

    /// Parses the directive `.pragma "a", "b";`.
    fn pragma(&mut self) -> Parsed<()> {
        self.bump();
        self.expect(Kind::Text, "a pragma in quotes")?;
        while self.eat(Kind::Comma) {
            self.expect(Kind::Text, "a pragma in quotes")?;
        }
        self.semicolon()
    }

    /// Parses `.section .debug_info { ... }` without examining its content.
    fn section(&mut self) -> Parsed<()> {
        self.bump();
        if !matches!(self.peek(), Kind::Dotted | Kind::Word) {
            return self.unexpected("a section name");
        }
        self.bump();
        self.expect(Kind::OpenBrace, "`{`")?;
        let mut open = 1;
        while open > 0 {
            match self.peek() {
                Kind::OpenBrace => open += 1,
                Kind::CloseBrace => open -= 1,
                Kind::End => return self.unexpected("`}`"),
                _ => {}
            }
            self.bump();
        }
        Ok(())
    }
}
