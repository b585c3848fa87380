//! Function units: a dispatch register that holds an instruction for its initiation interval, a
//! pipeline of its latency, and a result bus shared by all
//! (docs/model/sm.md, Execution units).
//!
//! Instructions do not move from stage to stage: result slots and the result bus are tables by the
//! cycle in which a result arrives, and finished instructions wait in a wheel of cycles. An
//! instruction accepted in cycle t with latency L writes back in cycle t + L + 2.

use crate::flight::FlightId;
use crate::pipe::Pipe;
use std::ops::Range;
use warploom_base::Cycle;
use warploom_state::State;

/// Number of cycles that the tables cover; latencies are at least two lower.
pub const HORIZON: usize = 512;

/// Most units of a kind, because a mask has a bit for each.
const UNITS: usize = u64::BITS as usize;

const PIPES: usize = Pipe::PLACES;

/// Mask of units of a pipe. Where an SM is split, the number of a unit is that of the sub-core that
/// it serves.
pub type UnitMask = u64;

/// All function units except for load/store, with result bus and write-back wheel.
///
/// The tables are small, because every cycle of every SM touches other places of them.
#[derive(Clone, Debug, State)]
pub struct Units {
    /// By pipe: mask of its units.
    of_pipe: [UnitMask; PIPES],
    /// By pipe: units that keep an instruction in the dispatch register for longer than a cycle.
    busy: [UnitMask; PIPES],
    /// Most results in a cycle: the width of the bus, or one for each unit.
    most: usize,
    /// By place of the wheel: number of results due.
    due: Box<[u16; HORIZON]>,
    /// Instructions that write back, with their pipes: `most` entries for each place. Empty before
    /// [`furnish`](Self::furnish).
    wheel: Vec<(FlightId, u8)>,
    /// By pipe and place of the wheel: units that have a result there. Empty before
    /// [`furnish`](Self::furnish).
    claims: Vec<[UnitMask; HORIZON]>,
    /// By pipe and unit: cycle from which a busy unit is free.
    free_at: Box<[[Cycle; UNITS]; PIPES]>,
    /// Mask of the places of `wheel` that hold something.
    occupied: [u64; HORIZON / 64],
}

/// Place in the wheel of an instruction accepted now.
#[inline]
fn place_of(now: Cycle, latency: u32) -> usize {
    (now + Cycle::from(latency) + 2) as usize % HORIZON
}

impl Units {
    /// Units of the given kinds and counts, results limited to `bus_width` per cycle. Requires
    /// [`furnish`](Self::furnish) before the first instruction.
    pub fn new(counts: &[(Pipe, u32)], bus_width: u32) -> Self {
        let mut of_pipe = [0; PIPES];
        for &(pipe, count) in counts {
            assert!(count as usize <= UNITS, "at most {UNITS} units of a kind");
            of_pipe[pipe as usize] = !UnitMask::MAX.checked_shl(count).unwrap_or(0);
        }
        let all: u32 = of_pipe.iter().map(|units| units.count_ones()).sum();
        let most = all.min(bus_width) as usize;
        Self {
            of_pipe,
            busy: [0; PIPES],
            most,
            due: Box::new([0; HORIZON]),
            wheel: Vec::new(),
            claims: Vec::new(),
            free_at: Box::new([[0; UNITS]; PIPES]),
            occupied: [0; HORIZON / 64],
        }
    }

    /// Allocates the memory of the large tables, if that has not been done.
    pub fn furnish(&mut self) {
        self.wheel.resize(self.most * HORIZON, (FlightId(0), 0));
        self.claims.resize(PIPES, [0; HORIZON]);
    }

    /// Units of a pipe whose dispatch register is free.
    #[inline]
    pub fn free(&mut self, pipe: usize, now: Cycle) -> UnitMask {
        if self.busy[pipe % PIPES] != 0 {
            self.end_intervals(pipe, now);
        }
        self.of_pipe[pipe % PIPES] & !self.busy[pipe % PIPES]
    }

    /// True if every unit of a pipe is kept by an instruction in its dispatch register beyond cycle
    /// `now`; where each sub-core has its own, the one of `sub`.
    #[inline(never)]
    pub fn are_taken(&self, pipe: usize, sub: Option<u8>, now: Cycle) -> bool {
        let all = self.of_pipe[pipe % PIPES];
        let mut left = sub.map_or(all, |sub| all & 1 << sub);
        let mut taken = left != 0 && left & !self.busy[pipe % PIPES] == 0;
        while taken && left != 0 {
            taken = self.free_at[pipe % PIPES][left.trailing_zeros() as usize] > now;
            left &= left - 1;
        }
        taken
    }

    #[inline(never)]
    fn end_intervals(&mut self, pipe: usize, now: Cycle) {
        let mut left = self.busy[pipe % PIPES];
        while left != 0 {
            let free = self.free_at[pipe % PIPES][left.trailing_zeros() as usize] <= now;
            self.busy[pipe % PIPES] ^= if free { left & left.wrapping_neg() } else { 0 };
            left &= left - 1;
        }
    }

    /// The units among some free units of a pipe that can take an instruction of this latency now.
    #[inline]
    pub fn accepting(&self, pipe: usize, free: UnitMask, now: Cycle, latency: u32) -> UnitMask {
        let at = place_of(now, latency);
        let has_room = usize::from(self.due[at]) < self.most;
        let without = free & !self.claims[pipe % PIPES][at];
        if has_room { without } else { 0 }
    }

    /// Takes an instruction. Requires that the unit is free and [`Self::accepting`].
    #[inline]
    pub fn accept(
        &mut self,
        (pipe, unit): (usize, u32),
        now: Cycle,
        (latency, interval): (u32, u32),
        id: FlightId,
    ) {
        debug_assert!(self.accepting(pipe, 1 << unit, now, latency) != 0);
        debug_assert!(
            (latency as usize) < HORIZON - 2,
            "latency {latency} beyond the horizon"
        );
        let at = place_of(now, latency);
        if interval > 1 {
            self.busy[pipe % PIPES] |= 1 << unit;
            self.free_at[pipe % PIPES][unit as usize % UNITS] = now + Cycle::from(interval);
        }
        self.claims[pipe % PIPES][at] |= 1 << unit;
        self.wheel[at * self.most + usize::from(self.due[at])] = (id, pipe as u8);
        self.due[at] += 1;
        self.occupied[at / 64] |= 1 << (at % 64);
    }

    /// True if an instruction writes back in this cycle.
    #[inline]
    pub fn has_finished(&self, now: Cycle) -> bool {
        let at = now as usize % HORIZON;
        self.occupied[at / 64] >> (at % 64) & 1 != 0
    }

    /// Takes out the instructions that write back in this cycle. Returns their places for
    /// [`Self::at`], which are valid until an instruction is accepted a whole round later. To be
    /// called in every cycle with such instructions.
    #[inline]
    pub fn take_finished(&mut self, now: Cycle) -> Range<usize> {
        let at = now as usize % HORIZON;
        self.occupied[at / 64] &= !(1 << (at % 64));
        let first = at * self.most;
        first..first + usize::from(std::mem::take(&mut self.due[at]))
    }

    /// The instruction at a place of the wheel from which its result is taken.
    #[inline]
    pub fn at(&mut self, place: usize, now: Cycle) -> FlightId {
        let (id, pipe) = self.wheel[place];
        self.claims[usize::from(pipe) % PIPES][now as usize % HORIZON] = 0;
        id
    }

    /// The next cycle, from `now` on, in which something writes back.
    pub fn next_write_back(&self, now: Cycle) -> Option<Cycle> {
        // The table is empty in most SMs that wait for memory.
        if self.occupied.iter().fold(0, |all, word| all | word) == 0 {
            return None;
        }
        let start = now as usize % HORIZON;
        let words = HORIZON / 64;
        // One word more than the table has, because the search begins within the first word.
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

    fn units(counts: &[(Pipe, u32)], bus_width: u32) -> Units {
        let mut units = Units::new(counts, bus_width);
        units.furnish();
        units
    }

    fn one_unit() -> Units {
        units(&[(Pipe::Sp, 1)], 1)
    }

    fn finished(units: &mut Units, now: Cycle) -> Vec<FlightId> {
        let places = units.take_finished(now);
        places.map(|place| units.at(place, now)).collect()
    }

    fn can_accept(units: &mut Units, (pipe, unit): (usize, u32), now: Cycle, latency: u32) -> bool {
        let free = units.free(pipe, now);
        units.accepting(pipe, free & 1 << unit, now, latency) != 0
    }

    const FIRST: (usize, u32) = (Pipe::Sp as usize, 0);
    const SECOND: (usize, u32) = (Pipe::Sp as usize, 1);
    const OTHER: (usize, u32) = (Pipe::Sfu as usize, 0);

    #[test]
    fn writes_back_latency_plus_two_cycles_after_acceptance() {
        let mut units = one_unit();
        units.accept(FIRST, 100, (4, 1), FlightId(7));
        assert_eq!(units.next_write_back(101), Some(106));
        assert_eq!(
            (101..106)
                .map(|t| finished(&mut units, t).len())
                .sum::<usize>(),
            0
        );
        assert_eq!(finished(&mut units, 106), [FlightId(7)]);
        assert_eq!(units.next_write_back(107), None);
    }

    #[test]
    fn is_blocked_for_the_initiation_interval() {
        let mut units = one_unit();
        units.accept(FIRST, 10, (39, 4), FlightId(0));
        assert!(!can_accept(&mut units, FIRST, 13, 39));
        assert!(can_accept(&mut units, FIRST, 14, 39));
    }

    #[test]
    fn units_are_taken_while_every_one_is_blocked() {
        let mut units = units(&[(Pipe::Sp, 2)], 2);
        units.accept(FIRST, 10, (39, 4), FlightId(0));
        let taken = |units: &Units, sub, now| units.are_taken(Pipe::Sp as usize, sub, now);
        assert!(!taken(&units, None, 11), "the second is free");
        assert!(taken(&units, Some(0), 13) && !taken(&units, Some(1), 13));
        units.accept(SECOND, 12, (39, 4), FlightId(1));
        assert!(taken(&units, None, 13) && !taken(&units, None, 14));
        assert!(!units.are_taken(Pipe::Dp as usize, None, 13), "no unit");
    }

    #[test]
    fn two_results_do_not_arrive_in_one_cycle_of_a_unit() {
        let mut units = units(&[(Pipe::Sp, 1)], 2);
        units.accept(FIRST, 10, (5, 1), FlightId(0));
        assert!(!can_accept(&mut units, FIRST, 11, 4), "same arrival");
        assert!(can_accept(&mut units, FIRST, 11, 5));
    }

    #[test]
    fn result_bus_limits_all_units_together() {
        let mut units = units(&[(Pipe::Sp, 2), (Pipe::Sfu, 1)], 2);
        units.accept(FIRST, 10, (4, 1), FlightId(0));
        units.accept(SECOND, 10, (4, 1), FlightId(1));
        assert!(
            !can_accept(&mut units, OTHER, 10, 4),
            "third result in the cycle"
        );
        assert!(can_accept(&mut units, OTHER, 10, 8));
    }

    #[test]
    fn the_wheel_finds_events_across_its_seam() {
        let mut units = one_unit();
        let now = HORIZON as Cycle * 3 - 2;
        units.accept(FIRST, now, (8, 1), FlightId(1));
        assert_eq!(units.next_write_back(now + 1), Some(now + 10));
    }
}
