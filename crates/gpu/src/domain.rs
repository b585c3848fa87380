//! A clock domain: its ticks in each core cycle, by exact integer accumulation.

use warploom_state::State;

/// A clock domain of the machine.
#[derive(Clone, Copy, Debug, State)]
pub(crate) struct Domain {
    khz: u64,
    credit: u64,
}

impl Domain {
    /// A domain of a clock in kHz.
    pub fn new(khz: u32) -> Self {
        Self {
            khz: khz.into(),
            credit: 0,
        }
    }

    /// Number of ticks in the next core cycle. One or few, which are counted without a division.
    #[inline]
    pub fn tick(&mut self, core_khz: u64) -> u64 {
        self.credit += self.khz;
        let mut ticks = 0;
        while self.credit >= core_khz {
            self.credit -= core_khz;
            ticks += 1;
        }
        ticks
    }

    /// Number of ticks in the next `cycles` core cycles.
    pub fn ticks(&mut self, cycles: u64, core_khz: u64) -> u64 {
        self.credit += self.khz * cycles;
        let ticks = self.credit / core_khz;
        self.credit -= ticks * core_khz;
        ticks
    }

    /// Largest number of the next core cycles that have at most `ticks` ticks.
    #[inline]
    pub fn cycles_within(&self, ticks: u64, core_khz: u64) -> u64 {
        let beyond = ticks.saturating_add(1).saturating_mul(core_khz);
        (beyond - self.credit - 1) / self.khz
    }
}

#[cfg(test)]
mod tests {
    use super::Domain;

    /// Cycles one by one have as many ticks as all of them together, whichever clock is faster.
    #[test]
    fn single_cycles_add_up() {
        const CORE_KHZ: u64 = 1_401_000;
        for khz in [400_000, 700_500, 1_401_000, 3_500_000] {
            let (mut single, mut together) = (Domain::new(khz), Domain::new(khz));
            for cycles in [1, 2, 7, 1000] {
                let most = single.cycles_within(cycles, CORE_KHZ);
                let ticks_in = |cycles| {
                    let mut later = single;
                    later.ticks(cycles, CORE_KHZ)
                };
                assert!(ticks_in(most) <= cycles && ticks_in(most + 1) > cycles);
                let sum: u64 = (0..cycles).map(|_| single.tick(CORE_KHZ)).sum();
                assert_eq!(sum, together.ticks(cycles, CORE_KHZ), "{khz}");
            }
            assert_eq!(together.credit, single.credit);
        }
    }
}
