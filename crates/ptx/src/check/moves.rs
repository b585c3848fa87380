//! Checks of the operands of `mov`: registers, addresses, special registers, packed vectors (PTX
//! ISA 9.7.9.1 and 9.7.9.2).

use super::Checker;
use super::names::Symbol;
use super::operands::Wanted;
use crate::ast::{Instruction, Operand, Spanned};
use crate::forms::Role;
use crate::special::Special;
use crate::tokens::ScalarType;
use warploom_diag::Span;

impl<'m> Checker<'m> {
    pub(super) fn move_operand(
        &mut self,
        instruction: &Instruction,
        operand: &'m Spanned<Operand>,
        wanted: Wanted,
    ) {
        let is_result = instruction
            .operands
            .first()
            .is_some_and(|first| first.span == operand.span);
        match &operand.node {
            Operand::Vector(elements) => self.packed(operand, elements, wanted, is_result),
            Operand::Name(name) if self.is_whole_vector(name, wanted) => {}
            _ if is_result => self.destination(operand, wanted),
            Operand::Name(name) => self.move_name(name, operand.span, wanted),
            Operand::NameOffset(name, _) => self.move_name(name, operand.span, wanted),
            Operand::Indexed { .. } => self.any(operand),
            _ => self.source(operand, wanted, Role::Source),
        }
    }

    /// Checks a vector register whose elements together have the wanted width; it is packed or
    /// unpacked as a whole.
    fn is_whole_vector(&self, name: &str, wanted: Wanted) -> bool {
        let symbol = self.scopes.find(name);
        matches!(symbol, Some(Symbol::Register { ty, vector, .. })
            if vector > 1 && vector * ty.bits() == wanted.ty.bits())
    }

    /// Checks the source of a `mov`, which may be the address of a symbol or a special register.
    fn move_name(&mut self, name: &str, span: Span, wanted: Wanted) {
        match self.scopes.find(name) {
            Some(Symbol::Special(special)) => self.move_special(name, span, special, wanted),
            Some(Symbol::Variable(_) | Symbol::Function(_) | Symbol::Label) => {
                if wanted.ty.is_float() || wanted.ty.bits() < 32 {
                    let message =
                        format!("the address of `{name}` does not fit in `.{}`", wanted.ty);
                    let help = format!("use `mov.u{}`", self.address_bits);
                    self.operand_kind(span, &message, "an address", &help);
                }
            }
            _ => self.register(name, span, wanted, false),
        }
    }

    /// Checks a special register as source. A register of 32 bits may be read as 16 bits, as in PTX
    /// before 2.0.
    fn move_special(&mut self, name: &str, span: Span, special: Special, wanted: Wanted) {
        if special.vector {
            let help = format!("name an element, e.g. `{name}.x`");
            return self.operand_kind(
                span,
                &format!("`{name}` is a vector"),
                "expected a scalar",
                &help,
            );
        }
        let legacy = special.ty.bits() == 32 && wanted.ty.bits() == 16;
        if wanted.ty.is_float() || !(wanted.accepts(special.ty) || legacy || name == "%gridid") {
            self.wrong_type(name, span, special.ty, wanted);
        }
    }

    /// Checks `{a, b}`, which packs or unpacks: the parts together have the width of the whole.
    fn packed(
        &mut self,
        operand: &'m Spanned<Operand>,
        elements: &'m [Spanned<Operand>],
        wanted: Wanted,
        is_result: bool,
    ) {
        let count = elements.len() as u32;
        let part = match wanted.ty.bits().checked_div(count) {
            Some(8) if count * 8 == wanted.ty.bits() => ScalarType::B8,
            Some(16) if count * 16 == wanted.ty.bits() => ScalarType::B16,
            Some(32) if count * 32 == wanted.ty.bits() => ScalarType::B32,
            Some(64) if count * 64 == wanted.ty.bits() => ScalarType::B64,
            _ => {
                let message = format!("{count} parts do not make up `.{}`", wanted.ty);
                let help = "parts have 8, 16, 32 or 64 bits and add up to the whole";
                return self.operand_kind(operand.span, &message, "wrong number of parts", help);
            }
        };
        let wanted = Wanted {
            ty: part,
            relaxed: false,
        };
        for element in elements {
            match &element.node {
                Operand::Sink if is_result => {}
                _ if is_result => self.destination(element, wanted),
                _ => self.source(element, wanted, Role::Source),
            }
        }
    }
}
