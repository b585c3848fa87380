//! The allocation map: a bit for each unit of 128 bytes. The register file, shared memory and L1D
//! have one logical address space, in this order (GPUDuet, section 6.6). Units of a divided
//! register file that store contexts follow them. A context is a chain of such units wherever they
//! are free (FineReg), so that their number is all that has to be known.

use warploom_config::ContextStorage;
use warploom_state::Value;

/// Part of the logical address space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Region {
    Registers,
    Shared,
    L1d,
}

/// Consecutive units of the logical address space.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Value)]
pub(crate) struct Span {
    pub start: u32,
    pub units: u32,
}

/// Set of the units in use.
#[derive(Clone, PartialEq, Eq, Debug, Value)]
pub(crate) struct Map {
    words: Vec<u64>,
    /// First units of the regions, then the end of the last region.
    bounds: [u32; 4],
    /// Number of units that are chained, and of those that are free.
    chained: u32,
    chained_free: u32,
}

impl Map {
    /// A map of free units.
    pub fn new(storage: ContextStorage) -> Self {
        let shared = storage.registers;
        let l1d = shared + storage.shared;
        let end = storage.units();
        Self {
            words: vec![0; end.div_ceil(64) as usize],
            bounds: [0, shared, l1d, end],
            chained: storage.pending,
            chained_free: storage.pending,
        }
    }

    /// Becomes a copy of another map of the same machine.
    pub fn copy(&mut self, other: &Self) {
        self.words.copy_from_slice(&other.words);
        self.chained_free = other.chained_free;
    }

    /// Takes units that are chained.
    pub fn take_chain(&mut self, units: u32) -> Option<Span> {
        self.chained_free = self.chained_free.checked_sub(units)?;
        Some(Span {
            start: self.bounds[3],
            units,
        })
    }

    /// Takes units at the beginning of the first free run of a region that is long enough.
    pub fn take_low(&mut self, region: Region, units: u32) -> Option<Span> {
        if units == 0 {
            return Some(Span::default());
        }
        let runs = Runs::new(self, region).find(|run| run.units >= units)?;
        Some(self.mark(runs.start, units))
    }

    /// Takes units at the end of the last free run of a region that is long enough. Registers and
    /// shared memory of present warps are allocated from low addresses, stored contexts from high
    /// ones.
    pub fn take_high(&mut self, region: Region, units: u32) -> Option<Span> {
        if units == 0 {
            return Some(Span::default());
        }
        let fits = |run: &Span| run.units >= units;
        let run = Runs::new(self, region).filter(fits).last()?;
        Some(self.mark(run.start + run.units - units, units))
    }

    /// Frees the units of a span.
    pub fn give(&mut self, span: Span) {
        if span.start >= self.bounds[3] {
            self.chained_free += span.units;
            debug_assert!(self.chained_free <= self.chained, "{span:?} is free");
            return;
        }
        for unit in span.start..span.start + span.units {
            let (word, bit) = (unit as usize / 64, 1 << (unit % 64));
            debug_assert!(self.words[word] & bit != 0, "unit {unit:#x} is free");
            self.words[word] &= !bit;
        }
    }

    /// Number of units in use.
    pub fn taken(&self) -> u32 {
        let marked: u32 = self.words.iter().map(|word| word.count_ones()).sum();
        marked + self.chained - self.chained_free
    }

    fn mark(&mut self, start: u32, units: u32) -> Span {
        for unit in start..start + units {
            self.words[unit as usize / 64] |= 1 << (unit % 64);
        }
        Span { start, units }
    }

    /// The first unit from `from` on that is taken (or free, if `taken` is false); `end` if there
    /// is none.
    fn next(&self, from: u32, end: u32, taken: bool) -> u32 {
        let mut at = from;
        while at < end {
            let word = self.words[at as usize / 64];
            let wanted = if taken { word } else { !word };
            let bits = wanted >> (at % 64);
            if bits != 0 {
                return (at + bits.trailing_zeros()).min(end);
            }
            at = (at / 64 + 1) * 64;
        }
        end
    }
}

/// Iterator over the runs of free units of a region, in ascending order.
struct Runs<'a> {
    map: &'a Map,
    at: u32,
    end: u32,
}

impl<'a> Runs<'a> {
    fn new(map: &'a Map, region: Region) -> Self {
        Self {
            map,
            at: map.bounds[region as usize],
            end: map.bounds[region as usize + 1],
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let start = self.map.next(self.at, self.end, false);
        let end = self.map.next(start, self.end, true);
        self.at = end;
        (start < self.end).then_some(Span {
            start,
            units: end - start,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Map, Region, Span};
    use warploom_config::ContextStorage;

    fn map() -> Map {
        Map::new(ContextStorage {
            registers: 100,
            shared: 40,
            l1d: 20,
            pending: 30,
        })
    }

    fn span(start: u32, units: u32) -> Option<Span> {
        Some(Span { start, units })
    }

    #[test]
    fn regions_follow_each_other_and_are_filled_from_both_ends() {
        let mut map = map();
        assert_eq!(map.take_low(Region::Registers, 90), span(0, 90));
        assert_eq!(map.take_high(Region::Registers, 4), span(96, 4));
        assert_eq!(map.take_low(Region::Registers, 7), None, "six are left");
        assert_eq!(map.take_low(Region::Registers, 6), span(90, 6));
        assert_eq!(map.take_low(Region::Shared, 40), span(100, 40));
        assert_eq!(map.take_high(Region::L1d, 20), span(140, 20));
        assert_eq!(map.taken(), 160);
    }

    /// Chained units need not follow each other, and lie behind all others.
    #[test]
    fn units_of_a_chain_may_be_anywhere() {
        let mut map = map();
        let chains: Vec<_> = (0..3).filter_map(|_| map.take_chain(9)).collect();
        assert_eq!(
            (chains.len(), chains[0]),
            (
                3,
                Span {
                    start: 160,
                    units: 9
                }
            )
        );
        assert_eq!(map.take_chain(4), None, "three are left");
        assert_eq!(map.taken(), 27);
        map.give(chains[0]);
        map.give(chains[2]);
        assert_eq!(map.take_chain(21).map(|chain| chain.units), Some(21));
        assert_eq!(map.take_chain(0).map(|chain| chain.units), Some(0));
        let mut copy = self::map();
        copy.copy(&map);
        assert_eq!((copy.taken(), copy.take_chain(1)), (30, None));
    }

    /// A span needs consecutive units.
    #[test]
    fn units_are_in_a_row() {
        let mut map = map();
        let spans: Vec<_> = (0..10)
            .filter_map(|_| map.take_low(Region::Shared, 4))
            .collect();
        map.give(spans[2]);
        map.give(spans[7]);
        assert_eq!(map.take_low(Region::Shared, 8), None);
        assert_eq!(map.take_high(Region::Shared, 3), span(100 + 29, 3));
        assert_eq!(map.take_low(Region::Shared, 3), span(100 + 8, 3));
        assert_eq!(map.take_low(Region::Shared, 0), span(0, 0));
    }
}
