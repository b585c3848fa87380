//! How many banks there are of each kind, kept as they change, and summed over cycles.

use crate::dram::detail::{DramDetail, MAX_BANKS, WHOLE_SHARE};
use crate::dram::tally::Tally;

/// Banks with work. A cycle is counted as it is before its commands, with what was assigned in it:
/// what begins with a command does from the next cycle on.
#[derive(Clone, Debug)]
pub(super) struct Census {
    /// All of them.
    busy: Tally,
    /// Those that find their row open.
    open: Tally,
    /// Of these, those that write.
    pub(super) writes: u64,
    /// Groups of those that find their row open.
    groups: Tally,
    /// The share of `writes` in `open`, in parts of `WHOLE_SHARE`, rounded.
    write_share: Tally,
    /// One while any is busy, or open.
    any_busy: Tally,
    any_open: Tally,
    /// Banks that find their row open, by group.
    by_group: [u8; MAX_BANKS],
}

impl Census {
    pub(super) fn new(groups: usize) -> Self {
        assert!(groups <= MAX_BANKS, "more groups than banks");
        const { assert!(MAX_BANKS as u64 * WHOLE_SHARE < u32::MAX as u64 / 2) };
        Self {
            busy: Tally::default(),
            open: Tally::default(),
            writes: 0,
            groups: Tally::default(),
            write_share: Tally::default(),
            any_busy: Tally::default(),
            any_open: Tally::default(),
            by_group: [0; MAX_BANKS],
        }
    }

    /// Banks with work.
    #[inline]
    pub(super) fn busy(&self) -> u64 {
        self.busy.count()
    }

    /// Banks that find their row open.
    #[inline]
    pub(super) fn open(&self) -> u64 {
        self.open.count()
    }

    /// Cycles before `now` in which a bank had work.
    pub(super) fn busy_cycles(&self, now: u64) -> u64 {
        self.any_busy.sum(now)
    }

    /// A bank gets work in cycle `from`.
    #[inline]
    pub(super) fn begin(&mut self, from: u64) {
        if self.busy() == 0 {
            self.any_busy.add(from);
        }
        self.busy.add(from);
    }

    /// A bank with work finds its row open, counted from cycle `from` on.
    #[inline]
    pub(super) fn find_open(&mut self, is_write: bool, group: u8, from: u64) {
        if self.open() == 0 {
            self.any_open.add(from);
        }
        self.open.add(from);
        self.writes += u64::from(is_write);
        let of_group = &mut self.by_group[usize::from(group)];
        self.groups.add_if(*of_group == 0, from);
        *of_group += 1;
        self.share(from);
    }

    /// A bank that found its row open has done its work, and is counted before cycle `to`.
    #[inline]
    pub(super) fn end(&mut self, is_write: bool, group: u8, to: u64) {
        self.busy.remove(to);
        if self.busy() == 0 {
            self.any_busy.remove(to);
        }
        self.open.remove(to);
        if self.open() == 0 {
            self.any_open.remove(to);
        }
        self.writes -= u64::from(is_write);
        let of_group = &mut self.by_group[usize::from(group)];
        *of_group -= 1;
        self.groups.remove_if(*of_group == 0, to);
        self.share(to);
    }

    #[inline]
    fn share(&mut self, at: u64) {
        // Divided in half of the bits, which takes hosts half of the time.
        let share = match (self.writes as u32, self.open() as u32) {
            (0, _) => 0,
            (writes, open) => (writes * WHOLE_SHARE as u32 + open / 2) / open,
        };
        self.write_share.set(share.into(), at);
    }

    /// Sums over the cycles before `now`.
    pub(super) fn sum_up(&self, now: u64, counts: &mut DramDetail) {
        counts.busy_banks = self.busy.sum(now);
        counts.busy_cycles = self.any_busy.sum(now);
        counts.open_banks = self.open.sum(now);
        counts.open_cycles = self.any_open.sum(now);
        counts.open_groups = self.groups.sum(now);
        counts.write_shares = self.write_share.sum(now);
    }
}
