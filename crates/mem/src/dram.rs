//! DRAM channels: arbitration between L2 banks, fixed latency, scheduler, banks and buses
//! (docs/model/dram.md).

mod arbiter;
mod banks;
mod counters;
mod detail;
mod device;
mod in_flight;
mod pipe;
mod scheduler;
mod tally;
mod timing;

use crate::address::{AddressDecoder, Nearby};
use crate::hash::{Ipoly, xor};
use crate::partition::SubPartition;
use arbiter::Arbiter;
pub use counters::DramCounters;
pub use detail::{BANKS, BUS_USES, COLUMN_WAITS, DramDetail, MAX_BANKS, WHOLE_SHARE};
use device::{Device, Room};
use in_flight::{InFlight, Pending, Ticket};
use warploom_base::{Cycle, FixedQueue};
use warploom_config::{BankIndex, GpuSpec};
use warploom_state::State;

/// Hash of a bank's number.
#[derive(Clone, Debug)]
enum BankHash {
    Linear,
    Xor,
    Ipoly(Ipoly),
}

/// A DRAM channel with the arbitration between its L2 banks. Fields that every cycle needs come
/// first in memory.
#[derive(Clone, Debug, State)]
#[repr(C, align(64))]
pub struct DramChannel {
    /// Command cycle before which no request leaves the device, and none waits to be returned.
    quiet_until: u64,
    requests: InFlight,
    returns: FixedQueue<Ticket>,
    arbiter: Arbiter,
    latency_cycles: Cycle,
    bank_count: u32,
    #[state(fixed)]
    decoder: AddressDecoder,
    #[state(fixed)]
    bank_hash: BankHash,
    /// DRAM bank and row of the last address, by L2 bank.
    places: Box<[Nearby<(u32, u32)>]>,
    device: Device,
}

/// Room for replies where the specification sets no limit.
const UNLIMITED_RETURNS: usize = 1024;

impl DramChannel {
    /// An idle channel of `spec`.
    pub fn new(spec: &GpuSpec) -> Self {
        let dram = &spec.dram;
        let decoder = AddressDecoder::new(spec);
        let place = Nearby::new(decoder.bits_below_bank_and_row(), (0, 0));
        let device = Device::new(dram, spec.gpu.style);
        Self {
            quiet_until: Cycle::MAX,
            requests: InFlight::new(),
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

    /// Runs one command cycle in core cycle `now_core`: returns one finished request to its L2
    /// bank, steps the banks, takes one request from the L2 banks into the fixed delay and one from
    /// there into the scheduler. `banks` are this channel's sub-partitions in order.
    pub fn cycle(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        let banks_each = banks.len();
        Self::cycle_all(std::slice::from_mut(self), (now_core, 1), banks, banks_each);
    }

    /// Runs `cycles` command cycles of all channels in core cycle `now_core`. Each channel has
    /// `banks_each` of the L2 banks.
    // One call for all channels: most have work, and a call each would save and restore all
    // registers each time.
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
        let end = self.device.now() + cycles;
        if self.is_calm_until(end, now_core) && nothing_waits(banks) {
            return self.device.skip(cycles);
        }
        while self.device.now() < end {
            let next = self.device.now() + 1;
            let takes_none = nothing_waits(banks) || self.device.room() == Room::NONE;
            if self.is_calm_until(next, now_core) && takes_none {
                self.device.skip(1);
            } else {
                self.work(now_core, banks);
            }
        }
    }

    /// True if nothing happens before command cycle `end`, requests of L2 apart. All cycles are in
    /// core cycle `now_core`.
    #[inline(always)]
    fn is_calm_until(&self, end: u64, now_core: Cycle) -> bool {
        end <= self.quiet_until && self.device.is_calm_until(end, now_core)
    }

    #[inline(always)]
    fn work(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        self.return_one(banks);
        if self.returns.is_full() {
            // There is no room for another reply.
            self.device.stand();
        } else if let Some(finished) = self.device.take_ended() {
            self.arbiter.give_back(finished.l2_bank.into());
            self.requests.remove(finished);
        }
        self.run_device(now_core, banks);
        self.look_ahead();
    }

    /// Runs a cycle of the device, which may take a request of L2 after its scheduler has worked.
    #[inline(always)]
    fn run_device(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        // Without a fixed delay, the request reaches the scheduler in the same cycle.
        let is_calm = self.latency_cycles > 0 && self.device.is_calm(now_core);
        if !is_calm {
            self.device.work(now_core);
        }
        self.take_one(now_core, banks);
        match is_calm {
            true => self.device.skip(1),
            false => self.device.end_cycle(now_core),
        }
    }

    /// Queues a request that leaves the device as a reply, and returns the oldest reply to its L2
    /// bank.
    #[inline(always)]
    fn return_one(&mut self, banks: &mut [SubPartition]) {
        if let Some(finished) = self.device.take_returned() {
            self.returns.push(finished);
        }
        let Some(&ticket) = self.returns.front() else {
            return;
        };
        let l2_bank = usize::from(ticket.l2_bank);
        let bank = &mut banks[l2_bank];
        if bank.can_take_from_dram() {
            self.returns.drop_oldest();
            self.arbiter.give_back(l2_bank);
            bank.push_from_dram(self.requests.remove(ticket));
        }
    }

    /// Takes one request from the L2 banks into the fixed delay.
    #[inline(always)]
    fn take_one(&mut self, now_core: Cycle, banks: &mut [SubPartition]) {
        // Requests that cannot be taken are not looked at: they have left the host's nearest
        // caches.
        let room = self.device.room();
        if room == Room::NONE {
            return;
        }
        for l2_bank in self.arbiter.order() {
            let bank = &mut banks[l2_bank];
            let Some(request) = bank.dram_front() else {
                continue;
            };
            if !bank.can_take_from_dram() | !self.arbiter.has_credit(l2_bank) {
                continue;
            }
            if room.is_for(request.kind.is_write()) {
                let ticket = self.requests.add(request, l2_bank as u8);
                let arrives_at = now_core + self.latency_cycles;
                let pending = self.place(request.addr, ticket, arrives_at);
                self.device.delay(arrives_at, pending);
                self.arbiter.borrow(l2_bank);
                bank.drop_dram();
            }
            return;
        }
    }

    /// Finds the cycle before which nothing leaves the device, and prefetches the next request that
    /// does.
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

    fn place(&mut self, addr: u64, ticket: Ticket, arrived_at: Cycle) -> Pending {
        let place = &mut self.places[usize::from(ticket.l2_bank)];
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

    /// True if no request is in the channel; timers may still run.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// True if every request in the channel is in the fixed delay.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.requests.len() == self.device.delayed()
    }

    /// Number of the next command cycles in which nothing happens, and the core cycle before which
    /// no request leaves the fixed delay, if the L2 banks send none: the channel only counts while
    /// neither has come.
    #[inline]
    pub fn calm(&self) -> (u64, Cycle) {
        self.device.calm(self.quiet_until)
    }

    /// Accounts for `cycles` command cycles that were not run because nothing happens in them,
    /// exactly as if `cycle` had run with nothing to take.
    pub fn skip(&mut self, cycles: u64) {
        self.device.skip(cycles);
    }

    /// Earliest core cycle at which `cycle` does more than count, if the L2 banks send no request
    /// before; `None` if only such a request can wake the channel.
    #[inline]
    pub fn next_event(&self, now_core: Cycle) -> Option<Cycle> {
        if !self.is_quiet() {
            return Some(now_core);
        }
        let due_at = self.device.leaves_delay_at();
        due_at.map(|due_at| due_at.max(now_core))
    }

    /// Statistics so far that are summed over channels.
    pub fn counters(&self) -> DramCounters {
        self.device.counters()
    }

    /// Statistics so far that results have by channel only.
    pub fn detail(&self) -> DramDetail {
        self.device.detail()
    }
}

/// True if no L2 bank has a request for the channel.
#[inline]
fn nothing_waits(banks: &[SubPartition]) -> bool {
    !banks.iter().any(SubPartition::has_for_dram)
}

#[cfg(test)]
mod tests;
