//! Which thread has too much to do. The balancer looks at who waits for whom, never at a clock, and
//! decides only which thread runs an SM, which no result can show.

/// Steps between two looks, at first.
const STEPS: u32 = 64;

/// Steps between two looks, at most. Where two threads are late in turn, an SM would move to and
/// fro, and a core's caches take time to load the state of one.
const MOST_STEPS: u32 = 1 << 14;

/// Steps that a window counts as: threads meet once or a few times in it, and how long each waits
/// differs from window to window.
const WINDOW_STEPS: u32 = 4;

/// Turns a step for which a worker must have waited longer than another to be given an SM of it.
const IDLE_TURNS: u64 = 16;

/// Watches the threads: the stepping one, whose number is 0, and the workers.
#[derive(Debug)]
pub(crate) struct LoadBalancer {
    /// Steps since the last look.
    steps: u32,
    /// Steps of these in which the stepping thread waited for others.
    early: u32,
    /// Steps between two looks.
    period: u32,
    /// By worker: the turns it had waited at the last look.
    before: Vec<u64>,
    /// By worker: the turns it had waited at the end of the last window.
    asked: Vec<u64>,
    /// The thread that gave an SM last, and the one that took it.
    last: Option<(usize, usize)>,
}

impl LoadBalancer {
    /// A balancer for some threads, the stepping one among them.
    pub fn new(threads: usize) -> Self {
        Self {
            steps: 0,
            early: 0,
            period: STEPS,
            before: vec![0; threads - 1],
            asked: vec![0; threads - 1],
            last: None,
        }
    }

    /// A step is over; whether the stepping thread waited for others.
    #[inline]
    pub fn note_step(&mut self, waited: bool) {
        self.steps += 1;
        self.early += u32::from(waited);
    }

    /// A window of some cycles is over, in which the stepping thread has waited `own` turns.
    /// `others`: by worker, the turns for which it has waited in all. A thread that waits twice as
    /// long as another should have more to do.
    pub fn note_window(&mut self, cycles: u32, own: u32, others: impl Iterator<Item = u64>) {
        let (own, others) = (u64::from(own), others.zip(&mut self.asked));
        let waited = others.map(|(now, before)| now - std::mem::replace(before, now));
        let least = waited.min().unwrap_or(0);
        let much = IDLE_TURNS * u64::from(cycles);
        let early = if own > 2 * least && own > much {
            WINDOW_STEPS
        } else if 2 * own < least && least > much {
            0
        } else {
            WINDOW_STEPS / 2
        };
        self.steps += WINDOW_STEPS;
        self.early += early;
    }

    /// The thread that should give an SM, and the one that should take it, if it is time for that.
    /// `waited`: by worker, the turns for which it has waited so far.
    pub fn due(&mut self, waited: impl Iterator<Item = u64>) -> Option<(usize, usize)> {
        if self.steps < self.period || self.before.is_empty() {
            return None;
        }
        let (mut idlest, mut busiest) = ((0, 1), (u64::MAX, 1));
        for ((worker, now), before) in (1..).zip(waited).zip(&mut self.before) {
            let idle = now - std::mem::replace(before, now);
            idlest = idlest.max((idle, worker));
            busiest = busiest.min((idle, worker));
        }
        let choice = self.choose(idlest, busiest);
        (self.steps, self.early) = (0, 0);
        if let Some((giver, taker)) = choice {
            let reversed = self.last == Some((taker, giver));
            let longer = (2 * self.period).min(MOST_STEPS);
            self.period = if reversed { longer } else { STEPS };
            self.last = choice;
        }
        choice
    }

    /// Chooses between the stepping thread and a worker, else between two workers, given as idle
    /// turns and number. A thread that waits in some steps and not in others is well balanced.
    fn choose(&self, idlest: (u64, usize), busiest: (u64, usize)) -> Option<(usize, usize)> {
        if self.early > self.steps / 4 * 3 {
            return Some((busiest.1, 0));
        }
        if self.early < self.steps / 4 {
            return Some((0, idlest.1));
        }
        let much = idlest.0 - busiest.0 > IDLE_TURNS * u64::from(self.steps);
        much.then_some((busiest.1, idlest.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The move that is due after some steps, in `early` of which the stepping thread waited, when
    /// workers have waited these turns in all.
    fn due(
        balance: &mut LoadBalancer,
        steps: u32,
        early: u32,
        waited: [u64; 2],
    ) -> Option<(usize, usize)> {
        (0..steps).for_each(|step| balance.note_step(step < early));
        balance.due(waited.into_iter())
    }

    /// The move that is due after as many windows of 16 cycles as are between two looks, in each of
    /// which the stepping thread has waited `own` turns, and the worker `other`.
    fn due_after_windows(own: u32, other: u64) -> Option<(usize, usize)> {
        let mut balance = LoadBalancer::new(2);
        for window in 1..=u64::from(STEPS / WINDOW_STEPS) {
            balance.note_window(16, own, [window * other].into_iter());
        }
        balance.due([0].into_iter())
    }

    #[test]
    fn a_thread_that_waits_twice_as_long_gets_more_to_do() {
        assert_eq!(due_after_windows(801, 400), Some((1, 0)), "it takes an SM");
        assert_eq!(due_after_windows(800, 400), None);
        assert_eq!(due_after_windows(400, 800), None);
        assert_eq!(due_after_windows(399, 800), Some((0, 1)), "it gives one");
        let much = 16 * IDLE_TURNS as u32;
        assert_eq!(due_after_windows(0, much.into()), None, "both are busy");
        assert_eq!(due_after_windows(much, 0), None);
    }

    #[test]
    fn a_late_thread_gives_to_one_that_waits() {
        let mut balance = LoadBalancer::new(3);
        assert_eq!(due(&mut balance, STEPS - 1, 0, [0, 0]), None, "not yet");
        assert_eq!(due(&mut balance, 1, 0, [500, 800]), Some((0, 2)));
        assert_eq!(due(&mut balance, STEPS, STEPS, [600, 1000]), Some((1, 0)));
        let half = STEPS / 2;
        assert_eq!(due(&mut balance, STEPS, half, [700, 2000]), None, "even");
        let much = 2000 + 101 + IDLE_TURNS * u64::from(STEPS);
        assert_eq!(due(&mut balance, STEPS, half, [800, much]), Some((1, 2)));
    }

    /// The next look is later where an SM would come back at once.
    #[test]
    fn an_sm_does_not_move_to_and_fro() {
        let mut balance = LoadBalancer::new(3);
        assert!(due(&mut balance, STEPS, 0, [1, 2]).is_some());
        assert!(due(&mut balance, STEPS, 0, [2, 4]).is_some());
        assert_eq!(due(&mut balance, STEPS, STEPS, [4, 5]), Some((2, 0)));
        assert_eq!(due(&mut balance, STEPS, 0, [5, 7]), None, "later");
        assert_eq!(due(&mut balance, STEPS, 0, [5, 7]), Some((0, 2)));
        assert_eq!(due(&mut balance, STEPS, 0, [6, 9]), None, "later still");
    }

    #[test]
    fn a_single_thread_has_nothing_to_give() {
        let mut balance = LoadBalancer::new(1);
        (0..2 * STEPS).for_each(|_| balance.note_step(false));
        assert_eq!(balance.due(std::iter::empty()), None);
    }
}
