//! Removal of redundant spill code, after every variable has received its register.
//!
//! Spilling inserts a separate load or recomputation before each use. Such an instruction is
//! removed if its register already holds the value since the last label. Stores to slots that
//! are never loaded are removed too.

use crate::body::{Body, Inst, Item, Purpose, Slot};
use crate::flow::Flow;
use fixedbitset::FixedBitSet;
use warploom_ptx::ast::Operand;

/// The known content of a register.
#[derive(Clone, PartialEq, Debug)]
enum Content {
    Slot(Slot),
    /// The result of these instructions, as text without register names.
    Recipe(String),
}

/// A register of a variable: registers of its file from the first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Register {
    pub file: usize,
    pub first: u32,
    pub size: u32,
}

impl Register {
    fn overlaps(self, other: Self) -> bool {
        let ends = [self, other].map(|register| register.first + register.size);
        self.file == other.file && self.first < ends[1] && other.first < ends[0]
    }
}

/// The known contents of registers.
type Known = Vec<(Register, Content)>;

/// Removes redundant spill code. `place` returns the register of a variable.
pub(crate) fn remove_redundant(body: &mut Body, place: impl Fn(usize) -> Register) {
    drop_repeats(body, &place);
    drop_dead_stores(body);
}

/// Removes loads and recomputations of values that their registers already hold.
fn drop_repeats(body: &mut Body, place: &impl Fn(usize) -> Register) {
    let mut known = Known::new();
    body.items.retain(|item| match item {
        Item::Label(..) => {
            known.clear();
            true
        }
        Item::Inst(inst) => {
            let needed = !is_repeat(inst, &known, place);
            if needed {
                update_known(inst, &mut known, place);
            }
            needed
        }
        _ => true,
    });
}

/// Returns the known content of a register.
fn find(known: &Known, register: Register) -> Option<&Content> {
    let found = known.iter().find(|(other, _)| *other == register);
    found.map(|(_, content)| content)
}

/// Returns whether the destination of an instruction already holds the value that the instruction
/// produces.
fn is_repeat(inst: &Inst, known: &Known, place: &impl Fn(usize) -> Register) -> bool {
    let content = content(inst, known, place);
    let to = inst.writes().next().map(|var| place(var.index()));
    match (content, to) {
        (Some(content), Some(to)) => find(known, to) == Some(&content),
        _ => false,
    }
}

/// Returns the value that an added instruction puts into its destination register. A recomputed
/// value is described by its instructions, down to those that read no register.
fn content(inst: &Inst, known: &Known, place: &impl Fn(usize) -> Register) -> Option<Content> {
    match inst.purpose {
        Purpose::Load(slot) => Some(Content::Slot(slot)),
        Purpose::Rematerialize => {
            let mut text = inst.ast.opcode.to_string();
            for modifier in &inst.ast.modifiers {
                text += &modifier.to_string();
            }
            let [_, source] = &inst.ast.operands[..] else {
                return None;
            };
            let mut reads = inst.reads();
            match (reads.next(), reads.next()) {
                (None, _) => text += &source.to_string(),
                (Some(from), None) if matches!(source.node, Operand::Name(_)) => {
                    match find(known, place(from.index()))? {
                        Content::Recipe(before) => text = format!("{text} {before}"),
                        Content::Slot(_) => return None,
                    }
                }
                _ => return None,
            }
            Some(Content::Recipe(text))
        }
        _ => None,
    }
}

/// Updates the known contents after an instruction.
fn update_known(inst: &Inst, known: &mut Known, place: &impl Fn(usize) -> Register) {
    let made = content(inst, known, place);
    for var in inst.writes() {
        let written = place(var.index());
        known.retain(|(register, _)| !register.overlaps(written));
    }
    if let (Some(made), Some(to)) = (made, inst.writes().next()) {
        known.push((place(to.index()), made));
    }
    if let Purpose::Store(slot) = inst.purpose {
        known.retain(|(_, content)| *content != Content::Slot(slot));
        // The value is the last register that a store reads.
        if let Some(value) = inst.reads().last() {
            let stored = place(value.index());
            known.retain(|(register, _)| *register != stored);
            known.push((stored, Content::Slot(slot)));
        }
    }
}

/// Removes added instructions whose results are never used.
pub(crate) fn drop_unused(body: &mut Body) {
    loop {
        let after = Flow::new(body).live_after();
        let unused = |(at, inst): (usize, &Inst)| {
            let added = matches!(inst.purpose, Purpose::Load(_) | Purpose::Rematerialize);
            added && inst.writes().all(|var| !after[at].contains(var.index()))
        };
        let unused: Vec<bool> = body.insts().enumerate().map(unused).collect();
        if !unused.contains(&true) {
            return;
        }
        let mut unused = unused.into_iter();
        body.prologue.retain(|_| unused.next() != Some(true));
        let is_used = |item: &Item| !matches!(item, Item::Inst(_)) || unused.next() != Some(true);
        body.items.retain(is_used);
    }
}

/// Removes stores to slots that are never loaded.
fn drop_dead_stores(body: &mut Body) {
    let mut loaded = FixedBitSet::with_capacity(body.slots.len());
    for inst in body.insts() {
        if let Purpose::Load(slot) = inst.purpose {
            loaded.insert(slot.index());
        }
    }
    let dead = |inst: &Inst| match inst.purpose {
        Purpose::Store(slot) => !loaded.contains(slot.index()),
        _ => false,
    };
    body.items
        .retain(|item| !matches!(item, Item::Inst(inst) if dead(inst)));
    body.prologue.retain(|inst| !dead(inst));
}
