//! Register file of a warp. The 32 lanes of a register are adjacent, so that an operation on all
//! lanes can be vectorised.

use bytemuck::{Pod, Zeroable};
use smallvec::SmallVec;
use std::hint::black_box;
use warploom_base::{Digest, LaneMask, WARP_SIZE};
use warploom_state::{Io, State, StateError, Value};

/// A slot of the register file: 32 lanes of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, Value)]
#[repr(C, align(64))]
pub struct Lanes32(pub [u32; WARP_SIZE]);

/// Two consecutive slots of the register file: 32 lanes of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable, Value)]
#[repr(C, align(64))]
pub struct Lanes64(pub [u64; WARP_SIZE]);

impl Lanes32 {
    /// Value with zero in all lanes.
    pub const ZERO: Self = Self([0; WARP_SIZE]);
}

impl Lanes64 {
    /// Value with zero in all lanes.
    pub const ZERO: Self = Self([0; WARP_SIZE]);
}

/// Bit of each lane in a lane mask. A table allows tests of lanes to be vectorised.
pub(crate) const LANE_BITS: [u32; WARP_SIZE] = {
    let mut bits = [0; WARP_SIZE];
    let mut lane = 0;
    while lane < WARP_SIZE {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// Applies `f` to every lane. (The `map` of arrays is not inlined at this length.)
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

/// Lane mask of the lanes whose element of `bits` is their bit of [`LANE_BITS`]. All other elements
/// must be zero.
#[inline(always)]
pub(crate) fn mask_of(bits: &[u32; WARP_SIZE]) -> LaneMask {
    // `black_box` keeps the compiler from testing the bits one after the other.
    black_box(bits).iter().fold(0, |mask, bit| mask | bit)
}

/// Replaces the lanes of `mask` by new values.
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

/// Registers of one warp: slots of 32 lanes, and predicates.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegFile {
    slots: Vec<Lanes32>,
    /// Inline storage for the usual, small number of predicates.
    preds: SmallVec<[LaneMask; 4]>,
}

impl State for RegFile {
    fn state(&mut self, io: &mut Io<'_>) -> Result<(), StateError> {
        let Self { slots, preds } = self;
        slots.state(io)?;
        let mut all = preds.to_vec();
        all.state(io)?;
        *preds = SmallVec::from_vec(all);
        Ok(())
    }
}

impl Value for RegFile {
    fn blank() -> Self {
        Self::default()
    }
}

impl RegFile {
    /// Sets the numbers of slots and predicates and clears all of them. The capacity is kept.
    pub fn reset(&mut self, slots: usize, preds: usize) {
        self.slots.clear();
        self.slots.resize(slots, Lanes32::ZERO);
        self.preds.clear();
        self.preds.resize(preds, 0);
    }

    /// True if there are as many slots and predicates.
    pub fn has(&self, slots: usize, preds: usize) -> bool {
        self.slots.len() == slots && self.preds.len() == preds
    }

    /// Adds the contents to a digest.
    pub fn digest(&self, digest: &mut Digest) {
        digest.bytes(bytemuck::cast_slice(&self.slots));
        digest.bytes(bytemuck::cast_slice(&self.preds));
    }

    /// Slot as 32 lanes of 32 bits.
    #[inline(always)]
    pub fn r32(&self, slot: usize) -> &[u32; WARP_SIZE] {
        &self.slots[slot].0
    }

    /// Mutable slot of 32 lanes of 32 bits.
    #[inline(always)]
    pub fn r32_mut(&mut self, slot: usize) -> &mut [u32; WARP_SIZE] {
        &mut self.slots[slot].0
    }

    /// Pair of slots as 32 lanes of 64 bits.
    #[inline(always)]
    pub fn r64(&self, slot: usize) -> &[u64; WARP_SIZE] {
        let pair = self.slots[slot..slot + 2].first_chunk::<2>();
        bytemuck::cast_ref::<[Lanes32; 2], _>(pair.expect(PAIR))
    }

    /// Mutable pair of slots of 32 lanes of 64 bits.
    #[inline(always)]
    pub fn r64_mut(&mut self, slot: usize) -> &mut [u64; WARP_SIZE] {
        let pair = self.slots[slot..slot + 2].first_chunk_mut::<2>();
        bytemuck::cast_mut::<[Lanes32; 2], _>(pair.expect(PAIR))
    }

    /// Lanes in which a predicate is true.
    #[inline(always)]
    pub fn pred(&self, index: usize) -> LaneMask {
        self.preds[index]
    }

    /// Writes a predicate in the lanes of `mask`.
    #[inline(always)]
    pub fn set_pred(&mut self, index: usize, mask: LaneMask, value: LaneMask) {
        let old = &mut self.preds[index];
        *old = (*old & !mask) | (value & mask);
    }
}

const PAIR: &str = "two slots are a pair";
