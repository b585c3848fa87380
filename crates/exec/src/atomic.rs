//! Atomic operations on memory: what one lane does to one value, and batches of them that the
//! memory system applies in its own order.

use crate::float_ops::{canonical, flush_if, min_max16, nan64, narrow, widen};
use crate::log::LINE_SHIFT;
use crate::memory::DeviceMemory;
use crate::replay::StoredLines;
use crate::soft::Format;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{AtomOp, AtomTy, FloatMinMax, Reg, Round};

/// When atomics on global memory take effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AtomicMode {
    /// Within `step`, in lane order; but for those of the heap, which leave a batch in every mode.
    #[default]
    Immediate,
    /// When the memory system calls [`apply_atomic`].
    Deferred,
}

/// Register that receives the old values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtomicDst {
    /// First slot.
    pub reg: Reg,
    /// Two slots of 64-bit lanes, else one.
    pub wide: bool,
}

/// What an atomic instruction does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicAct {
    /// Combines a value in memory with its operands.
    Combine(AtomOp, AtomTy),
    /// Takes memory from the process's heap: the first operand says how much.
    Take,
    /// Gives memory back to it: the first operand is its address.
    Give,
}

/// One atomic instruction on global memory, not yet applied.
#[derive(Clone, Debug)]
pub struct AtomicBatch {
    /// Process.
    pub asid: u8,
    /// What it does.
    pub act: AtomicAct,
    /// Lanes that take part; 0: no batch.
    pub mask: LaneMask,
    /// Destination; `None` for `red`.
    pub dst: Option<AtomicDst>,
    /// Byte addresses, checked.
    pub addrs: [u64; WARP_SIZE],
    /// First operand per lane (`cas`: the value compared).
    pub a: [u64; WARP_SIZE],
    /// Second operand per lane (`cas`: the new value).
    pub b: [u64; WARP_SIZE],
}

impl Default for AtomicBatch {
    fn default() -> Self {
        Self {
            asid: 0,
            act: AtomicAct::Combine(AtomOp::Add, AtomTy::U32),
            mask: 0,
            dst: None,
            addrs: [0; WARP_SIZE],
            a: [0; WARP_SIZE],
            b: [0; WARP_SIZE],
        }
    }
}

impl AtomicBatch {
    /// Adds the lines of memory on which these of its lanes act.
    pub fn mark_lines(&self, lanes: LaneMask, lines: &mut StoredLines) {
        // It is aligned, and reaches over the end of no line.
        lanes_of(lanes & self.mask).for_each(|lane| lines.insert(self.addrs[lane] >> LINE_SHIFT));
    }
}

/// Bytes of an atomic type.
pub fn atom_bytes(ty: AtomTy) -> u8 {
    match ty {
        AtomTy::B16 | AtomTy::F16 | AtomTy::Bf16 => 2,
        AtomTy::B64 | AtomTy::U64 | AtomTy::S64 | AtomTy::F64 => 8,
        _ => 4,
    }
}

/// Applies the lanes `lanes` of a batch, lowest lane first, and returns the old values (valid in
/// those lanes; narrow types zero-extended).
pub fn apply_atomic(
    memory: &mut DeviceMemory,
    batch: &AtomicBatch,
    lanes: LaneMask,
) -> [u64; WARP_SIZE] {
    let mut old = [0; WARP_SIZE];
    for lane in lanes_of(lanes & batch.mask) {
        old[lane] = match batch.act {
            AtomicAct::Combine(op, ty) => apply_lane(memory, batch, lane, op, ty),
            AtomicAct::Take => memory.heap_take(batch.asid, batch.a[lane]),
            AtomicAct::Give => memory.heap_give(batch.asid, batch.a[lane]),
        };
    }
    old
}

fn apply_lane(
    memory: &mut DeviceMemory,
    batch: &AtomicBatch,
    lane: usize,
    op: AtomOp,
    ty: AtomTy,
) -> u64 {
    let bytes = atom_bytes(ty) as usize;
    let mut raw = [0; 8];
    memory.read_raw(batch.asid, batch.addrs[lane], &mut raw[..bytes]);
    let old = u64::from_le_bytes(raw);
    let new = combine(op, ty, old, batch.a[lane], batch.b[lane], true);
    memory.write_raw(batch.asid, batch.addrs[lane], &new.to_le_bytes()[..bytes]);
    old
}

/// What one lane's atomic leaves in memory, from the old value and its operands. `ftz`: f32
/// additions flush subnormals, as they do on global memory (not on shared memory).
pub(crate) fn combine(op: AtomOp, ty: AtomTy, old: u64, a: u64, b: u64, ftz: bool) -> u64 {
    match op {
        AtomOp::And => old & a,
        AtomOp::Or => old | a,
        AtomOp::Xor => old ^ a,
        AtomOp::Exch => a,
        AtomOp::Cas => {
            let mask = u64::MAX >> (64 - 8 * u32::from(atom_bytes(ty)));
            if old == a & mask { b } else { old }
        }
        AtomOp::Inc => {
            if old >= u64::from(a as u32) {
                0
            } else {
                old + 1
            }
        }
        AtomOp::Dec => {
            let limit = u64::from(a as u32);
            if old == 0 || old > limit {
                limit
            } else {
                old - 1
            }
        }
        AtomOp::Add => add(ty, old, a, ftz),
        AtomOp::Min | AtomOp::Max => min_max(ty, op == AtomOp::Max, old, a),
    }
}

/// Applies `f` to the 16-bit elements of two values.
fn by_halves(ty: AtomTy, a: u64, b: u64, f: impl Fn(u16, u16) -> u16) -> u64 {
    let low = u64::from(f(a as u16, b as u16));
    match ty {
        AtomTy::F16x2 | AtomTy::Bf16x2 => {
            u64::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16 | low
        }
        _ => low,
    }
}

fn half_format(ty: AtomTy) -> Format {
    match ty {
        AtomTy::Bf16 | AtomTy::Bf16x2 => Format::BF16,
        _ => Format::F16,
    }
}

fn add(ty: AtomTy, old: u64, a: u64, ftz: bool) -> u64 {
    match ty {
        AtomTy::F32 => {
            let load = |bits: u64| flush_if(ftz, f32::from_bits(bits as u32));
            let sum = flush_if(ftz, load(old) + load(a));
            u64::from(canonical(sum).to_bits())
        }
        AtomTy::F64 => {
            let (x, y) = (f64::from_bits(old), f64::from_bits(a));
            nan64(x + y, &[x, y]).to_bits()
        }
        AtomTy::F16 | AtomTy::F16x2 | AtomTy::Bf16 | AtomTy::Bf16x2 => {
            let format = half_format(ty);
            by_halves(ty, old, a, |x, y| {
                narrow(widen(x, format) + widen(y, format), format, Round::Near)
            })
        }
        _ => old.wrapping_add(a),
    }
}

fn min_max(ty: AtomTy, max: bool, old: u64, a: u64) -> u64 {
    let first = match ty {
        AtomTy::S32 => (old as i32).cmp(&(a as i32)),
        AtomTy::S64 => (old as i64).cmp(&(a as i64)),
        AtomTy::F16 | AtomTy::F16x2 | AtomTy::Bf16 | AtomTy::Bf16x2 => {
            let how = FloatMinMax {
                max,
                nan: false,
                xorsign_abs: false,
                ftz: false,
            };
            return by_halves(ty, old, a, |x, y| min_max16(how, half_format(ty), x, y));
        }
        AtomTy::F32 | AtomTy::F64 => {
            let value = |bits: u64| match ty {
                AtomTy::F32 => f64::from(f32::from_bits(bits as u32)),
                _ => f64::from_bits(bits),
            };
            value(old).total_cmp(&value(a))
        }
        AtomTy::B64 | AtomTy::U64 => old.cmp(&a),
        AtomTy::B16 | AtomTy::B32 | AtomTy::U32 => old.cmp(&u64::from(a as u32)),
    };
    if (first.is_ge()) == max { old } else { a }
}
