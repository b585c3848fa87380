//! Independent check of a slot assignment: the content of every slot is followed along all paths.
//!
//! The check uses neither liveness nor interference. It tracks every half of a register's content
//! forward through the code; reading a register whose slots may hold something else is an error.

use super::Assignment;
use crate::cfg::Cfg;
use crate::inst::Inst;
use crate::liveness::Universe;
use crate::operands::{Code, Var};

/// Read that might see another register's value, or overlap inside one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotError {
    /// Position of the instruction in the function.
    pub at: usize,
    /// Variable that is affected.
    pub var: Var,
    /// Description of the error.
    pub reason: &'static str,
}

/// Content of one slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cell {
    /// Nothing has been written yet.
    Empty,
    /// Part of a variable, by its index.
    Holds(u32, u8),
    /// Different contents on different paths or in different lanes.
    Mixed,
}

impl Cell {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Cell::Empty, x) | (x, Cell::Empty) => x,
            (a, b) if a == b => a,
            _ => Cell::Mixed,
        }
    }
}

struct Checker<'a> {
    code: &'a Code<'a>,
    universe: Universe,
    assignment: &'a Assignment,
    wide: &'a [bool],
}

/// Checks that every read sees the register that it names on every path.
pub fn verify(
    code: &Code,
    cfg: &Cfg,
    universe: Universe,
    assignment: &Assignment,
    wide: &[bool],
) -> Result<(), SlotError> {
    let checker = Checker {
        code,
        universe,
        assignment,
        wide,
    };
    checker.check_widths()?;
    let states = checker.solve(cfg);
    for (block, state) in cfg.blocks.iter().zip(states) {
        let Some(mut cells) = state else { continue };
        for at in block.start..block.end {
            checker.check(at, &cells)?;
            checker.step(&code.insts[at], &mut cells);
        }
    }
    Ok(())
}

impl Checker<'_> {
    /// Contents of the slots at the start of every block that can be reached.
    fn solve(&self, cfg: &Cfg) -> Vec<Option<Vec<Cell>>> {
        let mut states: Vec<Option<Vec<Cell>>> = vec![None; cfg.blocks.len()];
        let Some(entry) = states.first_mut() else {
            return states;
        };
        let slots = self.assignment.reg_slots + self.assignment.pred_slots;
        *entry = Some(vec![Cell::Empty; slots]);
        let mut work = vec![0];
        while let Some(block) = work.pop() {
            let mut cells = states[block].clone().expect("queued blocks have a state");
            for at in cfg.blocks[block].start..cfg.blocks[block].end {
                self.step(&self.code.insts[at], &mut cells);
            }
            for &succ in &cfg.blocks[block].succs {
                if merge(&mut states[succ], &cells) {
                    work.push(succ);
                }
            }
        }
        states
    }

    fn step(&self, inst: &Inst, cells: &mut [Cell]) {
        for var in self.code.writes(inst) {
            for (part, slot) in self.slots(var).enumerate() {
                let new = Cell::Holds(self.universe.index(var) as u32, part as u8);
                cells[slot] = match inst.guard {
                    Some(guard) if !guard.overwrites => cells[slot].join(new),
                    _ => new,
                };
            }
        }
    }

    fn check(&self, at: usize, cells: &[Cell]) -> Result<(), SlotError> {
        let inst = &self.code.insts[at];
        for var in self.code.reads(inst) {
            for (part, slot) in self.slots(var).enumerate() {
                let own = Cell::Holds(self.universe.index(var) as u32, part as u8);
                if cells[slot] != own && cells[slot] != Cell::Empty {
                    return Err(SlotError {
                        at,
                        var,
                        reason: "read where its slot may hold another value",
                    });
                }
            }
        }
        self.check_overlap(at, inst)
    }

    /// Checks that no slot belongs to both a 64-bit and a 32-bit register: lanes of the first
    /// overlap other lanes of the second.
    fn check_widths(&self) -> Result<(), SlotError> {
        let mut owner_is_wide = vec![None; self.assignment.reg_slots];
        for (at, inst) in self.code.insts.iter().enumerate() {
            for var in self.code.reads(inst).chain(self.code.writes(inst)) {
                let Var::Reg(reg) = var else { continue };
                let wide = self.wide[reg.0 as usize];
                for slot in self.slots(var) {
                    if *owner_is_wide[slot].get_or_insert(wide) != wide {
                        let reason = "shares a slot with a register of another width";
                        return Err(SlotError { at, var, reason });
                    }
                }
            }
        }
        Ok(())
    }

    /// Checks that destinations overlap no other destination, and overlap a source only as the sole
    /// destination and exactly.
    fn check_overlap(&self, at: usize, inst: &Inst) -> Result<(), SlotError> {
        let writes: Vec<Var> = self.code.writes(inst).collect();
        for (nth, &dst) in writes.iter().enumerate() {
            let mine: Vec<usize> = self.slots(dst).collect();
            let meets = |var: Var| self.slots(var).any(|slot| mine.contains(&slot));
            if writes[..nth].iter().any(|d| *d != dst && meets(*d)) {
                return Err(SlotError {
                    at,
                    var: dst,
                    reason: "shares a slot with another destination",
                });
            }
            for src in self.code.reads(inst).filter(|s| *s != dst && meets(*s)) {
                if writes.len() > 1 || !self.slots(src).eq(mine.iter().copied()) {
                    return Err(SlotError {
                        at,
                        var: src,
                        reason: "partly overwritten while it is read",
                    });
                }
            }
        }
        Ok(())
    }

    fn slots(&self, var: Var) -> std::ops::Range<usize> {
        match var {
            Var::Reg(reg) => {
                let first = self.assignment.regs[reg.0 as usize].0 as usize;
                first..first + 1 + usize::from(self.wide[reg.0 as usize])
            }
            Var::Pred(pred) => {
                let place = self.assignment.preds[pred.0 as usize].0 as usize;
                let slot = self.assignment.reg_slots + place;
                slot..slot + 1
            }
        }
    }
}

fn merge(into: &mut Option<Vec<Cell>>, from: &[Cell]) -> bool {
    let Some(cells) = into else {
        *into = Some(from.to_vec());
        return true;
    };
    let mut changed = false;
    for (cell, other) in cells.iter_mut().zip(from) {
        let joined = cell.join(*other);
        changed |= joined != *cell;
        *cell = joined;
    }
    changed
}
