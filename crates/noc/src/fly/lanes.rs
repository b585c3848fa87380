//! Counts by port in vectors of sixteen lanes: operations on all ports of a side are carried out
//! for sixteen ports at once and without branches.
//!
//! Each loop over lanes does one operation, which compilers turn into vector instructions.

pub(super) use super::ports::LANES;

use super::ports::Ports;
use warploom_config::LARGEST_NOC_BUFFER;

/// Counts of sixteen ports, or a truth value of each as one or zero.
pub(super) type Lanes = [u16; LANES];

/// Counts by port, or by virtual channel of a port. The length is a multiple of [`LANES`].
pub(super) type Counts<P> = <P as Ports>::Table<u16>;

/// A value larger than any count.
pub(super) const NEVER: u16 = LARGEST_NOC_BUFFER + 1;

/// Size of a buffer as a count.
///
/// # Panics
/// If the size is `NEVER` or more, which configurations do not allow.
pub(super) fn count(size: u32) -> u16 {
    let size = u16::try_from(size).ok().filter(|size| *size < NEVER);
    size.expect("a buffer that configurations allow")
}

/// Conversion from bits to lanes and back.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    /// Bit of each lane. A field, because compilers generate longer code if they know the values.
    of: Lanes,
}

impl Bits {
    pub(super) fn new() -> Self {
        Self {
            of: std::array::from_fn(|lane| 1 << lane),
        }
    }

    /// Lanes with one where the bit is set, and zero elsewhere.
    #[inline(always)]
    pub(super) fn spread(&self, bits: u16) -> Lanes {
        let mut lanes = [0; LANES];
        for (lane, bit) in lanes.iter_mut().zip(&self.of) {
            *lane = u16::from(bits & bit == *bit);
        }
        lanes
    }

    /// Bits of the lanes that hold one.
    #[inline(always)]
    pub(super) fn gather(&self, lanes: Lanes) -> u16 {
        let mut bits = 0;
        for (lane, bit) in lanes.into_iter().zip(&self.of) {
            bits |= lane.wrapping_neg() & bit;
        }
        bits
    }
}

/// Adds the counts of `more`.
#[inline(always)]
pub(super) fn add(counts: &mut Lanes, more: &Lanes) {
    for (count, more) in counts.iter_mut().zip(more) {
        *count += more;
    }
}

/// Subtracts the counts of `fewer`.
#[inline(always)]
pub(super) fn subtract(counts: &mut Lanes, fewer: &Lanes) {
    for (count, fewer) in counts.iter_mut().zip(fewer) {
        *count -= fewer;
    }
}

/// Lanes with one where `holds` is true of both counts, and zero elsewhere.
#[inline(always)]
pub(super) fn both(a: &Lanes, b: &Lanes, holds: impl Fn(i16, i16) -> bool) -> Lanes {
    let mut lanes = [0; LANES];
    for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
        *lane = u16::from(holds(*a as i16, *b as i16));
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::{Bits, LANES, both};

    #[test]
    fn bits_are_lanes() {
        let bits = Bits::new();
        for set in [0, 1, 0x8000, 0xffff, 0x1234] {
            let lanes = bits.spread(set);
            assert_eq!(bits.gather(lanes), set);
            assert_eq!(both(&lanes, &[1; LANES], |a, b| a == b), lanes);
        }
    }
}
