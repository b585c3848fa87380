//! Context of a warp that is switched out, and the places at which it may be (GPUDuet, sections 6.6
//! and 6.7): switch points, the registers live there, and their size when compressed.
//!
//! Switch points are the instructions that may be the first to use a register which a load from
//! global memory has not filled yet, and the instructions after a barrier. At each, the context is
//! everything that a lane of the warp may still read: the values live there and, inside a branch at
//! which lanes may diverge, the values that lanes in the other arm and at the reconvergence point
//! will read.
//!
//! Registers are counted as in [`pressure`](crate::pressure): values that the machine can read from
//! its constant bank again are free, addresses in shared and local memory have 32 bits. Compressed,
//! a value that is the same in all lanes takes one word, a value that fits a byte or half a word
//! takes 32 or 64 bytes, and a predicate takes four bytes. Both properties are proved and not
//! guessed, so that hardware needs no check. Inside a function, the largest context of a caller at
//! any of its calls is added.

mod narrow;
mod uniform;

use crate::cfg::Cfg;
use crate::inst::{Inst, Reg};
use crate::liveness::Liveness;
use crate::op::{BarrierKind, MemSpace, Op};
use crate::operands::{Code, Var};
use crate::pressure::Costs;
use crate::program::{ConstValue, SwitchPoint};
use fixedbitset::FixedBitSet;
use uniform::Uniform;
use warploom_base::Pc;

/// Bytes of a register of a warp, the unit in which contexts are stored.
pub const UNIT_BYTES: u32 = 128;
/// Bytes of a word or of a predicate of a warp.
const WORD_BYTES: u32 = 4;

/// Size of a context, in registers and compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Number of 32-bit registers.
    pub registers: u32,
    /// Number of these that are the same in all lanes.
    pub uniform: u32,
    /// Number of the others that hold a byte or half a word.
    pub narrow: u32,
    /// Size in bytes when compressed.
    pub bytes: u32,
}

impl Held {
    /// Returns the sum of both sizes.
    pub fn plus(self, other: Self) -> Self {
        Self {
            registers: self.registers + other.registers,
            uniform: self.uniform + other.uniform,
            narrow: self.narrow + other.narrow,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Switch point of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Position in the function of the instruction at which the warp continues.
    pub at: usize,
    /// True if the warp waits for a load there.
    pub load: bool,
    /// True if the switch point follows a barrier.
    pub barrier: bool,
    /// Size of the context.
    pub held: Held,
}

impl Point {
    /// Returns the switch point in the flat program. The function starts at `base`, and its callers
    /// keep `callers`.
    pub fn place(&self, base: usize, callers: Held) -> SwitchPoint {
        let held = self.held.plus(callers);
        SwitchPoint {
            pc: Pc::new(self.at + base),
            load: self.load,
            barrier: self.barrier,
            registers: held.registers,
            uniform: held.uniform,
            narrow: held.narrow,
            bytes: held.bytes,
        }
    }
}

/// Contexts of the switch points of one function.
#[derive(Clone, Debug, Default)]
pub struct Contexts {
    /// Switch points in the order of the code.
    pub points: Vec<Point>,
    /// Largest context at any of the function's calls.
    pub at_calls: Held,
}

impl Contexts {
    /// Analyses one function. `wide[r]` says that virtual register `r` has 64 bits.
    pub fn new(
        code: &Code,
        cfg: &Cfg,
        live: &Liveness,
        wide: &[bool],
        consts: &[ConstValue],
    ) -> Self {
        let sizes = Sizes::new(code, cfg, live, wide, consts);
        let waits = waits(code, cfg, live);
        let mut this = Self::default();
        let mut barriers = FixedBitSet::with_capacity(code.insts.len() + 1);
        for (at, inst) in code.insts.iter().enumerate() {
            barriers.set(at + 1, waits_at_barrier(inst.op));
        }
        let mut before = vec![None; code.insts.len()];
        live.for_each_before(code, cfg, |at, set| {
            let wanted = waits.contains(at) || barriers.contains(at);
            if wanted || calls(code.insts[at].op) {
                before[at] = Some(sizes.held(at, set));
            }
        });
        for (at, held) in before.into_iter().enumerate() {
            let Some(held) = held else { continue };
            let (load, barrier) = (waits.contains(at), barriers.contains(at));
            if load || barrier {
                this.points.push(Point {
                    at,
                    load,
                    barrier,
                    held,
                });
            }
            if calls(code.insts[at].op) && held.bytes >= this.at_calls.bytes {
                this.at_calls = held;
            }
        }
        this
    }
}

/// Size of each value, and the values that lanes elsewhere keep.
struct Sizes {
    /// Sizes by variable, in the numbering of liveness.
    each: Vec<Held>,
    /// Values that diverged lanes may still read elsewhere, by block.
    elsewhere: Vec<FixedBitSet>,
    block_of: Vec<usize>,
}

impl Sizes {
    fn new(code: &Code, cfg: &Cfg, live: &Liveness, wide: &[bool], consts: &[ConstValue]) -> Self {
        let uniform = Uniform::new(code, cfg, live);
        let bits = narrow::widths(code, wide, consts);
        let costs = Costs::new(code, wide);
        let value = |reg: usize| {
            let registers = costs.each(reg);
            let same = uniform.is_uniform(live.universe.index(Var::Reg(Reg(reg as u16))));
            size_of(registers, same, bits[reg])
        };
        let predicate = Held {
            bytes: WORD_BYTES,
            ..Held::default()
        };
        let mut each: Vec<Held> = (0..live.universe.regs).map(value).collect();
        each.resize(live.universe.len(), predicate);
        Self {
            each,
            elsewhere: elsewhere(cfg, live, &uniform),
            block_of: (0..code.insts.len()).map(|at| cfg.block_of(at)).collect(),
        }
    }

    /// Context of a warp before an instruction at which the variables `live` are live.
    fn held(&self, at: usize, live: &FixedBitSet) -> Held {
        let mut all = live.clone();
        all.union_with(&self.elsewhere[self.block_of[at]]);
        let sizes = all.ones().map(|var| self.each[var]);
        sizes.fold(Held::default(), Held::plus)
    }
}

/// Size of a value of `registers` 32-bit registers whose lanes fit `bits` bits.
fn size_of(registers: u32, uniform: bool, bits: u32) -> Held {
    if registers == 0 {
        return Held::default();
    }
    let whole = registers * UNIT_BYTES;
    let narrow = match bits {
        0..=8 => UNIT_BYTES / 4,
        9..=16 => UNIT_BYTES / 2,
        17..=32 => UNIT_BYTES,
        _ => whole,
    };
    Held {
        registers,
        uniform: if uniform { registers } else { 0 },
        narrow: if !uniform && narrow < whole {
            registers
        } else {
            0
        },
        bytes: match uniform {
            true => registers * WORD_BYTES,
            false => narrow.min(whole),
        },
    }
}

/// Values by block that the diverged lanes of branches around it may still read.
fn elsewhere(cfg: &Cfg, live: &Liveness, uniform: &Uniform) -> Vec<FixedBitSet> {
    let mut kept = vec![FixedBitSet::with_capacity(live.universe.len()); cfg.blocks.len()];
    for parting in uniform.partings() {
        for block in parting.region.ones() {
            kept[block].union_with(&parting.kept);
        }
    }
    kept
}

fn waits_at_barrier(op: Op) -> bool {
    use BarrierKind::{Arrive, ClusterArrive};
    matches!(op, Op::Barrier(kind) if !matches!(kind, Arrive | ClusterArrive))
}

fn calls(op: Op) -> bool {
    matches!(op, Op::Call | Op::CallIndirect)
}

/// True for loads whose result comes from global memory, as far as the code tells.
fn is_global_load(inst: &Inst) -> bool {
    matches!(inst.op, Op::Ld(MemSpace::Global | MemSpace::Generic, ..))
}

/// Instructions that may find a register of theirs not yet filled by a load from global memory:
/// forward data flow of the registers that may be in flight. Any use of such a register waits for
/// it.
fn waits(code: &Code, cfg: &Cfg, live: &Liveness) -> FixedBitSet {
    let universe = live.universe;
    let mut waits = FixedBitSet::with_capacity(code.insts.len());
    let mut entry = vec![FixedBitSet::with_capacity(universe.len()); cfg.blocks.len()];
    let mut work: Vec<usize> = (0..cfg.blocks.len()).rev().collect();
    while let Some(nth) = work.pop() {
        let block = &cfg.blocks[nth];
        let mut flying = entry[nth].clone();
        for at in block.start..block.end {
            let inst = &code.insts[at];
            let touched = code.reads(inst).chain(code.writes(inst));
            let mut waited = false;
            for var in touched.map(|var| universe.index(var)) {
                waited |= flying.contains(var);
                flying.set(var, false);
            }
            waits.set(at, waited || waits.contains(at));
            if is_global_load(inst) {
                code.writes(inst)
                    .for_each(|var| flying.insert(universe.index(var)));
            }
        }
        for &next in &block.succs {
            let before = entry[next].count_ones(..);
            entry[next].union_with(&flying);
            if entry[next].count_ones(..) != before {
                work.push(next);
            }
        }
    }
    waits
}
