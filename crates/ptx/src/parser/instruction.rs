//! Instructions: guard, mnemonic, modifiers, operands (PTX ISA 4.3.2 and chapter 9).

use super::{Parsed, Parser};
use crate::ast::{Guard, Instruction, Operand, Spanned};
use crate::lexer::Kind;
use crate::tokens::{Modifier, NEWEST, Opcode, ScalarType, Space};
use warploom_diag::{Diagnostic, Span, nearest};

impl Parser<'_> {
    /// Parses an instruction with its semicolon. If the file's version is later than the
    /// vocabulary, an instruction that cannot be parsed may be right.
    pub(super) fn instruction(&mut self) -> Parsed<Instruction> {
        if self.version <= NEWEST {
            return self.known_instruction();
        }
        let first = self.span();
        let outside = std::mem::take(&mut self.diagnostics);
        let read = self.known_instruction();
        let own = std::mem::replace(&mut self.diagnostics, outside);
        match read {
            Ok(_) => self.diagnostics.append(own),
            Err(_) => {
                let message = "not supported yet: an instruction of this shape";
                let (major, minor) = NEWEST;
                self.error(
                    Diagnostic::error("not-supported", first.to(self.previous_span()), message)
                        .label(format!("not as in PTX ISA {major}.{minor}"))
                        .help(format!(
                            "the file is PTX {}.{}",
                            self.version.0, self.version.1
                        )),
                );
            }
        }
        read
    }

    /// Parses an instruction of the known vocabulary. An unknown modifier is reported and left out,
    /// so that the operands are still checked.
    fn known_instruction(&mut self) -> Parsed<Instruction> {
        let guard = self.guard()?;
        let opcode = self.opcode()?;
        let mut modifiers = self.modifiers();
        let operands = self.operands(opcode.node, &mut modifiers)?;
        self.end_statement("`,` or `;`")?;
        Ok(Instruction {
            guard,
            opcode,
            modifiers,
            operands,
        })
    }

    fn guard(&mut self) -> Parsed<Option<Guard>> {
        if !self.eat(Kind::At) {
            return Ok(None);
        }
        let negated = self.eat(Kind::Bang);
        let name = self.name("a predicate register")?;
        Ok(Some(Guard { negated, name }))
    }

    fn opcode(&mut self) -> Parsed<Spanned<Opcode>> {
        if self.peek() != Kind::Word {
            return self.unexpected("an instruction");
        }
        let (text, span) = (self.word(), self.span());
        let Some(opcode) = Opcode::from_text(text) else {
            return Err(self.unknown_opcode(text, span));
        };
        self.bump();
        Ok(Spanned { node: opcode, span })
    }

    fn unknown_opcode(&mut self, text: &str, span: Span) -> super::Abandoned {
        let names = Opcode::ALL.iter().map(|opcode| opcode.text());
        let near = match self.is_full() {
            true => None,
            false => nearest(text, names),
        };
        let hint = match near {
            Some(name) => format!("did you mean `{name}`?"),
            None => "instructions are spelled in lower case, as in the PTX ISA manual".to_owned(),
        };
        self.unknown_word("unknown-instruction", span, "instruction", hint)
    }

    fn modifiers(&mut self) -> Vec<Spanned<Modifier>> {
        let mut modifiers = Vec::with_capacity(2);
        while self.peek() == Kind::Dotted {
            let span = self.bump().span;
            let text = &self.slice(span)[1..];
            match Modifier::from_text(text) {
                Some(node) => modifiers.push(Spanned { node, span }),
                None => self.unknown_modifier(text, span),
            }
        }
        modifiers
    }

    fn unknown_modifier(&mut self, text: &str, span: Span) {
        let near = match self.is_full() {
            true => None,
            false => nearest_modifier(text),
        };
        let hint = match near {
            Some(name) => format!("did you mean `.{name}`?"),
            None => "remove it, or see the PTX ISA manual for what the instruction takes".into(),
        };
        self.unknown_word("unknown-modifier", span, "modifier", hint);
    }

    /// Parses the operands. `.unified`, which the manual writes after an address, joins the
    /// modifiers.
    fn operands(
        &mut self,
        opcode: Opcode,
        modifiers: &mut Vec<Spanned<Modifier>>,
    ) -> Parsed<Vec<Spanned<Operand>>> {
        let mut operands = Vec::new();
        if self.at_end_of_instruction() {
            return Ok(operands);
        }
        operands.reserve_exact(3);
        loop {
            operands.push(self.operand(opcode == Opcode::Call)?);
            if self.at_directive(".unified") {
                let span = self.bump().span;
                modifiers.push(Spanned {
                    node: Modifier::Unified,
                    span,
                });
            }
            if !self.eat(Kind::Comma) {
                return Ok(operands);
            }
        }
    }

    /// True if no operand follows. A word on a later line is the next statement, after an
    /// instruction without operands whose semicolon is missing.
    fn at_end_of_instruction(&self) -> bool {
        match self.peek() {
            Kind::Semicolon | Kind::CloseBrace | Kind::End => true,
            Kind::At => self.at_new_line(),
            _ => false,
        }
    }
}

/// Known spelling, without its dot, that is most similar to a text.
fn nearest_modifier(text: &str) -> Option<String> {
    let plain: Vec<String> = Modifier::PLAIN.iter().map(|m| m.to_string()).collect();
    let types = ScalarType::ALL.iter().map(|ty| ty.text());
    let spaces = Space::ALL.iter().map(|space| space.text());
    let names = types.chain(spaces).chain(plain.iter().map(|m| &m[1..]));
    nearest(text, names).map(str::to_owned)
}
