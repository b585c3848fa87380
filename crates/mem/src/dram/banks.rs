//! Banks and buses of a channel: the commands issued in a cycle.
//!
//! A constraint is kept as the first cycle at which it no longer holds. Banks with work are sorted
//! into bit masks by the command that they need, and banks that a constraint holds back into
//! further masks, so that a cycle looks at masks and not at banks. When no command can be issued, a
//! cycle before which none can is kept, and nothing is looked at until then.

mod bus_use;
mod census;

use super::DramCounters;
use super::detail::{Detail, MAX_BANKS};
use super::in_flight::{Pending, Ticket};
use super::timing::Timing;
use crate::AccessKind;
use crate::dram::pipe::DataPipe;
use census::Census;
use warploom_config::{DramSpec, ModelStyle};
use warploom_state::{State, Value};

/// Sharing of the command buses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bus {
    /// GPGPU-Sim 3.2.2: one command, of the first bank that can send any.
    One,
    /// GPGPU-Sim 4.2: banks in turn; a column command ends the turn, and a row command may be
    /// issued before it.
    Shared,
    /// GPGPU-Sim 4.2 with separate buses: one column and one row command.
    Dual,
}

/// Banks with work, by the command that they need next.
#[derive(Clone, Copy, Default, Debug, Value)]
struct Needs {
    read: u64,
    write: u64,
    activate: u64,
    precharge: u64,
}

/// A bank: its work, if it has any, and for each constraint of its own the first cycle at which it
/// no longer holds. One cache line of the host.
#[derive(Clone, Copy, Debug, Value)]
#[repr(align(64))]
struct Bank {
    read_at: u64,
    write_at: u64,
    activate_at: u64,
    precharge_at: u64,
    ticket: Ticket,
    row: u32,
    /// Bytes for which no column command has been issued.
    bytes_left: u32,
    group: u8,
}

/// A group of banks.
#[derive(Clone, Copy, Debug, Value)]
struct Group {
    column_at: u64,
    precharge_at: u64,
    /// Banks of the group.
    banks: u64,
}

/// Banks of a channel. Fields that every cycle needs come first in memory.
#[derive(Clone, Debug, State)]
#[repr(C)]
pub(super) struct Banks {
    needs: Needs,
    /// Banks without work, one bit each.
    idle: u64,
    /// Cycle before which no command can be issued unless a bank gets work.
    wake_at: u64,
    /// Cycle before which no row command can be issued unless a bank gets work.
    rows_wake_at: u64,
    /// First cycle at which no timer that counts as activity runs.
    quiet_at: u64,
    // First cycles at which the constraints of all banks no longer hold.
    any_column_at: u64,
    any_read_at: u64,
    any_write_at: u64,
    any_activate_at: u64,
    active: u64,
    /// Banks for which the time from activate to read may still run.
    opening_read: u64,
    /// Banks for which the time from activate to write may still run.
    opening_write: u64,
    /// Groups in which the time between two column commands may still run.
    closing: u64,
    /// Cycle up to which the use of the data bus is counted (`settle_bus`).
    settled_to: u64,
    /// Cycle after the one in which the last bank with work finished.
    idle_from: u64,
    /// Cycles without work before `idle_from` in which a timer ran that counts as activity.
    idle_activity: u64,
    /// First bank of the order.
    first: u32,
    count: u32,
    #[state(fixed)]
    bus: Bus,
    /// True while reads are sent, false while writes are.
    reading: bool,
    banks: Box<[Bank]>,
    groups: Box<[Group]>,
    /// Row that each bank has open, or had open last.
    row: Box<[u32]>,
    census: Census,
    #[state(fixed)]
    timing: Timing,
}

impl Banks {
    pub(super) fn new(spec: &DramSpec, style: ModelStyle) -> Self {
        let count = spec.banks as usize;
        assert!(count <= MAX_BANKS, "more banks than bits of a mask");
        let groups = spec.bank_groups.max(1);
        let per_group = (spec.banks / groups).max(1);
        let group = |bank: u32| {
            if spec.group_by_low_bits {
                bank % groups
            } else {
                bank / per_group
            }
        };
        let bank = |bank| Bank {
            read_at: 0,
            write_at: 0,
            activate_at: 0,
            precharge_at: 0,
            ticket: Ticket {
                slot: 0,
                bytes: 0,
                kind: AccessKind::GlobalRead,
                l2_bank: 0,
            },
            row: 0,
            bytes_left: 0,
            group: group(bank) as u8,
        };
        let of_group = |number| Group {
            column_at: 0,
            precharge_at: 0,
            banks: (0..spec.banks)
                .filter(|bank| group(*bank) == number)
                .fold(0, |mask, bank| mask | 1 << bank),
        };
        Self {
            timing: Timing::new(spec),
            bus: match (style, spec.dual_bus) {
                (ModelStyle::V3, _) => Bus::One,
                (ModelStyle::V4, false) => Bus::Shared,
                (ModelStyle::V4, true) => Bus::Dual,
            },
            count: spec.banks,
            banks: (0..spec.banks).map(bank).collect(),
            groups: (0..groups).map(of_group).collect(),
            row: vec![0; count].into(),
            active: 0,
            needs: Needs::default(),
            idle: u64::MAX >> (64 - spec.banks),
            census: Census::new(groups as usize),
            opening_read: 0,
            opening_write: 0,
            closing: 0,
            settled_to: 0,
            idle_from: 0,
            idle_activity: 0,
            first: 0,
            reading: true,
            any_column_at: 0,
            any_read_at: 0,
            any_write_at: 0,
            any_activate_at: 0,
            wake_at: 0,
            rows_wake_at: 0,
            quiet_at: 0,
        }
    }

    pub(super) fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Row that each bank has open, or had open last.
    #[inline]
    pub(super) fn rows(&self) -> &[u32] {
        &self.row
    }

    /// First bank of the order.
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// Banks without work, one bit each.
    #[inline]
    pub(super) fn idle(&self) -> u64 {
        self.idle
    }

    /// True if no bank has work.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.census.busy() == 0
    }

    /// Cycle before which no command can be issued unless a bank gets work.
    #[inline]
    pub(super) fn wakes_at(&self) -> u64 {
        if self.is_idle() {
            u64::MAX
        } else {
            self.wake_at
        }
    }

    /// Gives an idle bank work in cycle `now`, up to which the use of the bus has been counted.
    /// Returns whether the request is to the row that the bank has open, or had open last.
    #[inline]
    pub(super) fn assign(&mut self, pending: &Pending, now: u64) -> bool {
        let at = pending.bank as usize;
        let bit = 1 << at;
        let same_row = self.row[at] == pending.row;
        let bank = &mut self.banks[at];
        (bank.ticket, bank.row) = (pending.ticket, pending.row);
        bank.bytes_left = pending.ticket.bytes.into();
        if self.is_idle() {
            self.idle_activity += self.idle_activity(now);
        }
        self.census.begin(now);
        self.idle &= !bit;
        if same_row && self.active & bit != 0 {
            self.need_column(at, now);
            self.wake_at = self.wake_at.min(self.any_column_at);
            return true;
        }
        let needs = match self.active & bit {
            0 => &mut self.needs.activate,
            _ => &mut self.needs.precharge,
        };
        *needs |= bit;
        (self.wake_at, self.rows_wake_at) = (0, 0);
        same_row
    }

    /// Marks a bank as one that needs a column command, counted from cycle `from` on.
    #[inline(always)]
    fn need_column(&mut self, at: usize, from: u64) {
        let bank = &self.banks[at];
        let is_write = bank.ticket.kind.is_write();
        let needs = match is_write {
            true => &mut self.needs.write,
            false => &mut self.needs.read,
        };
        *needs |= 1 << at;
        self.census.find_open(is_write, bank.group, from);
    }

    /// Makes the next bank the first of the order.
    pub(super) fn turn(&mut self) {
        self.first = self.wrap(self.first + 1);
    }

    /// Number of a bank, counted from 0 again after the last.
    #[inline]
    fn wrap(&self, bank: u32) -> u32 {
        if bank < self.count {
            bank
        } else {
            bank - self.count
        }
    }

    /// Issues the commands of cycle `now`. Returns whether there was any.
    #[inline(always)]
    pub(super) fn issue(
        &mut self,
        now: u64,
        pipe: &mut DataPipe,
        (counters, detail): (&mut DramCounters, &mut Detail),
    ) -> bool {
        if now < self.wake_at || self.is_idle() {
            return false;
        }
        self.settle_bus(now, pipe, &mut detail.counts);
        let columns = self.ready_columns(now, pipe);
        Self::count_ready(columns, &mut detail.counts);
        let issued = match self.bus {
            Bus::Dual => {
                let column = self.first_column(columns, now, pipe, (&mut *counters, detail));
                let row = self.first_row(now, counters);
                column || row
            }
            Bus::Shared | Bus::One => self.in_turn(columns, now, pipe, (counters, detail)),
        };
        self.wake_at = self.columns_wake_at(now).min(self.rows_wake_at);
        issued
    }

    /// Banks whose column command can be issued.
    #[inline]
    fn ready_columns(&mut self, now: u64, pipe: &DataPipe) -> u64 {
        if now < self.any_column_at || pipe.is_full(now) {
            return 0;
        }
        let turned = |at: u64, banks: u64| if now >= at { banks } else { 0 };
        let read = turned(self.any_read_at, self.needs.read);
        let write = turned(self.any_write_at, self.needs.write);
        if read | write == 0 {
            return 0;
        }
        self.settle_opening(now);
        (read & !self.opening_read | write & !self.opening_write) & !self.closed_groups(now)
    }

    /// Takes banks out of the masks for which the time from activate to column is over.
    #[inline]
    fn settle_opening(&mut self, now: u64) {
        for bank in Members(self.opening_read) {
            self.opening_read &= !(u64::from(now >= self.banks[bank].read_at) << bank);
        }
        for bank in Members(self.opening_write) {
            self.opening_write &= !(u64::from(now >= self.banks[bank].write_at) << bank);
        }
    }

    /// Banks of the groups in which the time between two column commands runs.
    #[inline]
    fn closed_groups(&mut self, now: u64) -> u64 {
        let mut closed = 0;
        for group in Members(self.closing) {
            if now < self.groups[group].column_at {
                closed |= self.groups[group].banks;
            } else {
                self.closing &= !(1 << group);
            }
        }
        closed
    }

    /// Banks whose row command can be issued. If there is none, the cycle of the next is noted.
    #[inline]
    fn ready_rows(&mut self, now: u64) -> u64 {
        if now < self.rows_wake_at {
            return 0;
        }
        self.find_ready_rows(now)
    }

    fn find_ready_rows(&mut self, now: u64) -> u64 {
        let (mut ready, mut earliest) = (0, u64::MAX);
        for bank in Members(self.needs.activate | self.needs.precharge) {
            let at = self.row_at(bank);
            ready |= u64::from(now >= at) << bank;
            earliest = earliest.min(at);
        }
        // A command that is issued, or that another one holds back, changes the next cycle.
        self.rows_wake_at = if ready == 0 { earliest } else { 0 };
        ready
    }

    /// First cycle at which a bank's row command can be issued, as constraints stand.
    #[inline]
    fn row_at(&self, at: usize) -> u64 {
        let bank = &self.banks[at];
        if self.needs.activate >> at & 1 == 1 {
            self.any_activate_at.max(bank.activate_at)
        } else {
            let group = &self.groups[usize::from(bank.group)];
            bank.precharge_at.max(group.precharge_at)
        }
    }

    fn first_column(
        &mut self,
        ready: u64,
        now: u64,
        pipe: &mut DataPipe,
        counts: (&mut DramCounters, &mut Detail),
    ) -> bool {
        let found = first_from(ready, self.first);
        if let Some(bank) = found {
            self.column(bank, now, pipe, counts);
        }
        found.is_some()
    }

    fn first_row(&mut self, now: u64, counters: &mut DramCounters) -> bool {
        let found = first_from(self.ready_rows(now), self.first);
        if let Some(bank) = found {
            self.row_command(bank, now, counters);
        }
        found.is_some()
    }

    /// Issues commands of banks in turn from `first`; the banks of `columns` can send a column
    /// command. A row command moves `first` at once, and with it the rest of the turn: GPGPU-Sim
    /// 4.2's order skips as many banks as were looked at before.
    #[inline]
    fn in_turn(
        &mut self,
        columns: u64,
        now: u64,
        pipe: &mut DataPipe,
        (counters, detail): (&mut DramCounters, &mut Detail),
    ) -> bool {
        let rows = self.ready_rows(now);
        if rows == 0 {
            return self.first_column(columns, now, pipe, (counters, detail));
        }
        let mut candidates = columns | rows;
        let mut row_issued = false;
        let mut step = 0;
        while let Some(next) = next_in_turn(candidates, self.first, step, self.count) {
            step = next + 1;
            let bank = self.wrap(self.first + next) as usize;
            if columns >> bank & 1 == 1 {
                self.column(bank, now, pipe, (counters, detail));
                return true;
            }
            self.row_command(bank, now, counters);
            if self.bus == Bus::One {
                return true;
            }
            row_issued = true;
            candidates = columns;
        }
        row_issued
    }

    fn column(
        &mut self,
        bank: usize,
        now: u64,
        pipe: &mut DataPipe,
        (counters, detail): (&mut DramCounters, &mut Detail),
    ) {
        let t = self.timing;
        let work = &mut self.banks[bank];
        let (kind, group) = (work.ticket.kind, work.group);
        let is_read = !kind.is_write();
        if is_read != self.reading {
            self.reading = is_read;
            pipe.set_delay(if is_read { t.cl } else { t.wl });
        }
        work.bytes_left = work.bytes_left.saturating_sub(t.atom_bytes);
        let is_last = work.bytes_left == 0;
        pipe.push(now, is_last.then_some(work.ticket));
        if is_last {
            self.needs.read &= !(1 << bank);
            self.needs.write &= !(1 << bank);
            self.idle |= 1 << bank;
            self.census.end(!is_read, group, now + 1);
            self.idle_from = now + 1;
        }
        count_column(counters, kind);
        detail.column(bank, is_read, is_last, now);
        self.after_column(bank, now, is_read);
    }

    fn after_column(&mut self, bank: usize, now: u64, is_read: bool) {
        let t = self.timing;
        let bank = &mut self.banks[bank];
        let group = &mut self.groups[usize::from(bank.group)];
        self.any_column_at = now + t.ccd;
        group.column_at = now + t.ccdl;
        self.closing |= 1 << bank.group;
        let turnaround = if is_read {
            self.any_write_at = now + t.rtw;
            bank.precharge_at = bank.precharge_at.max(now + t.rtp);
            group.precharge_at = now + t.rtpl;
            t.rtw
        } else {
            self.any_read_at = now + t.wtr;
            bank.precharge_at = bank.precharge_at.max(now + t.wtp);
            t.wtr
        };
        self.quiet_at = self.quiet_at.max(now + t.ccd.max(turnaround));
    }

    fn row_command(&mut self, at: usize, now: u64, counters: &mut DramCounters) {
        let t = self.timing;
        let bit = 1 << at;
        let bank = &mut self.banks[at];
        if self.needs.activate & bit == 0 {
            self.needs.precharge &= !bit;
            self.needs.activate |= bit;
            self.active &= !bit;
            bank.activate_at = bank.activate_at.max(now + t.rp);
            self.quiet_at = self.quiet_at.max(now + t.rp);
            counters.precharges += 1;
        } else {
            self.needs.activate &= !bit;
            self.row[at] = bank.row;
            self.active |= bit;
            self.any_activate_at = now + t.rrd;
            bank.read_at = now + t.rcd;
            bank.write_at = now + t.rcdwr;
            bank.precharge_at = bank.precharge_at.max(now + t.ras);
            bank.activate_at = now + t.rc;
            self.opening_read |= bit;
            self.opening_write |= bit;
            self.need_column(at, now + 1);
            let longest = t.rrd.max(t.rcd).max(t.rcdwr).max(t.ras).max(t.rc);
            self.quiet_at = self.quiet_at.max(now + longest);
            counters.activates += 1;
        }
        self.rows_wake_at = 0;
        self.first = self.wrap(at as u32 + 1);
    }

    /// A cycle after `now` before which no column command can be issued. The constraints of all
    /// banks are usually the longest; single banks are looked at only once those are over.
    #[inline]
    fn columns_wake_at(&self, now: u64) -> u64 {
        let shared = |needs: u64, at: u64| match needs {
            0 => u64::MAX,
            _ => at.max(self.any_column_at),
        };
        let read = shared(self.needs.read, self.any_read_at);
        let write = shared(self.needs.write, self.any_write_at);
        if read.min(write) > now {
            return read.min(write);
        }
        self.bank_wakes_at(read, write)
    }

    /// First cycle at which the column command of any bank can be issued: reads from cycle `read`
    /// on, writes from cycle `write` on.
    fn bank_wakes_at(&self, read: u64, write: u64) -> u64 {
        let own = |bank: usize, at: u64| {
            let group = usize::from(self.banks[bank].group);
            at.max(self.groups[group].column_at)
        };
        let reads = Members(self.needs.read);
        let reads = reads.map(|bank| own(bank, read.max(self.banks[bank].read_at)));
        let writes = Members(self.needs.write);
        let writes = writes.map(|bank| own(bank, write.max(self.banks[bank].write_at)));
        reads.chain(writes).min().unwrap_or(u64::MAX)
    }
}

#[inline]
fn count_column(counters: &mut DramCounters, kind: AccessKind) {
    match kind {
        AccessKind::L2WriteBack => counters.write_backs += 1,
        AccessKind::L2WriteAllocate => counters.allocate_reads += 1,
        kind if kind.is_write() => counters.writes += 1,
        _ => counters.reads += 1,
    }
}

/// First step, counted from `from` on and below `count`, for which bank `first + step` is in
/// `mask`.
#[inline]
fn next_in_turn(mask: u64, first: u32, from: u32, count: u32) -> Option<u32> {
    if from >= count {
        return None;
    }
    let all = u64::MAX >> (64 - count);
    let turned = if first == 0 {
        mask
    } else {
        (mask >> first | mask << (count - first)) & all
    };
    let left = turned & (u64::MAX << from);
    (left != 0).then(|| left.trailing_zeros())
}

/// First bank of a mask in the order that starts at `first`.
#[inline]
fn first_from(mask: u64, first: u32) -> Option<usize> {
    let above = mask & (u64::MAX << first);
    let from = if above == 0 { mask } else { above };
    (from != 0).then(|| from.trailing_zeros() as usize)
}

/// Iterator over the banks, or groups, of a mask.
struct Members(u64);

impl Iterator for Members {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let first = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(first)
    }
}
