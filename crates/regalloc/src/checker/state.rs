//! What is known at one place of the two programs.

use super::flat::Reg;
use super::value::ValueId;
use std::collections::{BTreeMap, BTreeSet};

/// A place on the spill stack, by number.
pub(super) type SlotId = u32;

/// Where the new program can keep a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Loc {
    Reg(Reg),
    Slot(SlotId),
}

/// Facts that hold whichever way control came. Fewer facts are always safe. A place and a register
/// of the original that are known to have one value hold the same.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct State {
    /// Registers of the original whose present value a place holds.
    holds: BTreeMap<Loc, BTreeSet<Reg>>,
    /// What the original's registers are.
    original: BTreeMap<Reg, ValueId>,
    /// What the new program's places are.
    present: BTreeMap<Loc, ValueId>,
}

impl State {
    /// Whether a place has what a register of the original has.
    pub fn agrees(&self, loc: Loc, reg: Reg) -> bool {
        self.holds.get(&loc).is_some_and(|regs| regs.contains(&reg))
    }

    pub fn original(&self, reg: Reg) -> Option<ValueId> {
        self.original.get(&reg).copied()
    }

    pub fn present(&self, loc: Loc) -> Option<ValueId> {
        self.present.get(&loc).copied()
    }

    /// The original writes a register: nothing holds its present value any more.
    pub fn redefine(&mut self, reg: Reg, value: Option<ValueId>) {
        for (loc, regs) in &mut self.holds {
            regs.remove(&reg);
            if value.is_some() && self.present.get(loc).copied() == value {
                regs.insert(reg);
            }
        }
        set(&mut self.original, reg, value);
    }

    /// The original copies a register: whatever holds the one now holds the other too.
    pub fn copy_original(&mut self, to: Reg, from: Reg) {
        if to == from {
            return;
        }
        let value = self.original(from);
        self.redefine(to, value);
        for regs in self.holds.values_mut().filter(|regs| regs.contains(&from)) {
            regs.insert(to);
        }
    }

    /// The new program writes a place. It then stands for `regs`, and for whatever the original has
    /// with the same value.
    pub fn overwrite(&mut self, loc: Loc, mut regs: BTreeSet<Reg>, value: Option<ValueId>) {
        let same = |(_, of): &(&Reg, &ValueId)| Some(**of) == value;
        regs.extend(self.original.iter().filter(same).map(|(reg, _)| *reg));
        self.holds.insert(loc, regs);
        set(&mut self.present, loc, value);
    }

    /// The new program copies a place.
    pub fn copy(&mut self, to: Loc, from: Loc) {
        let regs = self.holds.get(&from).cloned().unwrap_or_default();
        let value = self.present(from);
        self.overwrite(to, regs, value);
    }

    /// Keeps what holds in both; true if that is less than before.
    pub fn meet(&mut self, other: &Self) -> bool {
        let before = self.clone();
        self.holds.retain(|loc, regs| {
            if let Some(others) = other.holds.get(loc) {
                regs.retain(|reg| others.contains(reg));
            }
            other.holds.contains_key(loc)
        });
        self.original
            .retain(|reg, value| other.original.get(reg) == Some(value));
        self.present
            .retain(|loc, value| other.present.get(loc) == Some(value));
        *self != before
    }
}

fn set<K: Ord>(map: &mut BTreeMap<K, ValueId>, key: K, value: Option<ValueId>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}
