//! Bits of an address in a file that does not say them.
//!
//! PTX ISA, ".address_size": without it they are 32. NVIDIA's assembler (13.5) takes 64 all the same
//! where a file accesses global memory through registers of 64 bits alone; old compilers wrote such
//! files, and people do. So does this.

use crate::ast::{AddressBase, Body, Instruction, Item, Module, Operand, Statement, Variable};
use crate::tokens::Space;
use rustc_hash::FxHashMap;

/// What a file's registers and accesses say.
#[derive(Default)]
struct Evidence {
    /// An access to global memory, or a generic one, through a register of 32 bits.
    narrow: bool,
    /// There are registers or parameters of 64 bits.
    wide: bool,
}

/// Bits of an address, from what the functions do.
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

/// Bits of registers and families of registers, by name.
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

/// Bits of a register: declared by its name, or of a family whose name is its beginning.
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
