//! DRAM channels: arbitration between L2 banks, fixed latency, scheduler, banks and buses
//! (docs/model/dram.md).
//!
//! Invariant: the device (`device.rs`) is where its channel is, or ahead of it, by no more core
//! cycles than the fixed latency and by fewer command cycles than there is room for replies.

mod arbiter;
mod banks;
mod detail;
mod device;
mod inside;
mod pipe;
mod scheduler;
mod tally;
mod timing;

use crate::address::{AddressDecoder, Nearby};
use crate::hash::{Ipoly, xor};
use crate::partition::SubPartition;
use arbiter::Arbiter;
pub use detail::{BANKS, BUS_USES, COLUMN_WAITS, DramDetail, MAX_BANKS, WHOLE_SHARE};
use device::{Device, MOST_AHEAD, Room};
use inside::{Pending, Requests, Ticket};
use warploom_base::{Cycle, FixedQueue};
use warploom_config::{BankIndex, GpuSpec};
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
    /// Before this command cycle no request comes out of the device, and none waits to be returned.
    quiet_until: u64,
    requests: Requests,
    returns: FixedQueue<Ticket>,
    arbiter: Arbiter,
    latency_cycles: Cycle,
    bank_count: u32,
    decoder: AddressDecoder,
    bank_hash: BankHash,
    /// By L2 bank: bank and row of the address that came last.
    places: Box<[Nearby<(u32, u32)>]>,
    device: Device,
}

/// Replies that wait where the specification sets no limit.
const UNLIMITED_RETURNS: usize = 1024;

impl DramChannel {
    /// An idle channel.
    pub fn new(spec: &GpuSpec) -> Self {
        let dram = &spec.dram;
        let decoder = AddressDecoder::new(spec);
        let place = Nearby::new(decoder.bits_below_bank_and_row(), (0, 0));
        let device = Device::new(dram, spec.gpu.style);
        Self {
            now: 0,
            quiet_until: Cycle::MAX,
            requests: Requests::new(128),
            returns: FixedQueue::new(match dram.return_queue {
                0 => UNLIMITED_RETURNS,
                n => n as usize,
            }),
            arbiter: Arbiter::new(spec.gpu.sub_partitions_per_channel, dram),
            latency_cycles: spec.partition.dram_latency_cycles.into(),
            bank_count: dram.banks,
            decoder,
            bank_hash: match dram.bank_index {
                BankIndex::Linear => BankHash::Linear,
                BankIndex::Xor => BankHash::Xor,
                BankIndex::Ipoly => BankHash::Ipoly(Ipoly::new(dram.banks)),
            },
            places: vec![place; spec.gpu.sub_partitions_per_channel as usize].into(),
            device,
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
        if self.is_calm_until(end, now_core) && nothing_waits(banks) {
            self.now = end;
            return self.device.come_to(end);
        }
        while self.now < end {
            let next = self.now + 1;
            let rests = nothing_waits(banks) || self.device.room_in(self.now) == Room::NONE;
            if self.is_calm_until(next, now_core) && rests {
                self.now = next;
                self.device.come_to(next);
            } else {
                self.work(now_core, banks);
            }
        }
    }

    /// Up to command cycle `end`, all in core cycle `now_core`, nothing happens but for what L2
    /// sends.
    #[inline(always)]
    fn is_calm_until(&self, end: u64, now_core: Cycle) -> bool {
        end <= self.quiet_until && self.device.is_calm_until(end, now_core)
    }

    #[inline(always)]
    fn work(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        self.return_one(banks);
        if self.returns.is_full() {
            self.stand();
        } else if let Some(finished) = self.device.take_ended(self.now) {
            self.arbiter.give_back(finished.side.into());
            self.requests.remove(finished);
        }
        if self.latency_cycles == 0 {
            self.work_without_delay(now_core, banks);
        } else {
            if !self.device.is_ahead_of(self.now) {
                self.device.run(now_core, &[1], 0);
            }
            self.take_one(now_core, banks);
        }
        self.now += 1;
        self.look_ahead();
    }

    /// Nothing that is to be returned can come out of the device.
    #[cold]
    fn stand(&mut self) {
        debug_assert!(
            !self.device.is_ahead_of(self.now),
            "ahead without room for what it may return"
        );
        self.device.stand();
    }

    /// A cycle of the device, in which it may take at once what L2 sends.
    #[inline(never)]
    fn work_without_delay(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        self.device.work(now_core);
        self.take_one(now_core, banks);
        self.device.end_cycle(now_core);
    }

    /// What has left the device waits to be returned, and the oldest that waits is.
    #[inline(always)]
    fn return_one(&mut self, banks: &mut [SubPartition]) {
        if let Some(finished) = self.device.take_returned(self.now) {
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

    /// One request from the L2 banks enters the fixed delay.
    #[inline(always)]
    fn take_one(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        // Requests that must wait are not looked at: they have left the host's nearest caches.
        let room = self.device.room_in(self.now);
        if room == Room::NONE {
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
            if room.is_for(request.kind.is_write()) {
                let ticket = self.requests.add(request, side as u8);
                let arrives_at = now_core + self.latency_cycles;
                let pending = self.place(request.addr, ticket, arrives_at);
                self.device.delay(arrives_at, pending);
                self.arbiter.borrow(side);
                bank.drop_dram();
            }
            return;
        }
    }

    /// Finds how long nothing will come out of the device, and fetches the request that does next.
    #[inline]
    fn look_ahead(&mut self) {
        if let Some(ticket) = self.device.next_out() {
            self.requests.fetch_ahead(ticket);
        }
        self.quiet_until = match self.returns.is_empty() {
            true => self.device.next_out_at(),
            false => 0,
        };
    }

    /// The device runs ahead: `ticks` are the command cycles of each core cycle from the next on,
    /// which is `from`. As far as what L2 sends meanwhile cannot reach it, if all that it may
    /// return finds room. Until the channel has caught up, nobody asks for counters.
    pub fn run_ahead(&mut self, from: Cycle, ticks: &[u32]) {
        let reached = ticks.len().min(self.latency_cycles as usize);
        let ticks = &ticks[..reached];
        let all: u64 = ticks.iter().map(|&ticks| u64::from(ticks)).sum();
        if all >= self.returns.room().min(MOST_AHEAD) as u64 {
            return;
        }
        let (end, end_core) = (self.now + all, from + reached as Cycle);
        if !self.device.try_rest_until(end, end_core) {
            let done = self.device.now() - self.now;
            self.device.run(from, ticks, done);
            self.look_ahead();
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
        self.requests.len() == self.device.delayed()
    }

    /// Accounts for `cycles` DRAM cycles that were not run because `next_event` said so, exactly
    /// as if `cycle` had run with nothing to take.
    pub fn skip(&mut self, cycles: u64) {
        self.now += cycles;
        self.device.come_to(self.now);
    }

    /// Earliest core cycle at which `cycle` does anything but count, if the L2 banks have nothing
    /// for it before; `None` when only they can wake it.
    #[inline]
    pub fn next_event(&self, now_core: Cycle) -> Option<Cycle> {
        if !self.is_quiet() {
            return Some(now_core);
        }
        let due_at = self.device.leaves_delay_at();
        due_at.map(|due_at| due_at.max(now_core))
    }

    /// Counters so far.
    pub fn counters(&self) -> DramCounters {
        debug_assert!(self.is_idle() || !self.device.is_ahead_of(self.now));
        self.device.counters(self.now)
    }

    /// More of them.
    pub fn detail(&self) -> DramDetail {
        debug_assert!(self.is_idle() || !self.device.is_ahead_of(self.now));
        self.device.detail(self.now)
    }
}

/// No L2 bank has a request for the channel.
#[inline]
fn nothing_waits(banks: &[SubPartition]) -> bool {
    !banks.iter().any(SubPartition::has_for_dram)
}

#[cfg(test)]
mod tests;
