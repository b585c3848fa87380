//! Issue slots of a scheduler that instructions take after the one in which they issue
//! (docs/model/sm.md, Machine instructions).

use warploom_base::Cycle;
use warploom_state::Value;

/// Cycles for which slots are known in advance.
const AHEAD: u32 = u128::BITS;

/// Longest time over which the slots of an instruction are spread.
const SPREAD: u32 = AHEAD / 2;

/// The cycles of a scheduler that are taken, from one cycle on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Value)]
pub(crate) struct IssueSlots {
    /// Cycle of the lowest bit.
    from: Cycle,
    /// By distance from that cycle: whether the slot is taken.
    taken: u128,
}

impl IssueSlots {
    /// True if the slot of a cycle is taken. Forgets the slots before it.
    #[inline]
    pub fn is_taken(&mut self, now: Cycle) -> bool {
        self.taken != 0 && self.advance(now)
    }

    fn advance(&mut self, now: Cycle) -> bool {
        let passed = u32::try_from(now - self.from).unwrap_or(AHEAD);
        self.taken = self.taken.checked_shr(passed).unwrap_or(0);
        self.from = now;
        self.taken & 1 != 0
    }

    /// True if slots are taken after the cycle that was asked for last.
    #[inline]
    pub fn any_ahead(&self) -> bool {
        self.taken > 1
    }

    /// Takes `further` slots for an instruction that issues now and whose result takes `latency`
    /// cycles: at equal distances in this time, each at the next one that is free.
    #[inline]
    pub fn take(&mut self, now: Cycle, further: u8, latency: u16) {
        if further != 0 {
            self.spread(now, u32::from(further) + 1, u32::from(latency));
        }
    }

    #[cold]
    fn spread(&mut self, now: Cycle, slots: u32, latency: u32) {
        self.advance(now);
        let time = latency.clamp(slots, SPREAD.max(slots));
        for nth in 1..slots {
            let wanted = (nth * time / slots).min(AHEAD - 1);
            let free = !self.taken >> wanted << wanted;
            self.taken |= free & free.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_base::Rng;

    /// Cycles from the last issue on in which a slot is taken.
    fn taken(mut slots: IssueSlots) -> Vec<Cycle> {
        let cycles = slots.from..slots.from + 256;
        cycles.filter(|now| slots.is_taken(*now)).collect()
    }

    #[test]
    fn slots_are_spread_over_the_latency() {
        let mut slots = IssueSlots::default();
        slots.take(0, 3, 40);
        assert_eq!(taken(slots), [10, 20, 30]);
    }

    #[test]
    fn slots_that_are_taken_already_move_to_the_next_free_one() {
        let mut slots = IssueSlots::default();
        slots.take(0, 3, 40);
        slots.take(1, 3, 36);
        assert_eq!(taken(slots), [10, 11, 19, 20, 28, 30]);
    }

    #[test]
    fn more_slots_than_cycles_of_latency_follow_each_other() {
        let mut slots = IssueSlots::default();
        slots.take(0, 87, 4);
        assert_eq!(taken(slots), (1..88).collect::<Vec<_>>());
    }

    #[test]
    fn slots_are_ahead_until_the_last_has_passed() {
        let mut slots = IssueSlots::default();
        slots.take(5, 1, 10);
        assert!(!slots.is_taken(9) && slots.any_ahead());
        assert!(slots.is_taken(10) && !slots.any_ahead());
        assert!(!slots.is_taken(11));
        slots.take(20, 1, 10);
        assert!(!slots.is_taken(2000) && !slots.any_ahead());
    }

    /// Every slot that is asked for passes once, however dense instructions issue.
    #[test]
    fn no_slot_is_lost() {
        let mut rng = Rng::new(1);
        for (further, latency) in [(9, 57), (24, 64), (15, 110), (87, 64), (1, 4), (17, 64)] {
            let mut slots = IssueSlots::default();
            let (mut asked, mut passed) = (0, 0);
            for now in 0..4000 {
                if slots.is_taken(now) {
                    passed += 1;
                } else if now < 3800 && rng.below(4) != 0 {
                    slots.take(now, further, latency);
                    asked += u32::from(further);
                }
            }
            assert_eq!(asked, passed, "{further} in {latency}");
        }
    }
}
