//! Fixed-size map from addresses to entry numbers: open addressing with linear probing, and
//! deletion by backward shifting, which leaves no tombstones.
//!
//! The table is searched once for each miss and once for each fill, hundreds of cycles apart, so
//! that it is kept small: a slot has half of the key's hash and the number, and the caller checks
//! whether the number is the right one. The load factor is kept low, because branch predictors of
//! hosts cannot tell which searches take another step.

use warploom_base::fetch_ahead;
use warploom_state::State;

/// Value of an empty slot.
const EMPTY: u64 = u64::MAX;

/// Slot at which a key would be inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot(u32);

/// The map. A slot is a hash of 32 bits above a number of 32 bits.
#[derive(Clone, Debug, State)]
pub(crate) struct AddressTable {
    slots: Box<[u64]>,
    /// Right shift from a slot's value to the home of its hash.
    shift: u32,
}

/// Fibonacci hashing (Knuth, TAOCP 3, section 6.4).
#[inline]
const fn hash(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

impl AddressTable {
    /// An empty table for `entries` entries, which fill a quarter of it at most.
    pub(crate) fn new(entries: usize) -> Self {
        let slots = (entries * 4).next_power_of_two().max(8);
        Self {
            slots: vec![EMPTY; slots].into(),
            shift: 64 - slots.trailing_zeros(),
        }
    }

    /// Index at which the search for a slot's value begins.
    #[inline]
    fn home(&self, slot: u64) -> usize {
        (slot >> self.shift) as usize
    }

    /// Prefetches the slot at which the search for a key begins.
    #[inline]
    pub(crate) fn fetch_ahead(&self, key: u64) {
        fetch_ahead(&self.slots[self.home(hash(key) << 32)]);
    }

    /// Number kept for `key`, else the slot at which the key would be inserted. `has_key` tells
    /// whether a number belongs to the key.
    #[inline]
    pub(crate) fn find(&self, key: u64, has_key: impl Fn(u32) -> bool) -> Result<u32, Slot> {
        let mask = self.slots.len() - 1;
        let hash = hash(key);
        let mut at = self.home(hash << 32);
        loop {
            let here = self.slots[at];
            if here == EMPTY {
                return Err(Slot(at as u32));
            }
            if here >> 32 == hash && has_key(here as u32) {
                return Ok(here as u32);
            }
            at = (at + 1) & mask;
        }
    }

    /// Inserts `value` for a `key` that is absent, at the slot that `find` has returned.
    #[inline]
    pub(crate) fn insert(&mut self, slot: Slot, key: u64, value: u32) {
        debug_assert!(self.slots[slot.0 as usize] == EMPTY && value != u32::MAX);
        self.slots[slot.0 as usize] = hash(key) << 32 | u64::from(value);
    }

    /// Removes `key`, for which `value` must be present.
    pub(crate) fn remove(&mut self, key: u64, value: u32) {
        let mask = self.slots.len() - 1;
        let kept = hash(key) << 32 | u64::from(value);
        let mut hole = self.home(kept);
        while self.slots[hole] != kept {
            debug_assert!(self.slots[hole] != EMPTY, "key {key:#x} absent");
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let moved = self.slots[at];
            if moved == EMPTY {
                break;
            }
            let distance = at.wrapping_sub(self.home(moved)) & mask;
            if distance >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = moved;
                hole = at;
            }
        }
        self.slots[hole] = EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::AddressTable;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_map(steps in prop::collection::vec((0_u64..40, 0_u32..1000), 0..400)) {
            let (mut table, mut map) = (AddressTable::new(32), BTreeMap::new());
            for (key, value) in steps {
                let key = key * 32;
                if let Some(value) = map.remove(&key) {
                    table.remove(key, value);
                } else if map.len() < 32 {
                    let slot = table.find(key, |_| false).expect_err("nothing has it");
                    map.insert(key, value);
                    table.insert(slot, key, value);
                }
                for key in (0..40).map(|key| key * 32) {
                    let found = table.find(key, |value| map.get(&key) == Some(&value)).ok();
                    prop_assert_eq!(found, map.get(&key).copied());
                }
            }
        }
    }
}
