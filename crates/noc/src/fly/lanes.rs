//! Counts by port, side by side: what happens at all ports of a side in a cycle happens to sixteen
//! of them at once, and hosts need foretell nothing of it.
//!
//! Loops over lanes do one thing each, which compilers turn into instructions on vectors.

use super::ports::Ports;
use warploom_config::LARGEST_NOC_BUFFER;

/// Ports that are looked at at once.
pub(super) const LANES: usize = 16;

/// Counts of as many ports, or what holds of each: one or nothing.
pub(super) type Lanes = [u16; LANES];

/// Counts by port, or by virtual channel of a port; always so many that they fill lanes.
pub(super) type Counts<P> = <P as Ports>::Table<u16>;

/// More than is counted.
pub(super) const NEVER: u16 = LARGEST_NOC_BUFFER + 1;

/// A buffer's size.
///
/// # Panics
/// Where it is `NEVER` or more, which configurations do not allow.
pub(super) fn count(size: u32) -> u16 {
    let size = u16::try_from(size).ok().filter(|size| *size < NEVER);
    size.expect("a buffer that configurations allow")
}

/// Turns bits into lanes and back.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    /// The bit of each lane. Compilers that know them make something longer of what is done here.
    of: Lanes,
}

impl Bits {
    pub(super) fn new() -> Self {
        Self {
            of: std::array::from_fn(|lane| 1 << lane),
        }
    }

    /// One in each lane whose bit is set.
    #[inline(always)]
    pub(super) fn spread(&self, bits: u16) -> Lanes {
        let mut lanes = [0; LANES];
        for (lane, bit) in lanes.iter_mut().zip(&self.of) {
            *lane = u16::from(bits & bit == *bit);
        }
        lanes
    }

    /// The bits of lanes that hold one.
    #[inline(always)]
    pub(super) fn gather(&self, lanes: Lanes) -> u16 {
        let mut bits = 0;
        for (lane, bit) in lanes.into_iter().zip(&self.of) {
            bits |= lane.wrapping_neg() & bit;
        }
        bits
    }
}

#[inline(always)]
pub(super) fn add(counts: &mut Lanes, more: &Lanes) {
    for (count, more) in counts.iter_mut().zip(more) {
        *count += more;
    }
}

#[inline(always)]
pub(super) fn subtract(counts: &mut Lanes, fewer: &Lanes) {
    for (count, fewer) in counts.iter_mut().zip(fewer) {
        *count -= fewer;
    }
}

/// Lanes in which something holds of both counts.
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
