//! Estimate from PTX of the registers per thread that a compiler such as `ptxas` would need.
//!
//! The rule was fitted to all kernels together:
//! 1. Count the 32-bit registers whose values are live after each instruction (64-bit values count
//!    twice, predicates do not count), and take the largest number.
//! 2. Leave out what machine code does not hold in registers: values that the constant bank
//!    provides at any time (kernel parameters, block and grid sizes, literals), and the upper half
//!    of 64-bit addresses in shared or local memory, which have 32 bits there.
//! 3. Add the registers that the expansion of divisions and square roots needs.
//! 4. Add loads in flight: a compiler moves independent loads of a block up as long as this costs
//!    few registers.
//! 5. Add a fixed overhead for the calling convention.
//!
//! For 30 kernels (NVRTC 12.9: linear algebra, stencils, reductions, sorting, hashing, f64, calls),
//! the mean absolute error against `ptxas` 12.9 for sm_50 is 4.5 registers, 18 % of the true number;
//! a test of `lower` compares them. The main unknown is how far `ptxas` unrolls loops.

mod values;

use crate::cfg::{Block, Cfg};
use crate::inst::Inst;
use crate::liveness::Liveness;
use crate::op::{FloatBin, FloatTy, FloatUn, IntBin, IntTy, MemSpace, Op};
use crate::operands::{Code, Var};
use fixedbitset::FixedBitSet;
use values::{rematerialised, short_addresses};

/// Most registers up to which loads are moved up freely.
const BATCH_LIMIT: u32 = 28;
/// Additional registers up to which loads are moved up in any case.
const BATCH_EXTRA: u32 = 8;
/// Registers of the calling convention.
const OVERHEAD: u32 = 3;
/// Fewest registers that `ptxas` allots to a thread.
const FEWEST: u32 = 4;

/// Number of registers that one function of a kernel needs by itself. `wide[r]` says that virtual
/// register `r` has 64 bits.
pub fn estimate(code: &Code, cfg: &Cfg, live: &Liveness, wide: &[bool]) -> u32 {
    let costs = Costs::new(code, wide);
    let mut after = vec![0; code.insts.len()];
    live.for_each(code, cfg, |at, set| after[at] = costs.of(set));
    let needed = |(inst, live): (&Inst, &u32)| live + expansion(inst.op);
    let plain = code.insts.iter().zip(&after).map(needed).max().unwrap_or(0);
    let mut batched = 0;
    for (nth, block) in cfg.blocks.iter().enumerate() {
        let before = costs.of(live.live_in(nth));
        batched = batched.max(batch(code, block, &costs, before, &after));
    }
    plain.max(batched.min(BATCH_LIMIT.max(plain + BATCH_EXTRA)))
}

/// Registers per thread of a kernel whose functions together need `pressure`.
pub fn registers_per_thread(pressure: u32) -> u32 {
    (pressure + OVERHEAD).max(FEWEST)
}

/// Cost of holding each register's value, in 32-bit registers.
pub(crate) struct Costs {
    each: Vec<u32>,
}

impl Costs {
    /// Computes the costs of the registers of one function.
    pub(crate) fn new(code: &Code, wide: &[bool]) -> Self {
        let free = rematerialised(code, wide.len());
        let short = short_addresses(code, wide);
        let cost = |(reg, wide): (usize, &bool)| match free.contains(reg) {
            true => 0,
            false => 1 + u32::from(*wide && !short.contains(reg)),
        };
        Self {
            each: wide.iter().enumerate().map(cost).collect(),
        }
    }

    /// Cost of one register's value.
    pub(crate) fn each(&self, reg: usize) -> u32 {
        self.each[reg]
    }

    /// Cost of a set of live variables. Predicates follow the registers in a set and cost nothing.
    fn of(&self, live: &FixedBitSet) -> u32 {
        let regs = live.ones().take_while(|var| *var < self.each.len());
        regs.map(|reg| self.each[reg]).sum()
    }

    fn of_writes(&self, code: &Code, inst: &Inst) -> u32 {
        code.writes(inst)
            .filter_map(reg_of)
            .map(|reg| self.each[reg])
            .sum()
    }
}

fn reg_of(var: Var) -> Option<usize> {
    match var {
        Var::Reg(reg) => Some(usize::from(reg.0)),
        Var::Pred(_) => None,
    }
}

/// Registers needed if every load of a block that depends on no other load were issued first. A
/// store holds back later loads from its own space, a barrier holds back all of them.
fn batch(code: &Code, block: &Block, costs: &Costs, before: u32, after: &[u32]) -> u32 {
    let mut base = before;
    let mut in_flight = 0;
    let mut highest = 0;
    let mut stored: Vec<MemSpace> = Vec::new();
    let mut loaded = FixedBitSet::with_capacity(costs.each.len());
    for (at, &live) in after.iter().enumerate().take(block.end).skip(block.start) {
        let inst = &code.insts[at];
        let depends = code
            .reads(inst)
            .filter_map(reg_of)
            .any(|reg| loaded.contains(reg));
        let mut from_load = depends;
        match inst.op {
            Op::Ld(space, ..)
                if space != MemSpace::Param && !depends && !stored.contains(&space) =>
            {
                in_flight += costs.of_writes(code, inst);
                highest = highest.max(base + in_flight);
                from_load = true;
            }
            Op::St(MemSpace::Generic, ..) | Op::Atom(..) | Op::Barrier(_) | Op::Call => {
                (base, in_flight) = (live, 0);
                stored.clear();
                loaded.clear();
                from_load = false;
            }
            Op::St(space, ..) => stored.push(space),
            _ => {}
        }
        if from_load {
            code.writes(inst)
                .filter_map(reg_of)
                .for_each(|reg| loaded.insert(reg));
        }
    }
    highest
}

/// Registers that the instruction sequence of one operation needs for itself.
fn expansion(op: Op) -> u32 {
    match op {
        Op::Int(IntBin::Div | IntBin::Rem, IntTy::U64 | IntTy::S64) => 10,
        Op::Int(IntBin::Div | IntBin::Rem, _) => 4,
        Op::Float(FloatBin::Div, FloatTy::F64, _) => 10,
        Op::Float(FloatBin::Div, ..) => 6,
        Op::FloatUn(FloatUn::Sqrt | FloatUn::Rcp, FloatTy::F64, _) => 10,
        Op::FloatUn(FloatUn::Sqrt | FloatUn::Rcp, ..) => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
