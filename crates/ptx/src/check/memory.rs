//! Checks of the operands of memory instructions: addresses, and values that may be vectors (PTX
//! ISA 6.4.1, 9.7.9).

use super::Checker;
use super::names::Symbol;
use super::operands::Wanted;
use crate::access::space as space_accessed;
use crate::ast::{Address, AddressBase, Instruction, Operand, Spanned};
use crate::forms::Role;
use crate::special::Special;
use crate::tokens::{ScalarType, Space};
use warploom_diag::{Diagnostic, Span};

impl<'m> Checker<'m> {
    /// Checks the value of a load or store: a vector if there is a modifier such as `.v2`.
    pub(super) fn memory_value(
        &mut self,
        instruction: &Instruction,
        operand: &'m Spanned<Operand>,
        wanted: Wanted,
        role: Role,
    ) {
        let lanes = instruction
            .modifiers
            .iter()
            .find_map(|m| m.node.vector_len())
            .unwrap_or(1);
        self.access_width(operand.span, lanes * wanted.ty.bits());
        match &operand.node {
            Operand::Vector(elements) if lanes > 1 => {
                if elements.len() != lanes as usize {
                    return self.vector_length(operand, elements.len(), lanes);
                }
                let sinks = lanes * wanted.ty.bits() == 256;
                for element in elements {
                    self.memory_element(element, wanted, role, sinks);
                }
            }
            Operand::Name(name) if lanes > 1 => self.vector_register(name, operand, lanes, wanted),
            _ if lanes > 1 => {
                self.any(operand);
                let help = format!("write {lanes} registers in braces");
                self.operand_kind(
                    operand.span,
                    "a vector instruction needs a vector",
                    "not a vector",
                    &help,
                );
            }
            Operand::Vector(elements) if elements.len() == 1 => {
                self.memory_element(&elements[0], wanted, role, false);
            }
            _ => self.memory_element(operand, wanted, role, false),
        }
    }

    /// Checks the width of an access: at most 128 bits, or 256 since sm_100.
    fn access_width(&mut self, span: Span, bits: u32) {
        let widest = if self.architecture.is_none_or(|number| number >= 100) {
            256
        } else {
            128
        };
        if bits > widest {
            let message = format!("an access of {bits} bits is too wide");
            let help = "use a shorter vector or a narrower type";
            let label = format!("at most {widest} bits on this target");
            self.operand_kind(span, &message, &label, help);
        }
    }

    /// Checks an element. With `sinks`, an element of a store may be `_`, as in stores of 256 bits.
    fn memory_element(
        &mut self,
        operand: &'m Spanned<Operand>,
        wanted: Wanted,
        role: Role,
        sinks: bool,
    ) {
        match (role, &operand.node) {
            (Role::MemoryDestination, Operand::Sink) => {}
            (Role::MemorySource, Operand::Sink) if sinks => {}
            (Role::MemoryDestination, _) => self.destination(operand, wanted),
            _ => self.source(operand, wanted, Role::Source),
        }
    }

    fn vector_length(&mut self, operand: &'m Spanned<Operand>, found: usize, lanes: u32) {
        self.any(operand);
        let message = format!("a vector of {found}, the instruction has `.v{lanes}`");
        let help = format!("write {lanes} registers in braces");
        self.operand_kind(operand.span, &message, "wrong length", &help);
    }

    fn vector_register(
        &mut self,
        name: &str,
        operand: &Spanned<Operand>,
        lanes: u32,
        wanted: Wanted,
    ) {
        match self.resolve(name, operand.span) {
            Some(Symbol::Register { ty, vector, .. }) if vector == lanes && wanted.accepts(ty) => {}
            Some(Symbol::Special(Special { vector: true, .. })) if lanes == 4 => {}
            Some(symbol) => {
                let message = format!("`{name}` is {}, not a vector of {lanes}", symbol.describe());
                let help = format!("write {lanes} registers in braces");
                self.operand_kind(operand.span, &message, "not such a vector", &help);
            }
            None => {}
        }
    }

    pub(super) fn address_operand(
        &mut self,
        instruction: &'m Instruction,
        operand: &'m Spanned<Operand>,
    ) {
        match &operand.node {
            Operand::Address(address) => self.address(instruction, address),
            Operand::Indexed { array, index, .. } => {
                if let Some(Symbol::Variable(variable)) = self.resolve(array, operand.span) {
                    self.space(instruction, array, variable.space, operand.span);
                }
                if let Some(index) = index {
                    self.resolve(index, operand.span);
                }
            }
            _ => {
                self.any(operand);
                let help = "write the address in brackets, e.g. `[%rd1+4]`";
                self.operand_kind(
                    operand.span,
                    "this operand must be an address",
                    "not in brackets",
                    help,
                );
            }
        }
    }

    fn address(&mut self, instruction: &'m Instruction, address: &'m Address) {
        address.rest.iter().for_each(|operand| self.any(operand));
        let AddressBase::Name(name) = &address.base.node else {
            return;
        };
        let span = address.base.span;
        match self.resolve(name, span) {
            None | Some(Symbol::Label | Symbol::Function(_)) => {}
            Some(Symbol::Register { ty, vector: 1, .. }) => {
                self.address_register(instruction, name, ty, span);
            }
            Some(Symbol::Variable(variable)) => self.space(instruction, name, variable.space, span),
            Some(symbol) => {
                let message = format!("`{name}` is {}, which is no address", symbol.describe());
                let help = "use a register with an address, or the name of a variable";
                self.operand_kind(span, &message, "no address", help);
            }
        }
    }

    /// Checks the width of an address. Global and generic addresses have the module's width, or are
    /// cut to it if that is 32 bits; 32 bits are enough for any other space.
    fn address_register(
        &mut self,
        instruction: &Instruction,
        name: &str,
        ty: ScalarType,
        span: Span,
    ) {
        let integer = ty.is_bits() || ty.is_integer();
        let any_width = self.address_bits == 32
            || !matches!(
                space_accessed(instruction),
                Some(None | Some(Space::Global))
            );
        let width = ty.bits() == self.address_bits || (any_width && matches!(ty.bits(), 32 | 64));
        if integer && width {
            return;
        }
        let message = format!(
            "`{name}` is a `.{ty}` register, an address has {} bits",
            self.address_bits
        );
        let help = format!(
            "use a `.b{0}` register; widen with `cvt.u{0}.u32`",
            self.address_bits
        );
        self.report(
            Diagnostic::error("operand-type", span, message)
                .label("not an address")
                .help(help),
        );
    }

    /// Reports a variable in another space than the instruction's.
    fn space(&mut self, instruction: &Instruction, name: &str, space: Space, span: Span) {
        let Some(Some(named)) = space_accessed(instruction) else {
            return;
        };
        let same = named == space || (named == Space::Global && space == Space::Tex);
        if same {
            return;
        }
        let message = format!("`{name}` lives in `.{space}`, the instruction accesses `.{named}`");
        let help = format!("write `.{space}` in the instruction");
        self.report(
            Diagnostic::error("wrong-space", span, message)
                .label("other space")
                .help(help),
        );
    }

    /// Checks a register with an address, or a symbol.
    pub(super) fn address_value(&mut self, operand: &'m Spanned<Operand>) {
        let (Operand::Name(name) | Operand::NameOffset(name, _)) = &operand.node else {
            self.any(operand);
            return self.not_a_register(operand, "an address");
        };
        match self.resolve(name, operand.span) {
            Some(Symbol::Register { ty, vector: 1, .. }) if ty.bits() < 32 || ty.is_float() => {
                let message = format!("`{name}` is a `.{ty}` register, which holds no address");
                let help = format!("use a `.b{}` register", self.address_bits);
                self.operand_kind(operand.span, &message, "no address", &help);
            }
            _ => {}
        }
    }
}
