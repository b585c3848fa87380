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

mod align;
mod flat;
mod order;
mod stack;
mod state;
mod value;

use crate::class::Typing;
use crate::emit::Step;
use align::{Node, Nodes, align, exposed, successors};
use flat::{Flat, FlatInst, Reg};
use stack::Slots;
use state::{Equation, Loc, State};
use std::collections::{BTreeMap, BTreeSet};
use value::{Values, is_pure};
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::{AddressBase, Function, FunctionKind, Item, Module, Operand, Spanned};
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
    /// The rule by which types share registers. With [`Typing::Bits`], registers of different
    /// widths are the same registers: `%rd2` is `%r4` and `%r5`.
    pub typing: Typing,
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
    let declared = match claim.typing {
        Typing::Bits => new.shared,
        Typing::Kinds => new.declared,
    };
    if claim.limit.is_some_and(|limit| declared > limit) {
        return refuse(format!("{declared} registers are declared"));
    }
    let old = order::reorder(old, claim.steps)?;
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
    let pinned = original.params.iter().chain(&original.returns);
    let pinned = pinned.filter(|variable| variable.space == Space::Reg);
    let mut checker = Checker {
        overlaps: overlaps(&new, claim.typing),
        pinned: pinned.map(|variable| variable.name.node.clone()).collect(),
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
    /// The other registers of the new program of which each register is a part, or which are parts
    /// of it.
    overlaps: Vec<Vec<Reg>>,
    /// The names of parameters that are registers.
    pinned: Vec<String>,
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
    fn kept(&mut self, state: &mut State, at: usize, new: usize) -> Result<(), Refusal> {
        let (old, new) = (&self.old.insts[at], &self.new.insts[new]);
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
            self.forget_parts(state, pairs[0].1);
            state.copy(Loc::Reg(pairs[0].1), Loc::Reg(pairs[1].1));
            return Ok(());
        }
        for (reg, ..) in writes() {
            state.redefine(*reg, value.filter(|_| !guarded));
        }
        self.equate(state, at);
        let mut written = BTreeSet::new();
        for ((reg, place, _), keeps) in writes().zip(keeps) {
            let shares = self.overlaps[*place as usize]
                .iter()
                .any(|p| written.contains(p));
            if !written.insert(*place) || shares {
                return refuse("two results go to one register");
            }
            self.forget_parts(state, *place);
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
        self.values.of(
            &inst.blank,
            args,
            flat.regs[to as usize].1,
            &self.params,
            &self.pinned,
        )
    }

    /// Checks an original instruction that is absent from the new program. Such an instruction must
    /// only produce a value that is available elsewhere or is recomputable.
    fn deleted(&mut self, state: &mut State, old: usize) -> Result<(), Refusal> {
        let inst = &self.old.insts[old];
        if let Some((to, from)) = copied(inst) {
            state.copy_original(to, from);
            return Ok(());
        }
        if !self.is_pure(inst) {
            return refuse("this instruction of the original is missing");
        }
        let value = self.value_of(inst, |reg| state.original(reg), self.old);
        if let Some(reg) = regs(inst, Access::Write).next() {
            state.redefine(reg, value);
            self.equate(state, old);
        }
        Ok(())
    }

    /// Returns whether an instruction only produces one value, from its operands.
    fn is_pure(&self, inst: &FlatInst) -> bool {
        let one = regs(inst, Access::Write).count() == 1;
        one && is_pure(&inst.blank, &self.params, &self.pinned)
    }

    /// Records the result of an original instruction that produces one value from its operands.
    fn equate(&self, state: &mut State, at: usize) {
        let inst = &self.old.insts[at];
        let args: Vec<Reg> = regs(inst, Access::Read).collect();
        if let Some(to) = regs(inst, Access::Write)
            .next()
            .filter(|to| !args.contains(to))
            && self.is_pure(inst)
        {
            state.equate(to, Equation { inst: at, args });
        }
    }

    /// Returns the original registers whose value an added instruction computes.
    fn computed(&self, state: &State, inst: &FlatInst) -> BTreeSet<Reg> {
        if !self.is_pure(inst) {
            return BTreeSet::new();
        }
        let args: Vec<Reg> = regs(inst, Access::Read).collect();
        state.results(|equation| {
            let same = self.old.insts[equation.inst].blank == inst.blank;
            let mut pairs = equation.args.iter().zip(&args);
            same && pairs.all(|(reg, place)| state.agrees(Loc::Reg(*place), *reg))
        })
    }

    /// Removes the facts about registers that share a part with one that is written.
    fn forget_parts(&self, state: &mut State, place: Reg) {
        let parts = self.overlaps[place as usize].iter();
        parts.for_each(|part| state.forget(Loc::Reg(*part)));
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
            self.forget_parts(state, to);
            state.copy(Loc::Reg(to), Loc::Reg(from));
            return Ok(());
        }
        let value = self.value_of(inst, |reg| state.present(Loc::Reg(reg)), self.new);
        let computed = self.computed(state, inst);
        if let Some(to) = regs(inst, Access::Write).next()
            && (value.is_some() || !computed.is_empty())
        {
            self.forget_parts(state, to);
            state.overwrite(Loc::Reg(to), computed, value);
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
        let (Some(space), Some(address)) = (space, address) else {
            return refuse("a spill of an unknown form");
        };
        let (start, place) = match (&inst.regs[..], &address.base.node) {
            ([a, b], AddressBase::Name(_)) => {
                let (base, place) = if load { (b.0, a.0) } else { (a.0, b.0) };
                let Some(start) = state.present(Loc::Reg(base)) else {
                    return refuse("the spill stack's address is not in its register");
                };
                (start, place)
            }
            ([a], AddressBase::Name(name)) => (self.values.address(name), a.0),
            _ => return refuse("a spill of an unknown form"),
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
            self.forget_parts(state, place);
            state.copy(Loc::Reg(place), Loc::Slot(slot))
        } else {
            state.copy(Loc::Slot(slot), Loc::Reg(place))
        }
        Ok(())
    }
}

/// Returns for each register of the new program the others that share a part with it.
fn overlaps(new: &Flat, typing: Typing) -> Vec<Vec<Reg>> {
    let range = |reg: usize| {
        let place = new.places[reg].filter(|_| typing == Typing::Bits);
        place.map(|(number, size)| (number * size, (number + 1) * size))
    };
    let shares = |a: usize, b: usize| match (range(a), range(b)) {
        (Some((a_start, a_end)), Some((b_start, b_end))) => {
            a != b && a_start < b_end && b_start < a_end
        }
        _ => false,
    };
    let count = new.regs.len();
    let others = |a: usize| {
        (0..count)
            .filter(|b| shares(a, *b))
            .map(|b| b as Reg)
            .collect()
    };
    (0..count).map(others).collect()
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
