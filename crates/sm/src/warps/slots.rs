//! A set of warp slots in two words. As a [`WarpMask`] it answers questions about all warps; one
//! warp's bit is set and asked for in its word alone, which on most hosts is a third of the work of
//! a shift of 128 bits.

use std::ops::{BitAnd, BitAndAssign, BitOr, Not};
use warploom_policy::WarpMask;
use warploom_state::Value;

/// Set of warp slots below 128.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Value)]
pub struct Slots([u64; 2]);

impl Slots {
    /// The set of all slots.
    pub const ALL: Self = Self([!0; 2]);

    /// The set as a mask.
    #[inline(always)]
    pub const fn mask(self) -> WarpMask {
        (self.0[1] as WarpMask) << 64 | self.0[0] as WarpMask
    }

    /// True if the set is empty.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0[0] | self.0[1] == 0
    }

    /// True if the set holds `slot`.
    #[inline(always)]
    pub const fn has(&self, slot: usize) -> bool {
        self.0[slot / 64 % 2] >> (slot % 64) & 1 != 0
    }

    /// The first slot of the set.
    #[inline(always)]
    pub fn first(self) -> Option<usize> {
        let [low, high] = self.0;
        match (low, high) {
            (0, 0) => None,
            (0, high) => Some(64 + high.trailing_zeros() as usize),
            (low, _) => Some(low.trailing_zeros() as usize),
        }
    }

    /// The first slot after `last`, in cyclic order.
    #[inline]
    pub fn next_after(&self, last: usize) -> Option<usize> {
        let [low, high] = self.0;
        if high == 0 {
            // Most SMs have no more than 64 slots.
            let above = low & if last < 64 { !1 << last } else { 0 };
            let from = if above != 0 { above } else { low };
            return (from != 0).then(|| from.trailing_zeros() as usize);
        }
        // Two shifts, because `last` may be the last slot of a word.
        let above = !0 << (last % 64) << 1;
        let (above_low, above_high) = if last < 64 { (above, !0) } else { (0, above) };
        let words = [low & above_low, high & above_high, low, high];
        let found = words.iter().position(|word| *word != 0)?;
        Some(found % 2 * 64 + words[found].trailing_zeros() as usize)
    }

    /// Inserts `slot` into the set.
    #[inline(always)]
    pub const fn insert(&mut self, slot: usize) {
        self.0[slot / 64 % 2] |= 1 << (slot % 64);
    }

    /// Removes `slot` from the set.
    #[inline(always)]
    pub const fn remove(&mut self, slot: usize) {
        self.0[slot / 64 % 2] &= !(1 << (slot % 64));
    }

    /// Inserts `slot` if the set does not hold it, and removes it otherwise.
    #[inline(always)]
    pub const fn flip(&mut self, slot: usize) {
        self.0[slot / 64 % 2] ^= 1 << (slot % 64);
    }

    /// Inserts or removes `slot`, as `on` says.
    #[inline(always)]
    pub const fn put(&mut self, slot: usize, on: bool) {
        let word = &mut self.0[slot / 64 % 2];
        let bit = 1 << (slot % 64);
        *word = *word & !bit | (on as u64).wrapping_neg() & bit;
    }
}

impl From<WarpMask> for Slots {
    #[inline(always)]
    fn from(mask: WarpMask) -> Self {
        Self([mask as u64, (mask >> 64) as u64])
    }
}

impl PartialEq<WarpMask> for Slots {
    #[inline(always)]
    fn eq(&self, mask: &WarpMask) -> bool {
        self.mask() == *mask
    }
}

impl Not for Slots {
    type Output = WarpMask;
    #[inline(always)]
    fn not(self) -> WarpMask {
        !self.mask()
    }
}

/// Operators between sets and masks give masks.
macro_rules! operators {
    ($($trait:ident $method:ident $op:tt),+) => { $(
        impl $trait<WarpMask> for Slots {
            type Output = WarpMask;
            #[inline(always)]
            fn $method(self, mask: WarpMask) -> WarpMask {
                self.mask() $op mask
            }
        }
        impl $trait<Slots> for WarpMask {
            type Output = WarpMask;
            #[inline(always)]
            fn $method(self, slots: Slots) -> WarpMask {
                self $op slots.mask()
            }
        }
        impl $trait for Slots {
            type Output = WarpMask;
            #[inline(always)]
            fn $method(self, slots: Slots) -> WarpMask {
                self.mask() $op slots.mask()
            }
        }
    )+ };
}
operators!(BitAnd bitand &, BitOr bitor |);

impl BitAndAssign<WarpMask> for Slots {
    #[inline(always)]
    fn bitand_assign(&mut self, mask: WarpMask) {
        *self = (*self & mask).into();
    }
}

#[cfg(test)]
mod tests {
    use super::Slots;
    use warploom_policy::WarpMask;

    /// Against a look at one slot after the other.
    #[test]
    fn the_next_is_the_first_that_a_search_comes_to() {
        let masks: [WarpMask; 5] = [0, 1, 1 << 127, 0x5a << 60, 1 << 64 | 1 << 63];
        for (mask, last) in masks
            .into_iter()
            .flat_map(|m| (0..128).map(move |s| (m, s)))
        {
            let mut search = (1..=128).map(|step| (last + step) % 128);
            let found = search.find(|slot| mask >> slot & 1 != 0);
            assert_eq!(Slots::from(mask).next_after(last), found);
            let first = (0..128).find(|slot| mask >> slot & 1 != 0);
            assert_eq!(Slots::from(mask).first(), first);
        }
    }

    /// A slot's bit in its word is that of the mask, for every slot of some masks.
    #[test]
    fn words_are_the_masks_halves() {
        let masks: [WarpMask; 4] = [0, !0, 0x5a << 60, 1 << 127 | 1];
        for (mask, slot) in masks
            .into_iter()
            .flat_map(|m| (0..128).map(move |s| (m, s)))
        {
            let bit: WarpMask = 1 << slot;
            let changed = |change: &dyn Fn(&mut Slots)| {
                let mut slots = Slots::from(mask);
                change(&mut slots);
                slots.mask()
            };
            assert_eq!(Slots::from(mask).has(slot), mask & bit != 0);
            assert_eq!(Slots::from(mask).is_empty(), mask == 0);
            assert_eq!(changed(&|s| s.insert(slot)), mask | bit);
            assert_eq!(changed(&|s| s.remove(slot)), mask & !bit);
            assert_eq!(changed(&|s| s.flip(slot)), mask ^ bit);
            assert_eq!(changed(&|s| s.put(slot, true)), mask | bit);
            assert_eq!(changed(&|s| s.put(slot, false)), mask & !bit);
        }
    }
}
