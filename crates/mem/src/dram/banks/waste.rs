//! Where a channel's bandwidth goes: what the banks wait for, cycle by cycle (`dram_t::cycle`).

use super::{Banks, Turn};
use crate::dram::detail::{BusUse, ColumnWait, DramDetail, WHOLE_SHARE};
use crate::dram::pipe::DataPipe;

impl Banks {
    /// Counts banks by what they could do, before the commands of cycle `now`.
    #[inline]
    pub(in crate::dram) fn count_banks(&self, now: u64, pipe: &DataPipe, counts: &mut DramDetail) {
        let busy = self.with_work();
        if busy == 0 {
            return;
        }
        counts.busy_banks += u64::from(busy.count_ones());
        counts.busy_cycles += 1;
        let open = self.needs.read | self.needs.write;
        if open == 0 {
            return;
        }
        let (banks, writes) = (open.count_ones(), self.needs.write.count_ones());
        counts.open_cycles += 1;
        counts.open_banks += u64::from(banks);
        let (banks, writes) = (u64::from(banks), u64::from(writes));
        counts.write_shares += (writes * WHOLE_SHARE + banks / 2) / banks;
        let group = |groups: u64, bank: usize| groups | 1 << self.group[bank];
        let groups = Turn::new(open, 0).fold(0, group);
        counts.open_groups += u64::from(groups.count_ones());
        if now < self.wake_at {
            return;
        }
        let columns = Turn::new(self.columns(now, pipe), 0);
        let ready = columns.filter(|&bank| self.column_ready(bank, now)).count();
        counts.ready_banks += ready as u64;
        counts.ready_cycles += u64::from(ready > 0);
    }

    /// Counts what the data bus does in cycle `now`, whose commands have gone out.
    #[inline]
    pub(in crate::dram) fn count_bus(&self, now: u64, pipe: &DataPipe, counts: &mut DramDetail) {
        let open = self.needs.read | self.needs.write;
        let usage = if now < self.any_column_at {
            BusUse::Used
        } else if open != 0 {
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

    fn count_waits(&self, now: u64, pipe: &DataPipe, counts: &mut DramDetail) {
        use ColumnWait as W;
        let full = pipe.is_full();
        let mut count = |why: W, waits: bool| {
            counts.column_waits[why as usize] += u64::from(waits);
        };
        let group_waits = |bank: usize| now < self.group_column_at[usize::from(self.group[bank])];
        let turned = now < self.any_read_at;
        for bank in Turn::new(self.needs.read, 0) {
            let group = group_waits(bank);
            count(W::Rcd, now < self.read_at[bank]);
            count(W::Ccdl, group);
            count(W::Wtr, turned);
            count(W::DataPipe, full);
            count(W::CcdlAlone, group && !turned);
            count(W::WtrAlone, !group && turned);
        }
        let turned = now < self.any_write_at;
        for bank in Turn::new(self.needs.write, 0) {
            let group = group_waits(bank);
            count(W::Rcdwr, now < self.write_at[bank]);
            count(W::Ccdl, group);
            count(W::Rtw, turned);
            count(W::DataPipe, full);
            count(W::CcdlAlone, group && !turned);
            count(W::RtwAlone, !group && turned);
        }
    }
}
