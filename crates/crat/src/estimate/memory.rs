//! The memory system that the warps of an SM share, with hits and misses in place of addresses.

/// The costs of accesses. Cycles are core cycles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// The latency of a load that hits in L1D.
    pub hit_cycles: f64,
    /// The latency of a line that misses in L1D, without contention.
    pub miss_cycles: f64,
    /// The time for which a line occupies the SM's share of the DRAM bandwidth.
    pub dram_line_cycles: f64,
    /// The time for which a line occupies the SM's share of a network's bandwidth.
    pub network_line_cycles: f64,
    /// The lines that DRAM transfers for a line that is stored.
    pub store_transfers: f64,
    /// The number of lines that a warp touches with one load, on average.
    pub lines_per_load: f64,
    /// The number of lines that a warp touches with one store, on average.
    pub lines_per_store: f64,
    /// The number of lines that L1D can wait for at a time.
    pub misses_at_once: u32,
    /// The number of stored lines that can wait for the network or DRAM before the unit stops.
    pub stores_at_once: u32,
}

/// The state of the memory system.
///
/// The load/store unit takes the accesses in order, a line per cycle. It stops at a miss while no
/// entry is free to track it, and at a store while too many stored lines wait.
#[derive(Clone, Debug)]
pub(super) struct Memory<'a> {
    costs: &'a Costs,
    /// The share of the lines of loads that miss.
    misses: f64,
    /// The misses that were due so far and are not yet a whole line.
    due: f64,
    /// The time at which each entry that tracks a miss is free, in the order of their use.
    entries: Vec<f64>,
    next_entry: usize,
    /// The times at which the load/store unit, DRAM and the networks from and to L2 are free.
    unit: f64,
    dram: f64,
    from_l2: f64,
    to_l2: f64,
}

impl<'a> Memory<'a> {
    pub(super) fn new(costs: &'a Costs, hit_ratio: f64) -> Self {
        Self {
            costs,
            misses: 1.0 - hit_ratio.clamp(0.0, 1.0),
            due: 0.0,
            entries: vec![0.0; costs.misses_at_once.max(1) as usize],
            next_entry: 0,
            unit: 0.0,
            dram: 0.0,
            from_l2: 0.0,
            to_l2: 0.0,
        }
    }

    /// Returns the first cycle in which the load/store unit takes an access.
    pub(super) fn free_at(&self) -> u64 {
        self.unit.ceil() as u64
    }

    /// Performs an access that stays on the SM.
    pub(super) fn near(&mut self, now: u64) {
        self.unit = self.unit.max(now as f64) + 1.0;
    }

    /// Performs a load of a warp, and returns the cycle in which its value arrives.
    pub(super) fn load(&mut self, now: u64) -> u64 {
        let start = self.unit.max(now as f64);
        let lines = self.costs.lines_per_load.max(1.0);
        self.due += lines * self.misses;
        let (mut at, mut end) = (start, start + self.costs.hit_cycles);
        while self.due >= 1.0 {
            self.due -= 1.0;
            at = at.max(self.entries[self.next_entry]) + 1.0;
            end = end.max(self.miss(at));
        }
        self.unit = at.max(start + lines);
        end.ceil() as u64
    }

    /// Fetches a line, and returns the time at which it arrives.
    fn miss(&mut self, at: f64) -> f64 {
        self.dram = self.dram.max(at) + self.costs.dram_line_cycles;
        let arrival = self.from_l2.max(self.dram + self.costs.miss_cycles);
        self.from_l2 = arrival + self.costs.network_line_cycles;
        self.entries[self.next_entry] = self.from_l2;
        self.next_entry = (self.next_entry + 1) % self.entries.len();
        self.from_l2
    }

    /// Performs a store of a warp. Nothing waits for its end.
    pub(super) fn store(&mut self, now: u64) {
        let start = self.unit.max(now as f64);
        let (costs, lines) = (self.costs, self.costs.lines_per_store.max(1.0));
        let in_dram = costs.store_transfers * costs.dram_line_cycles;
        self.to_l2 = self.to_l2.max(start) + lines * costs.network_line_cycles;
        self.dram = self.dram.max(start) + lines * in_dram;
        let waiting = f64::from(costs.stores_at_once);
        let to_l2 = self.to_l2 - waiting * costs.network_line_cycles;
        let dram = self.dram - waiting * in_dram;
        self.unit = (start + lines).max(to_l2).max(dram);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        hit_cycles: 4.0,
        miss_cycles: 100.0,
        dram_line_cycles: 0.0,
        network_line_cycles: 0.0,
        store_transfers: 2.0,
        lines_per_load: 1.0,
        lines_per_store: 1.0,
        misses_at_once: 2,
        stores_at_once: 1,
    };

    #[test]
    fn a_share_of_the_loads_misses() {
        let mut memory = Memory::new(&COSTS, 0.5);
        let ends: Vec<u64> = (0..4).map(|n| memory.load(1000 * n)).collect();
        // The unit takes a cycle to track a miss.
        assert_eq!(ends, [4, 1101, 2004, 3101]);
    }

    #[test]
    fn a_miss_waits_for_a_free_entry_and_stops_the_unit() {
        let mut memory = Memory::new(&COSTS, 0.0);
        assert_eq!([memory.load(0), memory.load(0)], [101, 102]);
        assert_eq!(memory.free_at(), 2);
        // The first entry is free in cycle 101.
        assert_eq!(memory.load(0), 202);
        assert_eq!(memory.free_at(), 102);
    }

    #[test]
    fn a_load_of_many_lines_occupies_the_unit() {
        let costs = Costs {
            lines_per_load: 32.0,
            ..COSTS
        };
        let mut memory = Memory::new(&costs, 1.0);
        memory.load(0);
        assert_eq!(memory.free_at(), 32);
    }

    #[test]
    fn bandwidths_delay_loads_and_stop_stores() {
        let costs = Costs {
            dram_line_cycles: 10.0,
            network_line_cycles: 30.0,
            misses_at_once: 8,
            ..COSTS
        };
        let mut memory = Memory::new(&costs, 0.0);
        // The line leaves DRAM at 11 and 21. The network is the slower one from then on.
        assert_eq!([memory.load(0), memory.load(0)], [141, 171]);
        let mut memory = Memory::new(&costs, 0.0);
        memory.store(0);
        assert_eq!(memory.free_at(), 1);
        // One stored line may wait: the second stops the unit until the first has passed.
        memory.store(0);
        assert_eq!(memory.free_at(), 30);
        // DRAM transfers each of them twice, before the load's line.
        assert_eq!(memory.load(100), 241);
    }
}
