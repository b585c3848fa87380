//! Sets of small numbers with round-robin search: ports of a network, SMs of a machine.

use warploom_state::Value;

/// Runs a block for every member of a set, in ascending order. The block may remove the current
/// member.
#[macro_export]
macro_rules! each_member {
    ($set:expr, $member:ident => $body:block) => {
        for index in 0..$set.words() {
            $crate::each_bit!($set.word(index), bit => {
                let $member = index * 64 + bit;
                $body
            });
        }
    };
}

/// Runs a block for every set bit of a word, in ascending order.
#[macro_export]
macro_rules! each_bit {
    ($word:expr, $bit:ident => $body:block) => {
        let mut left: u64 = $word;
        while left != 0 {
            let $bit = left.trailing_zeros() as usize;
            left &= left - 1;
            $body
        }
    };
}

/// Packs up to 64 booleans into a word, the first one into the lowest bit.
#[inline]
pub fn bits(held: impl DoubleEndedIterator<Item = bool>) -> u64 {
    held.rev().fold(0, |bits, held| bits << 1 | u64::from(held))
}

/// A set of numbers below a bound fixed at construction. A set with a bound up to 64 needs no
/// allocation.
#[derive(Clone, Debug, Value)]
pub struct BitSet {
    first: u64,
    /// Bits of the numbers from 64 on.
    others: Box<[u64]>,
}

impl BitSet {
    /// Creates an empty set of numbers below `bound`.
    pub fn new(bound: usize) -> Self {
        Self {
            first: 0,
            others: vec![0; bound.div_ceil(64).saturating_sub(1)].into(),
        }
    }

    /// Word that holds the bit of `number`.
    #[inline]
    fn word_of(&mut self, number: usize) -> &mut u64 {
        match number / 64 {
            0 => &mut self.first,
            index => &mut self.others[index - 1],
        }
    }

    /// Adds `number` to the set.
    #[inline]
    pub fn insert(&mut self, number: usize) {
        *self.word_of(number) |= 1 << (number % 64);
    }

    /// Removes `number` from the set.
    #[inline]
    pub fn remove(&mut self, number: usize) {
        *self.word_of(number) &= !(1 << (number % 64));
    }

    /// Sets the membership of the sixteen numbers from `first` on, which must be a multiple of 16.
    #[inline]
    pub fn put(&mut self, first: usize, bits: u16) {
        let word = self.word_of(first);
        let at = first % 64;
        *word = *word & !(0xffff << at) | u64::from(bits) << at;
    }

    /// Sets the membership of the numbers from 64 `index` to 64 `index` + 63.
    #[inline]
    pub fn set_word(&mut self, index: usize, word: u64) {
        *self.word_of(64 * index) = word;
    }

    /// Removes all numbers from the set.
    #[inline]
    pub fn clear(&mut self) {
        self.first = 0;
        // Skips the call for the usual set of one word.
        if !self.others.is_empty() {
            self.others.fill(0);
        }
    }

    /// Moves all members of `other`, which has the same bound, into this set.
    #[inline]
    pub fn take(&mut self, other: &mut Self) {
        self.first |= std::mem::take(&mut other.first);
        for (word, others) in self.others.iter_mut().zip(&mut other.others) {
            *word |= std::mem::take(others);
        }
    }

    /// Number of words of the set, for `each_member`.
    #[inline]
    pub fn words(&self) -> usize {
        1 + self.others.len()
    }

    /// Members from 64 `index` to 64 `index` + 63, as bits.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        match index {
            0 => self.first,
            index => self.others[index - 1],
        }
    }

    /// True if the set contains `number`.
    #[inline]
    pub fn contains(&self, number: usize) -> bool {
        self.word(number / 64) >> (number % 64) & 1 != 0
    }

    /// True if the set contains no number.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.others.iter().all(|&word| word == 0)
    }

    /// Count of numbers in the set.
    #[inline]
    pub fn len(&self) -> u32 {
        let others = self.others.iter().map(|word| word.count_ones());
        self.first.count_ones() + others.sum::<u32>()
    }

    /// First member that is at least `from`.
    #[inline]
    pub fn at_or_after(&self, from: usize) -> Option<usize> {
        if from < 64 {
            let word = self.first & (u64::MAX << from);
            if word != 0 {
                return Some(word.trailing_zeros() as usize);
            }
        }
        self.others_at_or_after(from.max(64))
    }

    /// First member that is at least `from`, which is 64 or more.
    #[inline]
    fn others_at_or_after(&self, from: usize) -> Option<usize> {
        for index in from / 64..self.words() {
            let word = self.word(index) & (u64::MAX << from.saturating_sub(64 * index));
            if word != 0 {
                return Some(index * 64 + word.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Round-robin search: the first member that is at least `from`, else the first member. `from`
    /// must be below the bound.
    #[inline]
    pub fn in_turn(&self, from: usize) -> Option<usize> {
        if self.others.is_empty() {
            let turned = self.first.rotate_right(from as u32);
            let member = (from + turned.trailing_zeros() as usize) % 64;
            return (turned != 0).then_some(member);
        }
        self.at_or_after(from).or_else(|| self.at_or_after(0))
    }
}

#[cfg(test)]
mod tests {
    use super::BitSet;

    /// Sets of one word and of several words behave alike.
    #[test]
    fn small_and_large_sets_agree() {
        let (mut small, mut large) = (BitSet::new(64), BitSet::new(65));
        let members = |set: &BitSet| {
            let mut members = Vec::new();
            each_member!(set, number => { members.push(number) });
            members
        };
        for round in 0..300_usize {
            small.insert(round * 7 % 64);
            large.insert(round * 7 % 64);
            small.remove(round * 5 % 64);
            large.remove(round * 5 % 64);
            assert_eq!(members(&small), members(&large));
            assert_eq!(small.len(), large.len());
            small.put(round % 4 * 16, round as u16);
            large.put(round % 4 * 16, round as u16);
            for from in 0..64 {
                assert_eq!(small.at_or_after(from), large.at_or_after(from));
                assert_eq!(small.in_turn(from), large.in_turn(from), "{from} {small:?}");
                assert_eq!(small.contains(from), large.contains(from));
            }
        }
        let before = members(&large);
        let mut taker = BitSet::new(65);
        taker.insert(64);
        taker.take(&mut large);
        assert!(large.is_empty());
        assert_eq!(members(&taker), [&before[..], &[64]].concat());
    }

    #[test]
    fn turns_wrap_around() {
        let mut set = BitSet::new(130);
        assert!(set.is_empty() && set.in_turn(5).is_none());
        for number in [3, 64, 129] {
            set.insert(number);
        }
        assert_eq!(set.len(), 3);
        assert_eq!(
            [0, 4, 65, 129].map(|from| set.in_turn(from)),
            [3, 64, 129, 129].map(Some)
        );
        set.remove(129);
        assert_eq!(set.in_turn(65), Some(3));
    }
}
