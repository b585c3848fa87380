//! Masks of warp slots.

use warploom_base::WarpSlot;

/// Set of warp slots of one SM: bit i stands for slot i.
pub type WarpMask = u128;

/// True if a mask holds `slot`. Faster on most hosts than a shift of 128 bits.
#[inline]
pub(crate) const fn holds(mask: WarpMask, slot: WarpSlot) -> bool {
    let words = [mask as u64, (mask >> 64) as u64];
    words[slot.0 as usize / 64 % 2] >> (slot.0 % 64) & 1 != 0
}

/// The mask that holds `slot` alone. Faster on most hosts than a shift of 128 bits.
#[inline]
pub(crate) const fn only(slot: WarpSlot) -> WarpMask {
    let bit = (1_u64 << (slot.0 % 64)) as WarpMask;
    if slot.0 < 64 { bit } else { bit << 64 }
}

/// The slots of a mask, lowest first. Faster with [`Iterator::for_each`], or another method that
/// folds, than in a loop.
#[inline]
pub fn warps_of(mask: WarpMask) -> WarpsOf {
    // Words of 64 bits are faster on most hosts than one of 128.
    WarpsOf([mask as u64, (mask >> 64) as u64])
}

/// Iterator over the slots of a mask, by its two words.
#[derive(Clone, Debug)]
pub struct WarpsOf([u64; 2]);

/// Takes the lowest slot of a word that is not 0 and whose slots begin at `first`.
#[inline(always)]
fn take_lowest(word: &mut u64, first: u32) -> WarpSlot {
    let slot = first + word.trailing_zeros();
    *word &= *word - 1;
    WarpSlot(slot as u16)
}

impl Iterator for WarpsOf {
    type Item = WarpSlot;

    #[inline]
    fn next(&mut self) -> Option<WarpSlot> {
        let Self([low, high]) = self;
        let (word, first) = if *low != 0 { (low, 0) } else { (high, 64) };
        (*word != 0).then(|| take_lowest(word, first))
    }

    #[inline]
    fn fold<B, F: FnMut(B, WarpSlot) -> B>(self, init: B, mut f: F) -> B {
        let mut value = init;
        for (mut word, first) in self.0.into_iter().zip([0, 64]) {
            while word != 0 {
                value = f(value, take_lowest(&mut word, first));
            }
        }
        value
    }
}

/// The first slot of `mask` after `last`, in cyclic order.
#[inline]
pub(crate) fn next_after(mask: WarpMask, last: WarpSlot) -> Option<WarpSlot> {
    if mask == 0 {
        return None;
    }
    let above = mask & (!0 << last.index() << 1);
    let from = if above != 0 { above } else { mask };
    Some(WarpSlot(from.trailing_zeros() as u16))
}
