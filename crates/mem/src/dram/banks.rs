//! Banks and buses: which command goes out in a cycle.
//!
//! Every constraint is kept as the first cycle at which it holds no longer. Banks with work are
//! sorted into bit masks by what they need, so that a cycle looks only at candidates; when none
//! can go, the earliest cycle at which one can is kept and nothing is looked at until then.

mod waste;

use super::detail::{Detail, MAX_BANKS};
use super::timing::Timing;
use super::{DramCounters, Pending};
use crate::AccessKind;
use crate::dram::pipe::DataPipe;
use warploom_config::{DramSpec, ModelStyle};

/// How commands share the buses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bus {
    /// 3.2.2: the first bank that can do anything.
    One,
    /// 4.2: banks in turn; a column command ends the turn, a row command may go out before it.
    Shared,
    /// 4.2 with separate buses: one column and one row command.
    Dual,
}

/// Banks with work, by what they need next.
#[derive(Clone, Copy, Default, Debug)]
struct Needs {
    read: u64,
    write: u64,
    activate: u64,
    precharge: u64,
}

/// The banks of a channel.
#[derive(Clone, Debug)]
pub(super) struct Banks {
    timing: Timing,
    bus: Bus,
    count: u32,
    /// Bank group of each bank.
    group: Box<[u8]>,
    work: Box<[Option<Pending>]>,
    /// Open row, or the last that was.
    row: Box<[u32]>,
    active: u64,
    needs: Needs,
    /// Bank to be looked at first.
    first: u32,
    /// Reads are going out (else writes).
    reading: bool,
    // First cycles at which each constraint holds no longer.
    read_at: Box<[u64]>,
    write_at: Box<[u64]>,
    activate_at: Box<[u64]>,
    precharge_at: Box<[u64]>,
    group_column_at: Box<[u64]>,
    group_precharge_at: Box<[u64]>,
    any_column_at: u64,
    any_read_at: u64,
    any_write_at: u64,
    any_activate_at: u64,
    /// No command can go before this cycle unless a bank gets work.
    wake_at: u64,
    /// First cycle at which no timer that counts as activity runs.
    quiet_at: u64,
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
        let times = || vec![0; count].into_boxed_slice();
        Self {
            timing: Timing::new(spec),
            bus: match (style, spec.dual_bus) {
                (ModelStyle::V3, _) => Bus::One,
                (ModelStyle::V4, false) => Bus::Shared,
                (ModelStyle::V4, true) => Bus::Dual,
            },
            count: spec.banks,
            group: (0..spec.banks).map(|bank| group(bank) as u8).collect(),
            work: vec![None; count].into(),
            row: vec![0; count].into(),
            active: 0,
            needs: Needs::default(),
            first: 0,
            reading: true,
            read_at: times(),
            write_at: times(),
            activate_at: times(),
            precharge_at: times(),
            group_column_at: vec![0; groups as usize].into(),
            group_precharge_at: vec![0; groups as usize].into(),
            any_column_at: 0,
            any_read_at: 0,
            any_write_at: 0,
            any_activate_at: 0,
            wake_at: 0,
            quiet_at: 0,
        }
    }

    pub(super) fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Rows that are open, or were last.
    #[inline]
    pub(super) fn rows(&self) -> &[u32] {
        &self.row
    }

    /// Bank to be looked at first.
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.first
    }

    /// Banks without work, one bit each.
    #[inline]
    pub(super) fn idle(&self) -> u64 {
        !self.with_work() & (u64::MAX >> (64 - self.count))
    }

    #[inline]
    fn with_work(&self) -> u64 {
        let needs = self.needs;
        needs.read | needs.write | needs.activate | needs.precharge
    }

    /// No bank has work.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.with_work() == 0
    }

    /// First cycle at which no timer that counts as activity runs.
    #[inline]
    pub(super) fn quiet_at(&self) -> u64 {
        self.quiet_at
    }

    /// Gives an idle bank work. Returns whether the request is to the row that is (or was last)
    /// open.
    pub(super) fn assign(&mut self, pending: Pending) -> bool {
        let bank = pending.bank as usize;
        let bit = 1 << bank;
        let same_row = self.row[bank] == pending.row;
        let needs = if self.active & bit == 0 {
            &mut self.needs.activate
        } else if !same_row {
            &mut self.needs.precharge
        } else if pending.sided.request.kind.is_write() {
            &mut self.needs.write
        } else {
            &mut self.needs.read
        };
        *needs |= bit;
        self.work[bank] = Some(pending);
        self.wake_at = 0;
        same_row
    }

    /// Moves the bank to be looked at first on by one.
    pub(super) fn turn(&mut self) {
        self.first = (self.first + 1) % self.count;
    }

    /// Sends what can be sent in cycle `now`. Returns whether there was any command.
    #[inline]
    pub(super) fn issue(
        &mut self,
        now: u64,
        pipe: &mut DataPipe,
        (counters, detail): (&mut DramCounters, &mut Detail),
    ) -> bool {
        if now < self.wake_at || self.is_idle() {
            return false;
        }
        let issued = match self.bus {
            Bus::Dual => {
                let column = self.first_column(now, pipe, (&mut *counters, detail));
                let row = self.first_row(now, counters);
                column || row
            }
            Bus::Shared | Bus::One => self.in_turn(now, pipe, (counters, detail)),
        };
        self.wake_at = if issued { 0 } else { self.earliest(now, pipe) };
        issued
    }

    /// Banks whose column command waits for nothing shared.
    #[inline]
    fn columns(&self, now: u64, pipe: &DataPipe) -> u64 {
        if now < self.any_column_at || pipe.is_full() {
            return 0;
        }
        let read = if now >= self.any_read_at {
            self.needs.read
        } else {
            0
        };
        let write = if now >= self.any_write_at {
            self.needs.write
        } else {
            0
        };
        read | write
    }

    /// Banks whose row command waits for nothing shared.
    #[inline]
    fn rows_needed(&self, now: u64) -> u64 {
        let activate = if now >= self.any_activate_at {
            self.needs.activate
        } else {
            0
        };
        activate | self.needs.precharge
    }

    #[inline]
    fn column_ready(&self, bank: usize, now: u64) -> bool {
        let own = if self.needs.read >> bank & 1 == 1 {
            self.read_at[bank]
        } else {
            self.write_at[bank]
        };
        now >= own.max(self.group_column_at[usize::from(self.group[bank])])
    }

    #[inline]
    fn row_ready(&self, bank: usize, now: u64) -> bool {
        if self.needs.activate >> bank & 1 == 1 {
            now >= self.activate_at[bank]
        } else {
            let group = usize::from(self.group[bank]);
            now >= self.precharge_at[bank].max(self.group_precharge_at[group])
        }
    }

    fn first_column(
        &mut self,
        now: u64,
        pipe: &mut DataPipe,
        counts: (&mut DramCounters, &mut Detail),
    ) -> bool {
        let candidates = self.columns(now, pipe);
        let found = Turn::new(candidates, self.first).find(|&bank| self.column_ready(bank, now));
        if let Some(bank) = found {
            self.column(bank, now, pipe, counts);
        }
        found.is_some()
    }

    fn first_row(&mut self, now: u64, counters: &mut DramCounters) -> bool {
        let candidates = self.rows_needed(now);
        let found = Turn::new(candidates, self.first).find(|&bank| self.row_ready(bank, now));
        if let Some(bank) = found {
            self.row_command(bank, now, counters);
        }
        found.is_some()
    }

    /// Banks in turn from `first`. A row command moves `first` at once, and with it the rest of
    /// the turn: 4.2's order skips as many banks as were looked at before.
    fn in_turn(
        &mut self,
        now: u64,
        pipe: &mut DataPipe,
        (counters, detail): (&mut DramCounters, &mut Detail),
    ) -> bool {
        let columns = self.columns(now, pipe);
        let mut candidates = columns | self.rows_needed(now);
        let mut row_issued = false;
        let mut step = 0;
        while let Some(next) = next_in_turn(candidates, self.first, step, self.count) {
            step = next + 1;
            let bank = ((self.first + next) % self.count) as usize;
            if columns >> bank & 1 == 1 {
                if self.column_ready(bank, now) {
                    self.column(bank, now, pipe, (counters, detail));
                    return true;
                }
            } else if self.row_ready(bank, now) {
                self.row_command(bank, now, counters);
                if self.bus == Bus::One {
                    return true;
                }
                row_issued = true;
                candidates = columns;
            }
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
        let Some(pending) = &mut self.work[bank] else {
            unreachable!("a bank that needs a column command has work")
        };
        let kind = pending.sided.request.kind;
        let is_read = !kind.is_write();
        if is_read != self.reading {
            self.reading = is_read;
            pipe.set_delay(if is_read { t.cl } else { t.wl });
        }
        pending.bytes_left = pending.bytes_left.saturating_sub(t.atom_bytes);
        let is_last = pending.bytes_left == 0;
        if is_last {
            pipe.push(Some(pending.sided));
            self.work[bank] = None;
            self.needs.read &= !(1 << bank);
            self.needs.write &= !(1 << bank);
        } else {
            pipe.push(None);
        }
        count_column(counters, kind, t.burst);
        detail.column(bank, is_read, is_last, now);
        self.after_column(bank, now, is_read);
    }

    fn after_column(&mut self, bank: usize, now: u64, is_read: bool) {
        let t = self.timing;
        let group = usize::from(self.group[bank]);
        self.any_column_at = now + t.ccd;
        self.group_column_at[group] = now + t.ccdl;
        let turnaround = if is_read {
            self.any_write_at = now + t.rtw;
            self.precharge_at[bank] = self.precharge_at[bank].max(now + t.rtp);
            self.group_precharge_at[group] = now + t.rtpl;
            t.rtw
        } else {
            self.any_read_at = now + t.wtr;
            self.precharge_at[bank] = self.precharge_at[bank].max(now + t.wtp);
            t.wtr
        };
        self.quiet_at = self.quiet_at.max(now + t.ccd.max(turnaround));
    }

    fn row_command(&mut self, bank: usize, now: u64, counters: &mut DramCounters) {
        let t = self.timing;
        let bit = 1 << bank;
        if self.needs.activate & bit == 0 {
            self.needs.precharge &= !bit;
            self.needs.activate |= bit;
            self.active &= !bit;
            self.activate_at[bank] = self.activate_at[bank].max(now + t.rp);
            self.quiet_at = self.quiet_at.max(now + t.rp);
            counters.n_pre += 1;
        } else {
            let Some(pending) = &self.work[bank] else {
                unreachable!("a bank that needs a row command has work")
            };
            self.needs.activate &= !bit;
            if pending.sided.request.kind.is_write() {
                self.needs.write |= bit;
            } else {
                self.needs.read |= bit;
            }
            self.row[bank] = pending.row;
            self.active |= bit;
            self.any_activate_at = now + t.rrd;
            self.read_at[bank] = now + t.rcd;
            self.write_at[bank] = now + t.rcdwr;
            self.precharge_at[bank] = self.precharge_at[bank].max(now + t.ras);
            self.activate_at[bank] = now + t.rc;
            let longest = t.rrd.max(t.rcd).max(t.rcdwr).max(t.ras).max(t.rc);
            self.quiet_at = self.quiet_at.max(now + longest);
            counters.n_act += 1;
        }
        self.first = (bank as u32 + 1) % self.count;
    }

    /// Earliest cycle after `now` at which a command can go, as things are.
    fn earliest(&self, now: u64, pipe: &DataPipe) -> u64 {
        let mut earliest = u64::MAX;
        let column_at = |bank: usize| {
            self.any_column_at
                .max(self.group_column_at[usize::from(self.group[bank])])
        };
        for bank in Turn::new(self.needs.read, 0) {
            let at = column_at(bank)
                .max(self.any_read_at)
                .max(self.read_at[bank]);
            earliest = earliest.min(at);
        }
        for bank in Turn::new(self.needs.write, 0) {
            let at = column_at(bank)
                .max(self.any_write_at)
                .max(self.write_at[bank]);
            earliest = earliest.min(at);
        }
        for bank in Turn::new(self.needs.activate, 0) {
            earliest = earliest.min(self.any_activate_at.max(self.activate_at[bank]));
        }
        for bank in Turn::new(self.needs.precharge, 0) {
            let group = usize::from(self.group[bank]);
            earliest = earliest.min(self.precharge_at[bank].max(self.group_precharge_at[group]));
        }
        if pipe.is_full() {
            earliest = earliest.min(now + 1);
        }
        earliest.max(now + 1)
    }
}

fn count_column(counters: &mut DramCounters, kind: AccessKind, burst: u64) {
    match kind {
        AccessKind::L2WriteBack => counters.n_wr_bk += 1,
        AccessKind::L2WriteAllocate => counters.n_rd_l2_alloc += 1,
        kind if kind.is_write() => counters.n_write += 1,
        _ => counters.n_rd += 1,
    }
    counters.busy += burst;
}

/// First step from `from` (below `count`) at which bank `first + step` is in `mask`.
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

/// The banks in a mask, in turn from one of them.
struct Turn {
    above: u64,
    below: u64,
}

impl Turn {
    #[inline]
    fn new(mask: u64, first: u32) -> Self {
        let above = u64::MAX << first;
        Self {
            above: mask & above,
            below: mask & !above,
        }
    }
}

impl Iterator for Turn {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let part = if self.above == 0 {
            &mut self.below
        } else {
            &mut self.above
        };
        if *part == 0 {
            return None;
        }
        let bank = part.trailing_zeros() as usize;
        *part &= *part - 1;
        Some(bank)
    }
}
