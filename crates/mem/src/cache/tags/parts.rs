//! Sets whose ways are divided into parts by the replacement policy.

use super::Tags;
use super::line::{DIRTY, Line, NO_LINE, RESERVED, Ways};
use std::ops::Range;

impl Tags {
    /// Places of the part of a set into which the next line comes.
    fn part(&self, set: u32) -> Range<usize> {
        let base = set as usize * self.stride;
        let Range { start, end } = self.policy.part(self.ways);
        base + start..base + end
    }

    /// Bits of a line's `order` that decide whether it stays.
    fn bits_that_stay(&self) -> u64 {
        RESERVED | if self.spares_dirty() { DIRTY } else { 0 }
    }

    /// True if no line of the part of a set into which the next line comes can be replaced.
    #[cold]
    pub(super) fn is_part_full(&self, set: u32) -> bool {
        let stays = |line: &Line| line.order & self.bits_that_stay() != 0;
        self.lines[self.part(set)].iter().all(stays)
    }

    /// Place of the line to be replaced in that part: the last absent way, else the policy's
    /// choice.
    #[cold]
    pub(super) fn victim_in_part(&mut self, set: u32) -> usize {
        let part = self.part(set);
        let looked_at = self.bits_that_stay();
        let lines = &mut self.lines[part.clone()];
        let absent = lines.iter().rposition(|line| line.number == NO_LINE);
        let way = absent.unwrap_or_else(|| self.policy.victim(Ways::new(lines, looked_at), 0));
        part.start + way
    }
}
