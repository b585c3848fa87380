//! Atomic operations on memory: what one lane does to one value, and batches of them that the
//! memory system applies in its own order.

use crate::memory::DeviceMemory;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{AtomOp, AtomTy, Reg};

/// When atomics on global memory take effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AtomicMode {
    /// Within `step`, in lane order.
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

/// One atomic instruction on global memory, not yet applied.
#[derive(Clone, Debug)]
pub struct AtomicBatch {
    /// Process.
    pub asid: u8,
    /// Operation.
    pub op: AtomOp,
    /// Type.
    pub ty: AtomTy,
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
            op: AtomOp::Add,
            ty: AtomTy::U32,
            mask: 0,
            dst: None,
            addrs: [0; WARP_SIZE],
            a: [0; WARP_SIZE],
            b: [0; WARP_SIZE],
        }
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
    let bytes = atom_bytes(batch.ty) as usize;
    for lane in lanes_of(lanes & batch.mask) {
        let mut raw = [0; 8];
        memory.read_raw(batch.asid, batch.addrs[lane], &mut raw[..bytes]);
        old[lane] = u64::from_le_bytes(raw);
        let new = combine(batch.op, batch.ty, old[lane], batch.a[lane], batch.b[lane]);
        memory.write_raw(batch.asid, batch.addrs[lane], &new.to_le_bytes()[..bytes]);
    }
    old
}

/// What one lane's atomic leaves in memory, from the old value and its operands.
pub(crate) fn combine(op: AtomOp, _ty: AtomTy, old: u64, a: u64, b: u64) -> u64 {
    match op {
        AtomOp::And => old & a,
        AtomOp::Or => old | a,
        AtomOp::Xor => old ^ a,
        AtomOp::Exch => a,
        AtomOp::Cas if old == a => b,
        _ => old,
    }
}
