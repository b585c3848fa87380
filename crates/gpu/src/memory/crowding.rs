//! L2 cycles in which requests wait in the network for few L2 banks, whichever these are.
//!
//! Totals by bank show banks that are hot over a whole run. Banks that are hot one after the other,
//! because all SMs read an array in the same order, have equal totals; so short stretches of cycles
//! are judged each.

use warploom_state::State;

/// L2 cycles of a stretch: enough for packets of several flits to come to each bank for which one
/// is on its way.
const STRETCH: u32 = 16;

/// Banks that packets came to in the current stretch of L2 cycles, all of them with at least as
/// many packets in the request network as there are banks. A cycle with fewer ends it.
#[derive(Debug, State)]
pub(crate) struct Crowding {
    banks: u64,
    /// Number of cycles of the stretch so far.
    length: u32,
    /// Banks at which a packet has waited in the stretch, one bit each.
    reached: Vec<u64>,
    /// L2 cycles of whole stretches in which at most half of the banks were reached.
    pub cycles: u64,
}

impl Crowding {
    pub(super) fn new(banks: usize) -> Self {
        Self {
            banks: banks as u64,
            length: 0,
            reached: vec![0; banks.div_ceil(64)],
            cycles: 0,
        }
    }

    /// Begins an L2 cycle with this number of packets in the network. Returns whether it belongs to
    /// a stretch.
    #[inline]
    pub(crate) fn begin(&mut self, packets: u64) -> bool {
        let is_crowded = packets >= self.banks;
        if !is_crowded {
            self.length = 0;
        } else if self.length == 0 {
            self.reached.fill(0);
        }
        is_crowded
    }

    /// Notes that packets wait at these banks of a word.
    #[inline]
    pub(super) fn note(&mut self, index: usize, waiting: u64) {
        self.reached[index] |= waiting;
    }

    /// Ends an L2 cycle that belongs to a stretch.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.length += 1;
        if self.length == STRETCH {
            self.length = 0;
            let reached: u32 = self.reached.iter().map(|word| word.count_ones()).sum();
            if 2 * u64::from(reached) <= self.banks {
                self.cycles += u64::from(STRETCH);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Crowding, STRETCH};

    /// Runs L2 cycles of 70 banks, each with this number of packets and one waiting at each of
    /// these banks.
    fn run(crowding: &mut Crowding, cycles: u32, packets: u64, banks: std::ops::Range<usize>) {
        for _ in 0..cycles {
            let counts = crowding.begin(packets);
            for bank in banks.clone() {
                crowding.note(bank / 64, 1 << (bank % 64));
            }
            if counts {
                crowding.end();
            }
        }
    }

    #[test]
    fn stretches_with_packets_for_half_of_the_banks_count() {
        let cycles = |packets, banks| {
            let mut crowding = Crowding::new(70);
            run(&mut crowding, 2 * STRETCH + 1, packets, banks);
            crowding.cycles
        };
        assert_eq!(cycles(70, 30..65), 2 * u64::from(STRETCH));
        assert_eq!(cycles(70, 30..66), 0, "more than half of the banks");
        assert_eq!(cycles(69, 30..31), 0, "too few packets");
    }

    /// The banks may be others in each stretch. A cycle with few packets begins a new one.
    #[test]
    fn each_stretch_is_judged_by_itself() {
        let mut crowding = Crowding::new(70);
        for first in 0..70 {
            run(&mut crowding, STRETCH, 70, first..first + 1);
        }
        assert_eq!(crowding.cycles, 70 * u64::from(STRETCH));
        run(&mut crowding, STRETCH - 1, 70, 0..1);
        run(&mut crowding, 1, 0, 0..0);
        run(&mut crowding, STRETCH - 1, 70, 0..1);
        assert_eq!(crowding.cycles, 70 * u64::from(STRETCH));
        run(&mut crowding, 1, 70, 0..1);
        assert_eq!(crowding.cycles, 71 * u64::from(STRETCH));
    }
}
