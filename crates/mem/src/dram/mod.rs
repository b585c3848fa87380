//! DRAM channels: arbitration between L2 banks, fixed latency, scheduler, banks and buses (model
//! page, sections 8 and 9).

mod arbiter;
mod banks;
mod detail;
mod inside;
mod pipe;
mod scheduler;
mod timing;

use crate::AccessKind;
use crate::address::AddressDecoder;
use crate::hash::{Ipoly, xor};
use crate::partition::SubPartition;
use crate::timed::Timed;
use arbiter::Arbiter;
use banks::Banks;
use core::hint::cold_path;
use detail::Detail;
pub use detail::{BANKS, BUS_USES, COLUMN_WAITS, DramDetail, MAX_BANKS, WHOLE_SHARE};
use inside::{Pending, Requests, Ticket};
use pipe::DataPipe;
use scheduler::Scheduler;
use warploom_base::{Cycle, FixedQueue};
use warploom_config::{BankIndex, DramScheduler, GpuSpec};
use warploom_stats::{LOG2_BINS, Peak, log2_bin};

/// Counters of a channel, with GPGPU-Sim's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DramCounters {
    /// Command cycles (`n_cmd`).
    pub n_cmd: u64,
    /// Cycles without a command (`n_nop`).
    pub n_nop: u64,
    /// Activates.
    pub n_act: u64,
    /// Precharges.
    pub n_pre: u64,
    /// Requests taken.
    pub n_req: u64,
    /// Column reads, but for those that L2 makes for a write.
    pub n_rd: u64,
    /// Column reads that L2 makes for a write (`n_rd_L2_A`).
    pub n_rd_l2_alloc: u64,
    /// Column writes that are not write-backs.
    pub n_write: u64,
    /// Column writes of write-backs.
    pub n_wr_bk: u64,
    /// Data-bus cycles in use, the numerator of bandwidth utilisation: bursts x burst length /
    /// data ratio.
    pub busy: u64,
    /// Cycles with work or a running timer (`n_activity`).
    pub active: u64,
    /// Requests to the row that their bank had open (or had last).
    pub row_hits: u64,
    /// Requests to another row.
    pub row_misses: u64,
    /// The part of `row_hits` that reads.
    pub row_hits_read: u64,
    /// The part of `row_misses` that reads.
    pub row_misses_read: u64,
    /// Sum over cycles of requests in the scheduler.
    pub queue_occupancy: u64,
    /// Most requests in the scheduler at once, so far in the run.
    pub queue_max: Peak,
    /// Core cycles from a request's arrival to its bank, summed over requests.
    pub wait_cycles: u64,
    /// The longest of those times so far in the run.
    pub wait_cycles_max: Peak,
    /// Requests by the logarithm of that time.
    pub waits: [u64; LOG2_BINS.len()],
}

impl DramCounters {
    /// A bank got a request, to the row that it had open or not.
    fn assigned(&mut self, pending: &Pending, hit: bool, now_core: Cycle) {
        let read = u64::from(!pending.ticket.kind.is_write());
        if hit {
            self.row_hits += 1;
            self.row_hits_read += read;
        } else {
            self.row_misses += 1;
            self.row_misses_read += read;
        }
        let waited = now_core - pending.arrived_at;
        self.wait_cycles += waited;
        self.wait_cycles_max.note(waited);
        self.waits[log2_bin(waited)] += 1;
    }
}

/// How a bank's number is hashed.
#[derive(Clone, Debug)]
enum BankHash {
    Linear,
    Xor,
    Ipoly(Ipoly),
}

/// A DRAM channel with the arbitration between its L2 banks. What every cycle needs comes first, as
/// it lies in memory.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct DramChannel {
    requests: Requests,
    /// Requests in the fixed delay, with the core cycle at which they leave it.
    delayed: Timed<Pending>,
    returns: FixedQueue<Ticket>,
    pipe: DataPipe,
    banks: Banks,
    scheduler: Scheduler,
    counters: DramCounters,
    arbiter: Arbiter,
    latency_cycles: Cycle,
    bank_count: u32,
    /// The bank that is looked at first changes with each request scheduled.
    takes_turns: bool,
    decoder: AddressDecoder,
    bank_hash: BankHash,
    detail: Detail,
}

/// Replies that wait where the specification sets no limit.
const UNLIMITED_RETURNS: usize = 1024;

impl DramChannel {
    /// An idle channel.
    pub fn new(spec: &GpuSpec) -> Self {
        let dram = &spec.dram;
        let banks = Banks::new(dram, spec.gpu.style);
        Self {
            decoder: AddressDecoder::new(spec),
            bank_hash: match dram.bank_index {
                BankIndex::Linear => BankHash::Linear,
                BankIndex::Xor => BankHash::Xor,
                BankIndex::Ipoly => BankHash::Ipoly(Ipoly::new(dram.banks)),
            },
            bank_count: dram.banks,
            latency_cycles: spec.partition.dram_latency_cycles.into(),
            arbiter: Arbiter::new(spec.gpu.sub_partitions_per_channel, dram),
            requests: Requests::new(128),
            delayed: Timed::new(64),
            scheduler: Scheduler::new(dram),
            takes_turns: dram.scheduler == DramScheduler::FrFcfs,
            pipe: DataPipe::new(banks.timing().cl),
            banks,
            returns: FixedQueue::new(match dram.return_queue {
                0 => UNLIMITED_RETURNS,
                n => n as usize,
            }),
            counters: DramCounters::default(),
            detail: Detail::new(dram.banks),
        }
    }

    /// One DRAM cycle: returns one finished request to its L2 bank, steps the banks, takes one
    /// request from the L2 banks into the latency queue and one from there into the scheduler.
    /// `banks` are this channel's sub-partitions in order.
    pub fn cycle(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        if self.is_quiet() && !self.delayed.is_due(now_core) && nothing_waits(banks) {
            return self.skip(1);
        }
        self.return_one(banks);
        self.step(now_core);
        self.take_one(now_core, banks);
        self.leave_delay(now_core);
    }

    fn return_one(&mut self, banks: &mut [SubPartition]) {
        let Some(&ticket) = self.returns.front() else {
            return;
        };
        let side = usize::from(ticket.side);
        let bank = &mut banks[side];
        if bank.can_take_from_dram() {
            self.returns.pop();
            self.arbiter.give_back(side);
            bank.push_from_dram(*self.requests.remove(ticket));
        }
    }

    /// The DRAM itself.
    fn step(&mut self, now_core: Cycle) {
        let now = self.counters.n_cmd;
        if !self.returns.is_full()
            && let Some(finished) = self.pipe.step()
        {
            self.finish(finished);
        }
        self.schedule(now_core);
        let was_active = !self.banks.is_idle() || now < self.banks.quiet_at();
        let Self {
            banks,
            pipe,
            counters,
            detail,
            ..
        } = self;
        banks.count_banks(&mut detail.counts);
        let issued = banks.issue(now, pipe, (counters, detail));
        banks.count_bus(now, pipe, &mut detail.counts);
        self.counters.n_cmd += 1;
        self.counters.n_nop += u64::from(!issued);
        self.counters.active += u64::from(was_active);
    }

    /// Write-backs end here; anything else is returned.
    fn finish(&mut self, finished: Ticket) {
        if matches!(
            finished.kind,
            AccessKind::L1WriteBack | AccessKind::L2WriteBack
        ) {
            self.arbiter.give_back(finished.side.into());
            self.requests.remove(finished);
        } else {
            self.returns.push(finished);
        }
    }

    /// Gives at most one bank work.
    fn schedule(&mut self, now_core: Cycle) {
        if self.scheduler.len() > 0 {
            let (idle, first) = (self.banks.idle(), self.banks.first());
            if let Some(pending) = self.scheduler.take(idle, first, self.banks.rows()) {
                self.assign(&pending, now_core);
            }
            let waiting = self.scheduler.len() as u64;
            self.counters.queue_occupancy += waiting;
            self.counters.queue_max.note(waiting);
        }
    }

    fn assign(&mut self, pending: &Pending, now_core: Cycle) {
        let hit = self.banks.assign(pending);
        self.counters.assigned(pending, hit, now_core);
        let now = self.counters.n_cmd;
        self.detail.assigned(pending, hit, now, now_core);
        if self.takes_turns {
            self.banks.turn();
        }
    }

    /// One request from the L2 banks enters the fixed delay.
    fn take_one(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        // Requests that must wait are not looked at: they have left the host's nearest caches.
        if self.scheduler.is_full(false) && self.scheduler.is_full(true) {
            return;
        }
        // Mostly there is none.
        if nothing_waits(banks) {
            return;
        }
        for side in self.arbiter.order() {
            let bank = &mut banks[side];
            let Some(request) = bank.dram_front() else {
                continue;
            };
            if !bank.can_take_from_dram() || !self.arbiter.has_credit(side) {
                continue;
            }
            if !self.scheduler.is_full(request.kind.is_write()) {
                let ticket = self.requests.add(request, side as u8);
                let arrives_at = now_core + self.latency_cycles;
                let pending = self.place(request.addr, ticket, arrives_at);
                self.delayed.push(arrives_at, pending);
                self.arbiter.borrow(side);
                bank.pop_dram();
            }
            return;
        }
    }

    /// One request leaves the fixed delay, to be scheduled from the next cycle on.
    fn leave_delay(&mut self, now_core: Cycle) {
        let Some(pending) = self.delayed.due(now_core) else {
            return;
        };
        if !self.scheduler.is_full(pending.ticket.kind.is_write()) {
            self.scheduler.push(Pending {
                arrived_at: now_core,
                ..*pending
            });
            self.delayed.drop_oldest();
            self.counters.n_req += 1;
        }
    }

    fn place(&self, addr: u64, ticket: Ticket, arrived_at: Cycle) -> Pending {
        let (bank, row) = self.decoder.bank_and_row(addr);
        let bank = match &self.bank_hash {
            BankHash::Linear => bank,
            BankHash::Xor => xor(row.into(), bank, self.bank_count),
            BankHash::Ipoly(ipoly) => ipoly.hash(row.into(), bank),
        };
        Pending {
            ticket,
            // Mostly there are as many as the address has numbers for.
            bank: match bank < self.bank_count {
                true => bank,
                false => {
                    cold_path();
                    bank % self.bank_count
                }
            },
            row,
            arrived_at,
        }
    }

    /// Nothing inside; timers may still run.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Nothing inside, but for the fixed delay.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.requests.len() == self.delayed.len()
    }

    /// Accounts for `cycles` DRAM cycles that were not run because `next_event` said so, exactly
    /// as if `cycle` had run with nothing to take.
    pub fn skip(&mut self, cycles: u64) {
        let now = self.counters.n_cmd;
        self.counters.n_cmd += cycles;
        self.counters.n_nop += cycles;
        self.counters.active += self.banks.quiet_at().saturating_sub(now).min(cycles);
        self.pipe.skip(cycles);
        let used = self.banks.column_time_left(now);
        self.detail.skip(cycles, used);
    }

    /// Earliest core cycle at which `cycle` does anything but count, if the L2 banks have nothing
    /// for it before; `None` when only they can wake it.
    #[inline]
    pub fn next_event(&self, now_core: Cycle) -> Option<Cycle> {
        if !self.is_quiet() {
            return Some(now_core);
        }
        self.delayed.due_at().map(|due_at| due_at.max(now_core))
    }

    /// Counters so far.
    pub fn counters(&self) -> &DramCounters {
        &self.counters
    }

    /// More of them.
    pub fn detail(&self) -> DramDetail {
        self.detail.all()
    }
}

/// No L2 bank has a request for the channel.
#[inline]
fn nothing_waits(banks: &[SubPartition]) -> bool {
    banks.iter().all(|bank| bank.dram_front().is_none())
}

#[cfg(test)]
mod tests;
