//! Function units: a dispatch register that holds an instruction for its initiation interval, a
//! pipeline of its latency, and a result bus shared by all (model page, section 3.6).
//!
//! Nothing moves from stage to stage here: a unit's result slot and the result bus are tables by
//! the cycle in which a result arrives, and finished instructions wait in a wheel of cycles.
//! An instruction accepted in cycle t with latency L writes back in cycle t + L + 2.

use crate::flight::FlightId;
use crate::image::Pipe;
use std::ops::Range;
use warploom_base::Cycle;

/// Cycles that the tables look ahead; latencies stay below it less two.
pub const HORIZON: usize = 1024;

/// One function unit.
#[derive(Clone, Debug)]
struct Unit {
    /// Number among the units of its kind: the sub-core that it serves, where an SM is split.
    index: u8,
    /// The dispatch register is free from this cycle on.
    free_at: Cycle,
    /// Bit per place of the wheel: the unit has a result there.
    reserved: [u64; HORIZON / 64],
}

/// All function units but load/store, with result bus and write-back wheel.
///
/// The tables are small, because every cycle of every SM touches other places of them.
#[derive(Clone, Debug)]
pub struct Units {
    units: Vec<Unit>,
    /// By pipe: the first of its units, and the one behind its last.
    of_pipe: [(u16, u16); Pipe::COUNT],
    /// Most results in a cycle: the bus's width, or one a unit.
    most: usize,
    /// By place of the wheel: results due.
    due: Box<[u16; HORIZON]>,
    /// `most` a place: instructions that write back, and their units.
    wheel: Vec<(FlightId, u16)>,
    /// Bit set where `wheel` holds something.
    occupied: [u64; HORIZON / 64],
}

/// Place in the wheel of an instruction accepted now.
#[inline]
fn place_of(now: Cycle, latency: u32) -> usize {
    (now + Cycle::from(latency) + 2) as usize % HORIZON
}

impl Units {
    /// Units of the given kinds and counts, results limited to `bus_width` per cycle.
    pub fn new(counts: &[(Pipe, u32)], bus_width: u32) -> Self {
        let unit = |index| Unit {
            index,
            free_at: 0,
            reserved: [0; HORIZON / 64],
        };
        let units: Vec<Unit> = counts
            .iter()
            .flat_map(|&(_, count)| (0..count as u8).map(unit))
            .collect();
        let most = units.len().min(bus_width as usize);
        let mut of_pipe = [(0, 0); Pipe::COUNT];
        let mut first = 0;
        for &(pipe, count) in counts {
            of_pipe[pipe as usize] = (first, first + count as u16);
            first += count as u16;
        }
        Self {
            units,
            of_pipe,
            most,
            due: Box::new([0; HORIZON]),
            wheel: vec![(FlightId(0), 0); most * HORIZON],
            occupied: [0; HORIZON / 64],
        }
    }

    /// The units of a pipe.
    #[inline]
    pub fn of_pipe(&self, pipe: usize) -> Range<usize> {
        let (first, end) = self.of_pipe[pipe];
        usize::from(first)..usize::from(end)
    }

    /// Number of a unit among those of its kind.
    #[inline]
    pub fn index(&self, unit: usize) -> u8 {
        self.units[unit].index
    }

    /// Whether `unit` can take an instruction of this latency now.
    #[inline]
    pub fn can_accept(&self, unit: usize, now: Cycle, latency: u32) -> bool {
        let at = place_of(now, latency);
        let u = &self.units[unit];
        u.free_at <= now
            && u.reserved[at / 64] >> (at % 64) & 1 == 0
            && usize::from(self.due[at]) < self.most
    }

    /// Takes an instruction. Requires `can_accept`.
    pub fn accept(&mut self, unit: usize, now: Cycle, latency: u32, interval: u32, id: FlightId) {
        debug_assert!(self.can_accept(unit, now, latency));
        debug_assert!(
            (latency as usize) < HORIZON - 2,
            "latency {latency} beyond the horizon"
        );
        let at = place_of(now, latency);
        let u = &mut self.units[unit];
        u.free_at = now + Cycle::from(interval);
        u.reserved[at / 64] |= 1 << (at % 64);
        self.wheel[at * self.most + usize::from(self.due[at])] = (id, unit as u16);
        self.due[at] += 1;
        self.occupied[at / 64] |= 1 << (at % 64);
    }

    /// An instruction writes back in this cycle.
    #[inline]
    pub fn has_finished(&self, now: Cycle) -> bool {
        let at = now as usize % HORIZON;
        self.occupied[at / 64] >> (at % 64) & 1 != 0
    }

    /// Takes the instructions that write back in this cycle out: their places for [`Self::at`], as
    /// long as nothing is accepted a whole round later. To be called in every cycle in which some
    /// do.
    #[inline]
    pub fn take_finished(&mut self, now: Cycle) -> Range<usize> {
        let at = now as usize % HORIZON;
        let (word, bit) = (at / 64, 1 << (at % 64));
        let first = at * self.most;
        let places = first..first + usize::from(std::mem::take(&mut self.due[at]));
        for &(_, unit) in &self.wheel[places.clone()] {
            self.units[usize::from(unit)].reserved[word] &= !bit;
        }
        self.occupied[word] &= !bit;
        places
    }

    /// The instruction at a place of the wheel.
    #[inline]
    pub fn at(&self, place: usize) -> FlightId {
        self.wheel[place].0
    }

    /// The next cycle, from `now` on, in which something writes back.
    pub fn next_write_back(&self, now: Cycle) -> Option<Cycle> {
        // Those that wait for memory have mostly nothing there.
        if self.occupied.iter().fold(0, |all, word| all | word) == 0 {
            return None;
        }
        let start = now as usize % HORIZON;
        let words = HORIZON / 64;
        // One word more than the table has, because the first is cut in two.
        (0..=words).find_map(|i| {
            let w = (start / 64 + i) % words;
            let mut bits = self.occupied[w];
            if i == 0 {
                bits &= !0 << (start % 64);
            } else if i == words {
                bits &= !(!0 << (start % 64));
            }
            (bits != 0).then(|| {
                let slot = w * 64 + bits.trailing_zeros() as usize;
                now + ((slot + HORIZON - start) % HORIZON) as Cycle
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_unit() -> Units {
        Units::new(&[(Pipe::Sp, 1)], 1)
    }

    fn finished(units: &mut Units, now: Cycle) -> usize {
        units.take_finished(now).len()
    }

    #[test]
    fn writes_back_latency_plus_two_cycles_after_acceptance() {
        let mut units = one_unit();
        units.accept(0, 100, 4, 1, FlightId(7));
        assert_eq!(units.next_write_back(101), Some(106));
        assert_eq!(
            (101..106).map(|t| finished(&mut units, t)).sum::<usize>(),
            0
        );
        let places = units.take_finished(106);
        let ids: Vec<_> = places.map(|place| units.at(place)).collect();
        assert_eq!(ids, [FlightId(7)]);
        assert_eq!(units.next_write_back(107), None);
    }

    #[test]
    fn is_blocked_for_the_initiation_interval() {
        let mut units = one_unit();
        units.accept(0, 10, 39, 4, FlightId(0));
        assert!(!units.can_accept(0, 13, 39));
        assert!(units.can_accept(0, 14, 39));
    }

    #[test]
    fn two_results_do_not_arrive_in_one_cycle_of_a_unit() {
        let mut units = Units::new(&[(Pipe::Sp, 1)], 2);
        units.accept(0, 10, 5, 1, FlightId(0));
        assert!(!units.can_accept(0, 11, 4), "same arrival");
        assert!(units.can_accept(0, 11, 5));
    }

    #[test]
    fn result_bus_limits_all_units_together() {
        let mut units = Units::new(&[(Pipe::Sp, 2), (Pipe::Sfu, 1)], 2);
        units.accept(0, 10, 4, 1, FlightId(0));
        units.accept(1, 10, 4, 1, FlightId(1));
        assert!(!units.can_accept(2, 10, 4), "third result in the cycle");
        assert!(units.can_accept(2, 10, 8));
    }

    #[test]
    fn the_wheel_finds_events_across_its_seam() {
        let mut units = one_unit();
        let now = HORIZON as Cycle * 3 - 2;
        units.accept(0, now, 8, 1, FlightId(1));
        assert_eq!(units.next_write_back(now + 1), Some(now + 10));
    }
}
