//! Which results may still be on their way to their registers: forward data flow over the blocks.
//!
//! An instruction issues when nothing is on its way to a register or predicate that it names. So a
//! result is pending from the instruction that writes it to the next on the path that names its
//! register, and to the end of the function where none does.

use crate::cfg::{Block, Cfg};
use crate::dataflow::{Direction, fixed_point};
use crate::liveness::Universe;
use crate::operands::Code;
use fixedbitset::FixedBitSet;

/// Sets of variables with a result that may be pending at the start of every block.
#[derive(Clone, Debug)]
pub struct Pending {
    universe: Universe,
    at_start: Vec<FixedBitSet>,
}

impl Pending {
    /// Solves the data-flow equations for one function, of which nothing is pending at its start.
    pub fn new(code: &Code, cfg: &Cfg, universe: Universe) -> Self {
        let transfer = |block: &Block, pending: &mut FixedBitSet| {
            for at in block.start..block.end {
                step(code, universe, at, pending);
            }
        };
        Self {
            universe,
            at_start: fixed_point(cfg, Direction::Forward, universe.len(), transfer),
        }
    }

    /// Visits the instructions of every block in order with what may be pending before each.
    pub fn for_each(&self, code: &Code, cfg: &Cfg, mut visit: impl FnMut(usize, &FixedBitSet)) {
        for (block, at_start) in cfg.blocks.iter().zip(&self.at_start) {
            let mut pending = at_start.clone();
            for at in block.start..block.end {
                visit(at, &pending);
                step(code, self.universe, at, &mut pending);
            }
        }
    }
}

/// Changes the set pending before an instruction into the set pending after it.
fn step(code: &Code, universe: Universe, at: usize, pending: &mut FixedBitSet) {
    let inst = &code.insts[at];
    for var in code.reads(inst) {
        pending.remove(universe.index(var));
    }
    for var in code.writes(inst) {
        pending.insert(universe.index(var));
    }
}

#[cfg(test)]
mod tests {
    use super::Pending;
    use crate::cfg::Cfg;
    use crate::inst::{Dst, Extra, Guard, Inst, Pred, Reg, Src};
    use crate::liveness::Universe;
    use crate::op::{Op, Width};
    use crate::operands::Code;
    use warploom_base::Pc;

    fn mov(dst: u16, src: u16) -> Inst {
        Inst {
            op: Op::Mov(Width::B32),
            guard: None,
            dst: [Dst::Reg(Reg(dst)), Dst::None],
            src: [Src::Reg(Reg(src)), Src::None, Src::None, Src::None],
            imm: 0,
            extra: Extra::NONE,
            wide_addr: false,
        }
    }

    /// A branch that takes place where a predicate says so.
    fn branch(to: i32, pred: u16) -> Inst {
        Inst {
            op: Op::Bra(false),
            guard: Some(Guard {
                pred: Pred(pred),
                negated: false,
                overwrites: false,
            }),
            dst: [Dst::None; 2],
            src: [Src::None; 4],
            imm: to,
            ..mov(0, 0)
        }
    }

    /// Compares the registers that may be pending before each instruction with `expected`.
    fn check(insts: &[Inst], expected: &[&str]) {
        let code = Code {
            insts,
            extras: &[],
            start: Pc(0),
        };
        let cfg = Cfg::new(&code);
        let pending = Pending::new(&code, &cfg, Universe::of(&code));
        let mut found = vec![String::new(); insts.len()];
        pending.for_each(&code, &cfg, |at, before| {
            let names: Vec<_> = before.ones().map(|v| format!("r{v}")).collect();
            found[at] = names.join(" ");
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_result_is_pending_until_its_register_is_named() {
        check(
            &[mov(0, 9), mov(1, 9), mov(2, 0), mov(1, 9), mov(3, 1)],
            &["", "r0", "r0 r1", "r1 r2", "r1 r2"],
        );
    }

    #[test]
    fn a_result_that_one_path_reads_stays_pending_on_the_other() {
        // 0: r0 = r9; 1: @p0 bra 3; 2: r1 = r0; 3: r2 = r9
        check(
            &[mov(0, 9), branch(3, 0), mov(1, 0), mov(2, 9)],
            &["", "r0", "r0", "r0 r1"],
        );
    }

    #[test]
    fn results_are_pending_around_a_loop() {
        // 0: r0 = r9; 1: r1 = r0; 2: @p0 bra 0; 3: r2 = r1
        check(
            &[mov(0, 9), mov(1, 0), branch(0, 0), mov(2, 1)],
            &["r1", "r0 r1", "r1", "r1"],
        );
    }
}
