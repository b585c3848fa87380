//! When the stepping thread does without its workers: where other programs have the cores, a worker
//! that is not scheduled keeps it waiting for a slice of theirs, a thousand steps long, and one on
//! its own core for a turn of waiting in every step.
//!
//! It decides only where SMs are run, which no result can show.

/// Steps without workers, at first: about as long as the wait that led to them.
const STEPS: u32 = 1 << 10;

/// Steps without workers, at most: under a second, for the other program may have ended.
const MOST_STEPS: u32 = 1 << 16;

/// Steps in a row in which the stepping thread waits so long for workers that it gives way, before
/// it does without them: two on one core take turns. More than [`Balance`](crate::balance::Balance)
/// needs to even out what SMs cost.
const SLOW_STEPS: u32 = 128;

/// Such steps in a row, or spells, in which giving way ends the wait: two of its threads have one
/// core between them while another program has the other, and in each of these they spend longer on
/// waiting for each other, hundreds of microseconds, than on their work.
const TURNS: u32 = 4;

/// How a step went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pace {
    /// The stepping thread waited little.
    Even,
    /// It waited so long that it gave way.
    Slow,
    /// Giving way was what ended the wait.
    InTurns,
}

/// Counts steps with and without workers.
#[derive(Debug)]
pub(crate) struct Retreat {
    /// Steps still to do without them.
    left: u32,
    /// Steps of the last retreat, 0 before the first.
    length: u32,
    /// Steps with them since.
    together: u32,
    /// Of these the last ones that were slow.
    slow: u32,
}

impl Retreat {
    /// With workers until one is late.
    pub fn new() -> Self {
        Self {
            left: 0,
            length: 0,
            together: 0,
            slow: 0,
        }
    }

    /// A step begins: whether it is done without workers.
    #[inline]
    pub fn begin_step(&mut self) -> bool {
        self.pass(1)
    }

    /// So many steps are taken at once: whether they are done without workers.
    #[inline]
    pub fn pass(&mut self, steps: u32) -> bool {
        let alone = self.left > 0;
        self.left = self.left.saturating_sub(steps);
        let together = if alone { 0 } else { steps };
        self.together = self.together.saturating_add(together);
        alone
    }

    /// The next step is the first one with workers again.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// A step with workers is over: how it went, and whether one was so late that it cannot have
    /// had a core. Returns whether the next steps are done without: twice as many as last time, if
    /// there were fewer with them since.
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
    use super::{MOST_STEPS, Pace, Retreat, SLOW_STEPS, STEPS, TURNS};

    /// Steps until workers are called again.
    fn alone(retreat: &mut Retreat) -> u32 {
        let mut steps = 0;
        while retreat.begin_step() {
            steps += 1;
        }
        steps
    }

    /// A step with workers; whether those after it are done without.
    fn step(retreat: &mut Retreat, pace: Pace, late: bool) -> bool {
        assert!(!retreat.begin_step());
        retreat.end_step(pace, late)
    }

    #[test]
    fn retreats_grow_while_workers_stay_late_and_begin_anew_after_good_times() {
        let mut retreat = Retreat::new();
        assert_eq!(alone(&mut retreat), 0);
        for n in 0..9 {
            assert!(retreat.end_step(Pace::Slow, true));
            assert_eq!(alone(&mut retreat), (STEPS << n).min(MOST_STEPS));
            assert!(retreat.is_over());
        }
        for _ in 0..MOST_STEPS {
            assert!(!step(&mut retreat, Pace::Even, false));
        }
        assert!(step(&mut retreat, Pace::Slow, true));
        assert_eq!(alone(&mut retreat), STEPS);
    }

    #[test]
    fn steps_may_be_taken_at_once() {
        let mut retreat = Retreat::new();
        assert!(!retreat.pass(100));
        assert!(retreat.end_step(Pace::Slow, true));
        assert!(retreat.pass(STEPS - 1) && !retreat.is_over());
        assert!(retreat.pass(100) && retreat.is_over());
        assert!(!retreat.pass(1));
    }

    #[test]
    fn slow_steps_count_in_a_row() {
        let mut retreat = Retreat::new();
        for _ in 0..3 {
            (1..SLOW_STEPS).for_each(|_| assert!(!step(&mut retreat, Pace::Slow, false)));
            assert!(!step(&mut retreat, Pace::Even, false));
        }
        (1..SLOW_STEPS).for_each(|_| assert!(!step(&mut retreat, Pace::Slow, false)));
        assert!(step(&mut retreat, Pace::Slow, false));
        assert_eq!(alone(&mut retreat), STEPS);
    }

    /// Threads that take turns on one core are told apart soon, and the longer the more often.
    #[test]
    fn threads_on_one_core_are_noticed_soon() {
        let mut retreat = Retreat::new();
        for n in 0..3 {
            (1..TURNS).for_each(|_| assert!(!step(&mut retreat, Pace::InTurns, false)));
            assert!(step(&mut retreat, Pace::InTurns, false));
            assert_eq!(alone(&mut retreat), STEPS << n);
        }
    }
}
