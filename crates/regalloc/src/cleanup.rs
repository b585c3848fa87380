//! Removal of redundant spill code, after every variable has received its register.
//!
//! Spilling inserts a separate load or recomputation before each use. Such an instruction is
//! removed if its register already holds the value, within one basic block. Stores to slots that
//! are never loaded are removed too.

use crate::body::{Body, Control, Inst, Item, Purpose, Slot};
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

/// The known content of a register.
#[derive(Clone, PartialEq, Debug)]
enum Content {
    Slot(Slot),
    /// The result of these instructions, as text without register names.
    Recipe(String),
}

/// Removes redundant spill code. `name` returns the class index and the register number of a
/// variable.
pub(crate) fn remove_redundant(body: &mut Body, name: impl Fn(usize) -> (usize, u32)) {
    drop_repeats(body, &name);
    drop_dead_stores(body);
}

/// Removes loads and recomputations of values that their registers already hold.
fn drop_repeats(body: &mut Body, name: &impl Fn(usize) -> (usize, u32)) {
    let mut known: FxHashMap<(usize, u32), Content> = FxHashMap::default();
    body.items.retain(|item| match item {
        Item::Label(..) => {
            known.clear();
            true
        }
        Item::Inst(inst) => {
            let needed = !is_repeat(inst, &known, name);
            if needed {
                update_known(inst, &mut known, name);
            }
            if inst.control != Control::Next {
                known.clear();
            }
            needed
        }
        _ => true,
    });
}

/// The known contents of registers, by class index and register number.
type Known = FxHashMap<(usize, u32), Content>;

/// Returns whether the destination of an instruction already holds the value that the instruction
/// produces.
fn is_repeat(inst: &Inst, known: &Known, name: &impl Fn(usize) -> (usize, u32)) -> bool {
    let content = content(inst, known, name);
    let to = inst.writes().next().map(|var| name(var.index()));
    match (content, to) {
        (Some(content), Some(to)) => known.get(&to) == Some(&content),
        _ => false,
    }
}

/// Returns the value that an added instruction puts into its destination register.
fn content(inst: &Inst, known: &Known, name: &impl Fn(usize) -> (usize, u32)) -> Option<Content> {
    match inst.purpose {
        Purpose::Load(slot) => Some(Content::Slot(slot)),
        Purpose::Rematerialize => {
            let mut text = inst.ast.opcode.to_string();
            for modifier in &inst.ast.modifiers {
                text += &modifier.to_string();
            }
            match inst.reads().next() {
                None => text += &inst.ast.operands.get(1)?.to_string(),
                Some(from) => match known.get(&name(from.index()))? {
                    Content::Recipe(before) => text = format!("{text} {before}"),
                    Content::Slot(_) => return None,
                },
            }
            Some(Content::Recipe(text))
        }
        _ => None,
    }
}

/// Updates the known contents after an instruction.
fn update_known(inst: &Inst, known: &mut Known, name: &impl Fn(usize) -> (usize, u32)) {
    let made = content(inst, known, name);
    for var in inst.writes() {
        known.remove(&name(var.index()));
    }
    if let (Some(made), Some(to)) = (made, inst.writes().next()) {
        known.insert(name(to.index()), made);
    }
    if let Purpose::Store(slot) = inst.purpose {
        known.retain(|_, content| *content != Content::Slot(slot));
        // The address is the first operand and the value the last.
        if let Some(value) = inst.reads().last() {
            known.insert(name(value.index()), Content::Slot(slot));
        }
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
