//! Latencies of control flow that an assembler knows (docs/model/sm.md, Control flow): from a
//! predicate to what it guards, and from a branch to the next instruction.

use super::timing::is_control;
use warploom_config::SmSpec;
use warploom_ir::{Dst, Inst, InstFacts, Program, contains_branch};

/// Facts about the control flow of a program, as the pipeline needs them.
pub(super) struct Control {
    /// By program counter: whether the predicate that an instruction writes guards a later one.
    guards: Vec<bool>,
    /// Cycles in a unit of an instruction that writes such a predicate, at least.
    guard_cycles: u16,
    /// True if branches hold their warp: they write the first scoreboard entry, and every
    /// instruction needs it.
    holds: bool,
    /// Number of scoreboard entries of a warp.
    pub entries: usize,
}

impl Control {
    pub fn new(program: &Program, spec: &SmSpec) -> Self {
        let holds = spec.branch_cycles > 0;
        Self {
            guards: match spec.guard_latency_cycles {
                0 => vec![false; program.insts.len()],
                _ => writers_of_guards(program),
            },
            guard_cycles: spec.cycles_in_unit(spec.guard_latency_cycles) as u16,
            holds,
            entries: program.score_len() + usize::from(holds),
        }
    }

    /// Cycles in a unit of the instruction at `pc`, which takes at least `latency`.
    pub fn latency(&self, pc: usize, latency: u16) -> u16 {
        match self.guards[pc] {
            true => latency.max(self.guard_cycles),
            false => latency,
        }
    }

    /// Scoreboard entries of an instruction that reads and writes these registers: those that it
    /// needs free, and those that it writes.
    pub fn scores(&self, inst: &Inst, facts: &InstFacts) -> [Vec<u16>; 2] {
        let first = u16::from(self.holds);
        let registers = |list: &[u16]| list.iter().map(|register| register + first).collect();
        let mut written: Vec<u16> = registers(&facts.writes);
        let mut needed: Vec<u16> = registers(&facts.reads);
        needed.extend(&written);
        if self.holds {
            needed.push(0);
            let branches = is_control(facts.class) || contains_branch(inst.op);
            written.extend(branches.then_some(0));
        }
        [needed, written]
    }
}

/// By program counter: whether an instruction writes a predicate that guards a later instruction of
/// the text before it is written anew.
fn writers_of_guards(program: &Program) -> Vec<bool> {
    let mut guards_next = vec![false; usize::from(program.preds)];
    let mut writers = vec![false; program.insts.len()];
    for (writer, inst) in writers.iter_mut().zip(&program.insts).rev() {
        for dst in inst.dst {
            if let Dst::Pred(pred) = dst {
                let guards = &mut guards_next[usize::from(pred.0)];
                *writer |= *guards;
                *guards &= inst.guard.is_some();
            }
        }
        if let Some(guard) = inst.guard {
            guards_next[usize::from(guard.pred.0)] = true;
        }
    }
    writers
}
