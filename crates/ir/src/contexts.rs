//! What of a warp has to be kept while it is switched out, and where that may happen (GPUDuet,
//! sections 6.6 and 6.7): switch points, the registers live there, and their size once compressed.
//!
//! Switch points are the instructions that may be the first to touch a register which a load from
//! global memory has yet to fill, and those behind a barrier. At each, the context is what any lane
//! of the warp may still read: what is live there, and, inside a branch that may part the lanes,
//! what the lanes that wait at its other side and at its meeting point will read.
//!
//! Registers are counted as [`pressure`](crate::pressure) counts them: what the machine reads from
//! its constant bank again is free, addresses in shared and local memory have 32 bits. Compressed,
//! a value that is the same in all lanes takes one word, one that fits a byte or half a word takes
//! 32 or 64 bytes, a predicate four; both facts are proved, not guessed, so that hardware needs no
//! check. Inside a function the most that a caller keeps at any of its calls comes on top.

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

/// Bytes of a register of a warp, and the unit in which contexts are stored.
pub const UNIT_BYTES: u32 = 128;
/// Bytes of a word or of a predicate of a warp.
const WORD_BYTES: u32 = 4;

/// What a context holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// 32-bit registers.
    pub registers: u32,
    /// Of these, those that are the same in all lanes.
    pub uniform: u32,
    /// Of the others, those that hold a byte or half a word.
    pub narrow: u32,
    /// Bytes, compressed.
    pub bytes: u32,
}

impl Held {
    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            registers: self.registers + other.registers,
            uniform: self.uniform + other.uniform,
            narrow: self.narrow + other.narrow,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A switch point of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Position in the function of the instruction at which the warp goes on.
    pub at: usize,
    /// It waits for a load there.
    pub load: bool,
    /// It comes from a barrier.
    pub barrier: bool,
    /// What is kept.
    pub held: Held,
}

impl Point {
    /// The same in the flat program, in a function that starts at `base` and whose callers keep
    /// `callers`.
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

/// The contexts of one function.
#[derive(Clone, Debug, Default)]
pub struct Contexts {
    /// Its switch points, in order.
    pub points: Vec<Point>,
    /// Most that it keeps at any of its calls.
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

/// What each value takes, and what lanes elsewhere keep.
struct Sizes {
    /// By variable, in the numbering of liveness.
    each: Vec<Held>,
    /// By block: what lanes that part around it may still read elsewhere.
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

    /// The context of a warp that stands before an instruction where `live` is live.
    fn held(&self, at: usize, live: &FixedBitSet) -> Held {
        let mut all = live.clone();
        all.union_with(&self.elsewhere[self.block_of[at]]);
        let sizes = all.ones().map(|var| self.each[var]);
        sizes.fold(Held::default(), Held::plus)
    }
}

/// What a value of `registers` 32-bit registers takes, whose lanes fit `bits` bits.
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

/// By block, what the lanes that branches around it part from the others may still read.
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
    matches!(op, Op::Barrier(kind) if kind != BarrierKind::Arrive)
}

fn calls(op: Op) -> bool {
    matches!(op, Op::Call | Op::CallIndirect)
}

/// Loads whose result comes from global memory, as far as the code tells.
fn is_global_load(inst: &Inst) -> bool {
    matches!(inst.op, Op::Ld(MemSpace::Global | MemSpace::Generic, ..))
}

/// Instructions that may find a register of theirs not yet filled by a load from global memory:
/// forward data flow of the registers that may be in flight. Whoever touches one waits for it.
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
