//! Constant expressions, folded while they are parsed (PTX ISA 4.6).
//!
//! Integers have 64 bits, are signed unless an operand is unsigned, and wrap around. Combined with
//! a floating-point operand they become f64. Comparisons and logical operators return a signed 0 or
//! 1. An exact f32 literal (`0f...`) must stand alone: f64 arithmetic does not accept it.

use super::{Parsed, Parser};
use crate::ast::{Constant, Spanned};
use crate::lexer::Kind;
use warploom_diag::{Diagnostic, Span};

/// Threads of a warp, called `WARP_SZ` in PTX.
const WARP_SZ: u64 = warploom_base::WARP_SIZE as u64;

/// Value in a constant expression.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    Signed(i64),
    Unsigned(u64),
    /// Bits of an f64, so that an exact literal keeps its value.
    Float(u64),
}

impl Value {
    fn constant(self) -> Constant {
        match self {
            Self::Signed(value) => Constant::Int(value as u64, false),
            Self::Unsigned(value) => Constant::Int(value, true),
            Self::Float(bits) => Constant::F64(bits),
        }
    }

    fn from_f64(value: f64) -> Self {
        Self::Float(value.to_bits())
    }

    fn as_f64(self) -> f64 {
        match self {
            Self::Signed(value) => value as f64,
            Self::Unsigned(value) => value as f64,
            Self::Float(bits) => f64::from_bits(bits),
        }
    }

    fn is_true(self) -> bool {
        match self {
            Self::Signed(value) => value != 0,
            Self::Unsigned(value) => value != 0,
            Self::Float(bits) => f64::from_bits(bits) != 0.0,
        }
    }

    /// Bits of an integer; `None` for a float.
    fn bits(self) -> Option<u64> {
        match self {
            Self::Signed(value) => Some(value as u64),
            Self::Unsigned(value) => Some(value),
            Self::Float(_) => None,
        }
    }
}

impl Parser<'_> {
    /// True if a constant expression can start with the next token.
    pub(super) fn at_constant(&self) -> bool {
        match self.peek() {
            Kind::Number | Kind::Float | Kind::OpenParen => true,
            Kind::Minus | Kind::Plus | Kind::Tilde | Kind::Bang => true,
            Kind::Word => self.word() == "WARP_SZ",
            _ => false,
        }
    }

    /// Parses a constant: an expression, or an exact f32 literal alone.
    pub(super) fn constant(&mut self) -> Parsed<Spanned<Constant>> {
        let start = self.span();
        if self.peek() == Kind::Number
            && let constant @ Constant::F32(_) = self.number(start)?
        {
            self.bump();
            return Ok(Spanned {
                node: constant,
                span: start,
            });
        }
        let value = self.expression()?;
        Ok(Spanned {
            node: value.constant(),
            span: start.to(self.previous_span()),
        })
    }

    /// Parses a constant expression that must be an integer.
    pub(super) fn integer(&mut self, what: &str) -> Parsed<Spanned<u64>> {
        if !self.at_constant() {
            return self.unexpected(what);
        }
        let constant = self.constant()?;
        match constant.node {
            Constant::Int(value, _) => Ok(Spanned {
                node: value,
                span: constant.span,
            }),
            _ => {
                let message = format!("{what} must be an integer");
                let diagnostic = Diagnostic::error("not-an-integer", constant.span, message)
                    .label("a floating-point value")
                    .help("write an integer constant");
                Err(self.error(diagnostic))
            }
        }
    }

    /// Parses `+ e`, `- e`, `+ e - f ...` after an address base. Returns the sum; 0 if there is
    /// none.
    pub(super) fn offset(&mut self) -> Parsed<i64> {
        if !matches!(self.peek(), Kind::Plus | Kind::Minus) {
            return Ok(0);
        }
        let start = self.span();
        let value = self.nested(|p| p.binary_from(Value::Signed(0), ADDITIVE))?;
        match value.bits() {
            Some(bits) => Ok(bits as i64),
            None => {
                let span = start.to(self.previous_span());
                let diagnostic =
                    Diagnostic::error("not-an-integer", span, "an offset must be an integer")
                        .label("a floating-point value")
                        .help("offsets count bytes; write an integer");
                Err(self.error(diagnostic))
            }
        }
    }

    /// Parses a ternary, the weakest operator.
    fn expression(&mut self) -> Parsed<Value> {
        self.nested(|p| {
            let condition = p.binary(LOGICAL_OR)?;
            if !p.eat(Kind::Question) {
                return Ok(condition);
            }
            let then = p.expression()?;
            p.expect(Kind::Colon, "`:` of the conditional expression")?;
            let otherwise = p.expression()?;
            Ok(choose(condition, then, otherwise))
        })
    }

    fn binary(&mut self, min: u8) -> Parsed<Value> {
        let left = self.unary()?;
        self.binary_from(left, min)
    }

    /// Parses operators by precedence climbing, after the left operand.
    fn binary_from(&mut self, mut left: Value, min: u8) -> Parsed<Value> {
        while let Some(strength) = strength(self.peek()).filter(|strength| *strength >= min) {
            let operator = self.bump();
            let right = self.nested(|p| p.binary(strength + 1))?;
            left = match apply(operator.kind, left, right) {
                Ok(value) => value,
                Err(problem) => return Err(self.refuse(operator.span, problem)),
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Value> {
        let operator = self.token();
        match operator.kind {
            Kind::Plus => self.bump(),
            Kind::Minus | Kind::Tilde | Kind::Bang => self.bump(),
            Kind::OpenParen => return self.parenthesis(),
            _ => return self.atom(),
        };
        let operand = self.nested(Self::unary)?;
        match negate(operator.kind, operand) {
            Some(value) => Ok(value),
            None => Err(self.refuse(operator.span, Refusal::NeedsIntegers)),
        }
    }

    /// Parses `(e)`, or a cast `(.s64) e`.
    fn parenthesis(&mut self) -> Parsed<Value> {
        self.bump();
        if self.peek() != Kind::Dotted {
            let value = self.expression()?;
            self.expect(Kind::CloseParen, "`)`")?;
            return Ok(value);
        }
        let cast = self.bump();
        self.expect(Kind::CloseParen, "`)` behind the cast")?;
        let value = self.nested(Self::unary)?;
        match (self.slice(cast.span), value) {
            (".s64", Value::Float(_)) => Ok(Value::Signed(value.as_f64() as i64)),
            (".u64", Value::Float(_)) => Ok(Value::Unsigned(value.as_f64() as u64)),
            (".s64", _) => Ok(Value::Signed(value.bits().unwrap_or(0) as i64)),
            (".u64", _) => Ok(Value::Unsigned(value.bits().unwrap_or(0))),
            (".f64", _) => Ok(Value::from_f64(value.as_f64())),
            (text, _) => {
                let message = format!("`({text})` is not a cast");
                let diagnostic = Diagnostic::error("bad-cast", cast.span, message)
                    .label("no such cast")
                    .help("constants are cast with `(.s64)` or `(.u64)`");
                Err(self.error(diagnostic))
            }
        }
    }

    fn atom(&mut self) -> Parsed<Value> {
        let token = self.token();
        match token.kind {
            Kind::Float => {
                let value = self.float(token.span);
                self.bump();
                Ok(Value::from_f64(value))
            }
            Kind::Number => {
                let constant = self.number(token.span)?;
                self.bump();
                self.atom_value(constant, token.span)
            }
            Kind::Word if self.word() == "WARP_SZ" => {
                self.bump();
                Ok(Value::Signed(WARP_SZ as i64))
            }
            _ => self.unexpected("a constant"),
        }
    }

    fn atom_value(&mut self, constant: Constant, span: Span) -> Parsed<Value> {
        match constant {
            Constant::Int(value, true) => Ok(Value::Unsigned(value)),
            Constant::Int(value, false) => Ok(Value::Signed(value as i64)),
            Constant::F64(bits) => Ok(Value::Float(bits)),
            _ => Err(self.refuse(span, Refusal::ExactF32)),
        }
    }

    fn refuse(&mut self, span: Span, refusal: Refusal) -> super::Abandoned {
        let (code, message, help) = match refusal {
            Refusal::NeedsIntegers => (
                "not-an-integer",
                "this operator takes integers only",
                "cast with `(.s64)` or `(.u64)`, or use + - * / and comparisons",
            ),
            Refusal::DivisionByZero => (
                "division-by-zero",
                "division by zero in a constant expression",
                "make the divisor other than zero",
            ),
            Refusal::ExactF32 => (
                "exact-f32-in-expression",
                "an exact f32 literal cannot be part of an expression",
                "write the folded value as `0f...`, or use decimal literals",
            ),
        };
        self.error(
            Diagnostic::error(code, span, message)
                .label("here")
                .help(help),
        )
    }
}

/// Reason why an operator cannot be applied.
enum Refusal {
    NeedsIntegers,
    DivisionByZero,
    ExactF32,
}

const LOGICAL_OR: u8 = 1;
const ADDITIVE: u8 = 9;

/// Precedence of a binary operator, as in C.
fn strength(kind: Kind) -> Option<u8> {
    Some(match kind {
        Kind::OrOr => LOGICAL_OR,
        Kind::AndAnd => 2,
        Kind::Pipe => 3,
        Kind::Caret => 4,
        Kind::Ampersand => 5,
        Kind::Equal | Kind::NotEqual => 6,
        Kind::Less | Kind::Greater | Kind::LessEqual | Kind::GreaterEqual => 7,
        Kind::ShiftLeft | Kind::ShiftRight => 8,
        Kind::Plus | Kind::Minus => ADDITIVE,
        Kind::Star | Kind::Slash | Kind::Percent => 10,
        _ => return None,
    })
}

fn negate(operator: Kind, operand: Value) -> Option<Value> {
    Some(match (operator, operand) {
        (Kind::Plus, value) => value,
        (Kind::Bang, value) => Value::Signed(i64::from(!value.is_true())),
        (Kind::Minus, Value::Signed(value)) => Value::Signed(value.wrapping_neg()),
        (Kind::Minus, Value::Unsigned(value)) => Value::Unsigned(value.wrapping_neg()),
        (Kind::Minus, Value::Float(bits)) => Value::Float(bits ^ (1 << 63)),
        (Kind::Tilde, Value::Signed(value)) => Value::Signed(!value),
        (Kind::Tilde, Value::Unsigned(value)) => Value::Unsigned(!value),
        _ => return None,
    })
}

/// Chosen branch of a ternary, converted to the common type of both.
fn choose(condition: Value, then: Value, otherwise: Value) -> Value {
    let chosen = if condition.is_true() { then } else { otherwise };
    match (then, otherwise) {
        (Value::Float(_), _) | (_, Value::Float(_)) if chosen.bits().is_some() => {
            Value::from_f64(chosen.as_f64())
        }
        (Value::Unsigned(_), Value::Signed(_)) | (Value::Signed(_), Value::Unsigned(_)) => {
            Value::Unsigned(chosen.bits().unwrap_or(0))
        }
        _ => chosen,
    }
}

fn apply(operator: Kind, left: Value, right: Value) -> Result<Value, Refusal> {
    if matches!(operator, Kind::AndAnd | Kind::OrOr) {
        let (a, b) = (left.is_true(), right.is_true());
        return Ok(truth(if operator == Kind::AndAnd {
            a && b
        } else {
            a || b
        }));
    }
    let (Some(a), Some(b)) = (left.bits(), right.bits()) else {
        return apply_floats(operator, left.as_f64(), right.as_f64());
    };
    if matches!(operator, Kind::ShiftLeft | Kind::ShiftRight) {
        return Ok(shift(operator, left, b));
    }
    match (left, right) {
        (Value::Signed(a), Value::Signed(b)) => apply_signed(operator, a, b),
        _ => apply_unsigned(operator, a, b),
    }
}

fn truth(value: bool) -> Value {
    Value::Signed(i64::from(value))
}

/// Shifts a value. The type of the left operand decides; all bits are lost if the count is 64 or
/// more.
fn shift(operator: Kind, left: Value, count: u64) -> Value {
    let in_range = u32::try_from(count).ok().filter(|count| *count < 64);
    match (operator, left) {
        (Kind::ShiftLeft, Value::Signed(value)) => {
            Value::Signed(in_range.map_or(0, |count| value << count))
        }
        (_, Value::Signed(value)) => Value::Signed(value >> in_range.unwrap_or(63)),
        (Kind::ShiftLeft, value) => {
            let bits = value.bits().unwrap_or(0);
            Value::Unsigned(in_range.map_or(0, |count| bits << count))
        }
        (_, value) => {
            let bits = value.bits().unwrap_or(0);
            Value::Unsigned(in_range.map_or(0, |count| bits >> count))
        }
    }
}

fn compare<T: PartialOrd>(operator: Kind, a: T, b: T) -> Option<Value> {
    Some(truth(match operator {
        Kind::Equal => a == b,
        Kind::NotEqual => a != b,
        Kind::Less => a < b,
        Kind::LessEqual => a <= b,
        Kind::Greater => a > b,
        Kind::GreaterEqual => a >= b,
        _ => return None,
    }))
}

fn apply_signed(operator: Kind, a: i64, b: i64) -> Result<Value, Refusal> {
    if let Some(truth) = compare(operator, a, b) {
        return Ok(truth);
    }
    let value = match operator {
        Kind::Slash | Kind::Percent if b == 0 => return Err(Refusal::DivisionByZero),
        Kind::Slash => a.wrapping_div(b),
        Kind::Percent => a.wrapping_rem(b),
        _ => return apply_unsigned(operator, a as u64, b as u64).map(as_signed),
    };
    Ok(Value::Signed(value))
}

fn as_signed(value: Value) -> Value {
    Value::Signed(value.bits().unwrap_or(0) as i64)
}

/// Arithmetic on bits. Also for signed operands where the sign makes no difference.
fn apply_unsigned(operator: Kind, a: u64, b: u64) -> Result<Value, Refusal> {
    if let Some(truth) = compare(operator, a, b) {
        return Ok(truth);
    }
    Ok(Value::Unsigned(match operator {
        Kind::Slash | Kind::Percent if b == 0 => return Err(Refusal::DivisionByZero),
        Kind::Slash => a / b,
        Kind::Percent => a % b,
        Kind::Plus => a.wrapping_add(b),
        Kind::Minus => a.wrapping_sub(b),
        Kind::Star => a.wrapping_mul(b),
        Kind::Ampersand => a & b,
        Kind::Pipe => a | b,
        Kind::Caret => a ^ b,
        _ => return Err(Refusal::NeedsIntegers),
    }))
}

fn apply_floats(operator: Kind, a: f64, b: f64) -> Result<Value, Refusal> {
    if let Some(truth) = compare(operator, a, b) {
        return Ok(truth);
    }
    Ok(Value::from_f64(match operator {
        Kind::Plus => a + b,
        Kind::Minus => a - b,
        Kind::Star => a * b,
        Kind::Slash => a / b,
        _ => return Err(Refusal::NeedsIntegers),
    }))
}

#[cfg(test)]
mod tests {
    use crate::ast::{Constant, Initializer, Item};
    use crate::parse;
    use warploom_diag::Source;

    /// Value to which an expression folds; `None` if it is refused.
    fn fold(expression: &str) -> Option<Constant> {
        let text = format!(".version 8.0\n.target sm_75\n.global .b64 x = {expression};");
        let (module, diagnostics) = parse(&Source::new("t", text));
        let Some(Item::Variable(variable)) = module.items.into_iter().next() else {
            return None;
        };
        match variable.init {
            Some(Initializer::Value(value)) if diagnostics.is_empty() => Some(value.node),
            _ => None,
        }
    }

    fn signed(expression: &str, value: i64) {
        assert_eq!(
            fold(expression),
            Some(Constant::Int(value as u64, false)),
            "{expression}"
        );
    }

    fn unsigned(expression: &str, value: u64) {
        assert_eq!(
            fold(expression),
            Some(Constant::Int(value, true)),
            "{expression}"
        );
    }

    fn float(expression: &str, value: f64) {
        assert_eq!(
            fold(expression),
            Some(Constant::F64(value.to_bits())),
            "{expression}"
        );
    }

    #[test]
    fn operators_bind_as_in_c() {
        signed("1 + 2 * 3", 7);
        signed("(1 + 2) * 3", 9);
        signed("20 - 3 - 2", 15);
        signed("100 / 7 % 4", 2);
        signed("1 << 2 + 1", 8);
        signed("6 & 3 | 8 ^ 1", 11);
        signed("1 < 2 == 1", 1);
        signed("0 || 2 && 3", 1);
        signed("!0 + ~0", 0);
        signed("- - 5", 5);
        signed("2 > 1 ? 10 : 2 > 1 ? 20 : 30", 10);
        signed("0 ? 10 : 0 ? 20 : 30", 30);
        signed("WARP_SZ * 2", 64);
    }

    #[test]
    fn integers_have_64_bits_and_wrap() {
        signed("0x7FFFFFFFFFFFFFFF + 1", i64::MIN);
        signed("(-9223372036854775807 - 1) / -1", i64::MIN);
        signed("(-9223372036854775807 - 1) % -1", 0);
        signed("-7 / 2", -3);
        signed("-7 % 2", -1);
        signed("-8 >> 1", -4);
        signed("-1 >> 64", -1);
        signed("1 << 64", 0);
        unsigned("0U - 1", u64::MAX);
        unsigned("-9223372036854775808", 1 << 63);
        unsigned("0xFFFFFFFFFFFFFFFF >> 60", 15);
        unsigned("-1 + 0U", u64::MAX);
        unsigned("1 ? -1 : 0U", u64::MAX);
        unsigned("(.u64) -1", u64::MAX);
        signed("(.s64) 0xFFFFFFFFFFFFFFFF", -1);
        signed("-1 < 0U", 0);
        signed("(.s64) 2.9", 2);
    }

    #[test]
    fn floats_are_doubles() {
        float("1.5 + 1", 2.5);
        float("1 / 4.0", 0.25);
        float("-0.0", -0.0);
        float("1e400", f64::INFINITY);
        float("0 ? 1.0 : 2", 2.0);
        float("-0d3FF0000000000000", -1.0);
        signed("1.5 > 1", 1);
        signed("0.0 || 0", 0);
        assert_eq!(fold("0f3FC00000"), Some(Constant::F32(1.5_f32.to_bits())));
        // The payload of a NaN is preserved.
        assert_eq!(
            fold("0d7FF8000000000123"),
            Some(Constant::F64(0x7FF8_0000_0000_0123))
        );
    }

    #[test]
    fn what_has_no_value_is_refused() {
        for expression in [
            "1 / 0",
            "1 % 0",
            "1U / 0U",
            "1.5 % 2",
            "~1.5",
            "1.5 << 1",
            "0f3F800000 + 1",
            "1 ? 2",
            "(1",
            "(.f32) 1",
            "1 +",
            "",
        ] {
            assert_eq!(fold(expression), None, "{expression}");
        }
    }
}
