//! Sets of ports and tables by port, for few ports or for any number. For few ports, a set is one
//! word, and a table has as many elements as a word has bits, so that no index needs a check.

use std::fmt::Debug;
use std::ops::{Index, IndexMut};
use warploom_base::BitSet;
use warploom_state::{State, Value};

/// Ports in a vector of the host (`lanes.rs`).
pub(super) const LANES: usize = 16;

/// Representation of ports. Port numbers are below a bound that is fixed at construction.
pub(crate) trait Ports: Clone + Debug {
    /// A set of ports.
    type Set: PortSet;
    /// A table with an element for each port.
    type Table<T: Clone + Debug + Value>: PortTable<T>;
}

/// Representation for at most [`Few::MOST`] ports.
#[derive(Clone, Debug)]
pub(crate) struct Few;

impl Few {
    /// Largest number of ports: the bits of a word.
    pub(crate) const MOST: usize = 64;
}

impl Ports for Few {
    type Set = Word;
    type Table<T: Clone + Debug + Value> = Places<T>;
}

/// Representation for any number of ports.
#[derive(Clone, Debug)]
pub(crate) struct Many;

impl Ports for Many {
    type Set = BitSet;
    type Table<T: Clone + Debug + Value> = Vec<T>;
}

/// A set of ports, with the operations of a [`BitSet`].
pub(crate) trait PortSet: Clone + Debug + Value {
    /// An empty set for ports below `bound`.
    fn new(bound: usize) -> Self;
    fn insert(&mut self, port: usize);
    fn remove(&mut self, port: usize);
    /// Removes the port if `gone` is set, without a branch where that is possible.
    fn remove_if(&mut self, port: usize, gone: bool);
    fn clear(&mut self);
    /// Moves the set out and leaves an unusable one.
    fn take_out(&mut self) -> Self;
    /// Moves all members of `other` into the set.
    fn take(&mut self, other: &mut Self);
    fn contains(&self, port: usize) -> bool;
    fn is_empty(&self) -> bool;
    /// First member from `from` upwards, else the first from zero.
    fn in_turn(&self, from: usize) -> Option<usize>;
    /// Number of words, for `each_member`.
    fn words(&self) -> usize;
    /// Word `index`, for `each_member`: members from 64 x `index` on, one bit each.
    fn word(&self, index: usize) -> u64;
    /// Members from 16 x `index` on, one bit each.
    #[inline]
    fn lanes(&self, index: usize) -> u16 {
        (self.word(index / 4) >> (index % 4 * LANES)) as u16
    }
    /// Replaces the members from 16 x `index` on.
    fn set_lanes(&mut self, index: usize, bits: u16);
}

/// Difference of two sets: members of the first that are not in the second, for `each_member`.
pub(super) struct Without<'a, S>(pub &'a S, pub &'a S);

impl<S: PortSet> Without<'_, S> {
    #[inline]
    pub(super) fn words(&self) -> usize {
        self.0.words()
    }

    #[inline]
    pub(super) fn word(&self, index: usize) -> u64 {
        self.0.word(index) & !self.1.word(index)
    }
}

/// Set of ports below 64.
#[derive(Clone, Copy, Debug, Default, Value)]
pub(crate) struct Word(u64);

impl PortSet for Word {
    fn new(bound: usize) -> Self {
        debug_assert!(bound <= Few::MOST);
        Self(0)
    }

    #[inline]
    fn insert(&mut self, port: usize) {
        self.0 |= 1 << (port % Few::MOST);
    }

    #[inline]
    fn remove(&mut self, port: usize) {
        self.0 &= !(1 << (port % Few::MOST));
    }

    #[inline]
    fn remove_if(&mut self, port: usize, gone: bool) {
        self.0 &= !(u64::from(gone) << (port % Few::MOST));
    }

    #[inline]
    fn clear(&mut self) {
        self.0 = 0;
    }

    #[inline]
    fn take_out(&mut self) -> Self {
        std::mem::take(self)
    }

    #[inline]
    fn take(&mut self, other: &mut Self) {
        self.0 |= std::mem::take(&mut other.0);
    }

    #[inline]
    fn contains(&self, port: usize) -> bool {
        self.0 >> (port % Few::MOST) & 1 != 0
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn in_turn(&self, from: usize) -> Option<usize> {
        let turned = self.0.rotate_right(from as u32);
        let member = (from + turned.trailing_zeros() as usize) % Few::MOST;
        (turned != 0).then_some(member)
    }

    #[inline]
    fn words(&self) -> usize {
        1
    }

    #[inline]
    fn word(&self, _index: usize) -> u64 {
        self.0
    }

    #[inline]
    fn set_lanes(&mut self, index: usize, bits: u16) {
        let at = index % 4 * LANES;
        self.0 = self.0 & !(0xffff << at) | u64::from(bits) << at;
    }
}

impl PortSet for BitSet {
    fn new(bound: usize) -> Self {
        Self::new(bound)
    }

    #[inline]
    fn insert(&mut self, port: usize) {
        Self::insert(self, port);
    }

    #[inline]
    fn remove(&mut self, port: usize) {
        Self::remove(self, port);
    }

    #[inline]
    fn remove_if(&mut self, port: usize, gone: bool) {
        if gone {
            Self::remove(self, port);
        }
    }

    #[inline]
    fn clear(&mut self) {
        Self::clear(self);
    }

    #[inline]
    fn take_out(&mut self) -> Self {
        std::mem::replace(self, Self::new(0))
    }

    #[inline]
    fn take(&mut self, other: &mut Self) {
        Self::take(self, other);
    }

    #[inline]
    fn contains(&self, port: usize) -> bool {
        Self::contains(self, port)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }

    #[inline]
    fn in_turn(&self, from: usize) -> Option<usize> {
        Self::in_turn(self, from)
    }

    #[inline]
    fn words(&self) -> usize {
        Self::words(self)
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        Self::word(self, index)
    }

    #[inline]
    fn set_lanes(&mut self, index: usize, bits: u16) {
        self.put(index * LANES, bits);
    }
}

/// Table with an element for each port.
pub(crate) trait PortTable<T>: IndexMut<usize, Output = T> + Clone + Debug + State {
    /// A table with `value` for each of `ports` ports.
    fn new(ports: usize, value: T) -> Self;
    /// Elements of the sixteen ports from 16 x `index` on.
    fn lanes(&mut self, index: usize) -> &mut [T; LANES];
}

/// Table of few ports, aligned to a cache line of the host.
#[derive(Clone, PartialEq, Debug, Value)]
#[repr(align(64))]
pub(crate) struct Places<T>([T; Few::MOST]);

impl<T: Clone + Debug + Value> PortTable<T> for Places<T> {
    fn new(ports: usize, value: T) -> Self {
        debug_assert!(ports <= Few::MOST);
        Self(std::array::from_fn(|_| value.clone()))
    }

    #[inline(always)]
    fn lanes(&mut self, index: usize) -> &mut [T; LANES] {
        &mut self.0.as_chunks_mut().0[index % 4]
    }
}

impl<T> Index<usize> for Places<T> {
    type Output = T;
    #[inline]
    fn index(&self, port: usize) -> &T {
        debug_assert!(port < Few::MOST);
        &self.0[port % Few::MOST]
    }
}

impl<T> IndexMut<usize> for Places<T> {
    #[inline]
    fn index_mut(&mut self, port: usize) -> &mut T {
        debug_assert!(port < Few::MOST);
        &mut self.0[port % Few::MOST]
    }
}

impl<T: Clone + Debug + Value> PortTable<T> for Vec<T> {
    fn new(ports: usize, value: T) -> Self {
        vec![value; ports]
    }

    #[inline]
    fn lanes(&mut self, index: usize) -> &mut [T; LANES] {
        &mut self.as_chunks_mut().0[index]
    }
}

#[cfg(test)]
mod tests {
    use super::{Few, Many, PortSet, PortTable, Ports};
    use warploom_base::each_member;

    /// Answers of one representation to a fixed sequence of operations, as text.
    fn answers<P: Ports>() -> Vec<String> {
        let (mut set, mut other) = (P::Set::new(64), P::Set::new(64));
        let mut table = P::Table::new(64, 0);
        let mut answers = Vec::new();
        for round in 0..300_usize {
            set.insert(round * 7 % 64);
            set.remove(round * 5 % 64);
            set.remove_if(round * 13 % 64, round % 3 == 0);
            other.insert(round * 11 % 64);
            table[round * 3 % 64] += round;
            if round % 40 == 17 {
                set.take(&mut other);
            }
            if round % 100 == 99 {
                set.clear();
            }
            let mut members = Vec::new();
            each_member!(set, port => { members.push(port) });
            let empty = set.is_empty();
            let turn = set.in_turn(round % 64);
            let (here, sum) = (set.contains(round % 64), table[round % 64]);
            answers.push(format!("{members:?} {turn:?} {empty} {here} {sum}"));
        }
        answers
    }

    #[test]
    fn few_ports_behave_like_many() {
        assert_eq!(answers::<Few>(), answers::<Many>());
    }
}
