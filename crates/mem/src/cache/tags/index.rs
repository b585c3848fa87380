//! From an address to its line and its set.

use crate::hash::{self, Ipoly};
use warploom_config::{CacheSpec, SetIndex};

/// Geometry of a cache and the kind of its set hash.
#[derive(Clone, Debug)]
pub(super) struct Index {
    kind: SetIndex,
    /// Bits of a set's number.
    set_bits: u8,
    line_shift: u8,
    sets: u32,
}

impl Index {
    pub(super) fn new(spec: &CacheSpec) -> Self {
        Self {
            kind: spec.index,
            set_bits: spec.sets.trailing_zeros() as u8,
            line_shift: spec.line_bytes.trailing_zeros() as u8,
            sets: spec.sets,
        }
    }

    /// Number of sets.
    #[inline]
    pub(super) fn sets(&self) -> u32 {
        self.sets
    }

    /// Binary logarithm of the bytes of a line.
    #[inline]
    pub(super) fn line_shift(&self) -> u8 {
        self.line_shift
    }

    /// Set of an address. `ipoly` is the hash of kind `Ipoly`.
    #[inline]
    pub(super) fn set(&self, ipoly: &Ipoly, addr: u64) -> u32 {
        let line = addr >> self.line_shift;
        let low = line as u32 & (self.sets - 1);
        let upper = line >> self.set_bits;
        match self.kind {
            SetIndex::Linear => low,
            SetIndex::FermiHash => hash::fermi(addr, self.line_shift.into(), self.sets),
            SetIndex::Xor => hash::xor(upper, low, self.sets),
            SetIndex::Ipoly => ipoly.hash(upper, low),
        }
    }
}
