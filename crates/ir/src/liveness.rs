//! Registers and predicates that a thread will still read: backward data flow over the blocks.
//!
//! Liveness is per thread, not per warp: a lane's value matters only on the paths that the lane
//! itself may take, because operations under a lane mask do not change the other lanes. A guarded
//! write does not end the life of a value: the old value remains where the guard is false. Only a
//! guard that says that no such lane needs it ends it.

use crate::cfg::{Block, Cfg};
use crate::dataflow::{Direction, fixed_point};
use crate::operands::{Code, Var};
use fixedbitset::FixedBitSet;

/// Numbering of variables in the sets: registers first, then predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Universe {
    /// Number of registers: all register numbers are below it.
    pub regs: usize,
    /// Number of predicates: all predicate numbers are below it.
    pub preds: usize,
}

impl Universe {
    /// Smallest universe with every variable that the code mentions.
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

    /// Number of all variables.
    pub fn len(&self) -> usize {
        self.regs + self.preds
    }

    /// True if there are no variables.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Sets of live variables at the start and end of every block.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Numbering of the sets.
    pub universe: Universe,
    live_in: Vec<FixedBitSet>,
    live_out: Vec<FixedBitSet>,
}

impl Liveness {
    /// Solves the data-flow equations for one function.
    pub fn new(code: &Code, cfg: &Cfg, universe: Universe) -> Self {
        let transfer = |block: &Block, live: &mut FixedBitSet| {
            for at in (block.start..block.end).rev() {
                step_back(code, universe, at, live);
            }
        };
        let live_out = fixed_point(cfg, Direction::Backward, universe.len(), transfer);
        let mut live_in = live_out.clone();
        for (block, live) in cfg.blocks.iter().zip(&mut live_in) {
            transfer(block, live);
        }
        Self {
            universe,
            live_in,
            live_out,
        }
    }

    /// Variables live before a block's first instruction.
    pub fn live_in(&self, block: usize) -> &FixedBitSet {
        &self.live_in[block]
    }

    /// Variables live after a block's last instruction.
    pub fn live_out(&self, block: usize) -> &FixedBitSet {
        &self.live_out[block]
    }

    /// Visits the instructions of every block from last to first with the variables live before
    /// each.
    pub fn for_each_before(
        &self,
        code: &Code,
        cfg: &Cfg,
        mut visit: impl FnMut(usize, &FixedBitSet),
    ) {
        for (index, block) in cfg.blocks.iter().enumerate() {
            let mut live = self.live_out[index].clone();
            for at in (block.start..block.end).rev() {
                step_back(code, self.universe, at, &mut live);
                visit(at, &live);
            }
        }
    }

    /// Visits the instructions of every block from last to first with the variables live after
    /// each.
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

/// Changes the set live after an instruction into the set live before it.
pub fn step_back(code: &Code, universe: Universe, at: usize, live: &mut FixedBitSet) {
    let inst = &code.insts[at];
    if inst.guard.is_none_or(|guard| guard.overwrites) {
        for var in code.writes(inst) {
            live.remove(universe.index(var));
        }
    }
    for var in code.reads(inst) {
        live.insert(universe.index(var));
    }
}

#[cfg(test)]
mod tests {
    use super::{Liveness, Universe};
    use crate::cfg::Cfg;
    use crate::inst::{Dst, Extra, Guard, Inst, Pred, Reg, Src};
    use crate::op::{Op, Width};
    use crate::operands::{Code, Var};
    use warploom_base::Pc;

    fn mov(dst: u16, src: u16, guard: Option<u16>) -> Inst {
        Inst {
            op: Op::Mov(Width::B32),
            guard: guard.map(|p| Guard {
                pred: Pred(p),
                negated: false,
                overwrites: false,
            }),
            dst: [Dst::Reg(Reg(dst)), Dst::None],
            src: [Src::Reg(Reg(src)), Src::None, Src::None, Src::None],
            imm: 0,
            extra: Extra::NONE,
            wide_addr: false,
        }
    }

    fn branch(to: i32, guard: Option<u16>) -> Inst {
        Inst {
            op: Op::Bra(false),
            dst: [Dst::None; 2],
            src: [Src::None; 4],
            imm: to,
            ..mov(0, 0, guard)
        }
    }

    /// Checks the variables live after each instruction, as text.
    fn check(insts: &[Inst], expected: &[&str]) {
        let code = Code {
            insts,
            extras: &[],
            start: Pc(0),
        };
        let cfg = Cfg::new(&code);
        let universe = Universe::of(&code);
        let live = Liveness::new(&code, &cfg, universe);
        let mut found = vec![String::new(); insts.len()];
        live.for_each(&code, &cfg, |at, after| {
            let names = after.ones().map(|v| match v < universe.regs {
                true => format!("r{v}"),
                false => format!("p{}", v - universe.regs),
            });
            found[at] = names.collect::<Vec<_>>().join(" ");
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_write_ends_a_life_and_a_guarded_one_does_not() {
        check(
            &[mov(0, 1, None), mov(0, 2, None), mov(3, 0, None)],
            &["r2", "r0", ""],
        );
        check(
            &[mov(0, 1, None), mov(0, 2, Some(0)), mov(3, 0, None)],
            &["r0 r2 p0", "r0", ""],
        );
    }

    #[test]
    fn values_live_around_a_loop() {
        // 0: r0 = r1; 1: r2 = r0; 2: @p0 bra 1; 3: r3 = r2
        let insts = [
            mov(0, 1, None),
            mov(2, 0, None),
            branch(1, Some(0)),
            mov(3, 2, None),
        ];
        check(&insts, &["r0 p0", "r0 r2 p0", "r0 r2 p0", ""]);
    }

    #[test]
    fn the_universe_holds_what_is_mentioned() {
        let insts = [mov(4, 1, Some(2))];
        let code = Code {
            insts: &insts,
            extras: &[],
            start: Pc(0),
        };
        let universe = Universe::of(&code);
        assert_eq!(universe, Universe { regs: 5, preds: 3 });
        assert_eq!(universe.index(Var::Pred(Pred(2))), 7);
        assert_eq!((universe.len(), universe.is_empty()), (8, false));
    }
}
