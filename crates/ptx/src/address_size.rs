//! Width of addresses in a file that does not state it.
//!
//! PTX ISA, ".address_size": the default is 32 bits. NVIDIA's assembler (13.5) assumes 64 bits
//! anyway if a file accesses global memory through 64-bit registers only; old compilers and people
//! wrote such files. This module does the same.

use crate::ast::{AddressBase, Body, Instruction, Item, Module, Operand, Statement, Variable};
use crate::tokens::Space;
use rustc_hash::FxHashMap;

/// Widths of a file's registers and of the addresses in its accesses.
#[derive(Default)]
struct Evidence {
    /// True if a 32-bit register addresses global or generic memory.
    narrow: bool,
    /// True if the file declares registers or parameters of 64 bits.
    wide: bool,
}

/// Infers the width of addresses in bits from the functions.
pub(crate) fn inferred(module: &Module) -> u32 {
    let mut evidence = Evidence::default();
    for item in &module.items {
        if let Item::Function(function) = item {
            let mut widths = FxHashMap::default();
            for parameter in &function.params {
                evidence.declare(parameter, &mut widths);
            }
            if let Some(body) = &function.body {
                evidence.body(body, &mut widths);
            }
        }
    }
    match evidence {
        Evidence {
            narrow: false,
            wide: true,
        } => 64,
        _ => 32,
    }
}

/// Width in bits by name of a register or of a family of registers.
type Widths<'m> = FxHashMap<&'m str, u32>;

impl Evidence {
    fn declare<'m>(&mut self, variable: &'m Variable, widths: &mut Widths<'m>) {
        let whole = variable.ty.is_bits() || variable.ty.is_integer();
        if !whole || !matches!(variable.space, Space::Reg | Space::Param) {
            return;
        }
        self.wide |= variable.ty.bits() == 64;
        if variable.space == Space::Reg {
            widths.insert(&variable.name.node, variable.ty.bits());
        }
    }

    fn body<'m>(&mut self, body: &'m Body, widths: &mut Widths<'m>) {
        for statement in &body.statements {
            match statement {
                Statement::Variable(variable) => self.declare(variable, widths),
                Statement::Block(inner) => self.body(inner, widths),
                Statement::Instruction(instruction) => self.access(instruction, widths),
                _ => {}
            }
        }
    }

    fn access(&mut self, instruction: &Instruction, widths: &Widths) {
        if !matches!(
            crate::access::space(instruction),
            Some(None | Some(Space::Global))
        ) {
            return;
        }
        for operand in &instruction.operands {
            if let Operand::Address(address) = &operand.node
                && let AddressBase::Name(name) = &address.base.node
            {
                self.narrow |= width(name, widths) == Some(32);
            }
        }
    }
}

/// Width in bits of a register that is declared by name or as a member of a family.
fn width(name: &str, widths: &Widths) -> Option<u32> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let ends = std::iter::once(name.len()).chain(stem..name.len());
    ends.filter_map(|end| widths.get(&name[..end]))
        .next()
        .copied()
}

#[cfg(test)]
mod tests {
    use crate::parse;
    use warploom_diag::Source;

    fn check(body: &str, expected: u32) {
        let text = format!(".version 2.3\n.target sm_20\n.entry k() {{ {body} }}");
        let (module, _) = parse(&Source::new("t", text.as_str()));
        assert_eq!(module.address_bits, expected, "{body}");
    }

    #[test]
    fn addresses_have_32_bits_unless_registers_of_64_hold_them() {
        check("exit;", 32);
        check(".reg .u32 %r<3>; ld.global.u32 %r1, [%r2];", 32);
        check(
            ".reg .u32 %r<3>; .reg .u64 %d<3>; ld.global.u32 %r1, [%d2];",
            64,
        );
        check(
            ".reg .u32 r; .reg .u64 d; ld.shared.u32 r, [r]; st.u32 [d], r;",
            64,
        );
        check(
            ".reg .u32 r; .reg .u64 d; ld.u32 r, [r]; st.u32 [d], r;",
            32,
        );
        check(".reg .f64 d; mov.f64 d, 0d0000000000000000;", 32);
    }
}
