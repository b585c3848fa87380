//! Cycles that the front has run and an SM has not. As long as a buffer of the network's has a flit
//! to pass on, what comes behind that makes no difference to the network: what the SM sends later
//! enters the buffer as if it had been there in time, in the first cycle in which it had found
//! room.
//!
//! Each SM has a buffer of its own, from which at most a flit passes a cycle.

use warploom_base::Cycle;

/// Those cycles in which something more could have entered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lag {
    /// The first, and the cycle behind the last. There are none where they are the same.
    from: Cycle,
    end: Cycle,
    /// In which of them a flit has passed from the buffer, as bits, that of the first the lowest.
    passed: u32,
}

impl Lag {
    /// The front has run cycle `now` ahead of the SM, in which a flit has `passed` or not. Nothing
    /// more could have entered in it where something `waits` to enter.
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

    /// The front, whose next cycle is `front`, is ahead by any.
    #[inline]
    pub fn is_before(&self, front: Cycle) -> bool {
        self.from < front && self.end == front
    }

    /// What comes to the buffer in cycle `at` came too late for none of them.
    #[inline]
    pub fn is_behind(&self, at: Cycle) -> bool {
        self.end <= at
    }

    /// The first, and the cycle behind the last.
    #[inline]
    pub fn span(&self) -> (Cycle, Cycle) {
        (self.from, self.end)
    }

    /// In which of them a flit has passed.
    #[inline]
    pub fn passed(&self) -> u32 {
        self.passed
    }

    /// Something comes to the buffer in cycle `at`, which it has room for beside so many flits that
    /// have passed since. Returns the cycle in which it enters, if that is one of them. Nothing
    /// enters sooner after that, or in any of them if it does not.
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
    use super::Lag;
    use std::collections::VecDeque;
    use warploom_base::{Cycle, Rng};

    /// Room of the buffer, in flits.
    const ROOM: u32 = 9;

    /// A buffer that passes a flit in some cycles, and what waits in front of it: flits, with the
    /// cycle in which they came.
    #[derive(Clone, Default)]
    struct Buffer {
        held: u32,
        waiting: VecDeque<(Cycle, u32)>,
        /// What has entered, with its cycle.
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

    /// What comes late is where it would be if it had come in time, whenever it is known.
    #[test]
    fn who_comes_late_enters_as_in_time() {
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
            let mut lag = Lag::default();
            for now in 0..32 {
                // It is known before the buffer has nothing left to pass.
                let holds = ahead.held + ahead.waiting.iter().map(|(_, flits)| flits).sum::<u32>();
                let reveals = if holds == 0 { 6 } else { rng.below(20) / 18 };
                for _ in 0..reveals {
                    let Some((at, flits)) = unknown.pop_front() else {
                        break;
                    };
                    let has_room = |passed| ahead.held + passed + flits <= ROOM;
                    let cycle = Some(()).filter(|()| !lag.is_behind(at));
                    let cycle = cycle.and_then(|()| lag.enter(at, has_room));
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
                    lag.note(now, waits, passed);
                    assert!(lag.is_before(now + 1) != waits);
                }
            }
            let entered = ahead.entered.len();
            assert_eq!(ahead.entered, in_time.entered[..entered]);
        }
        assert!(late > 1_000, "{late}");
    }
}
