//! A checker that decides whether an allocation is correct from the two programs alone.
//!
//! The checker is an abstract interpretation of both programs side by side. At every instruction it
//! knows which original registers each register and each spill slot of the new program represents,
//! and which of them have a recomputable value. At control-flow joins it keeps the facts that hold
//! on all paths. Each original instruction must find every value it reads in the register where the
//! new program reads it. Instructions that the allocator added may only move values, spill them, or
//! recompute them. The approach follows the checker of regalloc2. The checker shares no code with
//! the allocator, except that the allocator states which instructions are original, and the checker
//! verifies that statement.
//!
//! The checker also verifies that both programs have the same branches, that nothing else differs
//! except registers, spill arrays and redundant copies, that widths agree, and that the declared
//! registers are within the limit. It verifies that spill slots do not overlap, in shared memory
//! also between threads.

mod flat;
mod stack;
mod state;
mod value;

use crate::emit::Step;
use flat::{Flat, FlatInst, Reg};
use stack::Slots;
use state::{Loc, State};
use std::collections::{BTreeMap, BTreeSet};
use value::Values;
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::{Function, FunctionKind, Item, Module, Operand, Spanned};
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// The reason for which the checker rejects an allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// A description of the error.
    pub message: String,
    /// The instruction of the new program as text, or an empty string if the error does not concern
    /// one.
    pub instruction: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        if self.instruction.is_empty() {
            Ok(())
        } else {
            write!(f, " at `{}`", self.instruction)
        }
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        message: message.into(),
        instruction: String::new(),
    })
}

/// The allocation to check.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The program before allocation.
    pub original: &'a Module,
    /// The program after allocation.
    pub allocated: &'a Module,
    /// The name of the function in both programs.
    pub function: &'a str,
    /// The correspondence between the instructions of both programs.
    pub steps: &'a [Step],
    /// The size of a thread block, in threads along x, y and z, which matters for values in shared
    /// memory.
    pub block: [u32; 3],
    /// The limit of 32-bit registers that the function may declare, if there is one.
    pub limit: Option<u32>,
}

/// Checks the allocation of one function.
///
/// # Errors
/// Returns the first error found. An allocation whose correctness cannot be established is rejected
/// too.
pub fn check(claim: &Claim) -> Result<(), Refusal> {
    let accesses = Accesses::new();
    let original = find(claim.original, claim.function)?;
    let allocated = find(claim.allocated, claim.function)?;
    same_surroundings(claim)?;
    let Some(old) = Flat::new(original, &accesses) else {
        return refuse("the original cannot be read");
    };
    let Some(new) = Flat::new(allocated, &accesses) else {
        return refuse("the new program cannot be read");
    };
    if claim.limit.is_some_and(|limit| new.declared > limit) {
        return refuse(format!("{} registers are declared", new.declared));
    }
    let slots = Slots::new(&old, &new, claim.block)?;
    let nodes = align(&old, &new, claim.steps)?;
    let params = match original.kind {
        FunctionKind::Entry => original
            .params
            .iter()
            .map(|p| p.name.node.clone())
            .collect(),
        FunctionKind::Device => Vec::new(),
    };
    let mut checker = Checker {
        exposed: exposed(&old, &nodes),
        old: &old,
        new: &new,
        nodes,
        params,
        values: Values::default(),
        slots,
    };
    checker.run()?;
    checker.slots.finish()
}

fn find<'a>(module: &'a Module, name: &str) -> Result<&'a Function, Refusal> {
    let found = module.items.iter().find_map(|item| match item {
        Item::Function(f) if f.name.node == name && f.body.is_some() => Some(f),
        _ => None,
    });
    found.map_or_else(|| refuse(format!("there is no function `{name}`")), Ok)
}

/// Checks that everything outside of function bodies is unchanged.
fn same_surroundings(claim: &Claim) -> Result<(), Refusal> {
    let bare = |module: &Module| {
        let mut module = module.clone();
        for item in &mut module.items {
            if let Item::Function(function) = item {
                function.body = function.body.take().map(|_| Default::default());
            }
        }
        module
    };
    if bare(claim.original) == bare(claim.allocated) {
        Ok(())
    } else {
        refuse("something outside the functions' bodies has changed")
    }
}

/// A step of both programs: the index of an original instruction, of a new instruction, or of both.
#[derive(Clone, Copy)]
struct Node {
    old: Option<usize>,
    new: Option<usize>,
}

/// The aligned sequence of both programs' instructions.
struct Nodes {
    list: Vec<Node>,
    /// The index of the node after each label.
    labels: Vec<usize>,
}

/// Aligns the two programs according to `steps`, which must match both, including the labels.
fn align(old: &Flat, new: &Flat, steps: &[Step]) -> Result<Nodes, Refusal> {
    let (mut at_old, mut at_new) = (0, 0);
    let mut nodes = Nodes {
        list: Vec::with_capacity(steps.len()),
        labels: Vec::new(),
    };
    let labels = |nodes: &mut Nodes, at_old: usize, at_new: usize| {
        while let (Some(a), Some(b)) = (
            old.labels.get(nodes.labels.len()),
            new.labels.get(nodes.labels.len()),
        ) && a.0 == b.0
            && (a.1, b.1) == (at_old, at_new)
        {
            nodes.labels.push(nodes.list.len());
        }
    };
    labels(&mut nodes, 0, 0);
    for step in steps {
        let node = match *step {
            Step::Kept(number) if number as usize == at_old => Node {
                old: Some(at_old),
                new: Some(at_new),
            },
            Step::Deleted(number) if number as usize == at_old => Node {
                old: Some(at_old),
                new: None,
            },
            Step::Inserted => Node {
                old: None,
                new: Some(at_new),
            },
            _ => return refuse("instructions of the original are out of order"),
        };
        at_old += usize::from(node.old.is_some());
        at_new += usize::from(node.new.is_some());
        nodes.list.push(node);
        labels(&mut nodes, at_old, at_new);
    }
    if (at_old, at_new) != (old.insts.len(), new.insts.len()) {
        return refuse("the programs' lengths do not fit");
    }
    if nodes.labels.len() != old.labels.len() || old.labels.len() != new.labels.len() {
        return refuse("labels have moved");
    }
    Ok(nodes)
}

/// Returns the possible successors of a node. The last node has no fall-through successor.
fn successors(old: &Flat, nodes: &Nodes, at: usize) -> Vec<usize> {
    let next = Some(at + 1).filter(|next| *next < nodes.list.len());
    let Some(inst) = nodes.list[at].old.map(|index| &old.insts[index]) else {
        return next.into_iter().collect();
    };
    let ends = matches!(
        inst.blank.opcode.node,
        Opcode::Bra | Opcode::Brx | Opcode::Ret | Opcode::Exit | Opcode::Trap
    );
    let falls = !ends || inst.blank.guard.is_some();
    let targets = inst.targets.iter().map(|label| nodes.labels[*label]);
    let targets = targets.filter(|target| *target < nodes.list.len());
    targets.chain(next.filter(|_| falls)).collect()
}

/// Returns the original registers that may be read before they are written.
fn exposed(old: &Flat, nodes: &Nodes) -> BTreeSet<Reg> {
    let count = nodes.list.len();
    let mut live: Vec<BTreeSet<Reg>> = vec![BTreeSet::new(); count];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..count).rev() {
            let mut here: BTreeSet<Reg> = BTreeSet::new();
            for next in successors(old, nodes, at) {
                here.extend(live[next].iter());
            }
            if let Some(inst) = nodes.list[at].old.map(|index| &old.insts[index]) {
                if inst.blank.guard.is_none() {
                    here.retain(|reg| !regs(inst, Access::Write).any(|written| written == *reg));
                }
                here.extend(regs(inst, Access::Read));
            }
            if here != live[at] {
                live[at] = here;
                changed = true;
            }
        }
    }
    live.into_iter().next().unwrap_or_default()
}

/// Returns the registers that an instruction reads or writes.
fn regs(inst: &FlatInst, wanted: Access) -> impl Iterator<Item = Reg> + '_ {
    let some = inst
        .regs
        .iter()
        .filter(move |(_, access)| *access == wanted);
    some.map(|(reg, _)| *reg)
}

/// The data of one check.
struct Checker<'a> {
    old: &'a Flat,
    new: &'a Flat,
    nodes: Nodes,
    params: Vec<String>,
    /// The original registers that may be read before they are written.
    exposed: BTreeSet<Reg>,
    values: Values,
    slots: Slots,
}

impl Checker<'_> {
    /// Propagates facts until a fixed point. Facts at an instruction only ever become fewer, so an
    /// allocation that is rejected on the way would be rejected at the fixed point.
    fn run(&mut self) -> Result<(), Refusal> {
        if self.nodes.list.is_empty() {
            return Ok(());
        }
        let mut entries: BTreeMap<usize, State> = BTreeMap::new();
        entries.insert(0, self.entry());
        let starts = self.starts();
        let mut work = BTreeSet::from([0]);
        while let Some(start) = work.pop_first() {
            let mut state = entries[&start].clone();
            let mut at = start;
            loop {
                self.step(&mut state, at)?;
                let next = successors(self.old, &self.nodes, at);
                if let [only] = next[..]
                    && only == at + 1
                    && !starts.contains(&only)
                {
                    at = only;
                    continue;
                }
                for next in next {
                    let fewer = match entries.get_mut(&next) {
                        Some(entry) => entry.meet(&state),
                        None => {
                            entries.insert(next, state.clone());
                            true
                        }
                    };
                    if fewer {
                        work.insert(next);
                    }
                }
                break;
            }
        }
        Ok(())
    }

    /// Returns the nodes that may have predecessors other than the node before them.
    fn starts(&self) -> BTreeSet<usize> {
        let branches = (0..self.nodes.list.len()).filter(|at| {
            let next = successors(self.old, &self.nodes, *at);
            next != [*at + 1]
        });
        let behind = branches.map(|at| at + 1);
        behind.chain(self.nodes.labels.iter().copied()).collect()
    }

    /// Returns the facts at function entry, where all registers of both programs are zero. Only
    /// original registers that may be read before they are written are included.
    fn entry(&mut self) -> State {
        let mut state = State::default();
        for &reg in &self.exposed {
            let bits = self.old.regs[reg as usize].1;
            state.redefine(reg, Some(self.values.zero(bits)));
        }
        for (reg, (_, bits)) in self.new.regs.iter().enumerate() {
            let zero = Some(self.values.zero(*bits));
            state.overwrite(Loc::Reg(reg as Reg), BTreeSet::new(), zero);
        }
        state
    }

    /// Applies one node to the facts.
    fn step(&mut self, state: &mut State, at: usize) -> Result<(), Refusal> {
        let node = self.nodes.list[at];
        let result = match (node.old, node.new) {
            (Some(old), Some(new)) => self.kept(state, old, new),
            (Some(old), None) => self.deleted(state, old),
            (None, Some(new)) => self.inserted(state, new),
            (None, None) => Ok(()),
        };
        result.map_err(|refusal| Refusal {
            instruction: self.text(node),
            ..refusal
        })
    }

    /// Returns the text of a node's instruction, with the names of its registers.
    fn text(&self, node: Node) -> String {
        let shown = match (node.new, node.old) {
            (Some(new), _) => (&self.new.insts[new], self.new),
            (None, Some(old)) => (&self.old.insts[old], self.old),
            (None, None) => return String::new(),
        };
        let names = shown
            .0
            .regs
            .iter()
            .map(|(reg, _)| shown.1.regs[*reg as usize].0.as_str());
        let names: Vec<_> = names.collect();
        format!("{} ({})", shown.0.blank, names.join(", "))
    }

    /// Checks an original instruction that is present in the new program with different registers.
    fn kept(&mut self, state: &mut State, old: usize, new: usize) -> Result<(), Refusal> {
        let (old, new) = (&self.old.insts[old], &self.new.insts[new]);
        if old.blank != new.blank || old.targets != new.targets {
            return refuse("this is not the original's instruction");
        }
        let pairs: Vec<(Reg, Reg, Access)> = (old.regs.iter().zip(&new.regs))
            .map(|((old, access), (new, _))| (*old, *new, *access))
            .collect();
        if old.regs.len() != new.regs.len() {
            return refuse("the number of registers differs");
        }
        for &(reg, place, access) in &pairs {
            let (name, bits) = &self.old.regs[reg as usize];
            if *bits != self.new.regs[place as usize].1 {
                return refuse(format!("the register for `{name}` has another width"));
            }
            if access == Access::Read && !state.agrees(Loc::Reg(place), reg) {
                let place = &self.new.regs[place as usize].0;
                return refuse(format!("`{place}` does not hold the value of `{name}`"));
            }
        }
        let value = self.value_of(old, |reg| state.original(reg), self.old);
        let writes = || pairs.iter().filter(|(.., access)| *access == Access::Write);
        let guarded = old.blank.guard.is_some();
        // Where the guard is false, both destinations keep their previous values.
        let keeps: Vec<bool> = writes()
            .map(|(reg, place, _)| !guarded || state.agrees(Loc::Reg(*place), *reg))
            .collect();
        if let Some((to, from)) = copied(old) {
            state.copy_original(to, from);
            state.copy(Loc::Reg(pairs[0].1), Loc::Reg(pairs[1].1));
            return Ok(());
        }
        for (reg, ..) in writes() {
            state.redefine(*reg, value.filter(|_| !guarded));
        }
        let mut written = BTreeSet::new();
        for ((reg, place, _), keeps) in writes().zip(keeps) {
            if !written.insert(*place) {
                return refuse("two results go to one register");
            }
            let held = if keeps {
                BTreeSet::from([*reg])
            } else {
                BTreeSet::new()
            };
            state.overwrite(Loc::Reg(*place), held, value.filter(|_| !guarded));
        }
        Ok(())
    }

    /// Returns the value that an instruction produces, if the value is recomputable.
    fn value_of(
        &mut self,
        inst: &FlatInst,
        known: impl Fn(Reg) -> Option<u32>,
        flat: &Flat,
    ) -> Option<u32> {
        let mut writes = regs(inst, Access::Write);
        let (to, None) = (writes.next()?, writes.next()) else {
            return None;
        };
        if inst.blank.guard.is_some() {
            return None;
        }
        let args = regs(inst, Access::Read).map(known).collect();
        if copied(inst).is_some() {
            return Option::<Vec<u32>>::and_then(args, |args| args.first().copied());
        }
        self.values
            .of(&inst.blank, args, flat.regs[to as usize].1, &self.params)
    }

    /// Checks an original instruction that is absent from the new program. Such an instruction must
    /// only produce a value that is available elsewhere or is recomputable.
    fn deleted(&mut self, state: &mut State, old: usize) -> Result<(), Refusal> {
        let inst = &self.old.insts[old];
        if let Some((to, from)) = copied(inst) {
            state.copy_original(to, from);
            return Ok(());
        }
        let needless = matches!(
            inst.blank.opcode.node,
            Opcode::Mov | Opcode::Cvta | Opcode::Ld
        );
        let value = self.value_of(inst, |reg| state.original(reg), self.old);
        match (regs(inst, Access::Write).next(), value) {
            (Some(reg), Some(value)) if needless => {
                state.redefine(reg, Some(value));
                Ok(())
            }
            _ => refuse("this instruction of the original is missing"),
        }
    }

    /// Checks an instruction that the allocator added.
    fn inserted(&mut self, state: &mut State, new: usize) -> Result<(), Refusal> {
        let inst = &self.new.insts[new];
        if inst.blank.guard.is_some() {
            return refuse("the allocator's instructions have no guards");
        }
        if let Some((to, from)) = copied(inst) {
            if self.new.regs[to as usize].1 != self.new.regs[from as usize].1 {
                return refuse("a copy between widths");
            }
            state.copy(Loc::Reg(to), Loc::Reg(from));
            return Ok(());
        }
        let value = self.value_of(inst, |reg| state.present(Loc::Reg(reg)), self.new);
        if let (Some(value), Some(to)) = (value, regs(inst, Access::Write).next()) {
            state.overwrite(Loc::Reg(to), BTreeSet::new(), Some(value));
            return Ok(());
        }
        self.spill(state, new)
    }

    /// Checks a load or a store of the spill stack.
    fn spill(&mut self, state: &mut State, new: usize) -> Result<(), Refusal> {
        let inst = &self.new.insts[new];
        let load = inst.blank.opcode == Opcode::Ld;
        if !load && inst.blank.opcode != Opcode::St {
            return refuse("an instruction that is neither the original's nor a spill");
        }
        let mut space = None;
        for modifier in &inst.blank.modifiers {
            match modifier.node {
                Modifier::Space(found @ (Space::Local | Space::Shared)) => space = Some(found),
                Modifier::Type(_) => {}
                _ => return refuse("a spill with unknown modifiers"),
            }
        }
        let address = inst
            .blank
            .operands
            .iter()
            .find_map(|operand| match &operand.node {
                Operand::Address(address) => Some(address),
                _ => None,
            });
        let ([a, b], Some(space), Some(address)) = (&inst.regs[..], space, address) else {
            return refuse("a spill of an unknown form");
        };
        let (base, place) = if load { (b.0, a.0) } else { (a.0, b.0) };
        let Some(start) = state.present(Loc::Reg(base)) else {
            return refuse("the spill stack's address is not in its register");
        };
        let bits = self.new.regs[place as usize].1;
        let mut types = warploom_ptx::access::types(&inst.blank);
        if types.next().is_none_or(|ty| ty.bits() != bits) {
            return refuse("a spill of another width than its register");
        }
        let slot = self
            .slots
            .slot(&self.values, space, start, address.offset, bits / 8)?;
        if load {
            state.copy(Loc::Reg(place), Loc::Slot(slot))
        } else {
            state.copy(Loc::Slot(slot), Loc::Reg(place))
        }
        Ok(())
    }
}

/// Returns destination and source if the instruction is an unguarded `mov` between complete
/// registers.
fn copied(inst: &FlatInst) -> Option<(Reg, Reg)> {
    let whole = |operand: &Spanned<Operand>| match &operand.node {
        Operand::Name(name) => name.is_empty(),
        _ => false,
    };
    let plain = inst.blank.opcode == Opcode::Mov
        && inst.blank.guard.is_none()
        && inst.blank.operands.iter().all(whole);
    match inst.regs[..] {
        [(to, Access::Write), (from, Access::Read)] if plain => Some((to, from)),
        _ => None,
    }
}
