//! Sectors of lines that are there: reserving, writing, filling and invalidating them.

use super::line::{BYTES, BYTES_ON_FILL, COPIED, Line, RESERVED, State};
use super::{SECTOR_BYTES, Tags};
use warploom_base::Cycle;

impl Tags {
    /// Reserves an absent (or unreadable) sector of a line that is there.
    pub(in crate::cache) fn allocate_sector(&mut self, set: u32, at: u32, sector: u8, now: Cycle) {
        let bit = 1 << sector;
        self.change(set, at as usize, |state| {
            if state.modified & bit != 0 {
                state.modified_on_fill |= bit;
            } else {
                state.modified_on_fill &= !bit;
            }
            state.readable_on_fill &= !bit;
            state.modified &= !bit;
            state.valid &= !bit;
            state.unreadable &= !bit;
            state.reserved |= bit;
        });
        self.touch(at, now);
    }

    /// Writes bytes of a sector, which becomes modified.
    pub(in crate::cache) fn write(&mut self, set: u32, at: u32, sector: u8, bytes: u128) {
        let bit = 1 << sector;
        self.dirty_bytes[at as usize] |= bytes;
        self.change(set, at as usize, |state| {
            state.reserved &= !bit;
            state.valid &= !bit;
            state.modified |= bit;
            state.flags = state.flags & !(COPIED << sector) | BYTES;
        });
    }

    /// Writes bytes of a sector that is present. Reads find the sector afterwards if they did
    /// before, or if every byte has been written.
    #[inline(always)]
    pub(in crate::cache) fn write_present(&mut self, set: u32, at: u32, sector: u8, bytes: u128) {
        debug_assert!(self.is_present(at, sector));
        let bit = 1 << sector;
        let state = self.lines[at as usize].state;
        // A sector that was written before, the usual case, changes in its dirty bytes alone.
        if state.modified & bit == 0 {
            self.write(set, at, sector, bytes);
        } else {
            self.dirty_bytes[at as usize] |= bytes;
            debug_assert!(state.flags & BYTES != 0, "what is modified was written");
        }
        if state.unreadable & bit != 0 && self.fully_written(at, sector) {
            self.set_readable(at, sector, true);
        }
    }

    /// Sets whether reads may take a modified sector as it is.
    pub(in crate::cache) fn set_readable(&mut self, at: u32, sector: u8, readable: bool) {
        let bit = 1 << sector;
        let state = &mut self.lines[at as usize].state;
        if readable {
            state.unreadable &= !bit;
        } else {
            state.unreadable |= bit;
        }
        state.settle();
    }

    /// True if every byte of the sector has been written since the line came.
    #[inline]
    pub(in crate::cache) fn fully_written(&self, at: u32, sector: u8) -> bool {
        let dirty = self.dirty_bytes[at as usize];
        if self.sectored {
            // Two steps, because hosts shift 64 bits at a time.
            let half = if sector & 2 == 0 { dirty } else { dirty >> 64 } as u64;
            let bytes = half >> (u32::from(sector & 1) * SECTOR_BYTES);
            return bytes as u32 == u32::MAX;
        }
        let bytes = if self.line_bytes() >= 128 {
            u128::MAX
        } else {
            let shift = (self.lines[at as usize].number << self.index.line_shift()) % 128;
            ((1 << self.line_bytes()) - 1) << shift
        };
        dirty & bytes == bytes
    }

    /// Makes the coming fill of a sector leave it modified, with written bytes counted as dirty,
    /// and readable if `readable` is set.
    pub(in crate::cache) fn dirty_on_fill(&mut self, at: u32, sector: u8, readable: bool) {
        let state = &mut self.lines[at as usize].state;
        state.modified_on_fill |= 1 << sector;
        state.flags |= BYTES_ON_FILL;
        if readable {
            state.readable_on_fill |= 1 << sector;
        }
    }

    /// Notes that a copy has brought a sector that is present.
    pub(in crate::cache) fn note_copied(&mut self, at: u32, sector: u8) {
        self.lines[at as usize].state.flags |= COPIED << sector;
    }

    /// True if a copy has brought a sector, and this was not asked since.
    #[inline]
    pub(in crate::cache) fn take_copied(&mut self, at: u32, sector: u8) -> bool {
        let (flags, bit) = (&mut self.lines[at as usize].state.flags, COPIED << sector);
        let is_copied = *flags & bit != 0;
        if is_copied {
            *flags &= !bit;
        }
        is_copied
    }

    /// Makes a sector invalid.
    pub(in crate::cache) fn invalidate(&mut self, set: u32, at: u32, sector: u8) {
        let bit = 1 << sector;
        self.change(set, at as usize, |state| {
            state.reserved &= !bit;
            state.valid &= !bit;
            state.modified &= !bit;
        });
    }

    /// Fills a sector of line `line` at `at`; `bytes` gives the bytes that were written while the
    /// sector was on its way. Ignored if the line was replaced meanwhile, which can happen to a
    /// line that was written while on its way.
    #[inline]
    pub(in crate::cache) fn fill(
        &mut self,
        set: u32,
        at: u32,
        line: u64,
        sector: u8,
        bytes: impl FnOnce() -> u128,
    ) {
        let index = at as usize;
        let Line { number, state, .. } = self.lines[index];
        if number != line {
            return;
        }
        let bit = 1 << sector;
        if state.flags & BYTES_ON_FILL != 0 {
            self.dirty_bytes[index] |= bytes();
            self.lines[index].state.flags |= BYTES;
        }
        let written = !state.reserved | state.modified_on_fill | state.readable_on_fill;
        if written & bit != 0 {
            return self.fill_written(set, at, bit);
        }
        // What `change` does for a sector that was reserved and becomes valid.
        let line = &mut self.lines[index];
        line.state.reserved &= !bit;
        line.state.valid |= bit;
        line.state.readable |= bit;
        line.order &= !(u64::from(bit) << RESERVED.trailing_zeros());
        if line.state.reserved == 0 {
            let count = &mut self.counts[set as usize];
            count.reserved -= 1;
            count.dirty += u16::from(line.state.modified != 0);
        }
    }

    /// Fills a sector that was written while on its way.
    #[inline(never)]
    pub(in crate::cache) fn fill_written(&mut self, set: u32, at: u32, bit: u8) {
        self.change(set, at as usize, |state| {
            state.reserved &= !bit;
            if state.modified_on_fill & bit != 0 {
                state.modified |= bit;
                state.valid &= !bit;
            } else {
                state.valid |= bit;
                state.modified &= !bit;
            }
            if state.readable_on_fill & bit != 0 {
                state.unreadable &= !bit;
                state.readable_on_fill &= !bit;
            }
        });
    }

    /// Changes the state of a line, and brings the line's order and the counts of its set up to
    /// date.
    #[inline]
    pub(super) fn change(&mut self, set: u32, at: usize, change: impl FnOnce(&mut State)) {
        let line = &mut self.lines[at];
        let before = line.state;
        change(&mut line.state);
        line.state.settle();
        line.sort();
        let after = line.state;
        if after.present() == 0 {
            *line = Line::absent(at - set as usize * self.stride);
            self.dirty_bytes[at] = 0;
        }
        let count = &mut self.counts[set as usize];
        count.reserved += u16::from(after.reserved != 0);
        count.reserved -= u16::from(before.reserved != 0);
        if after.modified | before.modified != 0 {
            count.dirty += u16::from(after.reserved == 0 && after.modified != 0);
            count.dirty -= u16::from(before.reserved == 0 && before.modified != 0);
            self.dirty_lines += u64::from(after.modified != 0);
            self.dirty_lines -= u64::from(before.modified != 0);
        }
    }
}
