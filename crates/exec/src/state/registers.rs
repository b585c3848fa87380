//! A warp's registers: 32 lanes side by side, so that one operation on all lanes vectorises.

use bytemuck::{Pod, Zeroable};
use smallvec::SmallVec;
use std::hint::black_box;
use warploom_base::{Digest, LaneMask, WARP_SIZE};

/// 32 lanes of 32 bits: one slot of the register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Lanes32(pub [u32; WARP_SIZE]);

/// 32 lanes of 64 bits: two consecutive slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Lanes64(pub [u64; WARP_SIZE]);

impl Lanes32 {
    /// All lanes zero.
    pub const ZERO: Self = Self([0; WARP_SIZE]);
}

impl Lanes64 {
    /// All lanes zero.
    pub const ZERO: Self = Self([0; WARP_SIZE]);
}

/// The bit of each lane, for lane-wise tests that vectorise.
pub(crate) const LANE_BITS: [u32; WARP_SIZE] = {
    let mut bits = [0; WARP_SIZE];
    let mut lane = 0;
    while lane < WARP_SIZE {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// `f` of every lane. (The array's own `map` is not inlined at this length.)
#[inline(always)]
pub(crate) fn map_lanes<T: Copy, U: Copy + Default>(
    a: &[T; WARP_SIZE],
    f: impl Fn(T) -> U,
) -> [U; WARP_SIZE] {
    let mut d = [U::default(); WARP_SIZE];
    for lane in 0..WARP_SIZE {
        d[lane] = f(a[lane]);
    }
    d
}

/// The mask of lanes that have their bit of [`LANE_BITS`] in `bits`; the others have none.
#[inline(always)]
pub(crate) fn mask_of(bits: &[u32; WARP_SIZE]) -> LaneMask {
    // Hidden from the compiler, which else tests the bits one after the other.
    black_box(bits).iter().fold(0, |mask, bit| mask | bit)
}

/// Writes the lanes of `mask`; the others keep their value.
#[inline(always)]
pub(crate) fn blend<T: Copy>(old: &mut [T; WARP_SIZE], new: &[T; WARP_SIZE], mask: LaneMask) {
    if mask == LaneMask::MAX {
        *old = *new;
        return;
    }
    for lane in 0..WARP_SIZE {
        old[lane] = if mask & LANE_BITS[lane] != 0 {
            new[lane]
        } else {
            old[lane]
        };
    }
}

/// A warp's register file: slots and predicates.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegFile {
    slots: Vec<Lanes32>,
    /// A few of them lie in it.
    preds: SmallVec<[LaneMask; 4]>,
}

impl RegFile {
    /// All zero, with the given sizes; keeps the room.
    pub fn reset(&mut self, slots: usize, preds: usize) {
        self.slots.clear();
        self.slots.resize(slots, Lanes32::ZERO);
        self.preds.clear();
        self.preds.resize(preds, 0);
    }

    /// Adds the contents to a digest.
    pub fn digest(&self, digest: &mut Digest) {
        digest.bytes(bytemuck::cast_slice(&self.slots));
        digest.bytes(bytemuck::cast_slice(&self.preds));
    }

    #[inline(always)]
    pub fn r32(&self, slot: usize) -> &[u32; WARP_SIZE] {
        &self.slots[slot].0
    }

    #[inline(always)]
    pub fn r32_mut(&mut self, slot: usize) -> &mut [u32; WARP_SIZE] {
        &mut self.slots[slot].0
    }

    #[inline(always)]
    pub fn r64(&self, slot: usize) -> &[u64; WARP_SIZE] {
        let pair = self.slots[slot..slot + 2].first_chunk::<2>();
        bytemuck::cast_ref::<[Lanes32; 2], _>(pair.expect(PAIR))
    }

    #[inline(always)]
    pub fn r64_mut(&mut self, slot: usize) -> &mut [u64; WARP_SIZE] {
        let pair = self.slots[slot..slot + 2].first_chunk_mut::<2>();
        bytemuck::cast_mut::<[Lanes32; 2], _>(pair.expect(PAIR))
    }

    #[inline(always)]
    pub fn pred(&self, index: usize) -> LaneMask {
        self.preds[index]
    }

    #[inline(always)]
    pub fn set_pred(&mut self, index: usize, mask: LaneMask, value: LaneMask) {
        let old = &mut self.preds[index];
        *old = (*old & !mask) | (value & mask);
    }
}

const PAIR: &str = "two slots are a pair";
