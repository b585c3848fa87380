//! Function bodies: labels, declarations, instructions, blocks, call tables, kept directives.

use super::{Parsed, Parser};
use crate::ast::{Body, CallPrototype, Name, Statement};
use crate::lexer::Kind;
use crate::tokens::ScalarType;
use warploom_diag::{Diagnostic, Span, nearest};

/// Directives that may start a statement, for hints.
const STATEMENTS: &[&str] = &[
    ".reg", ".local", ".shared", ".param", ".loc", ".pragma", ".const", ".global",
];

impl Parser<'_> {
    /// Parses `{ ... }`. A missing closing brace is reported at the opening one.
    pub(super) fn body(&mut self) -> Parsed<Body> {
        let open = self.expect(Kind::OpenBrace, "`{`")?.span;
        let mut statements = Vec::new();
        while !self.eat(Kind::CloseBrace) {
            if self.peek() == Kind::End || (self.peek() == Kind::Dotted && self.at_function()) {
                self.report_unclosed(open);
                break;
            }
            let before = self.next;
            if self.statement(&mut statements).is_err() {
                self.skip_statement(before);
            }
            if self.next == before {
                // No token was taken, as at a stray closing parenthesis: skip it.
                self.bump();
            }
        }
        Ok(Body { statements })
    }

    fn report_unclosed(&mut self, open: Span) {
        let place = self.span();
        self.error(
            Diagnostic::error("unclosed-brace", place, "missing `}`")
                .label("expected `}` before this")
                .and(open, "opened here")
                .help("close the body with `}`"),
        );
    }

    fn statement(&mut self, out: &mut Vec<Statement>) -> Parsed<()> {
        let statement = match self.peek() {
            Kind::Word if self.peek_at(1) == Kind::Colon => self.labelled()?,
            Kind::At if self.peek_at(1) == Kind::At => Statement::Kept(self.kept_line()),
            Kind::Word | Kind::At => Statement::Instruction(self.instruction()?),
            Kind::OpenBrace => Statement::Block(self.nested(Self::body)?),
            Kind::Dotted if self.at_variable() => {
                out.extend(self.variables()?.into_iter().map(Statement::Variable));
                return Ok(());
            }
            Kind::Dotted => match self.kept_directive()? {
                Some(kept) => Statement::Kept(kept),
                None => {
                    let what = "a directive that can stand in a body";
                    return Err(self.unknown_directive(STATEMENTS, what));
                }
            },
            Kind::Semicolon => return Err(self.stray_semicolon()),
            _ => return self.unexpected("a statement"),
        };
        out.push(statement);
        Ok(())
    }

    /// Reports an empty statement. Its semicolon stays: skipping the statement takes it.
    fn stray_semicolon(&mut self) -> super::Abandoned {
        let span = self.span();
        self.error(
            Diagnostic::error("stray-semicolon", span, "empty statement")
                .label("no statement before this")
                .help("remove the `;`"),
        )
    }

    /// Parses a label, with its call table if there is one.
    fn labelled(&mut self) -> Parsed<Statement> {
        let name = self.name("a label")?;
        self.bump();
        if self.eat_directive(".branchtargets") {
            let names = self.name_list("a label")?;
            return Ok(Statement::BranchTargets(name, names));
        }
        if self.eat_directive(".calltargets") {
            let names = self.name_list("a function")?;
            return Ok(Statement::CallTargets(name, names));
        }
        if self.eat_directive(".callprototype") {
            return Ok(Statement::CallPrototype(self.call_prototype(name)?));
        }
        Ok(Statement::Label(name))
    }

    fn name_list(&mut self, what: &str) -> Parsed<Vec<Name>> {
        let mut names = vec![self.name(what)?];
        while self.eat(Kind::Comma) {
            names.push(self.name(what)?);
        }
        self.semicolon()?;
        Ok(names)
    }

    /// Parses `(.param .b32 _) _ (.param .b32 _) .noreturn;`.
    fn call_prototype(&mut self, name: Name) -> Parsed<CallPrototype> {
        let returns = if self.peek() == Kind::OpenParen {
            self.parameters()?
        } else {
            Vec::new()
        };
        if !self.eat(Kind::Underscore) {
            self.name("`_`")?;
        }
        let params = if self.peek() == Kind::OpenParen {
            self.parameters()?
        } else {
            Vec::new()
        };
        let mut no_return = false;
        while self.peek() == Kind::Dotted {
            // `.abi_preserve` and `.abi_preserve_control` guide register allocation only.
            match self.word() {
                ".noreturn" => {
                    self.bump();
                    no_return = true;
                }
                ".abi_preserve" | ".abi_preserve_control" => {
                    self.bump();
                    self.integer("a number of registers")?;
                }
                _ => return self.unexpected("`;`"),
            }
        }
        self.semicolon()?;
        Ok(CallPrototype {
            name,
            returns,
            params,
            no_return,
        })
    }

    pub(super) fn unknown_directive(&mut self, known: &[&str], what: &str) -> super::Abandoned {
        let (text, span) = (self.word(), self.span());
        let is_type = ScalarType::from_text(&text[1..]).is_some();
        let hint = match nearest(text, known.iter().copied()) {
            _ if is_type => format!("start with the state space, e.g. `.global {text}`"),
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("known here: {}", known.join(" ")),
        };
        let message = format!("`{text}` is not {what}");
        self.bump();
        self.error(
            Diagnostic::error("unknown-directive", span, message)
                .label("unknown")
                .help(hint),
        )
    }
}
