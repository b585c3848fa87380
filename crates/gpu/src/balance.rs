//! Which thread has too much to do. Looks at who waits for whom, never at a clock, and decides only
//! where SMs are run, which no result can show.

/// Steps between two looks, at first.
const STEPS: u32 = 64;

/// Steps between two looks, at most: where two threads take turns in being late, an SM would be
/// passed to and fro, and a core's caches take time to fill with the state of one.
const MOST_STEPS: u32 = 1 << 14;

/// What a spell counts as: threads meet once or a few times in it, and how long each waits differs
/// from one to the next.
const SPELL_STEPS: u32 = 4;

/// Turns that a worker must have waited longer than another, each step, to be given an SM of it.
const IDLE_TURNS: u64 = 16;

/// Watches the threads: the stepping one, whose number is 0, and the workers.
#[derive(Debug)]
pub(crate) struct Balance {
    /// Steps since the last look.
    steps: u32,
    /// Steps of these in which the stepping thread waited for others.
    early: u32,
    /// Steps between two looks.
    period: u32,
    /// By worker: the turns it had waited at the last look.
    before: Vec<u64>,
    /// By worker: the turns it had waited at the end of the last spell.
    asked: Vec<u64>,
    /// Who gave to whom last.
    last: Option<(usize, usize)>,
}

impl Balance {
    /// For so many threads, the stepping one among them.
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
    pub fn note(&mut self, waited: bool) {
        self.steps += 1;
        self.early += u32::from(waited);
    }

    /// So many cycles in which SMs ran ahead are over; in how many the stepping thread waited.
    pub fn note_cycles(&mut self, cycles: u32, waited: u32) {
        self.steps += cycles;
        self.early += waited;
    }

    /// A spell of so many cycles is over, in which the stepping thread has waited `own` turns; the
    /// workers have so many in all. Who waits twice as long as another should have more to do.
    pub fn note_spell(&mut self, cycles: u32, own: u32, others: impl Iterator<Item = u64>) {
        let (own, others) = (u64::from(own), others.zip(&mut self.asked));
        let waited = others.map(|(now, before)| now - std::mem::replace(before, now));
        let least = waited.min().unwrap_or(0);
        let much = IDLE_TURNS * u64::from(cycles);
        let early = if own > 2 * least && own > much {
            SPELL_STEPS
        } else if 2 * own < least && least > much {
            0
        } else {
            SPELL_STEPS / 2
        };
        self.note_cycles(SPELL_STEPS, early);
    }

    /// Which thread should give an SM to which, if it is time for that. `waited`: by worker, the
    /// turns that it has waited so far.
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

    /// Between the stepping thread and a worker, else between two workers, given as idle turns and
    /// number. Waiting in some steps and not in others is as it should be.
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

    /// What is due after so many steps, in `early` of which the stepping thread waited, when workers
    /// have waited so many turns in all.
    fn due(
        balance: &mut Balance,
        steps: u32,
        early: u32,
        waited: [u64; 2],
    ) -> Option<(usize, usize)> {
        (0..steps).for_each(|step| balance.note(step < early));
        balance.due(waited.into_iter())
    }

    /// What is due after as many spells of 16 cycles as are between two looks, in each of which the
    /// stepping thread has waited `own` turns, and the worker others.
    fn due_after_spells(own: u32, other: u64) -> Option<(usize, usize)> {
        let mut balance = Balance::new(2);
        for spell in 1..=u64::from(STEPS / SPELL_STEPS) {
            balance.note_spell(16, own, [spell * other].into_iter());
        }
        balance.due([0].into_iter())
    }

    #[test]
    fn who_waits_twice_as_long_gets_more_to_do() {
        assert_eq!(due_after_spells(801, 400), Some((1, 0)), "it takes an SM");
        assert_eq!(due_after_spells(800, 400), None);
        assert_eq!(due_after_spells(400, 800), None);
        assert_eq!(due_after_spells(399, 800), Some((0, 1)), "it gives one");
        let much = 16 * IDLE_TURNS as u32;
        assert_eq!(due_after_spells(0, much.into()), None, "both are busy");
        assert_eq!(due_after_spells(much, 0), None);
    }

    #[test]
    fn who_is_late_gives_to_who_waits() {
        let mut balance = Balance::new(3);
        assert_eq!(due(&mut balance, STEPS - 1, 0, [0, 0]), None, "not yet");
        assert_eq!(due(&mut balance, 1, 0, [500, 800]), Some((0, 2)));
        assert_eq!(due(&mut balance, STEPS, STEPS, [600, 1000]), Some((1, 0)));
        let half = STEPS / 2;
        assert_eq!(due(&mut balance, STEPS, half, [700, 2000]), None, "even");
        let much = 2000 + 101 + IDLE_TURNS * u64::from(STEPS);
        assert_eq!(due(&mut balance, STEPS, half, [800, much]), Some((1, 2)));
    }

    /// Where an SM comes back at once, the next look is later; where it does not, it is not.
    #[test]
    fn an_sm_is_not_passed_to_and_fro() {
        let mut balance = Balance::new(3);
        assert!(due(&mut balance, STEPS, 0, [1, 2]).is_some());
        assert!(due(&mut balance, STEPS, 0, [2, 4]).is_some());
        assert_eq!(due(&mut balance, STEPS, STEPS, [4, 5]), Some((2, 0)));
        assert_eq!(due(&mut balance, STEPS, 0, [5, 7]), None, "later");
        assert_eq!(due(&mut balance, STEPS, 0, [5, 7]), Some((0, 2)));
        assert_eq!(due(&mut balance, STEPS, 0, [6, 9]), None, "later still");
    }

    #[test]
    fn a_single_thread_has_nothing_to_give() {
        let mut balance = Balance::new(1);
        (0..2 * STEPS).for_each(|_| balance.note(false));
        assert_eq!(balance.due(std::iter::empty()), None);
    }
}
