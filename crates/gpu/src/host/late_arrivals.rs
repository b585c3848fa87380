//! Cycles that the request network has run and an SM has not. As long as the SM's buffer in the
//! network has a flit to pass on, nothing after that flit makes a difference to the network. A packet
//! that the SM sends later enters the buffer as if it had come in time, in the first cycle in which
//! it would have found room.
//!
//! Each SM has a buffer of its own, from which at most one flit passes in a cycle.

use warploom_base::Cycle;

/// The cycles in which another packet could have entered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LateArrivals {
    /// The first of them, and the cycle after the last. There are none where they are the same.
    from: Cycle,
    end: Cycle,
    /// The cycles of these in which a flit has passed from the buffer, as bits, the first one lowest.
    passed: u32,
}

impl LateArrivals {
    /// The network has run cycle `now` ahead of the SM. `passed`: a flit has passed in it. `waits`:
    /// a packet waits to enter, so that no later one could have entered.
    #[inline]
    pub fn note(&mut self, now: Cycle, waits: bool, passed: bool) {
        if waits || self.end != now {
            (self.from, self.passed) = (now, 0);
        }
        self.end = now + 1;
        if waits {
            self.from = self.end;
        } else {
            self.passed |= u32::from(passed) << (now - self.from);
        }
    }

    /// True if there are such cycles before the network's next cycle.
    #[inline]
    pub fn end_at(&self, next: Cycle) -> bool {
        self.from < next && self.end == next
    }

    /// True if all of them are before cycle `at`.
    #[inline]
    pub fn are_before(&self, at: Cycle) -> bool {
        self.end <= at
    }

    /// The first of them, and the cycle after the last.
    #[inline]
    pub fn span(&self) -> (Cycle, Cycle) {
        (self.from, self.end)
    }

    /// The cycles of these in which a flit has passed, as bits.
    #[inline]
    pub fn passed(&self) -> u32 {
        self.passed
    }

    /// A packet comes to the buffer in cycle `at`. `has_room(n)`: it finds room if `n` flits of those
    /// that have passed since are counted as still there. Returns the cycle in which it enters, if
    /// that is one of these cycles. Later packets enter in no earlier cycle.
    pub fn enter(&mut self, at: Cycle, has_room: impl Fn(u32) -> bool) -> Option<Cycle> {
        let mut cycle = at.max(self.from);
        while cycle < self.end && !has_room((self.passed >> (cycle - self.from)).count_ones()) {
            cycle += 1;
        }
        let is_one = cycle < self.end;
        self.passed = if is_one {
            self.passed >> (cycle - self.from)
        } else {
            0
        };
        self.from = cycle.min(self.end);
        is_one.then_some(cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::LateArrivals;
    use std::collections::VecDeque;
    use warploom_base::{Cycle, Rng};

    /// Room of the buffer, in flits.
    const ROOM: u32 = 9;

    /// A buffer that passes a flit in some cycles, and packets that wait to enter it: flits, with the
    /// cycle in which they came.
    #[derive(Clone, Default)]
    struct Buffer {
        held: u32,
        waiting: VecDeque<(Cycle, u32)>,
        /// Packets that have entered, with their cycle.
        entered: Vec<(Cycle, u32)>,
    }

    impl Buffer {
        /// Returns whether a flit has passed.
        fn cycle(&mut self, now: Cycle, passes: bool) -> bool {
            while let Some((at, flits)) = self.waiting.front().copied()
                && at <= now
                && self.held + flits <= ROOM
            {
                self.waiting.pop_front();
                self.held += flits;
                self.entered.push((now, flits));
            }
            let passed = passes && self.held > 0;
            self.held -= u32::from(passed);
            passed
        }
    }

    /// A late packet is where it would be if it had come in time, whenever it becomes known.
    #[test]
    fn late_packets_enter_as_in_time() {
        let mut rng = Rng::new(11);
        let mut late = 0;
        for _ in 0..2_000 {
            let passes: Vec<bool> = (0..32).map(|_| rng.below(3) == 0).collect();
            let known = (0..1 + rng.below(4)).map(|_| (0, 1 + rng.below(5)));
            let mut ahead = Buffer {
                waiting: known.collect(),
                ..Buffer::default()
            };
            let mut at = 0;
            let unknown = (0..6).map(|_| {
                at += Cycle::from(rng.below(6));
                (1 + at, 1 + rng.below(5))
            });
            let mut unknown: VecDeque<(Cycle, u32)> = unknown.collect();
            let mut in_time = ahead.clone();
            in_time.waiting.extend(&unknown);
            let mut late_arrivals = LateArrivals::default();
            for now in 0..32 {
                // It is known before the buffer has nothing left to pass.
                let holds = ahead.held + ahead.waiting.iter().map(|(_, flits)| flits).sum::<u32>();
                let reveals = if holds == 0 { 6 } else { rng.below(20) / 18 };
                for _ in 0..reveals {
                    let Some((at, flits)) = unknown.pop_front() else {
                        break;
                    };
                    let has_room = |passed| ahead.held + passed + flits <= ROOM;
                    let cycle = Some(()).filter(|()| !late_arrivals.are_before(at));
                    let cycle = cycle.and_then(|()| late_arrivals.enter(at, has_room));
                    match cycle {
                        Some(cycle) => {
                            late += 1;
                            ahead.held += flits;
                            ahead.entered.push((cycle, flits));
                        }
                        None => ahead.waiting.push_back((at, flits)),
                    }
                }
                let passed = ahead.cycle(now, passes[now as usize]);
                assert_eq!(passed, in_time.cycle(now, passes[now as usize]));
                let waits = ahead.waiting.front().is_some_and(|(at, _)| *at <= now);
                if unknown.front().is_some_and(|(at, _)| *at <= now) {
                    late_arrivals.note(now, waits, passed);
                    assert!(late_arrivals.end_at(now + 1) != waits);
                }
            }
            let entered = ahead.entered.len();
            assert_eq!(ahead.entered, in_time.entered[..entered]);
        }
        assert!(late > 1_000, "{late}");
    }
}
