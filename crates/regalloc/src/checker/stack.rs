//! The spill slots of the new program, and the check that they do not overlap.

use super::flat::Flat;
use super::state::SlotId;
use super::value::{ValueId, Values};
use super::{Refusal, refuse};
use std::collections::BTreeMap;
use warploom_ptx::ast::{Statement, Variable};
use warploom_ptx::tokens::Space;

/// A spill slot: its array, the address of its first byte in each thread, and its size in bytes. In
/// local memory one address represents all threads.
struct Slot {
    array: usize,
    addresses: Vec<u32>,
    bytes: u32,
}

/// An array that the new program declares in addition to those of the original.
struct Array {
    name: String,
    space: Space,
    bytes: u64,
}

/// The spill slots, by the address values through which the code accesses them.
pub(super) struct Slots {
    arrays: Vec<Array>,
    block: [u32; 3],
    numbers: BTreeMap<(usize, ValueId, i64, u32), SlotId>,
    slots: Vec<Slot>,
}

impl Slots {
    /// Finds the spill arrays, which are the only declarations that the allocator may add.
    pub fn new(old: &Flat, new: &Flat, block: [u32; 3]) -> Result<Self, Refusal> {
        let mut expected = old.others.iter().peekable();
        let mut arrays = Vec::new();
        for statement in &new.others {
            if expected.peek() == Some(&statement) {
                expected.next();
                continue;
            }
            match statement {
                Statement::Variable(variable) if is_array(variable) => arrays.push(Array {
                    name: variable.name.node.clone(),
                    space: variable.space,
                    bytes: variable.dims[0].unwrap_or(0) * u64::from(variable.ty.bytes()),
                }),
                _ => return refuse("a declaration or directive has changed"),
            }
        }
        if expected.next().is_some() {
            return refuse("a declaration or directive is missing");
        }
        Ok(Self {
            arrays,
            block,
            numbers: BTreeMap::new(),
            slots: Vec::new(),
        })
    }

    /// Returns the slot at `offset` bytes from the address `start`.
    pub fn slot(
        &mut self,
        values: &Values,
        space: Space,
        start: ValueId,
        offset: i64,
        bytes: u32,
    ) -> Result<SlotId, Refusal> {
        let array = match space {
            Space::Local => self.arrays.iter().position(|array| {
                array.space == space && values.symbol(start) == Some(&array.name)
            }),
            _ => self.arrays.iter().position(|array| array.space == space),
        };
        let Some(array) = array else {
            return refuse("this address is not on the spill stack");
        };
        let key = (array, start, offset, bytes);
        if let Some(slot) = self.numbers.get(&key) {
            return Ok(*slot);
        }
        let addresses = self.addresses(values, array, start, offset)?;
        let end = addresses
            .iter()
            .map(|first| u64::from(*first) + u64::from(bytes))
            .max();
        if end.is_none_or(|end| end > self.arrays[array].bytes) {
            return refuse("this address is beyond the spill stack");
        }
        if addresses.iter().any(|first| !first.is_multiple_of(bytes)) {
            return refuse("this address is not aligned");
        }
        let slot = self.slots.len() as SlotId;
        self.numbers.insert(key, slot);
        self.slots.push(Slot {
            array,
            addresses,
            bytes,
        });
        Ok(slot)
    }

    /// Returns the address in each thread of a block. For local memory, which is private to each
    /// thread, one address represents all threads.
    fn addresses(
        &self,
        values: &Values,
        array: usize,
        start: ValueId,
        offset: i64,
    ) -> Result<Vec<u32>, Refusal> {
        let array = &self.arrays[array];
        let threads = match array.space {
            Space::Local => vec![[0; 3]],
            _ => self.threads(),
        };
        let mut addresses = Vec::with_capacity(threads.len());
        for thread in threads {
            let base = values.evaluate(start, thread, &array.name);
            let address = base.and_then(|base| u32::try_from(i64::from(base) + offset).ok());
            let Some(address) = address else {
                return refuse("this address cannot be computed");
            };
            addresses.push(address);
        }
        Ok(addresses)
    }

    /// Returns the indices of all threads of a block.
    fn threads(&self) -> Vec<[u32; 3]> {
        let [width, height, depth] = self.block;
        let rows = (0..depth).flat_map(|z| (0..height).map(move |y| (y, z)));
        rows.flat_map(|(y, z)| (0..width).map(move |x| [x, y, z]))
            .collect()
    }

    /// Checks that no two slots overlap, whether of one thread or of different threads.
    pub fn finish(&self) -> Result<(), Refusal> {
        for (index, array) in self.arrays.iter().enumerate() {
            let mut ranges: Vec<(u32, u32)> = Vec::new();
            for slot in self.slots.iter().filter(|slot| slot.array == index) {
                ranges.extend(
                    slot.addresses
                        .iter()
                        .map(|first| (*first, first + slot.bytes)),
                );
            }
            ranges.sort_unstable();
            if ranges.windows(2).any(|pair| pair[1].0 < pair[0].1) {
                return refuse(format!("places in `{}` overlap", array.name));
            }
        }
        Ok(())
    }
}

fn is_array(variable: &Variable) -> bool {
    matches!(variable.space, Space::Local | Space::Shared) && variable.dims.len() == 1
}
