//! Which registers and predicates a thread will still read: backward data flow over the blocks.
//!
//! Per thread, not per warp: a lane's value matters only on the paths that the lane itself may
//! take, because operations under a lane mask leave the other lanes alone. A guarded write does
//! not end a value's life: where the guard is false the old value stays.

use crate::cfg::Cfg;
use crate::operands::{Code, Var};
use fixedbitset::FixedBitSet;

/// Numbering of variables in the sets: registers first, then predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Universe {
    /// Register numbers in use are below this.
    pub regs: usize,
    /// Predicate numbers in use are below this.
    pub preds: usize,
}

impl Universe {
    /// The smallest universe that holds everything the code mentions.
    pub fn of(code: &Code) -> Self {
        let mut found = Self { regs: 0, preds: 0 };
        for inst in code.insts {
            for var in code.reads(inst).chain(code.writes(inst)) {
                match var {
                    Var::Reg(r) => found.regs = found.regs.max(r.0 as usize + 1),
                    Var::Pred(p) => found.preds = found.preds.max(p.0 as usize + 1),
                }
            }
        }
        found
    }

    /// Position of a variable in the sets.
    pub fn index(&self, var: Var) -> usize {
        match var {
            Var::Reg(reg) => reg.0 as usize,
            Var::Pred(pred) => self.regs + pred.0 as usize,
        }
    }

    /// Number of variables.
    pub fn len(&self) -> usize {
        self.regs + self.preds
    }

    /// No variables at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Sets of live variables at the borders of every block.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// How the sets are numbered.
    pub universe: Universe,
    live_in: Vec<FixedBitSet>,
    live_out: Vec<FixedBitSet>,
}

impl Liveness {
    /// Solves the data-flow equations for one function.
    pub fn new(code: &Code, cfg: &Cfg, universe: Universe) -> Self {
        let empty = FixedBitSet::with_capacity(universe.len());
        let mut live = Self {
            universe,
            live_in: vec![empty.clone(); cfg.blocks.len()],
            live_out: vec![empty; cfg.blocks.len()],
        };
        let preds = cfg.predecessors();
        let mut queued = FixedBitSet::with_capacity(cfg.blocks.len());
        queued.insert_range(..);
        let mut work: Vec<usize> = (0..cfg.blocks.len()).collect();
        while let Some(block) = work.pop() {
            queued.remove(block);
            if live.update(code, cfg, block) {
                work.extend(preds[block].iter().copied().filter(|p| !queued.put(*p)));
            }
        }
        live
    }

    /// Recomputes one block; true if what is live at its start grew.
    fn update(&mut self, code: &Code, cfg: &Cfg, block: usize) -> bool {
        for &succ in &cfg.blocks[block].succs {
            self.live_out[block].union_with(&self.live_in[succ]);
        }
        let mut live = self.live_out[block].clone();
        for at in (cfg.blocks[block].start..cfg.blocks[block].end).rev() {
            step_back(code, self.universe, at, &mut live);
        }
        let grew = live != self.live_in[block];
        self.live_in[block] = live;
        grew
    }

    /// Live before a block's first instruction.
    pub fn live_in(&self, block: usize) -> &FixedBitSet {
        &self.live_in[block]
    }

    /// Live after a block's last instruction.
    pub fn live_out(&self, block: usize) -> &FixedBitSet {
        &self.live_out[block]
    }

    /// Visits the instructions of every block from last to first with what is live after each.
    pub fn for_each(&self, code: &Code, cfg: &Cfg, mut visit: impl FnMut(usize, &FixedBitSet)) {
        for (index, block) in cfg.blocks.iter().enumerate() {
            let mut live = self.live_out[index].clone();
            for at in (block.start..block.end).rev() {
                visit(at, &live);
                step_back(code, self.universe, at, &mut live);
            }
        }
    }
}

/// From what is live after an instruction to what is live before it.
fn step_back(code: &Code, universe: Universe, at: usize, live: &mut FixedBitSet) {
    let inst = &code.insts[at];
    if inst.guard.is_none() {
        for var in code.writes(inst) {
            live.remove(universe.index(var));
        }
    }
    for var in code.reads(inst) {
        live.insert(universe.index(var));
    }
}
