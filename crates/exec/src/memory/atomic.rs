//! Atomic operations on memory: the operation of one lane on one value, and batches that the memory
//! system applies in its own order.

use crate::memory::device::DeviceMemory;
use crate::memory::stored_lines::{LINE_SHIFT, StoredLines};
use crate::numeric::float::{canonical, flush_if, min_max16, nan64, narrow, widen};
use crate::numeric::softfloat::Format;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{AtomOp, AtomTy, FloatMinMax, Reg, Round};
use warploom_state::Value;

/// Time at which atomic operations on global memory take effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AtomicMode {
    /// Within [`step`](crate::step()), in the order of lanes. Operations on the heap form a batch
    /// even in this mode.
    #[default]
    Immediate,
    /// Later, when the memory system calls [`apply_atomic`].
    Deferred,
}

/// Destination register of the old values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct AtomicDst {
    /// First slot of the register.
    pub reg: Reg,
    /// True for lanes of 64 bits, which occupy two slots.
    pub wide: bool,
}

/// Operation of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum AtomicAction {
    /// Combines values in memory with the operands.
    Combine(AtomOp, AtomTy),
    /// Allocates bytes of the process's heap. The first operand is their number.
    HeapAlloc,
    /// Frees a part of the process's heap. The first operand is its address.
    HeapFree,
}

/// An atomic instruction on global memory that was not yet applied.
#[derive(Clone, Debug, Value)]
pub struct AtomicBatch {
    /// Identifier of the process's address space.
    pub asid: u8,
    /// Operation of the instruction.
    pub act: AtomicAction,
    /// Lanes that take part. The batch is empty if there are none.
    pub mask: LaneMask,
    /// Destination of the old values. `None` for `red`.
    pub dst: Option<AtomicDst>,
    /// Address of each lane. The addresses were checked.
    pub addrs: [u64; WARP_SIZE],
    /// First operand of each lane. For `cas`, the value to compare with.
    pub a: [u64; WARP_SIZE],
    /// Second operand of each lane. For `cas`, the new value.
    pub b: [u64; WARP_SIZE],
}

impl Default for AtomicBatch {
    fn default() -> Self {
        Self {
            asid: 0,
            act: AtomicAction::Combine(AtomOp::Add, AtomTy::U32),
            mask: 0,
            dst: None,
            addrs: [0; WARP_SIZE],
            a: [0; WARP_SIZE],
            b: [0; WARP_SIZE],
        }
    }
}

impl AtomicBatch {
    /// Adds the lines of memory on which the given lanes of the batch operate.
    pub fn mark_lines(&self, lanes: LaneMask, lines: &mut StoredLines) {
        // An operand is aligned and therefore inside one line.
        lanes_of(lanes & self.mask).for_each(|lane| lines.insert(self.addrs[lane] >> LINE_SHIFT));
    }
}

/// Size of an atomic type in bytes.
pub fn atom_bytes(ty: AtomTy) -> u8 {
    match ty {
        AtomTy::B16 | AtomTy::F16 | AtomTy::Bf16 => 2,
        AtomTy::B64 | AtomTy::U64 | AtomTy::S64 | AtomTy::F64 => 8,
        _ => 4,
    }
}

/// Applies the lanes `lanes` of a batch, lowest lane first, and returns their old values. Only
/// these lanes are valid. Narrow types are zero-extended.
pub fn apply_atomic(
    memory: &mut DeviceMemory,
    batch: &AtomicBatch,
    lanes: LaneMask,
) -> [u64; WARP_SIZE] {
    let mut old = [0; WARP_SIZE];
    for lane in lanes_of(lanes & batch.mask) {
        old[lane] = match batch.act {
            AtomicAction::Combine(op, ty) => apply_lane(memory, batch, lane, op, ty),
            AtomicAction::HeapAlloc => memory.heap_alloc(batch.asid, batch.a[lane]),
            AtomicAction::HeapFree => memory.heap_free(batch.asid, batch.a[lane]),
        };
    }
    old
}

/// Applies the operation of one lane and returns the old value.
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

/// Combines elements, which lie next to each other, into memory at an address of an address space.
pub(crate) fn combine_bytes(
    memory: &mut DeviceMemory,
    (asid, address): (u8, u64),
    bytes: &[u8],
    (op, ty): (AtomOp, AtomTy),
) {
    let size = usize::from(atom_bytes(ty));
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let mut old = vec![0; bytes.len()];
    memory.read_raw(asid, address, &mut old);
    for (old, operand) in old.chunks_exact_mut(size).zip(bytes.chunks_exact(size)) {
        let new = combine(op, ty, word(old), word(operand), 0, true);
        old.copy_from_slice(&new.to_le_bytes()[..size]);
    }
    memory.write_raw(asid, address, &old);
}

/// New value of a memory location after one lane's atomic operation. `ftz` flushes subnormal
/// numbers in f32 additions, as hardware does for global memory but not for shared memory.
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

/// Sum of two values of an atomic type.
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

/// Minimum or maximum of two values of an atomic type.
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
