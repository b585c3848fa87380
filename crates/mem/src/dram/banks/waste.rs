//! Where a channel's bandwidth goes: what the banks wait for, cycle by cycle (`dram_t::cycle`).

use super::Banks;
use crate::dram::detail::{BusUse, ColumnWait, DramDetail};
use crate::dram::pipe::DataPipe;

/// Banks in a mask. There are mostly none, and not every host has an instruction for it.
#[inline]
const fn banks_in(mask: u64) -> u64 {
    match mask {
        0 => 0,
        _ => mask.count_ones() as u64,
    }
}

impl Banks {
    /// Counts banks by what they have, before the commands of a cycle.
    #[inline]
    pub(in crate::dram) fn count_banks(&self, counts: &mut DramDetail) {
        let census = &self.census;
        debug_assert_eq!(census.busy, banks_in(self.with_work()));
        debug_assert_eq!(census.open, banks_in(self.needs.read | self.needs.write));
        debug_assert_eq!(census.writes, banks_in(self.needs.write));
        counts.busy_banks += census.busy;
        counts.busy_cycles += u64::from(census.busy > 0);
        counts.open_cycles += u64::from(census.open > 0);
        counts.open_banks += census.open;
        counts.write_shares += census.write_share;
        counts.open_groups += census.groups;
    }

    /// Counts banks whose column command could go out.
    #[inline]
    pub(super) fn count_ready(ready: u64, counts: &mut DramDetail) {
        counts.ready_banks += banks_in(ready);
        counts.ready_cycles += u64::from(ready != 0);
    }

    /// Counts what the data bus does in cycle `now`, whose commands have gone out.
    #[inline]
    pub(in crate::dram) fn count_bus(
        &mut self,
        now: u64,
        pipe: &DataPipe,
        counts: &mut DramDetail,
    ) {
        let usage = if now < self.any_column_at {
            BusUse::Used
        } else if self.census.open != 0 {
            self.count_waits(now, pipe, counts);
            BusUse::ColumnWait
        } else if !self.is_idle() {
            BusUse::RowWait
        } else {
            BusUse::Idle
        };
        counts.bus[usage as usize] += 1;
    }

    /// Cycles from `now` on in which the time between two column commands runs.
    pub(in crate::dram) fn column_time_left(&self, now: u64) -> u64 {
        self.any_column_at.saturating_sub(now)
    }

    fn count_waits(&mut self, now: u64, pipe: &DataPipe, counts: &mut DramDetail) {
        use ColumnWait as W;
        self.settle_opening(now);
        let (read, write, closed) = (self.needs.read, self.needs.write, self.closed_groups(now));
        let (open, writes) = (self.census.open, self.census.writes);
        let reads = open - writes;
        let closed_reads = banks_in(read & closed);
        let closed_writes = banks_in(write & closed);
        let read_turns = u64::from(now < self.any_read_at);
        let write_turns = u64::from(now < self.any_write_at);
        let full = u64::from(pipe.is_full());
        let mut count = |why: W, banks: u64| counts.column_waits[why as usize] += banks;
        count(W::Rcd, banks_in(read & self.opening_read));
        count(W::Rcdwr, banks_in(write & self.opening_write));
        count(W::Ccdl, closed_reads + closed_writes);
        count(W::Wtr, reads * read_turns);
        count(W::Rtw, writes * write_turns);
        count(W::DataPipe, open * full);
        let alone = closed_reads * (1 - read_turns) + closed_writes * (1 - write_turns);
        count(W::CcdlAlone, alone);
        count(W::WtrAlone, (reads - closed_reads) * read_turns);
        count(W::RtwAlone, (writes - closed_writes) * write_turns);
    }
}
