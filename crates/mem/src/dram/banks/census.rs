//! Number of banks in each state, updated with every change, and summed over cycles.

use crate::dram::detail::{DramDetail, MAX_BANKS, WHOLE_SHARE};
use crate::dram::tally::Tally;
use warploom_state::Value;

/// Counts of banks with work. A cycle is counted as it stands before its commands, with the
/// requests assigned in it: a state that begins with a command counts from the next cycle on.
#[derive(Clone, Debug, Value)]
pub(super) struct Census {
    /// Number of banks with work.
    busy: Tally,
    /// Banks whose request finds its row open.
    open: Tally,
    /// Banks of `open` whose request writes.
    pub(super) writes: u64,
    /// Groups with a bank of `open`.
    groups: Tally,
    /// Share of `writes` in `open`, in parts of `WHOLE_SHARE`, rounded.
    write_share: Tally,
    /// Count of one while `busy` is not zero.
    any_busy: Tally,
    /// Count of one while `open` is not zero.
    any_open: Tally,
    /// Banks of `open` by group.
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

    /// Number of banks with work.
    #[inline]
    pub(super) fn busy(&self) -> u64 {
        self.busy.count()
    }

    /// Banks whose request finds its row open.
    #[inline]
    pub(super) fn open(&self) -> u64 {
        self.open.count()
    }

    /// Cycles before `now` in which a bank had work.
    pub(super) fn busy_cycles(&self, now: u64) -> u64 {
        self.any_busy.sum(now)
    }

    /// Counts a bank that gets work in cycle `from`.
    #[inline]
    pub(super) fn begin(&mut self, from: u64) {
        if self.busy() == 0 {
            self.any_busy.add(from);
        }
        self.busy.add(from);
    }

    /// Counts a bank with work as one that finds its row open, from cycle `from` on.
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

    /// Takes out a bank that found its row open and has done its work. Cycles before `to` count.
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

    /// Brings the share of writes up to date.
    #[inline]
    fn share(&mut self, at: u64) {
        // A division of 32 bits takes hosts half as long as one of 64.
        let share = match (self.writes as u32, self.open() as u32) {
            (0, _) => 0,
            (writes, open) => (writes * WHOLE_SHARE as u32 + open / 2) / open,
        };
        self.write_share.set(share.into(), at);
    }

    /// Writes the sums over the cycles before `now` into `counts`.
    pub(super) fn sum_up(&self, now: u64, counts: &mut DramDetail) {
        counts.busy_banks = self.busy.sum(now);
        counts.busy_cycles = self.any_busy.sum(now);
        counts.open_banks = self.open.sum(now);
        counts.open_cycles = self.any_open.sum(now);
        counts.open_groups = self.groups.sum(now);
        counts.write_shares = self.write_share.sum(now);
    }
}
