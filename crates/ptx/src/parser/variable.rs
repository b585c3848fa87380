//! Declarations of variables, registers and parameters (PTX ISA 5.4, 11.3).

use super::{Parsed, Parser};
use crate::ast::{
    Constant, FieldValue, Initializer, Kept, Linkage, Name, Opaque, PointerAttribute, Spanned,
    Variable,
};
use crate::lexer::Kind;
use crate::tokens::{ScalarType, Space};
use warploom_diag::{Diagnostic, Span, nearest};

/// Properties that the declarators of one declaration share.
struct Header {
    linkage: Linkage,
    space: Space,
    align: Option<u32>,
    vector: u32,
    ty: ScalarType,
    opaque: Option<Opaque>,
    pointer: Option<PointerAttribute>,
    attributes: Option<Kept>,
}

impl Parser<'_> {
    /// True if a declaration starts here: with a linkage, attribute or state space.
    pub(super) fn at_variable(&self) -> bool {
        let text = self.word();
        self.peek() == Kind::Dotted
            && (space(text).is_some() || is_linkage(text) || text == ".attribute")
    }

    /// Parses `.global .align 4 .u32 a[3] = {1, 2, 3}, b;`: one variable per name.
    pub(super) fn variables(&mut self) -> Parsed<Vec<Variable>> {
        let header = self.header()?;
        let mut variables = vec![self.declarator(&header)?];
        while self.eat(Kind::Comma) {
            variables.push(self.declarator(&header)?);
        }
        self.semicolon()?;
        Ok(variables)
    }

    /// Parses `( .param .b32 a, .reg .b32 b )`.
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Variable>> {
        self.expect(Kind::OpenParen, "`(`")?;
        let mut parameters = Vec::new();
        if self.eat(Kind::CloseParen) {
            return Ok(parameters);
        }
        loop {
            let header = self.header()?;
            parameters.push(self.declarator(&header)?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::CloseParen, "`,` or `)`")?;
        Ok(parameters)
    }

    /// Parses everything before the name; the parts may have any order.
    fn header(&mut self) -> Parsed<Header> {
        let mut header = Header {
            linkage: Linkage::default(),
            space: Space::Generic,
            align: None,
            vector: 1,
            ty: ScalarType::B32,
            opaque: None,
            pointer: None,
            attributes: None,
        };
        let (mut has_space, mut has_type) = (false, false);
        let start = self.span();
        while self.peek() == Kind::Dotted {
            let text = self.word();
            if text == ".align" {
                self.bump();
                header.align = Some(self.small("an alignment")?);
            } else if text == ".attribute" {
                header.attributes = Some(self.attribute()?);
            } else if text == ".ptr" {
                header.pointer = Some(self.pointer_attribute()?);
            } else if is_linkage(text) {
                self.bump();
                header.linkage = linkage(text);
            } else if let Some(lanes) = vector(text) {
                self.bump();
                header.vector = lanes;
            } else if has_type && is_type(text) {
                return Err(self.second_type());
            } else if let Some(opaque) = opaque(text) {
                self.bump();
                header.opaque = Some(opaque);
                has_type = true;
            } else if let Some(space) = space(text).filter(|_| !has_space) {
                self.bump();
                header.space = space;
                has_space = true;
            } else if let Some(ty) = ScalarType::from_text(&text[1..]) {
                self.check_storable(ty);
                self.bump();
                header.ty = ty;
                has_type = true;
            } else {
                return Err(self.not_a_type());
            }
        }
        if !has_space {
            return self.missing(
                start,
                "state space",
                "write `.reg`, `.global`, `.shared`, `.param` or another state space",
            );
        }
        if !has_type {
            return self.missing(
                start,
                "type",
                "write a type such as `.u32` or `.f64` before the name",
            );
        }
        Ok(header)
    }

    fn missing<T>(&mut self, start: Span, what: &str, help: &str) -> Parsed<T> {
        let span = start.to(self.previous_span());
        let message = format!("declaration without a {what}");
        let diagnostic = Diagnostic::error("incomplete-declaration", span, message);
        Err(self.error(diagnostic.label(format!("no {what} here")).help(help)))
    }

    fn not_a_type(&mut self) -> super::Abandoned {
        let (text, span) = (self.word(), self.span());
        let storable = ScalarType::ALL.iter().filter(|ty| ty.is_fundamental());
        let hint = match nearest(&text[1..], storable.map(|ty| ty.text())) {
            Some(name) => format!("did you mean `.{name}`?"),
            None => {
                "types are .pred, .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, .f32, .f64".into()
            }
        };
        let message = format!("`{text}` is not part of a declaration");
        self.error(
            Diagnostic::error("unknown-type", span, message)
                .label("not a type")
                .help(hint),
        )
    }

    fn second_type(&mut self) -> super::Abandoned {
        let span = self.span();
        self.error(
            Diagnostic::error("second-type", span, "declaration with two types")
                .label("second type")
                .help("leave one; declare variables of different types separately"),
        )
    }

    fn check_storable(&mut self, ty: ScalarType) {
        if !ty.is_fundamental() {
            let span = self.span();
            let message = format!("`.{ty}` cannot be the type of a variable");
            let help = format!(
                "declare it `.b{}`; instructions name the format",
                ty.bytes() * 8
            );
            self.error(
                Diagnostic::error("not-storable", span, message)
                    .label("a format of instructions only")
                    .help(help),
            );
        }
    }

    /// Parses a number that fits 32 bits.
    pub(super) fn small(&mut self, what: &str) -> Parsed<u32> {
        let value = self.integer(what)?;
        u32::try_from(value.node).map_err(|_| {
            let message = format!("{what} does not fit in 32 bits");
            let diagnostic = Diagnostic::error("out-of-range", value.span, message);
            self.error(diagnostic.label("too large").help("write a smaller number"))
        })
    }

    /// Parses `.attribute(.managed, .unified(1, 2))`, which is kept as text.
    pub(super) fn attribute(&mut self) -> Parsed<Kept> {
        let first = self.next;
        self.bump();
        self.expect(Kind::OpenParen, "`(`")?;
        let mut open = 1;
        while open > 0 {
            match self.peek() {
                Kind::OpenParen => open += 1,
                Kind::CloseParen => open -= 1,
                Kind::End | Kind::Semicolon => return self.unexpected("`)`"),
                _ => {}
            }
            self.bump();
        }
        Ok(self.kept_since(first))
    }

    /// Parses `.ptr .global .align 8`.
    fn pointer_attribute(&mut self) -> Parsed<PointerAttribute> {
        self.bump();
        let mut pointer = PointerAttribute {
            space: None,
            align: None,
        };
        if self.peek() == Kind::Dotted
            && let Some(space) = Space::from_text(&self.word()[1..])
        {
            self.bump();
            pointer.space = Some(space);
        }
        if self.eat_directive(".align") {
            pointer.align = Some(self.small("an alignment")?);
        }
        Ok(pointer)
    }

    /// Parses a name, a count or array extents, and an initial value.
    fn declarator(&mut self, header: &Header) -> Parsed<Variable> {
        let name = self.variable_name()?;
        let mut variable = Variable {
            linkage: header.linkage,
            space: header.space,
            align: header.align,
            vector: header.vector,
            ty: header.ty,
            opaque: header.opaque,
            name,
            count: None,
            dims: Vec::new(),
            pointer: header.pointer,
            attributes: header.attributes.clone(),
            init: None,
        };
        if self.eat(Kind::Less) {
            variable.count = Some(self.count()?);
        }
        while self.eat(Kind::OpenBracket) {
            variable.dims.push(self.extent()?);
        }
        if self.eat(Kind::Assign) {
            variable.init = Some(self.initializer()?);
        }
        Ok(variable)
    }

    fn variable_name(&mut self) -> Parsed<Name> {
        if self.peek() == Kind::Underscore {
            let span = self.bump().span;
            return Ok(self.named(span));
        }
        self.name("a name")
    }

    /// Parses the `12>` of `%r<12>`. The number is no expression: `>` ends it.
    fn count(&mut self) -> Parsed<u32> {
        let span = self.expect(Kind::Number, "a number of registers")?.span;
        let constant = self.number(span)?;
        self.expect(Kind::Greater, "`>`")?;
        match constant {
            Constant::Int(value, _) if value <= u64::from(u32::MAX) => Ok(value as u32),
            _ => {
                let diagnostic =
                    Diagnostic::error("out-of-range", span, "not a number of registers")
                        .label("must be an integer below 2^32")
                        .help("`%r<12>` declares %r0 to %r11");
                Err(self.error(diagnostic))
            }
        }
    }

    /// Parses `16]`, or the `]` of an array whose size the initial value or the linker decides.
    fn extent(&mut self) -> Parsed<Option<u64>> {
        if self.eat(Kind::CloseBracket) {
            return Ok(None);
        }
        let value = self.integer("an array size")?;
        self.expect(Kind::CloseBracket, "`]`")?;
        Ok(Some(value.node))
    }

    fn initializer(&mut self) -> Parsed<Initializer> {
        if self.peek() != Kind::OpenBrace {
            return Ok(Initializer::Value(self.symbol_or_constant()?));
        }
        if self.peek_at(1) == Kind::Word && self.peek_at(2) == Kind::Assign {
            return self.fields();
        }
        self.bump();
        let mut values = Vec::new();
        if self.eat(Kind::CloseBrace) {
            return Ok(Initializer::List(values));
        }
        loop {
            values.push(self.nested(Self::initializer)?);
            // A comma before the closing brace is accepted, as in C.
            if !self.eat(Kind::Comma) || self.peek() == Kind::CloseBrace {
                break;
            }
        }
        self.expect(Kind::CloseBrace, "`,` or `}`")?;
        Ok(Initializer::List(values))
    }

    /// Parses `{ addr_mode_0 = wrap, filter_mode = nearest }`.
    fn fields(&mut self) -> Parsed<Initializer> {
        self.bump();
        let mut fields = Vec::new();
        loop {
            let name = self.name("a field")?;
            self.expect(Kind::Assign, "`=`")?;
            fields.push((name, self.field_value()?));
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        self.expect(Kind::CloseBrace, "`,` or `}`")?;
        Ok(Initializer::Fields(fields))
    }

    fn field_value(&mut self) -> Parsed<Spanned<FieldValue>> {
        if self.peek() == Kind::Word && self.word() != "WARP_SZ" {
            let name = self.name("a value")?;
            return Ok(Spanned {
                node: FieldValue::Word(name.node),
                span: name.span,
            });
        }
        let value = self.integer("a value")?;
        Ok(Spanned {
            node: FieldValue::Int(value.node),
            span: value.span,
        })
    }
}

fn is_linkage(text: &str) -> bool {
    matches!(text, ".extern" | ".visible" | ".weak" | ".common")
}

pub(super) fn linkage(text: &str) -> Linkage {
    match text {
        ".extern" => Linkage::Extern,
        ".visible" => Linkage::Visible,
        ".weak" => Linkage::Weak,
        ".common" => Linkage::Common,
        _ => Linkage::Internal,
    }
}

/// State spaces that a declaration may name.
fn space(text: &str) -> Option<Space> {
    Space::from_text(&text[1..]).filter(|space| *space != Space::Generic && *space != Space::Sreg)
}

fn vector(text: &str) -> Option<u32> {
    match text {
        ".v2" => Some(2),
        ".v4" => Some(4),
        ".v8" => Some(8),
        _ => None,
    }
}

fn is_type(text: &str) -> bool {
    opaque(text).is_some() || ScalarType::from_text(&text[1..]).is_some()
}

fn opaque(text: &str) -> Option<Opaque> {
    match text {
        ".texref" => Some(Opaque::Texture),
        ".samplerref" => Some(Opaque::Sampler),
        ".surfref" => Some(Opaque::Surface),
        _ => None,
    }
}
