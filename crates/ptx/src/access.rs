//! Registers that an instruction reads and writes, according to the table of forms.
//!
//! The visitor is for passes that rewrite PTX. Names are visited in a fixed order (the guard, then
//! the operands from left to right) and may be replaced. The visitor decides what a name stands
//! for: names of variables, parameters and special registers are visited too, labels are not.

use crate::ast::{Address, AddressBase, Instruction, Operand, Spanned};
use crate::forms::{Form, Forms, Role};
use crate::tokens::{Modifier, Opcode, ScalarType, Space};

/// Use of a register by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The instruction uses the value.
    Read,
    /// The instruction writes a value in the lanes in which the guard holds.
    Write,
}

/// Error: the table does not say which operands the instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownAccess;

/// Table of forms for queries about registers. Construct it once: parsing the table takes time.
pub struct Accesses {
    forms: Forms,
}

impl Default for Accesses {
    fn default() -> Self {
        Self::new()
    }
}

impl Accesses {
    /// Parses the table of forms.
    pub fn new() -> Self {
        Self {
            forms: Forms::new(),
        }
    }

    /// Calls `visit` for every name that may be a register's.
    ///
    /// # Errors
    /// Fails if the instruction fits no form, or a form that leaves its operands open.
    pub fn visit(
        &self,
        instruction: &mut Instruction,
        visit: &mut dyn FnMut(&mut String, Access),
    ) -> Result<(), UnknownAccess> {
        let roles = self.roles(instruction)?;
        if let Some(guard) = &mut instruction.guard {
            visit(&mut guard.name.node, Access::Read);
        }
        for (operand, role) in instruction.operands.iter_mut().zip(roles) {
            if let Some(access) = role {
                names(&mut operand.node, access, visit);
            }
        }
        Ok(())
    }

    /// Returns the use of each operand's registers; `None` for labels.
    fn roles(&self, instruction: &Instruction) -> Result<Vec<Option<Access>>, UnknownAccess> {
        let count = instruction.operands.len();
        if instruction.opcode == Opcode::Call {
            return Ok(call_roles(&instruction.operands));
        }
        let takes = |form: &&Form| {
            let (least, most) = form.operand_counts();
            form.admits(&instruction.modifiers).is_ok()
                && least <= count
                && most.is_none_or(|most| count <= most)
        };
        let forms = self.forms.of(instruction.opcode.node);
        let form = forms.iter().find(takes).ok_or(UnknownAccess)?;
        let shapes = form.shapes_for(count);
        let mut roles = Vec::with_capacity(count);
        for (index, shape) in shapes.iter().enumerate() {
            roles.push(match shape.role {
                Role::Destination
                | Role::PredicateDestination
                | Role::PredicatePair
                | Role::DestinationWithPredicate
                | Role::MemoryDestination
                | Role::VectorDestination => Some(Access::Write),
                Role::Video | Role::Move if index == 0 => Some(Access::Write),
                Role::Label | Role::BranchTable => None,
                Role::Any if index == 0 => Some(open_form(instruction)?),
                _ => Some(Access::Read),
            });
        }
        Ok(roles)
    }
}

/// Use of the first operand of a form that leaves its operands open.
fn open_form(instruction: &Instruction) -> Result<Access, UnknownAccess> {
    let has = |modifier| instruction.modifiers.iter().any(|m| m.node == modifier);
    match instruction.opcode.node {
        Opcode::Cvt | Opcode::Mma => Ok(Access::Write),
        Opcode::Wmma if has(Modifier::Store) => Ok(Access::Read),
        Opcode::Wmma => Ok(Access::Write),
        _ => Err(UnknownAccess),
    }
}

/// Uses of `call (returns), f, (arguments), prototype`: the list before the function's name is
/// written.
fn call_roles(operands: &[Spanned<Operand>]) -> Vec<Option<Access>> {
    let is_list = |operand: &Spanned<Operand>| matches!(operand.node, Operand::List(_));
    let returns = operands.first().is_some_and(is_list);
    let role = |index: usize| match index {
        0 if returns => Some(Access::Write),
        _ => Some(Access::Read),
    };
    (0..operands.len()).map(role).collect()
}

/// Visits the names in an operand. `access` is the use of the names at its top level.
fn names(operand: &mut Operand, access: Access, visit: &mut dyn FnMut(&mut String, Access)) {
    match operand {
        Operand::Name(name)
        | Operand::Not(name)
        | Operand::Element(name, _)
        | Operand::NameOffset(name, _)
        | Operand::Selected { name, .. } => visit(name, access),
        Operand::Pair(first, second) => {
            for name in [first, second] {
                if name != "_" {
                    visit(name, access);
                }
            }
        }
        Operand::Vector(operands) | Operand::List(operands) => {
            for operand in operands {
                names(&mut operand.node, access, visit);
            }
        }
        Operand::VectorPair(operands, predicate) => {
            for operand in operands {
                names(&mut operand.node, access, visit);
            }
            visit(predicate, access);
        }
        Operand::Address(address) => address_names(address, visit),
        Operand::Indexed {
            index: Some(index), ..
        } => visit(index, Access::Read),
        Operand::Indexed { index: None, .. } | Operand::Immediate(_) | Operand::Sink => {}
    }
}

fn address_names(address: &mut Address, visit: &mut dyn FnMut(&mut String, Access)) {
    if let AddressBase::Name(name) = &mut address.base.node {
        visit(name, Access::Read);
    }
    for operand in &mut address.rest {
        names(&mut operand.node, Access::Read, visit);
    }
}

/// Space that a memory instruction accesses: the named one, or `Some(None)` for a generic access.
/// `None` for instructions whose addresses are not plain memory and for those that name two spaces.
pub(crate) fn space(instruction: &Instruction) -> Option<Option<Space>> {
    let memory = matches!(
        instruction.opcode.node,
        Opcode::Ld | Opcode::St | Opcode::Ldu | Opcode::Atom | Opcode::Red | Opcode::Prefetch
    );
    let simple = memory
        && !instruction
            .modifiers
            .iter()
            .any(|m| m.node == Modifier::Async);
    simple.then(|| instruction.modifiers.iter().find_map(|m| m.node.space()))
}

/// Types among an instruction's modifiers, in order.
pub fn types(instruction: &Instruction) -> impl Iterator<Item = ScalarType> {
    let modifiers = instruction.modifiers.iter();
    modifiers.filter_map(|modifier| modifier.node.scalar_type())
}

#[cfg(test)]
mod tests {
    use super::{Access, Accesses};
    use crate::ast::{Item, Statement};
    use crate::parse;
    use warploom_diag::Source;

    /// Checks the names that one instruction reads and writes.
    fn check(text: &str, reads: &str, writes: &str) {
        let text = format!(".version 8.0\n.target sm_90\n.func f() {{ {text} }}");
        let (module, problems) = parse(&Source::new("t", text.as_str()));
        assert!(problems.is_empty(), "{text}");
        let Some(Item::Function(function)) = module.items.first() else {
            panic!("no function");
        };
        let statement = function.body.as_ref().and_then(|b| b.statements.first());
        let Some(Statement::Instruction(instruction)) = statement else {
            panic!("no instruction");
        };
        let (mut read, mut written) = (Vec::new(), Vec::new());
        let mut instruction = instruction.clone();
        let result = Accesses::new().visit(&mut instruction, &mut |name, access| match access {
            Access::Read => read.push(name.clone()),
            Access::Write => written.push(name.clone()),
        });
        assert_eq!(result, Ok(()), "{text}");
        assert_eq!(
            (read.join(" "), written.join(" ")),
            (reads.into(), writes.into()),
            "{text}"
        );
    }

    #[test]
    fn destinations_are_written_and_the_rest_is_read() {
        check("@!p add.s32 a, b, 1;", "p b", "a");
        check("setp.lt.and.s32 p|q, a, b, !r;", "a b r", "p q");
        check("st.global.v2.f32 [a+4], {b, c};", "a b c", "");
        check("ld.shared.v4.u32 {a, b, _, d}, [s];", "s", "a b d");
        check("mov.b64 {a, b}, c;", "c", "a b");
        check("mov.b64 a, {b, c};", "b c", "a");
        check("atom.global.add.u32 a, [b], c;", "b c", "a");
        check("red.global.add.u32 [b], c;", "b c", "");
        check("shfl.sync.down.b32 a|p, b, c, 31, m;", "b c m", "a p");
        check("vadd.s32.u32.s32 d.b0, a.b1, b.h0, c;", "a b c", "d");
        check(
            "tex.2d.v4.f32.f32 {a, b, c, d}, [t, {x, y}];",
            "t x y",
            "a b c d",
        );
        check("call.uni (r), g, (a, b);", "g a b", "r");
        check("call g, (a);", "g a", "");
        check("bra done;", "", "");
        check("brx.idx i, table;", "i", "");
        check("bar.sync 0;", "", "");
        check("cvt.rn.f32.s32 a, b;", "b", "a");
    }
}
