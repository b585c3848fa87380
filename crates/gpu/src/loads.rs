//! Load of the L2 banks and of the DRAM behind them, by bank: which of them requests wait for.

use warploom_mem::AccessKind;
use warploom_mem::cache::{AccessOutcome, CacheCounters};
use warploom_mem::dram::DramChannel;
use warploom_mem::partition::SubPartition;
use warploom_state::Value;
use warploom_stats::result::HotBanks;

/// Load of one L2 bank since some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Value)]
struct BankLoad {
    packets: u64,
    /// Core cycles that packets needed until they came here, summed over packets.
    wait_cycles: u64,
    loads: u64,
    stores: u64,
    atomics: u64,
    misses: u64,
    /// L2 cycles in which the data port moved data.
    port_cycles: u64,
    /// L2 cycles after writes in which the bank took no request.
    recovery_cycles: u64,
}

impl BankLoad {
    fn of(bank: &SubPartition) -> Self {
        let counters = bank.counters();
        let mut load = Self {
            packets: counters.packets,
            wait_cycles: counters.arrival_cycles,
            recovery_cycles: counters.write_recovery_cycles,
            ..Self::default()
        };
        if let Some(l2) = bank.l2_counters() {
            load.look_ups(l2);
        }
        load
    }

    fn look_ups(&mut self, l2: &CacheCounters) {
        use AccessKind::{GlobalAtomic, GlobalWrite, L1WriteBack, LocalWrite};
        use AccessOutcome::{Hit, HitReserved, Miss, SectorMiss};
        let taken = |kind| {
            let of = |how| l2.of_kind(kind, how);
            [Hit, HitReserved, Miss, SectorMiss]
                .map(of)
                .iter()
                .sum::<u64>()
        };
        self.misses = l2.misses();
        self.port_cycles = l2.data_port_busy;
        self.atomics = taken(GlobalAtomic);
        self.stores = [GlobalWrite, LocalWrite, L1WriteBack]
            .map(taken)
            .iter()
            .sum();
        self.loads = l2.accesses() - self.atomics - self.stores;
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            packets: self.packets - earlier.packets,
            wait_cycles: self.wait_cycles - earlier.wait_cycles,
            loads: self.loads - earlier.loads,
            stores: self.stores - earlier.stores,
            atomics: self.atomics - earlier.atomics,
            misses: self.misses - earlier.misses,
            port_cycles: self.port_cycles - earlier.port_cycles,
            recovery_cycles: self.recovery_cycles - earlier.recovery_cycles,
        }
    }

    /// L2 cycles for which the bank was busy: it looks up at most one request a cycle, and none
    /// while it recovers from a write.
    fn busy_cycles(self) -> u64 {
        let looked_up = self.loads + self.stores + self.atomics;
        (looked_up + self.recovery_cycles).max(self.port_cycles)
    }
}

/// Load of all L2 banks and DRAM channels since some time. Bank `b` belongs to channel
/// `b * channels / banks`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Value)]
pub(crate) struct Loads {
    banks: Vec<BankLoad>,
    /// By channel: core cycles of requests in its scheduler, summed over requests.
    channel_wait_cycles: Vec<u64>,
}

impl Loads {
    pub(crate) fn of(banks: &[SubPartition], channels: &[DramChannel]) -> Self {
        let waits = channels.iter().map(|dram| dram.counters().wait_cycles);
        Self {
            banks: banks.iter().map(BankLoad::of).collect(),
            channel_wait_cycles: waits.collect(),
        }
    }

    /// The load since `earlier`, a former state of the same machine.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let banks = self.banks.iter().zip(&earlier.banks);
        let waits = self.channel_wait_cycles.iter();
        let waits = waits.zip(&earlier.channel_wait_cycles);
        Self {
            banks: banks.map(|(now, then)| now.since(*then)).collect(),
            channel_wait_cycles: waits.map(|(now, then)| now - then).collect(),
        }
    }

    /// The banks for which requests wait longest; `None` if none wait.
    pub(crate) fn hottest(&self) -> Option<HotBanks> {
        let channels = self.channel_wait_cycles.len();
        let of_a_channel = (self.banks.len() / channels.max(1)).max(1);
        let wait = |at: usize| {
            let dram = self.channel_wait_cycles[at / of_a_channel];
            self.banks[at].wait_cycles + dram / of_a_channel as u64
        };
        let waits: Vec<u64> = (0..self.banks.len()).map(wait).collect();
        let longest = *waits.iter().max().filter(|longest| **longest > 0)?;
        let mut hot = HotBanks {
            of_banks: self.banks.len() as u32,
            of_channels: channels as u32,
            ..HotBanks::default()
        };
        let mut last = None;
        for (at, bank) in self.banks.iter().enumerate() {
            if 2 * waits[at] < longest {
                continue;
            }
            let channel = Some(at / of_a_channel);
            hot.banks += 1;
            hot.channels += u32::from(channel != last);
            last = channel;
            hot.wait_cycles += waits[at];
            hot.packets += bank.packets;
            hot.loads += bank.loads;
            hot.stores += bank.stores;
            hot.atomics += bank.atomics;
            hot.misses += bank.misses;
            hot.busy_cycles = hot.busy_cycles.max(bank.busy_cycles());
        }
        hot.longest_wait_cycles = hot.wait_cycles;
        Some(hot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bank(wait_cycles: u64) -> BankLoad {
        BankLoad {
            packets: 1,
            wait_cycles,
            atomics: 2,
            ..BankLoad::default()
        }
    }

    /// A bank is busy for its two look-ups and while it recovers from writes, or for as long as its
    /// port moves data.
    #[test]
    fn the_busiest_of_the_hot_banks_counts() {
        let moves = |wait_cycles, port_cycles| BankLoad {
            port_cycles,
            ..bank(wait_cycles)
        };
        let busy = |banks: [BankLoad; 3]| {
            let loads = Loads {
                banks: banks.to_vec(),
                channel_wait_cycles: vec![0; 3],
            };
            loads.hottest().map(|hot| hot.busy_cycles)
        };
        assert_eq!(busy([moves(100, 1), moves(60, 0), moves(9, 50)]), Some(2));
        assert_eq!(busy([moves(100, 1), moves(60, 7), moves(9, 50)]), Some(7));
        let recovers = BankLoad {
            recovery_cycles: 6,
            ..moves(100, 1)
        };
        assert_eq!(busy([recovers, moves(60, 7), moves(9, 50)]), Some(8));
    }

    /// Six banks of three channels. With half of what waits in DRAM, banks 1, 4 and 5 have at least
    /// half of the 100 cycles of bank 1.
    #[test]
    fn banks_with_at_least_half_of_the_longest_wait_are_hot() {
        let loads = Loads {
            banks: [10, 100, 0, 49, 10, 11].map(bank).to_vec(),
            channel_wait_cycles: vec![0, 0, 80],
        };
        let hot = loads.hottest().expect("requests wait");
        assert_eq!((hot.banks, hot.of_banks), (3, 6));
        assert_eq!((hot.channels, hot.of_channels), (2, 3));
        assert_eq!(hot.wait_cycles, 100 + 50 + 51);
        assert_eq!((hot.packets, hot.atomics, hot.loads), (3, 6, 0));
        let later = Loads {
            banks: [20, 100, 0, 49, 10, 11].map(bank).to_vec(),
            channel_wait_cycles: vec![0, 0, 80],
        };
        let since = later.since(&loads).hottest().expect("requests wait");
        assert_eq!((since.banks, since.wait_cycles), (1, 10));
        assert_eq!(later.since(&later).hottest(), None);
    }
}
