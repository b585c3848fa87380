//! Operands of instructions (PTX ISA, chapter 6).

use super::{Parsed, Parser};
use crate::ast::{Address, AddressBase, Constant, Operand, Spanned};
use crate::lexer::Kind;
use crate::special;
use warploom_diag::{Diagnostic, Span};

impl<'s> Parser<'s> {
    /// Parses an operand. Lists in parentheses are allowed if `lists` is true (in `call`).
    pub(super) fn operand(&mut self, lists: bool) -> Parsed<Spanned<Operand>> {
        let start = self.span();
        let node = match self.peek() {
            Kind::Word if self.is_name(0) => self.name_operand()?,
            Kind::Underscore => self.sink()?,
            Kind::Bang if self.is_name(1) => {
                self.bump();
                Operand::Not(self.register("a predicate behind `!`")?)
            }
            Kind::Minus if self.is_name(1) => self.negated()?,
            Kind::OpenBrace => self.vector()?,
            Kind::OpenBracket => Operand::Address(self.address()?),
            Kind::OpenParen if lists => {
                Operand::List(self.list(Kind::OpenParen, Kind::CloseParen, "`)`", lists)?)
            }
            _ if self.at_constant() => Operand::Immediate(self.constant()?.node),
            _ => return self.unexpected("an operand"),
        };
        Ok(Spanned {
            node,
            span: start.to(self.previous_span()),
        })
    }

    /// True if the token `ahead` places on is a name, and not the constant that looks like one.
    fn is_name(&self, ahead: usize) -> bool {
        self.peek_at(ahead) == Kind::Word
            && self.slice(self.tokens[self.next + ahead].span) != "WARP_SZ"
    }

    fn register(&mut self, what: &str) -> Parsed<String> {
        Ok(self.name(what)?.node)
    }

    /// Parses an operand that starts with a name.
    fn name_operand(&mut self) -> Parsed<Operand> {
        let span = self.bump().span;
        let name = self.slice(span);
        match self.peek() {
            Kind::Dotted => self.selected(name),
            Kind::Pipe => {
                self.bump();
                Ok(Operand::Pair(name.to_owned(), self.pair_end()?))
            }
            Kind::Plus | Kind::Minus => Ok(Operand::NameOffset(name.to_owned(), self.offset()?)),
            Kind::OpenBracket => self.indexed(name),
            _ => Ok(Operand::Name(name.to_owned())),
        }
    }

    /// Parses the second half of `p|q`.
    fn pair_end(&mut self) -> Parsed<String> {
        if self.eat(Kind::Underscore) {
            return Ok("_".to_owned());
        }
        self.register("a predicate or `_` behind `|`")
    }

    /// Parses `_` or `_|q`.
    fn sink(&mut self) -> Parsed<Operand> {
        self.bump();
        if self.eat(Kind::Pipe) {
            return Ok(Operand::Pair("_".to_owned(), self.pair_end()?));
        }
        Ok(Operand::Sink)
    }

    /// Parses a name with a dotted suffix: `v.x`, `%tid.x`, `a.b0`.
    fn selected(&mut self, name: &str) -> Parsed<Operand> {
        let suffix = self.bump();
        let text = &self.slice(suffix.span)[1..];
        if let Some(element) = element(text) {
            return Ok(match special::is_vector(name) {
                true => Operand::Name(format!("{name}.{}", ["x", "y", "z", "w"][element as usize])),
                false => Operand::Element(name.to_owned(), element),
            });
        }
        self.check_selector(text, suffix.span)?;
        let (name, selector) = (name.to_owned(), Some(text.to_owned()));
        Ok(Operand::Selected {
            name,
            negated: false,
            selector,
        })
    }

    fn check_selector(&mut self, text: &str, span: Span) -> Parsed<()> {
        let (kind, digits) = text.split_at(1);
        let widths: &[usize] = if kind == "b" { &[1, 2, 4] } else { &[1, 2] };
        let valid = matches!(kind, "b" | "h")
            && widths.contains(&digits.len())
            && digits.bytes().all(|b| matches!(b, b'0'..=b'7'));
        if valid {
            return Ok(());
        }
        let message = format!("`.{text}` selects no part of a register");
        let diagnostic = Diagnostic::error("bad-selector", span, message)
            .label("no such part")
            .help("vector elements are `.x .y .z .w`; video instructions take `.b0` to `.b3`, `.h0`, `.h1`");
        Err(self.error(diagnostic))
    }

    /// Parses `-c` or `-c.b0`.
    fn negated(&mut self) -> Parsed<Operand> {
        self.bump();
        let name = self.register("a register behind `-`")?;
        let selector = match self.peek() {
            Kind::Dotted => {
                let suffix = self.bump();
                let text = &self.slice(suffix.span)[1..];
                self.check_selector(text, suffix.span)?;
                Some(text.to_owned())
            }
            _ => None,
        };
        Ok(Operand::Selected {
            name,
            negated: true,
            selector,
        })
    }

    /// Parses `{...}` or `{...}|p`.
    fn vector(&mut self) -> Parsed<Operand> {
        let elements = self.list(Kind::OpenBrace, Kind::CloseBrace, "`}`", false)?;
        if self.eat(Kind::Pipe) {
            return Ok(Operand::VectorPair(elements, self.pair_end()?));
        }
        Ok(Operand::Vector(elements))
    }

    /// Parses a bracketed list with commas, which may be empty.
    fn list(
        &mut self,
        open: Kind,
        close: Kind,
        what: &str,
        lists: bool,
    ) -> Parsed<Vec<Spanned<Operand>>> {
        self.expect(open, "a list")?;
        let mut operands = Vec::new();
        if self.eat(close) {
            return Ok(operands);
        }
        loop {
            operands.push(self.nested(|p| p.operand(lists))?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(close, &format!("`,` or {what}"))?;
        Ok(operands)
    }

    /// Parses `a[4]`, `a[i]` or `a[i+4]`.
    fn indexed(&mut self, array: &str) -> Parsed<Operand> {
        self.bump();
        let array = array.to_owned();
        let index = match self.peek() {
            Kind::Word if self.is_name(0) => Some(self.register("an index")?),
            _ => None,
        };
        let offset = match index {
            Some(_) => self.offset()?,
            None => self.integer("an index")?.node as i64,
        };
        self.expect(Kind::CloseBracket, "`]`")?;
        Ok(Operand::Indexed {
            array,
            index,
            offset,
        })
    }

    /// Parses an address `[base+offset, ...]`.
    fn address(&mut self) -> Parsed<Address> {
        self.bump();
        let start = self.span();
        let (base, offset) = match self.peek() {
            Kind::Word if self.is_name(0) => {
                let span = self.bump().span;
                let name = self.slice(span);
                let name = self.special_suffix(name);
                (AddressBase::Name(name), 0)
            }
            _ => (AddressBase::Absolute(self.integer("an address")?.node), 0),
        };
        let base = Spanned {
            node: base,
            span: start.to(self.previous_span()),
        };
        let offset = match base.node {
            AddressBase::Name(_) => self.offset()?,
            AddressBase::Absolute(_) => offset,
        };
        let mut rest = Vec::new();
        while self.eat(Kind::Comma) {
            rest.push(self.nested(|p| p.operand(false))?);
        }
        self.expect(Kind::CloseBracket, "`]`")?;
        Ok(Address { base, offset, rest })
    }

    /// Joins a special register with its element: `%tid` `.x`.
    fn special_suffix(&mut self, name: &str) -> String {
        if special::is_vector(name)
            && self.peek() == Kind::Dotted
            && let Some(element) = element(&self.word()[1..])
        {
            self.bump();
            return format!("{name}.{}", ["x", "y", "z", "w"][element as usize]);
        }
        name.to_owned()
    }

    /// Parses a symbol as initial value or operand: `symbol`, `symbol+4`, `generic(symbol)+4`,
    /// `0xFF(symbol)`.
    pub(super) fn symbol_or_constant(&mut self) -> Parsed<Spanned<Constant>> {
        let start = self.span();
        let node = match self.peek() {
            Kind::Word if self.is_name(0) => {
                let (name, offset, generic) = self.symbol()?;
                Constant::Symbol {
                    name,
                    offset,
                    generic,
                }
            }
            Kind::Number if self.peek_at(1) == Kind::OpenParen => {
                let mask = self.mask()?;
                self.expect(Kind::OpenParen, "`(`")?;
                let (name, offset, generic) = self.symbol()?;
                self.expect(Kind::CloseParen, "`)`")?;
                Constant::MaskedSymbol {
                    mask,
                    name,
                    offset,
                    generic,
                }
            }
            _ => return self.constant(),
        };
        Ok(Spanned {
            node,
            span: start.to(self.previous_span()),
        })
    }

    fn mask(&mut self) -> Parsed<u64> {
        let span = self.span();
        let constant = self.number(span)?;
        self.bump();
        match constant {
            Constant::Int(mask, _) if (0..8).any(|byte| mask == 0xFF << (8 * byte)) => Ok(mask),
            _ => {
                let message = "a mask must select one byte of the address";
                let diagnostic = Diagnostic::error("bad-mask", span, message)
                    .label("selects no single byte")
                    .help("write 0xFF, 0xFF00, 0xFF0000 and so on");
                Err(self.error(diagnostic))
            }
        }
    }

    fn symbol(&mut self) -> Parsed<(String, i64, bool)> {
        let generic = self.word() == "generic" && self.peek_at(1) == Kind::OpenParen;
        if !generic {
            let name = self.name("a symbol")?.node;
            return Ok((name, self.offset()?, false));
        }
        self.bump();
        self.bump();
        let name = self.name("a symbol")?.node;
        self.expect(Kind::CloseParen, "`)`")?;
        Ok((name, self.offset()?, true))
    }
}

/// Position of a vector element from its suffix.
fn element(text: &str) -> Option<u32> {
    match text {
        "x" | "r" => Some(0),
        "y" | "g" => Some(1),
        "z" | "b" => Some(2),
        "w" | "a" => Some(3),
        _ => None,
    }
}
