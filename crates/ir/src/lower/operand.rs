//! Operands of an instruction, read and written as its types say.

use super::builder::{Builder, Place};
use super::error::{Res, invalid, invalid_help, unsupported};
use super::scope::Symbol;
use super::special;
use crate::inst::{Dst, Reg, Src};
use crate::op::MemSpace;
use crate::program::ConstValue;
use half::{bf16, f16};
use warploom_diag::{Diagnostic, Span};
use warploom_ptx::ast::{Address, AddressBase, Constant, Operand, Spanned};
use warploom_ptx::tokens::{ScalarType, Space};

/// How wide a register may be against the instruction's type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// As wide as the type.
    Exact,
    /// At least as wide (`ld`, `st`, `cvt`: PTX ISA, "Operand Size Exceeding Instruction-Type Size").
    Wider,
}

/// A memory operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addr {
    /// The space that the access goes to.
    pub space: MemSpace,
    /// Base.
    pub base: Src,
    /// Bytes added.
    pub offset: i32,
    /// The base is a 64-bit register.
    pub wide: bool,
}

impl Builder<'_, '_> {
    /// A value of exactly the type's width.
    pub(super) fn src(&mut self, operand: &Spanned<Operand>, ty: ScalarType) -> Res<Src> {
        self.src_fit(operand, ty, Fit::Exact).map(|(src, _)| src)
    }

    /// A value; the second part is the width of the register in bits, or the type's.
    pub(super) fn src_fit(
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
                Err(unsupported(span, "addresses of functions (indirect calls)"))
            }
            None => {
                let special = special::find(name).ok_or_else(|| self.undefined(name, span))?;
                Ok((Src::Special(special), ty.bits()))
            }
        }
    }

    /// A literal as the bits of a type.
    pub(super) fn constant(&mut self, value: &Constant, ty: ScalarType, span: Span) -> Res<Src> {
        match value {
            Constant::Symbol { name, offset, .. } => self.symbol_address(name, *offset, span),
            Constant::MaskedSymbol { .. } => Err(unsupported(span, "`mask()` in an instruction")),
            _ => {
                let bits = literal_bits(value, ty, span)?;
                self.bits(bits)
            }
        }
    }

    /// The address of a variable as `mov` gives it: in its own space.
    pub(super) fn symbol_address(&mut self, name: &str, offset: i64, span: Span) -> Res<Src> {
        match self.find(name) {
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

    /// A predicate, `!p` or a constant.
    pub(super) fn src_pred(&mut self, operand: &Spanned<Operand>) -> Res<Src> {
        match &operand.node {
            Operand::Name(name) => Ok(Src::Pred(self.predicate(name, operand.span)?, false)),
            Operand::Not(name) => Ok(Src::Pred(self.predicate(name, operand.span)?, true)),
            Operand::Immediate(Constant::Int(value, _)) => self.bits(u64::from(*value != 0)),
            _ => Err(wrong_kind(operand, "a predicate")),
        }
    }

    /// A destination register of exactly the type's width, or `_`.
    pub(super) fn dst(&mut self, operand: &Spanned<Operand>, ty: ScalarType) -> Res<Dst> {
        let found = self.dst_fit(operand, ty, Fit::Exact)?;
        Ok(found.map_or(Dst::None, |(reg, _)| Dst::Reg(reg)))
    }

    /// A destination register with its width in bits; `None` for `_`.
    pub(super) fn dst_fit(
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

    /// A destination predicate, or `_`.
    pub(super) fn dst_pred(&mut self, operand: &Spanned<Operand>) -> Res<Dst> {
        match &operand.node {
            Operand::Sink => Ok(Dst::None),
            Operand::Name(name) => self.dst_pred_named(name, operand.span),
            _ => Err(wrong_kind(operand, "a predicate register")),
        }
    }

    /// A destination predicate by name, or `_`.
    pub(super) fn dst_pred_named(&mut self, name: &str, span: Span) -> Res<Dst> {
        match name {
            "_" => Ok(Dst::None),
            _ => self.predicate(name, span).map(Dst::Pred),
        }
    }

    /// `p|q` or `p`: two destination predicates.
    pub(super) fn dst_pred_pair(&mut self, operand: &Spanned<Operand>) -> Res<[Dst; 2]> {
        match &operand.node {
            Operand::Pair(p, q) => Ok([
                self.dst_pred_named(p, operand.span)?,
                self.dst_pred_named(q, operand.span)?,
            ]),
            _ => Ok([self.dst_pred(operand)?, Dst::None]),
        }
    }

    /// `d|p` or `d`: a register and perhaps a predicate.
    pub(super) fn dst_and_pred(
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

    /// `[base+offset]` in a named space, or in the space of the symbol that it names.
    pub(super) fn address(
        &mut self,
        operand: &Spanned<Operand>,
        space: Option<Space>,
    ) -> Res<Addr> {
        let Operand::Address(address) = &operand.node else {
            return Err(wrong_kind(operand, "an address in brackets"));
        };
        if let Some(more) = address.rest.first() {
            return Err(invalid(
                "operand-kind",
                more.span,
                "only textures and surfaces have coordinates in an address".to_owned(),
            ));
        }
        self.plain_address(address, space)
    }

    fn plain_address(&mut self, address: &Address, space: Option<Space>) -> Res<Addr> {
        let span = address.base.span;
        match &address.base.node {
            AddressBase::Absolute(at) => {
                let at = at.wrapping_add(address.offset as u64);
                Ok(Addr {
                    space: self.register_space(space, span)?,
                    base: self.bits(at)?,
                    offset: 0,
                    wide: true,
                })
            }
            AddressBase::Name(name) => match self.find(name) {
                Some(Symbol::Reg(decl)) => {
                    let Place::Reg(reg, ty) = self.place(decl, 0, name)? else {
                        return Err(is_predicate(name, span));
                    };
                    if ty.bits() < 32 || ty.is_float() {
                        let message = format!("`{name}` is a `.{ty}` register, not an address");
                        return Err(invalid("operand-type", span, message));
                    }
                    Ok(Addr {
                        space: self.register_space(space, span)?,
                        base: Src::Reg(reg),
                        offset: small_offset(address.offset, span)?,
                        wide: ty.bits() == 64,
                    })
                }
                Some(symbol) => self.symbol_memory(symbol, name, address.offset, space, span),
                None => Err(self.undefined(name, span)),
            },
        }
    }

    /// The space of an access through a register.
    fn register_space(&self, space: Option<Space>, span: Span) -> Res<MemSpace> {
        Ok(match space {
            None | Some(Space::Generic) => MemSpace::Generic,
            Some(Space::Global) => MemSpace::Global,
            Some(Space::Shared) => MemSpace::Shared,
            Some(Space::Local) => MemSpace::Local,
            Some(Space::Const) => MemSpace::Const,
            Some(Space::Param) if self.function == 0 => MemSpace::Param,
            Some(Space::Param) => MemSpace::FrameParam,
            Some(other) => {
                return Err(unsupported(span, &format!("memory accesses in `.{other}`")));
            }
        })
    }

    fn symbol_memory(
        &mut self,
        symbol: Symbol,
        name: &str,
        offset: i64,
        space: Option<Space>,
        span: Span,
    ) -> Res<Addr> {
        let (own, found) = match symbol {
            Symbol::Shared(_) => (Space::Shared, MemSpace::Shared),
            Symbol::Local(_) => (Space::Local, MemSpace::Local),
            Symbol::Frame(_) => (Space::Param, MemSpace::FrameParam),
            Symbol::Param(_) => (Space::Param, MemSpace::Param),
            Symbol::Global(_) => (Space::Global, MemSpace::Global),
            Symbol::Const(_) => (Space::Const, MemSpace::Const),
            _ => return Err(self.undefined(name, span)),
        };
        if space.is_some_and(|s| s != own && s != Space::Generic) {
            let message = format!("`{name}` is a `.{own}` variable");
            let help = format!("write `.{own}` in the instruction");
            return Err(invalid_help("wrong-space", span, message, help));
        }
        let (base, offset) = match symbol {
            Symbol::Shared(at) | Symbol::Local(at) | Symbol::Frame(at) | Symbol::Param(at) => (
                Src::None,
                small_offset(i64::from(at).wrapping_add(offset), span)?,
            ),
            _ => (
                self.symbol_address(name, 0, span)?,
                small_offset(offset, span)?,
            ),
        };
        Ok(Addr {
            space: found,
            base,
            offset,
            wide: true,
        })
    }
}

fn small_offset(offset: i64, span: Span) -> Res<i32> {
    i32::try_from(offset).map_err(|_| unsupported(span, "address offsets beyond 2 GiB"))
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

fn is_predicate(name: &str, span: Span) -> Box<Diagnostic> {
    let message = format!("`{name}` is a predicate, a value is needed here");
    invalid_help(
        "operand-type",
        span,
        message,
        "turn it into a number with `selp`",
    )
}

fn wrong_kind(operand: &Spanned<Operand>, wanted: &str) -> Box<Diagnostic> {
    let span = operand.span;
    match &operand.node {
        Operand::Indexed { .. } => unsupported(span, "elements of arrays as operands"),
        Operand::VectorPair(..) => unsupported(span, "residency predicates of textures"),
        Operand::Selected { .. } => unsupported(span, "parts of registers as operands"),
        _ => invalid("operand-kind", span, format!("{wanted} is needed here")),
    }
}

/// Bits of a literal as a value of the type (PTX ISA, "Constants"): integers are truncated, decimal
/// and `0d` literals are rounded to nearest in `.f32` and `.f16`.
pub(super) fn literal_bits(value: &Constant, ty: ScalarType, span: Span) -> Res<u64> {
    use ScalarType as S;
    let mask = |bits: u64| bits & (u64::MAX >> (64 - ty.bits().clamp(1, 64)));
    let packed = matches!(ty, S::F16x2 | S::Bf16x2 | S::F32x2);
    Ok(match (value, ty) {
        (Constant::Int(bits, _), _) if !ty.is_float() || packed => mask(*bits),
        (Constant::F32(bits), S::F32 | S::B32) => u64::from(*bits),
        (Constant::F64(bits), S::F64 | S::B64) => *bits,
        (Constant::F32(bits), S::F64) => f64::from(f32::from_bits(*bits)).to_bits(),
        (Constant::F64(bits), S::F32) => u64::from((f64::from_bits(*bits) as f32).to_bits()),
        (Constant::F64(bits), S::F16) => u64::from(f16::from_f64(f64::from_bits(*bits)).to_bits()),
        (Constant::F32(bits), S::F16) => u64::from(f16::from_f32(f32::from_bits(*bits)).to_bits()),
        (Constant::F64(bits), S::Bf16) => {
            u64::from(bf16::from_f64(f64::from_bits(*bits)).to_bits())
        }
        (Constant::F32(bits), S::Bf16) => {
            u64::from(bf16::from_f32(f32::from_bits(*bits)).to_bits())
        }
        (Constant::Int(..), _) => {
            let message = format!("an integer literal where a `.{ty}` value is needed");
            let help = "write `0f` and 8 hexadecimal digits, `0d` and 16, or a decimal point";
            return Err(invalid_help("literal-type", span, message, help));
        }
        (Constant::F32(_) | Constant::F64(_), _) => {
            let message = format!("a floating-point literal where a `.{ty}` value is needed");
            return Err(invalid("literal-type", span, message));
        }
        (Constant::Symbol { .. } | Constant::MaskedSymbol { .. }, _) => {
            let message = format!("an address where a literal of type `.{ty}` is needed");
            return Err(invalid("literal-type", span, message));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::literal_bits;
    use warploom_diag::Span;
    use warploom_ptx::ast::Constant;
    use warploom_ptx::tokens::ScalarType as S;

    fn check(value: Constant, ty: S, expected: Option<u64>) {
        let bits = literal_bits(&value, ty, Span::default());
        assert_eq!(bits.ok(), expected, "{value:?} as .{ty}");
    }

    #[test]
    fn literals_take_the_instructions_type() {
        check(Constant::Int(u64::MAX, false), S::S32, Some(0xFFFF_FFFF));
        check(Constant::Int(0x1_2345, false), S::B16, Some(0x2345));
        check(Constant::Int(1, false), S::F32, None);
        check(
            Constant::Int(0x3C00_3C00, false),
            S::F16x2,
            Some(0x3C00_3C00),
        );
        check(Constant::F32(0x3F80_0000), S::F32, Some(0x3F80_0000));
        check(Constant::F32(0x3F80_0000), S::B32, Some(0x3F80_0000));
        check(Constant::F32(0x3F80_0000), S::U32, None);
        check(Constant::F64(1.5_f64.to_bits()), S::F32, Some(0x3FC0_0000));
        check(Constant::F64(1.5_f64.to_bits()), S::F16, Some(0x3E00));
        check(Constant::F64(1.5_f64.to_bits()), S::Bf16, Some(0x3FC0));
        check(
            Constant::F64(1.5_f64.to_bits()),
            S::F64,
            Some(0x3FF8_0000_0000_0000),
        );
        check(Constant::F64(0), S::S32, None);
    }
}
