//! DRAM channels: arbitration between L2 banks, fixed latency, scheduler, banks and buses (model
//! page, sections 8 and 9).

mod arbiter;
mod banks;
mod detail;
mod inside;
mod pipe;
mod scheduler;
mod tally;
mod timing;

use crate::address::{AddressDecoder, Nearby};
use crate::hash::{Ipoly, xor};
use crate::partition::SubPartition;
use arbiter::Arbiter;
use banks::Banks;
use detail::Detail;
pub use detail::{BANKS, BUS_USES, COLUMN_WAITS, DramDetail, MAX_BANKS, WHOLE_SHARE};
use inside::{Pending, Requests, Ticket};
use pipe::DataPipe;
use scheduler::Scheduler;
use tally::Tally;
use warploom_base::{Cycle, FixedQueue, TimedQueue};
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
    /// Column commands.
    fn columns(&self) -> u64 {
        self.n_rd + self.n_rd_l2_alloc + self.n_write + self.n_wr_bk
    }

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
    /// Command cycles so far.
    now: u64,
    /// Before this command cycle nothing happens but for what comes from L2 or leaves the delay.
    calm_until: u64,
    /// Core cycle before which nothing leaves the delay.
    leaves_at: Cycle,
    /// The scheduler takes no more from L2.
    is_full: bool,
    requests: Requests,
    /// Requests in the fixed delay, with the core cycle at which they leave it.
    delayed: TimedQueue<Pending>,
    returns: FixedQueue<Ticket>,
    pipe: DataPipe,
    banks: Banks,
    scheduler: Scheduler,
    /// The command cycle after the last that was not calm.
    calm_from: u64,
    /// Cycles with a command.
    commands: u64,
    /// Requests in the scheduler.
    waiting: Tally,
    /// All but what the others have.
    counters: DramCounters,
    arbiter: Arbiter,
    latency_cycles: Cycle,
    bank_count: u32,
    /// The bank that is looked at first changes with each request scheduled.
    takes_turns: bool,
    decoder: AddressDecoder,
    bank_hash: BankHash,
    /// By L2 bank: bank and row of the address that came last.
    places: Box<[Nearby<(u32, u32)>]>,
    detail: Detail,
}

/// Replies that wait where the specification sets no limit.
const UNLIMITED_RETURNS: usize = 1024;

impl DramChannel {
    /// An idle channel.
    pub fn new(spec: &GpuSpec) -> Self {
        let dram = &spec.dram;
        let banks = Banks::new(dram, spec.gpu.style);
        let decoder = AddressDecoder::new(spec);
        let place = Nearby::new(decoder.bits_below_bank_and_row(), (0, 0));
        Self {
            places: vec![place; spec.gpu.sub_partitions_per_channel as usize].into(),
            decoder,
            bank_hash: match dram.bank_index {
                BankIndex::Linear => BankHash::Linear,
                BankIndex::Xor => BankHash::Xor,
                BankIndex::Ipoly => BankHash::Ipoly(Ipoly::new(dram.banks)),
            },
            bank_count: dram.banks,
            latency_cycles: spec.partition.dram_latency_cycles.into(),
            now: 0,
            calm_until: Cycle::MAX,
            leaves_at: Cycle::MAX,
            is_full: false,
            calm_from: 0,
            commands: 0,
            waiting: Tally::default(),
            arbiter: Arbiter::new(spec.gpu.sub_partitions_per_channel, dram),
            requests: Requests::new(128),
            delayed: TimedQueue::new(64),
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
        let banks_each = banks.len();
        Self::cycle_all(std::slice::from_mut(self), (now_core, 1), banks, banks_each);
    }

    /// So many DRAM cycles of all channels, of which each has as many L2 banks.
    // One call for all of them: most have work, and each would save and restore all registers.
    #[inline(never)]
    pub fn cycle_all(
        all: &mut [Self],
        (now_core, cycles): (Cycle, u64),
        banks: &mut [SubPartition],
        banks_each: usize,
    ) {
        let mut left = banks;
        for channel in all {
            let (banks, others) = left.split_at_mut(banks_each);
            channel.cycles((now_core, cycles), banks);
            left = others;
        }
    }

    #[inline(always)]
    fn cycles(&mut self, (now_core, cycles): (Cycle, u64), banks: &mut [SubPartition]) {
        let end = self.now + cycles;
        while self.now < end {
            if self.is_calm(now_core, banks) {
                // Until then nothing comes from L2 either.
                self.now = end.min(self.calm_until);
            } else {
                self.work(now_core, banks);
            }
        }
    }

    /// Nothing happens in this cycle but for the passing of time.
    #[inline(always)]
    fn is_calm(&self, now_core: Cycle, banks: &[SubPartition]) -> bool {
        self.now < self.calm_until
            && now_core < self.leaves_at
            && (self.is_full || nothing_waits(banks))
    }

    #[inline(always)]
    fn work(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        self.return_one(banks);
        self.step(now_core);
        self.now += 1;
        self.take_one(now_core, banks);
        self.leave_delay(now_core);
        self.look_ahead();
    }

    /// What has left the pipe waits to be returned, and the oldest that waits is.
    fn return_one(&mut self, banks: &mut [SubPartition]) {
        if let Some(finished) = self.pipe.take_returned(self.now) {
            self.returns.push(finished);
        }
        let Some(&ticket) = self.returns.front() else {
            return;
        };
        let side = usize::from(ticket.side);
        let bank = &mut banks[side];
        if bank.can_take_from_dram() {
            self.returns.drop_oldest();
            self.arbiter.give_back(side);
            bank.push_from_dram(self.requests.remove(ticket));
        }
    }

    /// The DRAM itself.
    fn step(&mut self, now_core: Cycle) {
        let now = self.now;
        if self.returns.is_full() {
            let counts = &mut self.detail.counts;
            self.banks.settle_bus(now, &self.pipe, counts);
            self.pipe.stand();
        } else if let Some(finished) = self.pipe.take_ended(now) {
            self.arbiter.give_back(finished.side.into());
            self.requests.remove(finished);
        }
        self.schedule(now_core);
        let Self {
            banks,
            pipe,
            counters,
            detail,
            ..
        } = self;
        self.commands += u64::from(banks.issue(now, pipe, (counters, detail)));
    }

    /// Gives at most one bank work.
    fn schedule(&mut self, now_core: Cycle) {
        if self.waiting.count() == 0 {
            return;
        }
        let (idle, first) = (self.banks.idle(), self.banks.first());
        let taken = self.scheduler.take(idle, first, self.banks.rows());
        // What is left when one is taken has been before the last came, one at most a cycle.
        if taken.is_none() || self.calm_from < self.now {
            self.counters.queue_max.note(self.waiting.count());
        }
        if let Some(pending) = taken {
            self.waiting.remove(self.now);
            self.is_full = self.takes_none();
            self.assign(&pending, now_core);
        }
    }

    fn assign(&mut self, pending: &Pending, now_core: Cycle) {
        let now = self.now;
        let counts = &mut self.detail.counts;
        self.banks.settle_bus(now, &self.pipe, counts);
        let hit = self.banks.assign(pending, now);
        self.counters.assigned(pending, hit, now_core);
        self.detail.assigned(pending, hit, now, now_core);
        if self.takes_turns {
            self.banks.turn();
        }
    }

    /// A request waits for its bank, to be scheduled from the next cycle on.
    fn enter(&mut self, pending: Pending) {
        self.scheduler.push(pending);
        self.waiting.add(self.now);
        self.is_full = self.takes_none();
    }

    /// One request from the L2 banks enters the fixed delay.
    fn take_one(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        // Requests that must wait are not looked at: they have left the host's nearest caches.
        if self.is_full {
            return;
        }
        for side in self.arbiter.order() {
            let bank = &mut banks[side];
            let Some(request) = bank.dram_front() else {
                continue;
            };
            if !bank.can_take_from_dram() | !self.arbiter.has_credit(side) {
                continue;
            }
            if !self.scheduler.is_full(request.kind.is_write()) {
                let ticket = self.requests.add(request, side as u8);
                let arrives_at = now_core + self.latency_cycles;
                let pending = self.place(request.addr, ticket, arrives_at);
                self.delayed.push(arrives_at, pending);
                self.arbiter.borrow(side);
                bank.drop_dram();
            }
            return;
        }
    }

    /// The scheduler has room for neither reads nor writes.
    #[inline]
    fn takes_none(&self) -> bool {
        self.scheduler.is_full(false) && self.scheduler.is_full(true)
    }

    /// One request leaves the fixed delay.
    fn leave_delay(&mut self, now_core: Cycle) {
        if self.is_full {
            return;
        }
        let Some(pending) = self.delayed.due(now_core) else {
            return;
        };
        if !self.scheduler.is_full(pending.ticket.kind.is_write()) {
            let pending = Pending {
                arrived_at: now_core,
                ..*pending
            };
            self.enter(pending);
            self.delayed.drop_oldest();
            self.counters.n_req += 1;
        }
    }

    /// Finds how long nothing will happen, and fetches the request that comes out of the pipe next.
    #[inline]
    fn look_ahead(&mut self) {
        if let Some(ticket) = self.pipe.next() {
            self.requests.fetch_ahead(ticket);
        }
        self.calm_from = self.now;
        let due_at = self.delayed.due_or_never();
        self.leaves_at = if self.is_full { Cycle::MAX } else { due_at };
        self.calm_until = self.banks.wakes_at().min(self.pipe.taken_at());
        if !self.returns.is_empty() || self.scheduler.may_give(self.banks.idle()) {
            self.calm_until = 0;
        }
    }

    fn place(&mut self, addr: u64, ticket: Ticket, arrived_at: Cycle) -> Pending {
        let place = &mut self.places[usize::from(ticket.side)];
        let (bank, row) = place.of(addr, |addr| {
            let (bank, row) = self.decoder.bank_and_row(addr);
            let bank = match &self.bank_hash {
                BankHash::Linear => bank,
                BankHash::Xor => xor(row.into(), bank, self.bank_count),
                BankHash::Ipoly(ipoly) => ipoly.hash(row.into(), bank),
            };
            (bank % self.bank_count, row)
        });
        Pending {
            ticket,
            bank,
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
        self.now += cycles;
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
    pub fn counters(&self) -> DramCounters {
        let now = self.now;
        let mut counters = self.counters;
        if self.calm_from < now {
            counters.queue_max.note(self.waiting.count());
        }
        DramCounters {
            n_cmd: now,
            n_nop: now - self.commands,
            active: self.banks.active_cycles(now),
            busy: self.banks.timing().burst * counters.columns(),
            queue_occupancy: self.waiting.sum(now),
            ..counters
        }
    }

    /// More of them.
    pub fn detail(&self) -> DramDetail {
        let mut all = self.detail.all();
        let columns = self.counters.columns();
        self.banks.sum_up((self.now, columns), &self.pipe, &mut all);
        all
    }
}

/// No L2 bank has a request for the channel.
#[inline]
fn nothing_waits(banks: &[SubPartition]) -> bool {
    !banks.iter().any(SubPartition::has_for_dram)
}

#[cfg(test)]
mod tests;
