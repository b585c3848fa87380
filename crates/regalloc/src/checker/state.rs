//! The facts known at one point of the two programs.

use super::flat::Reg;
use super::value::ValueId;
use std::collections::{BTreeMap, BTreeSet};

/// A spill slot, by index.
pub(super) type SlotId = u32;

/// A location where the new program can hold a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Loc {
    Reg(Reg),
    Slot(SlotId),
}

/// The facts that hold on all paths to a point. Fewer facts are always safe. A location and an
/// original register that have the same known value are considered equal.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct State {
    /// The original registers whose current value each location holds.
    holds: BTreeMap<Loc, BTreeSet<Reg>>,
    /// The known values of the original registers.
    original: BTreeMap<Reg, ValueId>,
    /// The known values of the new program's locations.
    present: BTreeMap<Loc, ValueId>,
    /// The original registers whose current value is the result of an instruction for the current
    /// values of its operands.
    equations: BTreeMap<Reg, Equation>,
}

/// An instruction of the original by its index, with the registers that it reads, in order.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Equation {
    pub inst: usize,
    pub args: Vec<Reg>,
}

impl State {
    /// Returns whether a location holds the current value of an original register.
    pub fn agrees(&self, loc: Loc, reg: Reg) -> bool {
        self.holds.get(&loc).is_some_and(|regs| regs.contains(&reg))
    }

    pub fn original(&self, reg: Reg) -> Option<ValueId> {
        self.original.get(&reg).copied()
    }

    pub fn present(&self, loc: Loc) -> Option<ValueId> {
        self.present.get(&loc).copied()
    }

    /// Applies a write of an original register. Afterwards only locations with the same known value
    /// hold its value.
    pub fn redefine(&mut self, reg: Reg, value: Option<ValueId>) {
        for (loc, regs) in &mut self.holds {
            regs.remove(&reg);
            if value.is_some() && self.present.get(loc).copied() == value {
                regs.insert(reg);
            }
        }
        set(&mut self.original, reg, value);
        let about = |to: &Reg, equation: &mut Equation| *to != reg && !equation.args.contains(&reg);
        self.equations.retain(about);
    }

    /// Records that an original register is the result of an instruction that does not read it.
    pub fn equate(&mut self, reg: Reg, equation: Equation) {
        self.equations.insert(reg, equation);
    }

    /// Returns the original registers that are the result of an instruction for which `is_so`
    /// holds.
    pub fn results(&self, is_so: impl Fn(&Equation) -> bool) -> BTreeSet<Reg> {
        let found = self
            .equations
            .iter()
            .filter(|(_, equation)| is_so(equation));
        found.map(|(reg, _)| *reg).collect()
    }

    /// Removes the facts about a register of the new program of which a part is overwritten.
    pub fn forget(&mut self, loc: Loc) {
        self.holds.remove(&loc);
        self.present.remove(&loc);
    }

    /// Applies a copy between original registers. Every location that holds the source then also
    /// holds the destination.
    pub fn copy_original(&mut self, to: Reg, from: Reg) {
        if to == from {
            return;
        }
        let value = self.original(from);
        self.redefine(to, value);
        if let Some(equation) = self.equations.get(&from).cloned()
            && !equation.args.contains(&to)
        {
            self.equations.insert(to, equation);
        }
        for regs in self.holds.values_mut().filter(|regs| regs.contains(&from)) {
            regs.insert(to);
        }
    }

    /// Applies a write of a location of the new program. The location then holds the registers
    /// `regs`, and every original register with the same known value.
    pub fn overwrite(&mut self, loc: Loc, mut regs: BTreeSet<Reg>, value: Option<ValueId>) {
        let same = |(_, of): &(&Reg, &ValueId)| Some(**of) == value;
        regs.extend(self.original.iter().filter(same).map(|(reg, _)| *reg));
        self.holds.insert(loc, regs);
        set(&mut self.present, loc, value);
    }

    /// Applies a copy between locations of the new program.
    pub fn copy(&mut self, to: Loc, from: Loc) {
        let regs = self.holds.get(&from).cloned().unwrap_or_default();
        let value = self.present(from);
        self.overwrite(to, regs, value);
    }

    /// Keeps the facts that hold in both states. Returns whether the number of facts decreased.
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
        self.equations
            .retain(|reg, equation| other.equations.get(reg) == Some(equation));
        *self != before
    }
}

/// Sets or removes an entry of a map.
fn set<K: Ord>(map: &mut BTreeMap<K, ValueId>, key: K, value: Option<ValueId>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}
