//! Rematerialization: values that are cheaper to recompute than to keep in memory (Briggs, Cooper
//! and Torczon, 1992). An instruction can be repeated if its result depends on its operands alone,
//! and if each operand is constant, still in use, or can be recomputed itself. Constants are
//! literals, addresses of variables, thread and launch indices, kernel parameters, and the contents
//! of constant memory.

use crate::body::{Body, Control, Inst, Purpose, Var};
use crate::flow::Flow;
use fixedbitset::FixedBitSet;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use warploom_ptx::access::Access;
use warploom_ptx::ast::{AddressBase, Operand};
use warploom_ptx::special;
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// The maximum number of instructions that recompute a value.
pub(crate) const LONGEST: u32 = 6;

/// Special registers whose value is constant during the lifetime of a thread.
const CONSTANT: &[&str] = &["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid"];

/// The definition of each variable whose value can be recomputed from the operands of one
/// instruction. A variable has none if it has several definitions or if the program may read it
/// before it is written. The value of such a variable is then the same at all its uses that follow
/// one execution of its definition, and so are those of the operands of its definition.
pub(crate) struct Recipes {
    definitions: Vec<Option<Definition>>,
    longest: u32,
}

/// An instruction by its index, with the variables that it reads.
#[derive(Clone)]
struct Definition {
    inst: usize,
    reads: SmallVec<[Var; 4]>,
}

impl Recipes {
    /// Finds the definitions. `longest` is the maximum number of instructions that recompute a
    /// value, at most [`LONGEST`].
    pub fn new(body: &Body, flow: &Flow, params: &[String], longest: u32) -> Self {
        let mut written = vec![0_u32; body.vars.len()];
        for var in body.insts().flat_map(Inst::writes) {
            written[var.index()] += 1;
        }
        let once = |var: Var| written[var.index()] == 1 && !flow.at_entry().contains(var.index());
        let rewritten = rewritten(body);
        let keeps = |var: Var| !rewritten.contains(body.vars[var.index()].name.as_str());
        let pinned: Vec<&str> = body.pinned.iter().map(|v| v.name.node.as_str()).collect();
        let mut definitions = vec![None; body.vars.len()];
        for (at, inst) in body.insts().enumerate() {
            let fixed = inst.reads().all(|var| once(var) && keeps(var));
            if let Some(var) = inst.writes().next().filter(|var| once(*var))
                && fixed
                && is_pure(inst, params, &pinned)
            {
                definitions[var.index()] = Some(Definition {
                    inst: at,
                    reads: inst.reads().collect(),
                });
            }
        }
        Self {
            definitions,
            longest: longest.min(LONGEST),
        }
    }

    fn definition(&self, var: Var) -> Option<&Definition> {
        self.definitions.get(var.index())?.as_ref()
    }

    /// Returns whether one instruction recomputes a variable from its operands.
    pub fn has(&self, var: Var) -> bool {
        self.definition(var).is_some()
    }

    /// Returns the instructions that recompute some variables, and all variables that these need.
    pub fn instructions(&self, body: &Body, vars: &[Var]) -> FxHashMap<Var, Inst> {
        let mut wanted: FxHashMap<usize, Var> = FxHashMap::default();
        let mut work = vars.to_vec();
        while let Some(var) = work.pop() {
            if let Some(definition) = self.definition(var)
                && wanted.insert(definition.inst, var).is_none()
            {
                work.extend(&definition.reads);
            }
        }
        let insts = body.insts().enumerate();
        let found = insts.filter_map(|(at, inst)| Some((*wanted.get(&at)?, inst.clone())));
        found.collect()
    }

    /// Returns the number of instructions that recompute a variable where the variables in `live`
    /// are available, or `None` if it cannot be recomputed.
    pub fn length(&self, var: Var, live: &FixedBitSet) -> Option<u32> {
        self.bounded(var, live, self.longest)
    }

    fn bounded(&self, var: Var, live: &FixedBitSet, most: u32) -> Option<u32> {
        let definition = self.definition(var)?;
        let mut length = 1;
        for operand in &definition.reads {
            if !live.contains(operand.index()) {
                length += self.bounded(*operand, live, most.checked_sub(length)?)?;
            }
        }
        (length <= most).then_some(length)
    }
}

/// Names of the registers that several instructions of the input write. The parts into which the
/// allocator divides such a register may each have one definition, but no later instruction can
/// name an earlier value of the register. The checker thus cannot follow a computation from it.
fn rewritten(body: &Body) -> FxHashSet<&str> {
    let (mut once, mut again) = (FxHashSet::default(), FxHashSet::default());
    let insts = body.insts();
    let originals = insts.filter(|inst| matches!(inst.purpose, Purpose::Original(_)));
    for var in originals.flat_map(Inst::writes) {
        let name = body.vars[var.index()].name.as_str();
        if !once.insert(name) {
            again.insert(name);
        }
    }
    again
}

/// Returns whether the result of an instruction depends on its operands alone and is cheap: an
/// unguarded instruction with one result that touches no memory but parameters and constants.
fn is_pure(inst: &Inst, params: &[String], pinned: &[&str]) -> bool {
    let carries = |m: &Modifier| *m == Modifier::Cc;
    matches!(inst.purpose, Purpose::Original(_) | Purpose::Rematerialize)
        && inst.ast.guard.is_none()
        && inst.control == Control::Next
        && inst.vars(Access::Write).count() == 1
        && inst
            .mentions
            .iter()
            .filter(|m| m.access == Access::Write)
            .count()
            == 1
        && !inst.ast.modifiers.iter().any(|m| carries(&m.node))
        && has_pure_operation(inst, params, pinned)
}

fn has_pure_operation(inst: &Inst, params: &[String], pinned: &[&str]) -> bool {
    let sources = || {
        inst.ast
            .operands
            .iter()
            .skip(1)
            .map(|operand| &operand.node)
    };
    match inst.ast.opcode.node {
        Opcode::Ld => {
            let has = |space| {
                inst.ast
                    .modifiers
                    .iter()
                    .any(|m| m.node == Modifier::Space(space))
            };
            let params = has(Space::Param) && sources().all(|source| is_param(source, params));
            params || (has(Space::Const) && is_scalar_load(inst))
        }
        Opcode::Mov
        | Opcode::Cvta
        | Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Mul24
        | Opcode::Mad24
        | Opcode::Fma
        | Opcode::Min
        | Opcode::Max
        | Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Neg
        | Opcode::Abs
        | Opcode::Shl
        | Opcode::Shr
        | Opcode::Cvt
        | Opcode::Selp
        | Opcode::Bfe => sources().all(|source| is_steady(source, pinned)),
        _ => false,
    }
}

/// Returns whether an operand is a register or has the same value throughout the lifetime of a
/// thread.
fn is_steady(operand: &Operand, pinned: &[&str]) -> bool {
    match operand {
        Operand::Immediate(_) | Operand::Not(_) => true,
        Operand::Vector(all) => all.iter().all(|one| is_steady(&one.node, pinned)),
        Operand::NameOffset(name, _) => !pinned.contains(&name.as_str()),
        Operand::Name(name) => {
            let stem = name.split('.').next().unwrap_or(name);
            let changes = special::lookup(name).is_some() && !CONSTANT.contains(&stem);
            !changes && !pinned.contains(&name.as_str())
        }
        _ => false,
    }
}

/// Returns whether a load has a type and a state space, and no other modifiers.
fn is_scalar_load(inst: &Inst) -> bool {
    let plain = |m: &Modifier| matches!(m, Modifier::Space(_) | Modifier::Type(_));
    inst.ast.modifiers.iter().all(|m| plain(&m.node))
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
