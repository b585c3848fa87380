//! Instructions: guard, mnemonic, modifiers, operands (PTX ISA 4.3.2 and chapter 9).

use super::{Parsed, Parser, shortened};
use crate::ast::{Guard, Instruction, Operand, Spanned};
use crate::lexer::Kind;
use crate::tokens::{Modifier, Opcode, ScalarType, Space};
use warploom_diag::{Diagnostic, Span, nearest};

impl Parser<'_> {
    /// One instruction with its semicolon. An unknown modifier is reported and left out, so that
    /// the operands are still looked at.
    pub(super) fn instruction(&mut self) -> Parsed<Instruction> {
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
        if self.diagnostics.is_full() {
            return self.error(Diagnostic::error("unknown-instruction", span, ""));
        }
        let names = Opcode::ALL.iter().map(|opcode| opcode.text());
        let hint = match nearest(text, names) {
            Some(name) => format!("did you mean `{name}`?"),
            None => "instructions are spelled in lower case, as in the PTX ISA manual".to_owned(),
        };
        let message = format!("there is no instruction `{}`", shortened(text));
        let diagnostic = Diagnostic::error("unknown-instruction", span, message);
        self.error(diagnostic.label("unknown instruction").help(hint))
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
        if self.diagnostics.is_full() {
            self.error(Diagnostic::error("unknown-modifier", span, ""));
            return;
        }
        let plain: Vec<String> = Modifier::PLAIN.iter().map(|m| m.to_string()).collect();
        let types = ScalarType::ALL.iter().map(|ty| ty.text());
        let spaces = Space::ALL.iter().map(|space| space.text());
        let names = types.chain(spaces).chain(plain.iter().map(|m| &m[1..]));
        let hint = match nearest(text, names) {
            Some(name) => format!("did you mean `.{name}`?"),
            None => "remove it, or see the PTX ISA manual for what the instruction takes".into(),
        };
        let message = format!("there is no modifier `.{}`", shortened(text));
        let diagnostic = Diagnostic::error("unknown-modifier", span, message);
        self.error(diagnostic.label("unknown modifier").help(hint));
    }

    /// The operands; `.unified`, which the manual puts behind an address, joins the modifiers.
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

    /// Nothing that could be an operand follows. A word on a later line is the next statement of
    /// an instruction without operands whose semicolon is missing.
    fn at_end_of_instruction(&self) -> bool {
        match self.peek() {
            Kind::Semicolon | Kind::CloseBrace | Kind::End => true,
            Kind::At => self.at_new_line(),
            _ => false,
        }
    }
}
