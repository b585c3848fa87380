//! File level: `.version`, `.target`, `.address_size`, and the items (PTX ISA 11.1).

use super::{Abandoned, Parsed, Parser};
use crate::address_size;
use crate::ast::{Body, Function, FunctionKind, Item, Linkage, Module, Name};
use crate::lexer::{Kind, Token};
use warploom_diag::{Diagnostic, Span};

/// Directives at file level, for hints and to find the next item.
pub(super) const KNOWN: &[&str] = &[
    ".version",
    ".target",
    ".address_size",
    ".entry",
    ".func",
    ".visible",
    ".extern",
    ".weak",
    ".common",
    ".global",
    ".const",
    ".shared",
    ".alias",
    ".file",
    ".section",
    ".pragma",
    ".loc",
];

/// Spans of the three header directives that were seen.
#[derive(Default)]
struct Seen {
    version: Option<Span>,
    target: Option<Span>,
    address_size: Option<Span>,
}

impl Parser<'_> {
    pub(super) fn module(&mut self) -> Module {
        let mut module = Module {
            version: (0, 0),
            target: Vec::new(),
            address_bits: 64,
            items: Vec::new(),
        };
        let mut seen = Seen::default();
        while self.peek() != Kind::End {
            let before = self.next;
            if self.item(&mut module, &mut seen).is_err() {
                self.skip_item(before);
            }
            if self.next == before {
                self.bump();
            }
        }
        self.require_header(&seen);
        if seen.address_size.is_none() {
            module.address_bits = address_size::inferred(&module);
        }
        module
    }

    fn item(&mut self, module: &mut Module, seen: &mut Seen) -> Parsed<()> {
        if self.peek() == Kind::At && self.peek_at(1) == Kind::At {
            module.items.push(Item::Kept(self.kept_line()));
            return Ok(());
        }
        if self.peek() != Kind::Dotted {
            return self.unexpected("a directive such as `.entry` or `.global`");
        }
        match self.word() {
            ".version" => {
                module.version = self.version(&mut seen.version)?;
                self.version = module.version;
            }
            ".target" => module.target = self.target(&mut seen.target)?,
            ".address_size" => module.address_bits = self.address_size(&mut seen.address_size)?,
            ".alias" => module.items.push(self.alias()?),
            _ if self.at_function() => {
                let function = self.function_apart(module.items.len())?;
                module.items.push(Item::Function(function));
            }
            _ if self.at_variable() => {
                module
                    .items
                    .extend(self.variables()?.into_iter().map(Item::Variable));
            }
            _ => match self.kept_directive()? {
                Some(kept) => module.items.push(Item::Kept(kept)),
                None => return Err(self.unknown_directive(KNOWN, "a directive at file level")),
            },
        }
        Ok(())
    }

    /// Parses a function and attributes problems to it; `at` is its position in the module. If the
    /// text ends inside it, the missing part is a problem of the file.
    fn function_apart(&mut self, at: usize) -> Parsed<Function> {
        let outside = std::mem::take(&mut self.diagnostics);
        let first = self.next;
        let function = match self.function() {
            Ok(function) => Some(function),
            Err(_) => {
                self.skip_item(first);
                self.function_by_name(first)
            }
        };
        let own = std::mem::replace(&mut self.diagnostics, outside);
        let whole = self.peek() != Kind::End
            || matches!(
                self.tokens[self.next - 1].kind,
                Kind::CloseBrace | Kind::Semicolon
            );
        match function {
            Some(function) if whole => {
                self.problems.add(at, own);
                Ok(function)
            }
            _ => {
                self.diagnostics.append(own);
                function.ok_or(Abandoned)
            }
        }
    }

    /// Function whose text begins with token `first`, with only its name.
    fn function_by_name(&self, first: usize) -> Option<Function> {
        let tokens = &self.tokens[first..self.next];
        let is_kind = |token: &&Token| matches!(self.slice(token.span), ".entry" | ".func");
        let kind = self.slice(tokens.iter().find(is_kind)?.span);
        let mut open = 0_u32;
        let name = tokens.iter().find(|token| {
            match token.kind {
                Kind::OpenParen => open += 1,
                Kind::CloseParen => open = open.saturating_sub(1),
                _ => {}
            }
            token.kind == Kind::Word && open == 0
        })?;
        Some(Function {
            linkage: Linkage::Internal,
            kind: match kind {
                ".entry" => FunctionKind::Entry,
                _ => FunctionKind::Device,
            },
            name: self.named(name.span),
            returns: Vec::new(),
            params: Vec::new(),
            directives: Vec::new(),
            no_return: false,
            body: Some(Body::default()),
        })
    }

    /// Skips a broken item that began with token `first`: to the end of its semicolon or body, or
    /// to a line that starts with a directive.
    fn skip_item(&mut self, first: usize) {
        loop {
            match self.peek() {
                Kind::End => return,
                Kind::Dotted
                    if self.next > first && self.at_new_line() && KNOWN.contains(&self.word()) =>
                {
                    return;
                }
                Kind::OpenBrace => {
                    // Parses the body of a function with a broken header, for the errors in it.
                    let _ = self.body();
                    return;
                }
                Kind::Semicolon | Kind::CloseBrace => {
                    self.bump();
                    return;
                }
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Takes a header directive and reports a second one of its kind.
    fn header_directive(&mut self, seen: &mut Option<Span>) {
        let span = self.bump().span;
        if let Some(first) = *seen {
            let message = format!("second `{}`", self.slice(span));
            self.error(
                Diagnostic::error("duplicate-directive", span, message)
                    .label("again here")
                    .and(first, "first here")
                    .help("a file has one; split concatenated modules into files"),
            );
        }
        *seen = Some(span);
    }

    fn version(&mut self, seen: &mut Option<Span>) -> Parsed<(u32, u32)> {
        self.header_directive(seen);
        let span = self.span();
        let text = self.word();
        let parts = text.split_once('.').filter(|_| self.peek() == Kind::Float);
        let parsed =
            parts.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        match parsed {
            Some(version) => {
                self.bump();
                Ok(version)
            }
            None => {
                let diagnostic = Diagnostic::error("bad-version", span, "not a version")
                    .label("expected major.minor")
                    .help("write for example `.version 8.0`");
                Err(self.error(diagnostic))
            }
        }
    }

    fn target(&mut self, seen: &mut Option<Span>) -> Parsed<Vec<Name>> {
        self.header_directive(seen);
        let mut names = vec![self.name("a target such as `sm_70`")?];
        while self.eat(Kind::Comma) {
            names.push(self.name("a target option")?);
        }
        Ok(names)
    }

    fn address_size(&mut self, seen: &mut Option<Span>) -> Parsed<u32> {
        self.header_directive(seen);
        let size = self.integer("32 or 64")?;
        match size.node {
            32 => Ok(32),
            64 => Ok(64),
            _ => {
                let message = "an address has 32 or 64 bits";
                let diagnostic = Diagnostic::error("bad-address-size", size.span, message)
                    .label("neither 32 nor 64")
                    .help("write `.address_size 64`");
                Err(self.error(diagnostic))
            }
        }
    }

    /// Parses the directive `.alias a, b;`.
    fn alias(&mut self) -> Parsed<Item> {
        self.bump();
        let alias = self.name("a function")?;
        self.expect(Kind::Comma, "`,`")?;
        let aliasee = self.name("a function")?;
        self.semicolon()?;
        Ok(Item::Alias(alias, aliasee))
    }

    fn require_header(&mut self, seen: &Seen) {
        let start = Span::new(0, 0);
        if seen.version.is_none() {
            self.error(
                Diagnostic::error("no-version", start, "the file has no `.version`")
                    .label("expected here")
                    .help("start the file with the PTX version, e.g. `.version 8.0`; CUDA source is compiled first, with `nvcc -ptx`"),
            );
        }
        if seen.target.is_none() {
            self.error(
                Diagnostic::error("no-target", start, "the file has no `.target`")
                    .label("expected here, behind `.version`")
                    .help("name the architecture, e.g. `.target sm_50`"),
            );
        }
    }
}
