//! A fixed-size map from addresses to small numbers: open addressing, linear probing, deletion by
//! shifting back, so that no tombstones gather.

/// A key that no aligned address equals.
const EMPTY: u64 = u64::MAX;

/// The map.
#[derive(Clone, Debug)]
pub(crate) struct AddressTable {
    keys: Box<[u64]>,
    values: Box<[u32]>,
    shift: u32,
}

impl AddressTable {
    /// Room for `entries`, at most half full.
    pub(crate) fn new(entries: usize) -> Self {
        let slots = (entries * 2).next_power_of_two().max(8);
        Self {
            keys: vec![EMPTY; slots].into(),
            values: vec![0; slots].into(),
            shift: 64 - slots.trailing_zeros(),
        }
    }

    /// Fibonacci hashing (Knuth, TAOCP 3, section 6.4).
    #[inline]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline]
    fn slot(&self, key: u64) -> (usize, bool) {
        let mask = self.keys.len() - 1;
        let mut at = self.home(key);
        loop {
            let here = self.keys[at];
            if here == key || here == EMPTY {
                return (at, here == key);
            }
            at = (at + 1) & mask;
        }
    }

    /// The number kept for `key`.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        let (at, found) = self.slot(key);
        found.then(|| self.values[at])
    }

    /// Keeps `value` for a `key` that is not there yet.
    #[inline]
    pub(crate) fn insert(&mut self, key: u64, value: u32) {
        let (at, found) = self.slot(key);
        debug_assert!(!found && key != EMPTY, "key {key:#x} twice");
        (self.keys[at], self.values[at]) = (key, value);
    }

    /// Forgets `key`, which must be there.
    pub(crate) fn remove(&mut self, key: u64) {
        let (mut hole, found) = self.slot(key);
        debug_assert!(found, "key {key:#x} absent");
        let mask = self.keys.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            if self.keys[at] == EMPTY {
                break;
            }
            let distance = at.wrapping_sub(self.home(self.keys[at])) & mask;
            if distance >= at.wrapping_sub(hole) & mask {
                (self.keys[hole], self.values[hole]) = (self.keys[at], self.values[at]);
                hole = at;
            }
        }
        self.keys[hole] = EMPTY;
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
                    table.insert(key, value);
                }
                for key in 0..40 {
                    prop_assert_eq!(table.get(key * 32), map.get(&(key * 32)).copied());
                }
            }
        }
    }
}
