//! Parser: tokens into the syntax tree, by recursive descent with recovery.
//!
//! Source: PTX ISA chapters 4 (syntax), 5.4 (variables), 10.2 and 11 (directives); where the manual
//! is silent, the behaviour of NVIDIA's assembler.
//!
//! Invariants: every problem is a diagnostic, and parsing continues, usually at the next statement.
//! Nesting is bounded by [`MAX_DEPTH`], so that no input can exhaust the stack. Every loop consumes
//! a token or ends, so that the time is linear in the length of the text.

mod constant;
mod directive;
mod function;
mod instruction;
mod literal;
mod module;
mod operand;
mod statement;
mod variable;

use crate::ast::{Kept, Module, Name, Spanned};
use crate::lexer::{Kind, Token, Unknown, tokenize};
use crate::problems::Problems;
use crate::tokens::NEWEST;
use warploom_diag::{Diagnostic, Diagnostics, Source, Span};

/// Deepest nesting of braces, parentheses and operators that is parsed.
const MAX_DEPTH: u32 = 64;

/// Most characters of a word that a message quotes.
const MAX_QUOTED: usize = 60;

/// Parses a PTX file.
///
/// The module holds whatever could be parsed. It has the meaning of the text only if the
/// diagnostics contain no error.
pub fn parse(source: &Source) -> (Module, Diagnostics) {
    let (module, problems) = parse_apart(source);
    (module, problems.together())
}

/// Parses a PTX file and lists problems by function. A function whose header has an error has only
/// its name.
pub(crate) fn parse_apart(source: &Source) -> (Module, Problems) {
    let mut parser = Parser {
        text: source.text(),
        tokens: tokenize(source.text()),
        next: 0,
        depth: 0,
        version: (0, 0),
        diagnostics: Diagnostics::new(),
        found: 0,
        problems: Problems::default(),
    };
    let module = parser.module();
    let mut problems = parser.problems;
    problems.file = parser.diagnostics;
    (module, problems)
}

/// Beginning of a word that is too long to quote as a whole.
fn shortened(word: &str) -> std::borrow::Cow<'_, str> {
    match word.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}...", &word[..end]).into(),
        None => word.into(),
    }
}

/// Error: the rest of the construct cannot be parsed, and a diagnostic has been reported. A caller
/// that can resume catches it.
pub(crate) struct Abandoned;

type Parsed<T> = Result<T, Abandoned>;

struct Parser<'s> {
    text: &'s str,
    tokens: Vec<Token>,
    next: usize,
    depth: u32,
    /// Version from the directive `.version`.
    version: (u32, u32),
    /// Problems of the function that is being parsed, or of the file.
    diagnostics: Diagnostics,
    /// Number of problems that were reported in all functions.
    found: usize,
    /// Problems of the functions parsed earlier.
    problems: Problems,
}

impl<'s> Parser<'s> {
    fn token(&self) -> Token {
        self.tokens[self.next]
    }

    fn peek(&self) -> Kind {
        self.token().kind
    }

    /// Kind of the token `ahead` places after the next one.
    fn peek_at(&self, ahead: usize) -> Kind {
        let last = self.tokens.len() - 1;
        self.tokens[(self.next + ahead).min(last)].kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// Span of the token that was taken last.
    fn previous_span(&self) -> Span {
        self.next
            .checked_sub(1)
            .map_or(Span::default(), |index| self.tokens[index].span)
    }

    fn slice(&self, span: Span) -> &'s str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Text of the next token.
    fn word(&self) -> &'s str {
        self.slice(self.span())
    }

    /// Takes the next token; the `End` is never consumed.
    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != Kind::End {
            self.next += 1;
        }
        token
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    /// Takes the directive `text` (with its dot) if it is the next token.
    fn eat_directive(&mut self, text: &str) -> bool {
        let found = self.at_directive(text);
        if found {
            self.bump();
        }
        found
    }

    fn at_directive(&self, text: &str) -> bool {
        self.peek() == Kind::Dotted && self.word() == text
    }

    fn expect(&mut self, kind: Kind, what: &str) -> Parsed<Token> {
        if self.peek() == kind {
            Ok(self.bump())
        } else {
            self.unexpected(what)
        }
    }

    fn error(&mut self, diagnostic: Diagnostic) -> Abandoned {
        self.found += 1;
        self.diagnostics.push(diagnostic);
        Abandoned
    }

    /// True after a number of problems at which the search for hints only costs time.
    fn is_full(&self) -> bool {
        self.found >= Diagnostics::LIMIT
    }

    /// Reports a word that the vocabulary lacks: an error, unless the file's version of PTX is
    /// later and may have the word.
    fn unknown_word(
        &mut self,
        code: &'static str,
        span: Span,
        what: &str,
        hint: String,
    ) -> Abandoned {
        let word = shortened(self.slice(span));
        let diagnostic = match self.version > NEWEST {
            true => {
                let (major, minor) = NEWEST;
                let message = format!("not supported yet: {what} `{word}`");
                Diagnostic::error("not-supported", span, message)
                    .label(format!("not in PTX ISA {major}.{minor}"))
                    .help(format!(
                        "the file is PTX {}.{}",
                        self.version.0, self.version.1
                    ))
            }
            false => Diagnostic::error(code, span, format!("there is no {what} `{word}`"))
                .label(format!("unknown {what}"))
                .help(hint),
        };
        self.error(diagnostic)
    }

    /// Reports that `what` was expected in place of the next token.
    fn unexpected<T>(&mut self, what: &str) -> Parsed<T> {
        let span = self.span();
        let found = self.describe_next();
        let diagnostic = match self.peek() {
            Kind::Unknown(Unknown::OpenComment) => {
                Diagnostic::error("open-comment", span, "comment without an end")
                    .label("starts here")
                    .help("close the comment with `*/`")
            }
            Kind::Unknown(_) if self.word().starts_with('"') => {
                Diagnostic::error("open-string", span, "string without an end")
                    .label("starts here")
                    .help("close the string with `\"` on the same line")
            }
            kind => Diagnostic::error("syntax", span, format!("expected {what}, found {found}"))
                .label(format!("expected {what}"))
                .help(match kind {
                    Kind::End => "the text stops too early: restore its end".to_owned(),
                    Kind::Unknown(_) => format!("remove {found}: PTX has no such character here"),
                    _ => format!("write {what} before {found}, or remove {found}"),
                }),
        };
        Err(self.error(diagnostic))
    }

    fn describe_next(&self) -> String {
        match self.peek() {
            Kind::End => "the end of the file".to_owned(),
            Kind::Text => "a string".to_owned(),
            _ => format!("`{}`", shortened(self.word())),
        }
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let token = self.expect(Kind::Word, what)?;
        Ok(self.named(token.span))
    }

    fn named(&self, span: Span) -> Name {
        Spanned {
            node: self.slice(span).to_owned(),
            span,
        }
    }

    /// Runs `inner` one level deeper. Refuses if that is too deep.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            let span = self.span();
            return Err(self.error(
                Diagnostic::error("too-deep", span, "nested too deeply")
                    .label(format!("more than {MAX_DEPTH} levels"))
                    .help("flatten the nesting; compilers never emit this much"),
            ));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// True if the next token is on a later line than the previous one.
    fn at_new_line(&self) -> bool {
        let gap = Span::new(self.previous_span().end, self.span().start);
        self.slice(gap).contains('\n')
    }

    /// Ends a statement. If the semicolon is missing at the end of a line, the next line is parsed
    /// as the next statement.
    fn semicolon(&mut self) -> Parsed<()> {
        self.end_statement("`;`")
    }

    /// Ends a statement at which more than a semicolon may be expected.
    fn end_statement(&mut self, expected: &str) -> Parsed<()> {
        if self.eat(Kind::Semicolon) {
            return Ok(());
        }
        let ends = matches!(self.peek(), Kind::CloseBrace | Kind::End);
        let starts = matches!(self.peek(), Kind::Word | Kind::At | Kind::Dotted);
        if ends || (starts && self.at_new_line()) {
            let place = self.previous_span().after();
            let diagnostic = Diagnostic::error("missing-semicolon", place, "missing `;`")
                .label("expected `;` here")
                .help("end every statement with `;`");
            self.error(diagnostic);
            return Ok(());
        }
        self.unexpected(expected)
    }

    /// Skips a broken statement that began with token `first`. Skipping ends after the semicolon,
    /// or before a brace that closes the surrounding block, the end of the text, or a line that
    /// starts like a function. Braces inside the statement are skipped as a whole.
    fn skip_statement(&mut self, first: usize) {
        let mut open = 0_u32;
        loop {
            match self.peek() {
                Kind::End => return,
                Kind::Dotted if self.next > first && self.at_function() => return,
                Kind::OpenBrace => open += 1,
                Kind::CloseBrace if open == 0 => return,
                Kind::CloseBrace => open -= 1,
                Kind::Semicolon if open == 0 => {
                    self.bump();
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// True if a function starts here. A function cannot be inside a body: a body that meets one
    /// lacks its closing brace.
    fn at_function(&self) -> bool {
        const LINKAGE: [&str; 3] = [".visible", ".extern", ".weak"];
        let is_function = |text: &str| matches!(text, ".entry" | ".func");
        let text = self.word();
        is_function(text)
            || (LINKAGE.contains(&text)
                && self.peek_at(1) == Kind::Dotted
                && is_function(self.slice(self.tokens[self.next + 1].span)))
    }

    /// Text from token `first` to the token before the next, without comments and with white space
    /// folded to single blanks. Text that fits no token is refused: folded, it could become part of
    /// a token.
    fn kept_since(&mut self, first: usize) -> Kept {
        if let Some(at) = self.tokens[first..self.next]
            .iter()
            .position(|t| t.kind.is_unknown())
        {
            let end = std::mem::replace(&mut self.next, first + at);
            let _: Parsed<()> = self.unexpected("a token");
            self.next = end;
        }
        let tokens = &self.tokens[first..self.next];
        let mut text = String::new();
        for (index, token) in tokens.iter().enumerate() {
            if index > 0 && tokens[index - 1].span.end != token.span.start {
                text.push(' ');
            }
            text.push_str(self.slice(token.span));
        }
        let span = tokens
            .first()
            .map_or(self.span(), |t| t.span)
            .to(self.previous_span());
        Kept(Spanned { node: text, span })
    }
}
