//! Collectors, the sets that they form, and the ports through which instructions enter.

use crate::stage::Issued;
use warploom_state::Value;

/// A collector: one instruction while its source registers are read.
#[derive(Clone, Copy, Debug, Default, Value)]
pub(super) struct Collector {
    /// Instruction in the collector, without meaning while it is free.
    pub(super) issued: Issued,
    /// Bit per bank that holds an operand not yet read.
    pub(super) wants: u64,
    /// Most operands that one bank still has to read after its first.
    pub(super) depth: u8,
    pub(super) pipe: u8,
    pub(super) set: u8,
    /// Number among the collectors of all sets.
    pub(super) number: u16,
}

/// Most sets: one for each pipe, and the general one. A power of two, so that an index modulo this
/// number needs no check.
pub(super) const SETS: usize = 8;

/// Words with a bit for each collector. Neighbouring sets share a word where they fit.
pub(super) const WORDS: usize = SETS;

pub(super) const WORD: usize = u64::BITS as usize;

/// Most collectors, and most dispatchers: a power of two, too.
pub(super) const COLLECTORS: usize = WORDS * WORD;

/// Collectors that serve one pipe, or any (the general set).
#[derive(Clone, Copy, Debug, Default, Value)]
pub(super) struct Set {
    /// Bit per collector of the set in its word.
    pub(super) mask: u64,
    /// Bit per collector of the first sub-core.
    pub(super) first_part: u64,
    /// Index of the word, and bit of the first collector in it.
    pub(super) word: u8,
    pub(super) first: u8,
    /// Number of collectors; 0 for a set that is not in use.
    pub(super) units: u8,
    /// Number of collectors of a sub-core; of all where the SM is not split.
    pub(super) part: u8,
    /// First dispatcher of the set, and their number.
    pub(super) dispatchers: (u16, u8),
    /// True if instructions of the set go to several output registers, or to places of several
    /// sub-cores: where one cannot leave, another one may.
    pub(super) mixed: bool,
    /// Pipe of a set that serves one pipe.
    pub(super) pipe: u8,
    /// Instructions of that pipe that enter in a step, where there is no general set.
    pub(super) in_ports: u8,
}

impl Set {
    /// Mask of the collectors that a dispatcher looks at first after it has sent the one at bit
    /// `last`: those after it, or those from the next sub-core on.
    #[inline]
    pub(super) fn after(&self, last: u32) -> u64 {
        if self.part == self.units {
            !1 << last
        } else {
            let part = u32::from(self.part);
            !1 << (last - (last - u32::from(self.first)) % part + part - 1)
        }
    }

    /// Mask of the collectors that an instruction of sub-core `sub` may take.
    #[inline]
    pub(super) fn own(&self, sub: u8) -> u64 {
        self.first_part << (u32::from(sub) * u32::from(self.part))
    }

    /// Index of the collector at a bit of the set's word.
    #[inline]
    pub(super) fn at(&self, place: u32) -> usize {
        (usize::from(self.word) * WORD + place as usize) % COLLECTORS
    }
}

/// Equal ports through which instructions enter. Each takes one instruction of each of some pipes
/// into one of two sets in each step. Small, because every step looks at all ports.
#[derive(Clone, Copy, Debug, Value)]
pub(super) struct InPorts {
    /// Bit per pipe that the ports serve.
    pub(super) pipes: u8,
    pub(super) count: u32,
    /// The set that instructions enter first, and the one that they enter if it is full; twice the
    /// same set where there is only one.
    pub(super) sets: [u8; 2],
}
