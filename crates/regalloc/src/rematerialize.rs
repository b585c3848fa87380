//! Rematerialization: values that are cheaper to recompute than to keep in memory (Briggs, Cooper
//! and Torczon, 1992). These values are constants, addresses of variables, thread and launch
//! indices, kernel parameters, and generic or global addresses derived from them.

use crate::body::{Body, Control, Inst, Purpose, Var};
use crate::flow::Flow;
use warploom_ptx::ast::{AddressBase, Operand};
use warploom_ptx::special;
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// The instructions that recompute a value. Each instruction after the first reads the result of
/// the previous one.
pub(crate) type Recipe = Vec<Inst>;

/// The maximum length of a recipe.
const LONGEST: usize = 3;

/// Special registers whose value is constant during the lifetime of a thread.
const CONSTANT: &[&str] = &["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid"];

/// Returns the recipe of each variable that has one. A variable has no recipe if it has several
/// definitions or if the program may read it before it is written.
pub(crate) fn recipes(body: &Body, flow: &Flow, params: &[String]) -> Vec<Option<Recipe>> {
    let mut definitions = vec![0_u32; body.vars.len()];
    for var in body.insts().flat_map(Inst::writes) {
        definitions[var.index()] += 1;
    }
    let once = |var: Var| definitions[var.index()] == 1 && !flow.at_entry().contains(var.index());
    let mut recipes: Vec<Option<Recipe>> = vec![None; body.vars.len()];
    // A recipe may depend on a definition that is later in the text. Two passes suffice for LONGEST
    // steps.
    for _ in 1..LONGEST {
        for inst in body.insts() {
            let Some(var) = inst.writes().next().filter(|var| once(*var)) else {
                continue;
            };
            if recipes[var.index()].is_none() && is_candidate(inst) {
                recipes[var.index()] = recipe(inst, &recipes, params);
            }
        }
    }
    recipes
}

/// Returns whether an instruction may be part of a recipe: an unguarded instruction of the input
/// with one result.
fn is_candidate(inst: &Inst) -> bool {
    matches!(inst.purpose, Purpose::Original(_))
        && inst.ast.guard.is_none()
        && inst.control == Control::Next
        && inst.writes().count() == 1
}

/// Returns the recipe of the variable that an instruction defines, given the recipes that are
/// already known.
fn recipe(inst: &Inst, recipes: &[Option<Recipe>], params: &[String]) -> Option<Recipe> {
    let source = &inst.ast.operands.get(1)?.node;
    let from = inst.reads().next();
    let has = |modifier| inst.ast.modifiers.iter().any(|m| m.node == modifier);
    match (inst.ast.opcode.node, from) {
        (Opcode::Mov, None) => is_constant(source).then(|| vec![inst.clone()]),
        (Opcode::Mov, Some(from)) if matches!(source, Operand::Name(_)) => {
            recipes[from.index()].clone()
        }
        (Opcode::Ld, None) if has(Modifier::Space(Space::Param)) => {
            is_param(source, params).then(|| vec![inst.clone()])
        }
        (Opcode::Cvta, None) => is_constant(source).then(|| vec![inst.clone()]),
        (Opcode::Cvta, Some(from)) => {
            let mut steps = recipes[from.index()].clone()?;
            steps.push(inst.clone());
            (steps.len() <= LONGEST).then_some(steps)
        }
        _ => None,
    }
}

/// Returns whether an operand has the same value throughout the lifetime of a thread.
fn is_constant(operand: &Operand) -> bool {
    match operand {
        Operand::Immediate(_) | Operand::NameOffset(..) => true,
        Operand::Name(name) => match special::lookup(name) {
            Some(_) => {
                let stem = name.split('.').next().unwrap_or(name);
                CONSTANT.contains(&stem)
            }
            None => true,
        },
        _ => false,
    }
}

/// Returns whether an operand is an address within a kernel parameter.
fn is_param(operand: &Operand, params: &[String]) -> bool {
    match operand {
        Operand::Address(address) => match &address.base.node {
            AddressBase::Name(name) => params.contains(name) && address.rest.is_empty(),
            AddressBase::Absolute(_) => false,
        },
        _ => false,
    }
}
