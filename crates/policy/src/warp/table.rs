//! Facts about the warps of an SM that change only when a warp starts, for warp schedulers.

use super::WarpMask;
use crate::range::WarpRange;
use warploom_base::{WarpSlot, each_bit};
use warploom_state::State;

/// Most slots of an SM.
const SLOTS: usize = WarpMask::BITS as usize;

/// Facts about the warps of an SM that change only when a warp starts.
#[derive(Clone, Debug, State)]
pub struct WarpTable {
    /// By slot: number of warps that had started on this SM before this one (GPGPU-Sim's dynamic
    /// warp id).
    pub age: Vec<u64>,
    /// By slot: age of the first warp of its block.
    pub block_age: Vec<u64>,
    /// By slot: number of blocks that had started on this SM before the warp's own.
    pub block_serial: Vec<u64>,
    /// Most blocks that the SM holds.
    pub max_blocks: u32,
    /// Lines of the SM's data cache; 0 without one.
    pub l1d_lines: u32,
    /// Number of the SM.
    pub sm: u16,
    /// By slot or other place: memory that the warp accesses; empty unless the policy uses ranges.
    pub ranges: Vec<WarpRange>,
    /// Number of warp slots.
    slots: usize,
    /// Number of times that a warp has come into a slot or another place.
    starts: u64,
    /// By word of a mask and by slot: slots whose warps started before its own. The oldest of some
    /// warps is the one for which this holds none of them.
    before: [Box<[u64; SLOTS]>; 2],
    /// By word of a mask and by slot: slots whose warps are of the block of its own. A slot is in
    /// that of another one if the other one is in its own.
    of_block: [Box<[u64; SLOTS]>; 2],
    /// The slot whose block was noted last.
    joined: usize,
}

impl WarpTable {
    /// The table of an SM with `slots` slots; `places` counts the places for absent warps too.
    pub fn new(slots: usize, places: usize, max_blocks: u32) -> Self {
        Self {
            age: vec![0; places],
            block_age: vec![0; places],
            block_serial: vec![0; places],
            max_blocks,
            l1d_lines: 0,
            sm: 0,
            ranges: Vec::new(),
            slots,
            starts: 0,
            before: std::array::from_fn(|_| Box::new([0; SLOTS])),
            of_block: std::array::from_fn(|_| Box::new([0; SLOTS])),
            joined: 0,
        }
    }

    /// Number of warp slots of the SM.
    pub const fn slots(&self) -> u64 {
        self.slots as u64
    }

    /// Number of times that a warp has come into a slot or another place: facts about warps that
    /// are live hold as long as it stays the same.
    pub const fn starts(&self) -> u64 {
        self.starts
    }

    /// Notes that the `nth` warp of a block, whose first warp has age `block_age`, starts in a slot
    /// or another place, after all others.
    pub fn start(&mut self, place: usize, block_age: u64, nth: u32) {
        self.starts += 1;
        self.age[place] = block_age + u64::from(nth);
        self.block_age[place] = block_age;
        if place < self.slots {
            let [low, high] = &mut self.before;
            (low[place], high[place]) = (!0, !0);
            let (word, bit) = (place / 64, 1 << (place % 64));
            for before in &mut self.before[word][..self.slots] {
                *before &= !bit;
            }
            self.join_block(place);
        }
    }

    /// Notes the block of a slot's warp for all slots.
    fn join_block(&mut self, slot: usize) {
        // Warps of a block start one after the other.
        let known = self.block_age[self.joined] == self.block_age[slot] && self.joined != slot;
        let mut same = match known {
            true => self.of_block.each_ref().map(|by_slot| by_slot[self.joined]),
            false => self.find_block(slot),
        };
        let (word, bit) = (slot / 64, 1 << (slot % 64));
        same[word] |= bit;
        for (first, same) in [0, 64].into_iter().zip(same) {
            let before = std::mem::replace(&mut self.of_block[first / 64][slot], same);
            each_bit!(before ^ same, other => {
                self.of_block[word][first + other] ^= bit;
            });
        }
        self.of_block[word][slot] |= bit;
        self.joined = slot;
    }

    /// The slots whose warps are of a slot's block, by words.
    fn find_block(&self, slot: usize) -> [u64; 2] {
        let mut same = [0; 2];
        for (other, age) in self.block_age[..self.slots].iter().enumerate() {
            let is_same = *age == self.block_age[slot];
            same[other / 64] |= u64::from(is_same) << (other % 64);
        }
        same
    }

    /// The slots whose warps are of the block of the warp in `slot`, itself included, among slots
    /// with a running warp. Slots that are free may be in the mask, too.
    #[inline]
    pub fn of_block(&self, slot: WarpSlot) -> WarpMask {
        let [low, high] = &self.of_block;
        let at = slot.index();
        WarpMask::from(low[at]) | WarpMask::from(high[at]) << 64
    }

    /// Notes that a warp moves from one place to another.
    pub fn move_warp(&mut self, from: usize, to: usize) {
        self.starts += 1;
        let by_place = [&mut self.age, &mut self.block_age, &mut self.block_serial];
        for values in by_place {
            values[to] = values[from];
        }
        if let Some(range) = self.ranges.get(from).copied() {
            self.ranges[to] = range;
        }
        if to < self.slots {
            self.rank(to);
        }
    }

    /// Computes anew the place of a slot's warp in the order.
    fn rank(&mut self, slot: usize) {
        for other in 0..self.slots {
            self.note(slot, other);
            self.note(other, slot);
        }
        self.join_block(slot);
    }

    /// Notes whether the warp of slot `other` started before that of `slot`.
    fn note(&mut self, slot: usize, other: usize) {
        let before = &mut self.before[other / 64][slot];
        let is_before = self.age[other] < self.age[slot];
        *before &= !(1 << (other % 64));
        *before |= u64::from(is_before) << (other % 64);
    }

    /// The oldest warp of a mask.
    #[inline]
    pub fn oldest(&self, mask: WarpMask) -> Option<WarpSlot> {
        let words = [mask as u64, (mask >> 64) as u64];
        if words == [0; 2] {
            return None;
        }
        // Most SMs have no more than 64 slots.
        let slot = if words[1] == 0 {
            self.oldest_of_few(words[0])
        } else {
            self.oldest_of_many(mask)
        };
        Some(WarpSlot(slot as u16))
    }

    /// The oldest warp among some of the first 64 slots.
    #[inline]
    fn oldest_of_few(&self, mask: u64) -> u32 {
        let before = |slot: u32| mask & self.before[0][slot as usize];
        let mut slot = mask.trailing_zeros();
        // In most cases two steps at most lead to the oldest one. Which step is unpredictable.
        for _ in 0..2 {
            let first = before(slot).trailing_zeros();
            slot = if before(slot) == 0 { slot } else { first };
        }
        while before(slot) != 0 {
            slot = before(slot).trailing_zeros();
        }
        slot
    }

    fn oldest_of_many(&self, mask: WarpMask) -> u32 {
        let before = |slot: u32| {
            let [low, high] = &self.before;
            let high = WarpMask::from(high[slot as usize]);
            mask & (high << 64 | WarpMask::from(low[slot as usize]))
        };
        let mut slot = mask.trailing_zeros();
        while before(slot) != 0 {
            slot = before(slot).trailing_zeros();
        }
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::WarpTable;
    use crate::range::WarpRange;
    use warploom_base::WarpSlot;

    /// A warp that leaves its slot for another place, and comes back to another slot, keeps its age
    /// and its range.
    #[test]
    fn a_warp_takes_its_facts_along() {
        let mut table = WarpTable::new(2, 4, 8);
        table.ranges = vec![WarpRange::default(); 4];
        let mut range = WarpRange::default();
        range[0].touched = 7;
        table.start(0, 5, 1);
        table.ranges[0] = range;
        table.move_warp(0, 3);
        table.start(0, 9, 0);
        table.ranges[0] = WarpRange::default();
        table.move_warp(3, 1);
        assert_eq!(table.ranges[1], range);
        assert_ne!(table.ranges[0], range);
        assert_eq!((table.age[1], table.age[0]), (6, 9));
        assert_eq!(table.oldest(0b11).map(|slot| slot.index()), Some(1));
    }

    /// Warps start and move at random; each finds those with its block's age among slots that were
    /// in use.
    #[test]
    fn blocks_are_those_of_equal_ages() {
        let (slots, places) = (70, 90);
        let mut rng = warploom_base::Rng::new(11);
        let mut table = WarpTable::new(slots, places, 8);
        let (mut age, mut used) = (0, vec![false; places]);
        for _ in 0..2_000 {
            age += 10;
            for nth in 0..=rng.below(5) {
                let place = rng.below(places as u32) as usize;
                table.start(place, age, nth);
                used[place] = true;
            }
            let from = rng.below(places as u32) as usize;
            let to = rng.below(places as u32) as usize;
            if used[from] && from != to {
                table.move_warp(from, to);
                used[to] = true;
            }
            let in_use = (0..slots).filter(|slot| used[*slot]);
            for slot in in_use.clone() {
                let others = in_use.clone();
                let same = others.filter(|other| table.block_age[*other] == table.block_age[slot]);
                let expected: Vec<usize> = same.collect();
                let mask = table.of_block(WarpSlot::new(slot));
                let found = in_use.clone().filter(|other| mask >> other & 1 != 0);
                assert_eq!(found.collect::<Vec<_>>(), expected, "slot {slot}");
            }
        }
    }

    /// Warps of a block find each other, in both words of a mask, until another block's warp takes
    /// a slot, and again once a warp has come back to another slot.
    #[test]
    fn warps_of_a_block_find_each_other() {
        let mut table = WarpTable::new(80, 90, 8);
        let of = |table: &WarpTable, slot| table.of_block(WarpSlot::new(slot));
        table.start(1, 20, 0);
        table.start(2, 30, 0);
        table.start(70, 20, 1);
        let both = 1 << 1 | 1 << 70;
        assert_eq!([of(&table, 1), of(&table, 70)], [both; 2]);
        assert_eq!(of(&table, 2), 1 << 2);
        table.move_warp(70, 85);
        table.start(70, 30, 1);
        assert_eq!(of(&table, 1), 1 << 1);
        assert_eq!([of(&table, 2), of(&table, 70)], [1 << 2 | 1 << 70; 2]);
        table.move_warp(85, 3);
        assert_eq!([of(&table, 1), of(&table, 3)], [1 << 1 | 1 << 3; 2]);
    }
}
