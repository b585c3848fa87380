//! Victim tags: the lines that a warp brought into the data cache and lost, without their data.

use crate::bits_for;
use warploom_config::GpuSpec;
use warploom_state::Value;

/// Width of an address: Fermi's, the first with such an L1D (Fermi whitepaper, 2009).
const ADDRESS_BITS: u64 = 40;

/// Bytes of a line, by which neighbouring lines go to neighbouring sets.
const LINE_BYTES: u64 = 128;

/// Victim tag array of one warp: sets of a few tags, first in, first out.
#[derive(Clone, Debug, Value)]
pub(super) struct VictimTags {
    /// Tags by set, in each the first that came in first. After them, places without a tag.
    tags: Box<[u64]>,
    sets: usize,
    ways: usize,
}

/// Place without a tag: no line begins at this address.
const NO_TAG: u64 = u64::MAX;

impl VictimTags {
    /// An empty array of `sets` times `ways` tags.
    pub(super) fn new(sets: u32, ways: u32) -> Self {
        let (sets, ways) = (sets as usize, ways as usize);
        Self {
            tags: vec![NO_TAG; sets * ways].into(),
            sets,
            ways,
        }
    }

    /// Bits of an array: tags, a valid bit each, and a pointer for each set.
    pub(super) fn bits(spec: &GpuSpec, sets: u32, ways: u32) -> u64 {
        let (sets, ways) = (sets.into(), ways.into());
        let line_bytes = u64::from(spec.l1d.line_bytes);
        let tag = ADDRESS_BITS - bits_for(line_bytes) - bits_for(sets);
        sets * (ways * (tag + 1) + bits_for(ways))
    }

    /// Place of the first tag of a line's set.
    fn first(&self, line: u64) -> usize {
        let number = (line / LINE_BYTES) as usize;
        // A write asks the tags of every warp, which the time of a division would multiply.
        let set = if self.sets.is_power_of_two() {
            number & (self.sets - 1)
        } else {
            number % self.sets
        };
        set * self.ways
    }

    /// True if the array has the line.
    pub(super) fn has(&self, line: u64) -> bool {
        self.tags[self.first(line)..][..self.ways].contains(&line)
    }

    /// Inserts a line. If its set is full, the line that came first leaves.
    pub(super) fn insert(&mut self, line: u64) {
        let first = self.first(line);
        let set = &mut self.tags[first..][..self.ways];
        if set.contains(&line) {
            return;
        }
        let free = set.iter().position(|tag| *tag == NO_TAG);
        let at = free.unwrap_or_else(|| {
            set.rotate_left(1);
            set.len() - 1
        });
        set[at] = line;
    }

    /// Removes a line, if it is there.
    pub(super) fn remove(&mut self, line: u64) {
        let first = self.first(line);
        let set = &mut self.tags[first..][..self.ways];
        if let Some(at) = set.iter().position(|tag| *tag == line) {
            set[at..].rotate_left(1);
            set[set.len() - 1] = NO_TAG;
        }
    }

    /// Removes the tags of all lines.
    pub(super) fn clear(&mut self) {
        self.tags.fill(NO_TAG);
    }
}
