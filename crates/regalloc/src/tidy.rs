//! Removes spill code that does nothing, once every variable has its register.
//!
//! Spilling fetches a value for every use by itself. Where the register still holds what a load
//! would bring or a recipe would make, within one basic block, the instruction goes; stores of
//! places that nothing loads go too.

use crate::body::{Body, Control, Inst, Item, Purpose, Slot};
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

/// What a register is known to hold.
#[derive(Clone, PartialEq, Debug)]
enum Content {
    Slot(Slot),
    /// Made by these instructions, as text without their registers.
    Recipe(String),
}

/// Drops needless spill code. `name` is what tells registers apart: class and number.
pub(crate) fn tidy(body: &mut Body, name: impl Fn(usize) -> (usize, u32)) {
    drop_repeats(body, &name);
    drop_dead_stores(body);
}

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
                note(inst, &mut known, name);
            }
            if inst.control != Control::Next {
                known.clear();
            }
            needed
        }
        _ => true,
    });
}

type Known = FxHashMap<(usize, u32), Content>;

fn is_repeat(inst: &Inst, known: &Known, name: &impl Fn(usize) -> (usize, u32)) -> bool {
    let content = content(inst, known, name);
    let to = inst.writes().next().map(|var| name(var.index()));
    match (content, to) {
        (Some(content), Some(to)) => known.get(&to) == Some(&content),
        _ => false,
    }
}

/// What an instruction of the allocator's puts into its register.
fn content(inst: &Inst, known: &Known, name: &impl Fn(usize) -> (usize, u32)) -> Option<Content> {
    match inst.purpose {
        Purpose::Load(slot) => Some(Content::Slot(slot)),
        Purpose::Remake => {
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

fn note(inst: &Inst, known: &mut Known, name: &impl Fn(usize) -> (usize, u32)) {
    let made = content(inst, known, name);
    for var in inst.writes() {
        known.remove(&name(var.index()));
    }
    if let (Some(made), Some(to)) = (made, inst.writes().next()) {
        known.insert(name(to.index()), made);
    }
    if let Purpose::Store(slot) = inst.purpose {
        known.retain(|_, content| *content != Content::Slot(slot));
        // The address is read first, the value last.
        if let Some(value) = inst.reads().last() {
            known.insert(name(value.index()), Content::Slot(slot));
        }
    }
}

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
