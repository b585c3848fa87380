//! A fixed-size map from addresses to small numbers: open addressing, linear probing, deletion by
//! shifting back, so that no tombstones gather.

/// A key that no aligned address equals.
const EMPTY: u64 = u64::MAX;

/// Where a key is, or would be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot(u32);

/// The map.
#[derive(Clone, Debug)]
pub(crate) struct AddressTable {
    slots: Box<[(u64, u32)]>,
    shift: u32,
}

impl AddressTable {
    /// Room for `entries`, at most half full.
    pub(crate) fn new(entries: usize) -> Self {
        let slots = (entries * 2).next_power_of_two().max(8);
        Self {
            slots: vec![(EMPTY, 0); slots].into(),
            shift: 64 - slots.trailing_zeros(),
        }
    }

    /// Fibonacci hashing (Knuth, TAOCP 3, section 6.4).
    #[inline]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The number kept for `key`, else where it would be put.
    #[inline]
    pub(crate) fn find(&self, key: u64) -> Result<u32, Slot> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(key);
        loop {
            let (here, value) = self.slots[at];
            if here == key {
                return Ok(value);
            }
            if here == EMPTY {
                return Err(Slot(at as u32));
            }
            at = (at + 1) & mask;
        }
    }

    /// Keeps `value` for a `key` that is not there yet, where `find` said.
    #[inline]
    pub(crate) fn insert(&mut self, slot: Slot, key: u64, value: u32) {
        debug_assert!(self.find(key) == Err(slot) && key != EMPTY, "key {key:#x}");
        self.slots[slot.0 as usize] = (key, value);
    }

    /// Forgets `key`, which must be there.
    pub(crate) fn remove(&mut self, key: u64) {
        debug_assert!(self.find(key).is_ok(), "key {key:#x} absent");
        let mask = self.slots.len() - 1;
        let mut hole = self.home(key);
        while self.slots[hole].0 != key {
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let (moved, _) = self.slots[at];
            if moved == EMPTY {
                break;
            }
            let distance = at.wrapping_sub(self.home(moved)) & mask;
            if distance >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
        }
        self.slots[hole].0 = EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::AddressTable;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_map(steps in prop::collection::vec((0_u64..40, any::<u32>()), 0..400)) {
            let (mut table, mut map) = (AddressTable::new(32), BTreeMap::new());
            for (key, value) in steps {
                let key = key * 32;
                if map.remove(&key).is_some() {
                    table.remove(key);
                } else if map.len() < 32 {
                    map.insert(key, value);
                    let slot = table.find(key).expect_err("it is not there");
                    table.insert(slot, key, value);
                }
                for key in 0..40 {
                    prop_assert_eq!(table.find(key * 32).ok(), map.get(&(key * 32)).copied());
                }
            }
        }
    }
}
