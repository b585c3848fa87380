//! Memory operands: from the text in brackets to a space, a base and an offset.

use crate::builder::{Builder, Place};
use crate::error::{Res, invalid, invalid_help, unsupported};
use crate::operand::{is_predicate, wrong_kind};
use crate::scope::Symbol;
use warploom_diag::Span;
use warploom_ir::{MemSpace, Src};
use warploom_ptx::ast::{Address, AddressBase, Operand, Spanned};
use warploom_ptx::tokens::Space;

/// Memory operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addr {
    /// Space of the access.
    pub space: MemSpace,
    /// Base of the address.
    pub base: Src,
    /// Offset in bytes from the base.
    pub offset: i32,
    /// True if the base is a 64-bit register.
    pub wide: bool,
}

impl Builder<'_, '_> {
    /// Reads `[base+offset]` in a named space, or in the space of the symbol that it names.
    pub(crate) fn address(
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

    /// Reads an address without what may follow it in the brackets.
    pub(crate) fn plain_address(&mut self, address: &Address, space: Option<Space>) -> Res<Addr> {
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

    /// Space of an access through a register.
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
        let base = match symbol {
            Symbol::Local(_) | Symbol::Frame(_) => self.frame_base(),
            _ => Src::None,
        };
        let (base, offset) = match symbol {
            Symbol::Shared(at) | Symbol::Local(at) | Symbol::Frame(at) | Symbol::Param(at) => (
                base,
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
