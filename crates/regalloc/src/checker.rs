//! Says whether an allocation is right, from the two programs alone.
//!
//! Both programs are walked at once, as an abstract interpretation: at every place it is known
//! which registers of the original each register and each place on the spill stack of the new
//! program stands for, and which of them can be computed again. Where control joins, only what
//! holds on every way counts. An instruction of the original must find every value that it reads
//! where the new program looks for it; what the allocator added may move values, keep them on the
//! spill stack or make them again, and nothing else. The idea is that of regalloc2's checker; no
//! code is shared with the allocator, which only says which instructions are whose, and that is
//! verified.
//!
//! Checked besides: both programs branch alike; nothing but registers, spill stacks and needless
//! copies differs; widths agree; the registers declared stay within the limit; no two places of the
//! spill stack overlap, and in shared memory no two threads'.

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

/// Why an allocation is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// What is wrong.
    pub message: String,
    /// The instruction of the new program, as text; empty if it is not about one.
    pub instruction: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        match self.instruction.is_empty() {
            true => Ok(()),
            false => write!(f, " at `{}`", self.instruction),
        }
    }
}

fn refuse<T>(message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        message: message.into(),
        instruction: String::new(),
    })
}

/// What to check.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The program as it came.
    pub original: &'a Module,
    /// The program with its registers.
    pub allocated: &'a Module,
    /// The function, in both.
    pub function: &'a str,
    /// Which instructions are whose.
    pub steps: &'a [Step],
    /// Threads of a block, where values are spilled to shared memory.
    pub block: [u32; 3],
    /// Most 32-bit registers that the function may declare.
    pub limit: Option<u32>,
}

/// Checks the allocation of one function.
///
/// # Errors
/// The first thing that is wrong, or cannot be seen to be right.
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

/// Everything outside bodies is as it was.
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
    match bare(claim.original) == bare(claim.allocated) {
        true => Ok(()),
        false => refuse("something outside the functions' bodies has changed"),
    }
}

/// A step of both programs: instruction of the original, of the new one.
#[derive(Clone, Copy)]
struct Node {
    old: Option<usize>,
    new: Option<usize>,
}

/// The two programs as one list.
struct Nodes {
    list: Vec<Node>,
    /// Position of every label.
    labels: Vec<usize>,
}

/// Lays the programs side by side as `steps` say, which must fit both, labels included.
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

/// Nodes that may follow one; the last of the list leads nowhere.
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

/// Registers of the original that may be read before they are written.
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

fn regs(inst: &FlatInst, wanted: Access) -> impl Iterator<Item = Reg> + '_ {
    let some = inst
        .regs
        .iter()
        .filter(move |(_, access)| *access == wanted);
    some.map(|(reg, _)| *reg)
}

struct Checker<'a> {
    old: &'a Flat,
    new: &'a Flat,
    nodes: Nodes,
    params: Vec<String>,
    /// Read, perhaps, before they are written.
    exposed: BTreeSet<Reg>,
    values: Values,
    slots: Slots,
}

impl Checker<'_> {
    /// Follows facts until they no longer change. They only ever become fewer, so that what is
    /// refused once would be refused at the end.
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

    /// Where control may come from elsewhere.
    fn starts(&self) -> BTreeSet<usize> {
        let branches = (0..self.nodes.list.len()).filter(|at| {
            let next = successors(self.old, &self.nodes, *at);
            next != [*at + 1]
        });
        let behind = branches.map(|at| at + 1);
        behind.chain(self.nodes.labels.iter().copied()).collect()
    }

    /// At the start all registers of both programs are zero. Of the original's, only those matter
    /// that are read so.
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

    /// An instruction of the original, with the new program's registers.
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
        // In lanes where the guard fails both keep what they had.
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

    /// The value that an instruction makes, if it makes one that could be made again.
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

    /// An instruction of the original that the new program does without: it only gives a register
    /// a value that is elsewhere or can be made again.
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

    /// An instruction of the allocator.
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

    /// A load or store of the spill stack.
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
        match load {
            true => state.copy(Loc::Reg(place), Loc::Slot(slot)),
            false => state.copy(Loc::Slot(slot), Loc::Reg(place)),
        }
        Ok(())
    }
}

/// `mov a, b` of whole registers, always executed: (a, b).
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
