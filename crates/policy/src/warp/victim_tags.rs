//! Victim tags: the lines that a warp brought into the data cache and lost, without their data.

use std::collections::VecDeque;

/// Bytes of a line, by which neighbouring lines go to neighbouring sets.
const LINE_BYTES: u64 = 128;

/// Victim tag array of one warp: sets of a few tags, first in, first out.
#[derive(Clone, Debug)]
pub(super) struct VictimTags {
    sets: Box<[VecDeque<u64>]>,
    ways: usize,
}

impl VictimTags {
    /// An empty array of `sets` times `ways` tags.
    pub(super) fn new(sets: u32, ways: u32) -> Self {
        let set = || VecDeque::with_capacity(ways as usize + 1);
        Self {
            sets: (0..sets).map(|_| set()).collect(),
            ways: ways as usize,
        }
    }

    /// Set of a line's address.
    fn set(&self, line: u64) -> usize {
        (line / LINE_BYTES) as usize % self.sets.len()
    }

    /// True if the array has the line.
    pub(super) fn has(&self, line: u64) -> bool {
        self.sets[self.set(line)].contains(&line)
    }

    /// Inserts a line. If its set is full, the line that came first leaves.
    pub(super) fn insert(&mut self, line: u64) {
        let set = self.set(line);
        let tags = &mut self.sets[set];
        if tags.contains(&line) {
            return;
        }
        tags.push_back(line);
        if tags.len() > self.ways {
            tags.pop_front();
        }
    }

    /// Removes a line, if it is there.
    pub(super) fn remove(&mut self, line: u64) {
        let set = self.set(line);
        let tags = &mut self.sets[set];
        if let Some(at) = tags.iter().position(|tag| *tag == line) {
            tags.remove(at);
        }
    }

    /// Removes the tags of all lines.
    pub(super) fn clear(&mut self) {
        self.sets.iter_mut().for_each(VecDeque::clear);
    }
}
