//! Times in which the stepping thread does without its workers, because other programs have the
//! cores. A worker that is not scheduled keeps it waiting for a thousand steps; a worker on the
//! stepping thread's own core does so for a turn of waiting in every step.
//!
//! The backoff decides only which thread runs SMs, which no result can show.

/// Steps without workers, at first: about as long as the wait that led to them.
const STEPS: u32 = 1 << 10;

/// Steps without workers, at most: under a second, because the other program may have ended.
const MOST_STEPS: u32 = 1 << 16;

/// Consecutive steps in which the stepping thread waits so long for workers that it yields, before
/// it does without them.
const SLOW_STEPS: u32 = 128;

/// The same for steps, or windows, in which a yield ends the wait: two threads share a core while
/// another program has the other, and spend longer on waiting for each other, hundreds of
/// microseconds, than on their work.
const TURNS: u32 = 4;

/// How a step went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pace {
    /// The stepping thread waited little.
    Even,
    /// The stepping thread waited so long that it yielded.
    Slow,
    /// A yield ended the wait.
    InTurns,
}

/// Counts steps with and without workers.
#[derive(Debug)]
pub(crate) struct Backoff {
    /// Steps still to do without them.
    left: u32,
    /// Steps of the last backoff, 0 before the first.
    length: u32,
    /// Steps with them since.
    together: u32,
    /// The last steps of these that were slow.
    slow: u32,
}

impl Backoff {
    /// A backoff that has not begun.
    pub fn new() -> Self {
        Self {
            left: 0,
            length: 0,
            together: 0,
            slow: 0,
        }
    }

    /// Some steps begin. Returns whether they are done without workers.
    #[inline]
    pub fn pass(&mut self, steps: u32) -> bool {
        let alone = self.left > 0;
        self.left = self.left.saturating_sub(steps);
        let together = if alone { 0 } else { steps };
        self.together = self.together.saturating_add(together);
        alone
    }

    /// True if the next step is done with workers.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// A step with workers is over. `late`: one came so late that it cannot have had a core.
    /// Returns whether the next steps are done without them: twice as many as in the last backoff,
    /// if fewer steps than in that one were done with workers since.
    #[inline]
    pub fn end_step(&mut self, pace: Pace, late: bool) -> bool {
        self.slow = match pace {
            Pace::Even => 0,
            Pace::Slow => self.slow + 1,
            Pace::InTurns => self.slow + SLOW_STEPS / TURNS,
        };
        let begins = late || self.slow >= SLOW_STEPS;
        if begins {
            self.begin();
        }
        begins
    }

    #[cold]
    fn begin(&mut self) {
        self.length = if self.together < self.length {
            (2 * self.length).min(MOST_STEPS)
        } else {
            STEPS
        };
        self.left = self.length;
        self.together = 0;
        self.slow = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, MOST_STEPS, Pace, SLOW_STEPS, STEPS, TURNS};

    /// Steps until workers are called again.
    fn alone(backoff: &mut Backoff) -> u32 {
        let mut steps = 0;
        while backoff.pass(1) {
            steps += 1;
        }
        steps
    }

    /// Ends a step with workers. Returns whether the next ones are done without.
    fn step(backoff: &mut Backoff, pace: Pace, late: bool) -> bool {
        assert!(!backoff.pass(1));
        backoff.end_step(pace, late)
    }

    #[test]
    fn backoffs_grow_while_workers_stay_late_and_begin_anew_after_good_times() {
        let mut backoff = Backoff::new();
        assert_eq!(alone(&mut backoff), 0);
        for n in 0..9 {
            assert!(backoff.end_step(Pace::Slow, true));
            assert_eq!(alone(&mut backoff), (STEPS << n).min(MOST_STEPS));
            assert!(backoff.is_over());
        }
        for _ in 0..MOST_STEPS {
            assert!(!step(&mut backoff, Pace::Even, false));
        }
        assert!(step(&mut backoff, Pace::Slow, true));
        assert_eq!(alone(&mut backoff), STEPS);
    }

    #[test]
    fn steps_may_be_taken_at_once() {
        let mut backoff = Backoff::new();
        assert!(!backoff.pass(100));
        assert!(backoff.end_step(Pace::Slow, true));
        assert!(backoff.pass(STEPS - 1) && !backoff.is_over());
        assert!(backoff.pass(100) && backoff.is_over());
        assert!(!backoff.pass(1));
    }

    #[test]
    fn slow_steps_count_in_a_row() {
        let mut backoff = Backoff::new();
        for _ in 0..3 {
            (1..SLOW_STEPS).for_each(|_| assert!(!step(&mut backoff, Pace::Slow, false)));
            assert!(!step(&mut backoff, Pace::Even, false));
        }
        (1..SLOW_STEPS).for_each(|_| assert!(!step(&mut backoff, Pace::Slow, false)));
        assert!(step(&mut backoff, Pace::Slow, false));
        assert_eq!(alone(&mut backoff), STEPS);
    }

    /// Threads that share a core are noticed after few steps.
    #[test]
    fn threads_on_one_core_are_noticed_soon() {
        let mut backoff = Backoff::new();
        for n in 0..3 {
            (1..TURNS).for_each(|_| assert!(!step(&mut backoff, Pace::InTurns, false)));
            assert!(step(&mut backoff, Pace::InTurns, false));
            assert_eq!(alone(&mut backoff), STEPS << n);
        }
    }
}
