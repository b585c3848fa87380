//! Instructions that an assembler folds away: copies, parameters and literals in registers,
//! conversions between equal addresses, and what nothing uses any more.

use crate::body::Body;
use crate::effects::is_pure;
use crate::{coalesce, constants, local, logic, predicate, products, unroll};
use fixedbitset::FixedBitSet;
use warploom_ir::liveness::step_back;
use warploom_ir::{MemSpace, Op, Width};

/// Folds as far as it goes.
pub(crate) fn fold(body: &mut Body) {
    equal_addresses(body);
    constants::fold(body);
    local::fold(body);
    remove_unused(body);
    coalesce::coalesce(body);
    products::join(body);
    remove_unused(body);
    predicate::predicate(body);
    unroll::unroll(body);
    constants::fold(body);
    local::fold(body);
    remove_unused(body);
    products::join(body);
    logic::join(body);
}

/// Turns conversions of addresses that change nothing into copies: generic addresses of global and
/// constant memory are those of the space.
fn equal_addresses(body: &mut Body) {
    for inst in &mut body.insts {
        if matches!(
            inst.op,
            Op::Cvta(MemSpace::Global | MemSpace::Const, _, Width::B64)
        ) {
            inst.op = Op::Mov(Width::B64);
        }
    }
}

/// Removes computations whose results nothing reads, and those whose results only such
/// computations read. Each round finds them within blocks.
fn remove_unused(body: &mut Body) {
    loop {
        let mut kept = FixedBitSet::with_capacity(body.insts.len());
        kept.insert_range(..);
        let (cfg, live) = body.flow();
        let (code, universe) = (body.code(), body.universe());
        for (nth, block) in cfg.blocks.iter().enumerate() {
            let mut after = live.live_out(nth).clone();
            for at in (block.start..block.end).rev() {
                let inst = &code.insts[at];
                let mut writes = code.writes(inst);
                let used = writes.any(|var| after.contains(universe.index(var)));
                if used || !is_pure(&code, inst) {
                    step_back(&code, universe, at, &mut after);
                } else {
                    kept.set(at, false);
                }
            }
        }
        if kept.count_zeroes(..) == 0 {
            return;
        }
        body.keep(&kept);
    }
}

/// Number of definitions and of uses of each value.
pub(crate) struct Counts {
    pub defs: Vec<u32>,
    pub uses: Vec<u32>,
}

impl Counts {
    /// Counts in the whole code.
    pub fn of(body: &Body) -> Self {
        let (code, universe) = (body.code(), body.universe());
        let mut counts = Self {
            defs: vec![0; universe.len()],
            uses: vec![0; universe.len()],
        };
        for inst in &body.insts {
            code.reads(inst)
                .for_each(|var| counts.uses[universe.index(var)] += 1);
            code.writes(inst)
                .for_each(|var| counts.defs[universe.index(var)] += 1);
        }
        counts
    }
}
