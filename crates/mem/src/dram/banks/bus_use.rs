//! Use of the data bus: for each cycle without data, the constraints that banks wait for
//! (`dram_t::cycle`).

use super::{Banks, Members, Needs};
use crate::dram::detail::{BusUse, ColumnWait, DramDetail};
use crate::dram::pipe::DataPipe;

/// Number of ones of each byte: not every host counts them with an instruction.
const BITS: [u8; 256] = {
    let mut bits = [0; 256];
    let mut byte = 1;
    while byte < 256 {
        bits[byte] = bits[byte / 2] + byte as u8 % 2;
        byte += 1;
    }
    bits
};

/// Number of banks in a mask. Most channels have at most 16.
#[inline]
const fn banks_in(mask: u64) -> u64 {
    if mask >> 16 != 0 {
        return mask.count_ones() as u64;
    }
    BITS[mask as u8 as usize] as u64 + BITS[(mask >> 8) as u8 as usize] as u64
}

impl Banks {
    /// Counts the banks of `ready`, whose column command could be issued.
    #[inline]
    pub(super) fn count_ready(ready: u64, counts: &mut DramDetail) {
        counts.ready_banks += banks_in(ready);
        counts.ready_cycles += u64::from(ready != 0);
    }

    /// Counts the waits of the data bus before cycle `to`. Must be called before every change that
    /// they depend on: a command, work for a bank, a cycle in which the pipe is held up. Cycles in
    /// which the bus is used follow from the number of column commands.
    #[inline]
    pub(in crate::dram) fn settle_bus(
        &mut self,
        to: u64,
        pipe: &DataPipe,
        counts: &mut DramDetail,
    ) {
        let from = self.settled_to.max(self.any_column_at);
        self.settled_to = to;
        if from < to && !self.is_idle() {
            self.count_waits((from, to), pipe, counts);
        }
    }

    /// Completes the counts of the cycles before `now`, in which `columns` column commands were
    /// issued.
    pub(in crate::dram) fn sum_up(
        &self,
        (now, columns): (u64, u64),
        pipe: &DataPipe,
        counts: &mut DramDetail,
    ) {
        self.clone().settle_bus(now, pipe, counts);
        self.census.sum_up(now, counts);
        let [used, column_wait, row_wait, idle] = &mut counts.bus;
        *used = columns * self.timing.ccd - self.any_column_at.saturating_sub(now);
        *idle = now - *used - *column_wait - *row_wait;
    }

    /// Number of cycles before `now` with work or a running timer.
    pub(in crate::dram) fn active_cycles(&self, now: u64) -> u64 {
        let idle = if self.is_idle() {
            self.idle_activity(now)
        } else {
            0
        };
        self.census.busy_cycles(now) + self.idle_activity + idle
    }

    /// Number of cycles before `now`, since all banks went idle, in which a timer ran.
    pub(super) fn idle_activity(&self, now: u64) -> u64 {
        self.quiet_at.clamp(self.idle_from, now) - self.idle_from
    }

    /// Counts the waits of the cycles from `from` up to `to`, in which the bus is not used.
    fn count_waits(&self, (from, to): (u64, u64), pipe: &DataPipe, counts: &mut DramDetail) {
        use ColumnWait as W;
        let (open, writes) = (self.census.open(), self.census.writes);
        let Needs {
            read,
            write,
            activate,
            precharge,
        } = self.needs;
        let with_work = read | write | activate | precharge;
        debug_assert_eq!(with_work & self.idle, 0);
        debug_assert_eq!(self.census.busy(), banks_in(with_work));
        debug_assert_eq!((open, writes), (banks_in(read | write), banks_in(write)));
        if open == 0 {
            counts.bus[BusUse::RowWait as usize] += to - from;
            return;
        }
        counts.bus[BusUse::ColumnWait as usize] += to - from;
        let cycles_to = |at: u64| at.clamp(from, to) - from;
        let mut count = |why: W, cycles: u64| counts.column_waits[why as usize] += cycles;
        for bank in Members(read & self.opening_read) {
            count(W::Rcd, cycles_to(self.banks[bank].read_at));
        }
        for bank in Members(write & self.opening_write) {
            count(W::Rcdwr, cycles_to(self.banks[bank].write_at));
        }
        count(W::DataPipe, open * cycles_to(pipe.room_at()));
        let read_turn = cycles_to(self.any_read_at);
        let write_turn = cycles_to(self.any_write_at);
        count(W::Wtr, (open - writes) * read_turn);
        count(W::Rtw, writes * write_turn);
        let (mut wtr_alone, mut rtw_alone) = ((open - writes) * read_turn, writes * write_turn);
        for group in Members(self.closing) {
            let group = &self.groups[group];
            let closed = cycles_to(group.column_at);
            let (reads, writes) = (banks_in(read & group.banks), banks_in(write & group.banks));
            let reads_with_both = reads * closed.min(read_turn);
            let writes_with_both = writes * closed.min(write_turn);
            let both = reads_with_both + writes_with_both;
            count(W::Ccdl, (reads + writes) * closed);
            count(W::CcdlAlone, (reads + writes) * closed - both);
            wtr_alone -= reads_with_both;
            rtw_alone -= writes_with_both;
        }
        count(W::WtrAlone, wtr_alone);
        count(W::RtwAlone, rtw_alone);
    }
}
