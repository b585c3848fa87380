//! Operands of an instruction, read and written in the width of its types.

use crate::builder::{Builder, Place};
use crate::error::{Res, invalid, invalid_help, unsupported};
use crate::literal::literal_bits;
use crate::scope::Symbol;
use crate::special;
use warploom_diag::{Diagnostic, Span};
use warploom_ir::{ConstValue, Dst, IntBin, IntTy, Op, Reg, Src};
use warploom_ptx::ast::{Constant, Operand, Spanned};
use warploom_ptx::tokens::ScalarType;

/// Allowed width of a register relative to the instruction's type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Exactly the width of the type.
    Exact,
    /// At least the width of the type (`ld`, `st`, `cvt`: PTX ISA, "Operand Size Exceeding
    /// Instruction-Type Size").
    Wider,
}

impl Builder<'_, '_> {
    /// Value of exactly the type's width.
    pub(crate) fn src(&mut self, operand: &Spanned<Operand>, ty: ScalarType) -> Res<Src> {
        self.src_fit(operand, ty, Fit::Exact).map(|(src, _)| src)
    }

    /// Value with the width in bits of its register, or of the type if it is a constant.
    pub(crate) fn src_fit(
        &mut self,
        operand: &Spanned<Operand>,
        ty: ScalarType,
        fit: Fit,
    ) -> Res<(Src, u32)> {
        let span = operand.span;
        match &operand.node {
            Operand::Immediate(value) => Ok((self.constant(value, ty, span)?, ty.bits())),
            Operand::Name(name) => self.named_src(name, 0, ty, fit, span),
            Operand::NameOffset(name, offset) => {
                Ok((self.symbol_address(name, *offset, span)?, ty.bits()))
            }
            Operand::Element(name, element) => self.named_src(name, *element, ty, fit, span),
            // The first element lies at the address of its array.
            Operand::Indexed {
                array,
                index: None,
                offset: 0,
            } => Ok((self.symbol_address(array, 0, span)?, ty.bits())),
            _ => Err(wrong_kind(operand, "a value")),
        }
    }

    fn named_src(
        &mut self,
        name: &str,
        element: u32,
        ty: ScalarType,
        fit: Fit,
        span: Span,
    ) -> Res<(Src, u32)> {
        match self.find(name) {
            Some(Symbol::Reg(decl)) => {
                check_element(decl.vector, element, name, span)?;
                match self.place(decl, element, name)? {
                    Place::Reg(reg, declared) => {
                        check_fit(name, declared, ty, fit, span)?;
                        Ok((Src::Reg(reg), declared.bits()))
                    }
                    Place::Pred(_) => Err(is_predicate(name, span)),
                }
            }
            Some(_) => Ok((self.symbol_address(name, 0, span)?, ty.bits())),
            None if self.kernel.is_function(name) => {
                let address = self.kernel.symbols.function_address(name);
                let address = address.ok_or_else(|| {
                    unsupported(
                        span,
                        "addresses of functions that have no body in this file",
                    )
                })?;
                Ok((self.bits(address)?, ty.bits()))
            }
            None => {
                let special = special::find(name).ok_or_else(|| self.undefined(name, span))?;
                Ok((Src::Special(special), ty.bits()))
            }
        }
    }

    /// Operand for a literal as the bits of a type.
    pub(crate) fn constant(&mut self, value: &Constant, ty: ScalarType, span: Span) -> Res<Src> {
        match value {
            Constant::Symbol { name, offset, .. } => self.symbol_address(name, *offset, span),
            Constant::MaskedSymbol { .. } => Err(unsupported(span, "`mask()` in an instruction")),
            _ => {
                let bits = literal_bits(value, ty, span)?;
                self.bits(bits)
            }
        }
    }

    /// Address of a variable in its own space, as `mov` returns it.
    pub(crate) fn symbol_address(&mut self, name: &str, offset: i64, span: Span) -> Res<Src> {
        match self.find(name) {
            Some(Symbol::Local(at) | Symbol::Frame(at)) if self.frame_base() != Src::None => {
                let at = self.bits(i64::from(at).wrapping_add(offset) as u64)?;
                let sum = self.temp(true)?;
                let add = Op::Int(IntBin::Add, IntTy::U64);
                self.emit(add, &[Dst::Reg(sum)], &[self.frame_base(), at]);
                Ok(Src::Reg(sum))
            }
            Some(
                Symbol::Shared(at) | Symbol::Local(at) | Symbol::Frame(at) | Symbol::Param(at),
            ) => self.bits(i64::from(at).wrapping_add(offset) as u64),
            Some(Symbol::Global(index) | Symbol::Const(index)) => {
                if self.scopes.find(name).is_none() && self.kernel.is_external(name) {
                    let what = format!("`{name}`, which is defined in another file");
                    return Err(unsupported(span, &what));
                }
                let value = ConstValue::Global(index, offset);
                self.pools.constant(value, span)
            }
            Some(Symbol::Texture(index)) if offset == 0 => {
                self.pools.constant(ConstValue::Texture(index), span)
            }
            _ => Err(self.undefined(name, span)),
        }
    }

    /// Predicate, negated predicate `!p` or constant.
    pub(crate) fn src_pred(&mut self, operand: &Spanned<Operand>) -> Res<Src> {
        match &operand.node {
            Operand::Name(name) => Ok(Src::Pred(self.predicate(name, operand.span)?, false)),
            Operand::Not(name) => Ok(Src::Pred(self.predicate(name, operand.span)?, true)),
            Operand::Immediate(Constant::Int(value, _)) => self.bits(u64::from(*value != 0)),
            _ => Err(wrong_kind(operand, "a predicate")),
        }
    }

    /// Destination register of exactly the type's width, or `_`.
    pub(crate) fn dst(&mut self, operand: &Spanned<Operand>, ty: ScalarType) -> Res<Dst> {
        let found = self.dst_fit(operand, ty, Fit::Exact)?;
        Ok(found.map_or(Dst::None, |(reg, _)| Dst::Reg(reg)))
    }

    /// Destination register with its width in bits; `None` for `_`.
    pub(crate) fn dst_fit(
        &mut self,
        operand: &Spanned<Operand>,
        ty: ScalarType,
        fit: Fit,
    ) -> Res<Option<(Reg, u32)>> {
        let span = operand.span;
        let (name, element) = match &operand.node {
            Operand::Sink => return Ok(None),
            Operand::Name(name) if name == "_" => return Ok(None),
            Operand::Name(name) => (name, 0),
            Operand::Element(name, element) => (name, *element),
            _ => return Err(wrong_kind(operand, "a register")),
        };
        let Some(Symbol::Reg(decl)) = self.find(name) else {
            return Err(self.undefined(name, span));
        };
        check_element(decl.vector, element, name, span)?;
        match self.place(decl, element, name)? {
            Place::Reg(reg, declared) => {
                check_fit(name, declared, ty, fit, span)?;
                Ok(Some((reg, declared.bits())))
            }
            Place::Pred(_) => Err(is_predicate(name, span)),
        }
    }

    /// Destination predicate, or `_`.
    pub(crate) fn dst_pred(&mut self, operand: &Spanned<Operand>) -> Res<Dst> {
        match &operand.node {
            Operand::Sink => Ok(Dst::None),
            Operand::Name(name) => self.dst_pred_named(name, operand.span),
            _ => Err(wrong_kind(operand, "a predicate register")),
        }
    }

    /// Destination predicate by name, or `_`.
    pub(crate) fn dst_pred_named(&mut self, name: &str, span: Span) -> Res<Dst> {
        match name {
            "_" => Ok(Dst::None),
            _ => self.predicate(name, span).map(Dst::Pred),
        }
    }

    /// Two destination predicates: `p|q` or `p`.
    pub(crate) fn dst_pred_pair(&mut self, operand: &Spanned<Operand>) -> Res<[Dst; 2]> {
        match &operand.node {
            Operand::Pair(p, q) => Ok([
                self.dst_pred_named(p, operand.span)?,
                self.dst_pred_named(q, operand.span)?,
            ]),
            _ => Ok([self.dst_pred(operand)?, Dst::None]),
        }
    }

    /// Destination register with an optional predicate: `d|p` or `d`.
    pub(crate) fn dst_and_pred(
        &mut self,
        operand: &Spanned<Operand>,
        ty: ScalarType,
    ) -> Res<[Dst; 2]> {
        let Operand::Pair(d, p) = &operand.node else {
            return Ok([self.dst(operand, ty)?, Dst::None]);
        };
        let node = Operand::Name(d.clone());
        let span = operand.span;
        Ok([
            self.dst(&Spanned { node, span }, ty)?,
            self.dst_pred_named(p, span)?,
        ])
    }
}

fn check_element(vector: u32, element: u32, name: &str, span: Span) -> Res<()> {
    if element < vector {
        return Ok(());
    }
    let message = format!("`{name}` has {vector} elements");
    Err(invalid("vector-element", span, message))
}

fn check_fit(name: &str, declared: ScalarType, ty: ScalarType, fit: Fit, span: Span) -> Res<()> {
    let fits = match fit {
        Fit::Exact => declared.bits() == ty.bits(),
        Fit::Wider => declared.bits() >= ty.bits(),
    };
    if fits {
        return Ok(());
    }
    let message = format!(
        "`{name}` is a `.{declared}` register of {} bits, the operand has type `.{ty}` of {}",
        declared.bits(),
        ty.bits()
    );
    Err(invalid_help(
        "operand-size",
        span,
        message,
        "convert it with `cvt`, or use a register of the right width",
    ))
}

pub(crate) fn is_predicate(name: &str, span: Span) -> Box<Diagnostic> {
    let message = format!("`{name}` is a predicate, a value is needed here");
    invalid_help(
        "operand-type",
        span,
        message,
        "turn it into a number with `selp`",
    )
}

pub(crate) fn wrong_kind(operand: &Spanned<Operand>, wanted: &str) -> Box<Diagnostic> {
    let span = operand.span;
    match &operand.node {
        Operand::Indexed { .. } => {
            unsupported(span, "elements of arrays as operands, except for the first")
        }
        Operand::VectorPair(..) => unsupported(span, "residency predicates of textures"),
        Operand::Selected { .. } => unsupported(span, "parts of registers as operands"),
        _ => invalid("operand-kind", span, format!("{wanted} is needed here")),
    }
}
