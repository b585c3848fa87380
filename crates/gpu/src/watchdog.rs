//! Sees to it that a run that cannot end is reported: deadlocks, where nothing issues, and
//! livelocks, where warps spin on what nobody left can change (the limit of a divergence stack,
//! and blocks that wait for blocks which have not started).
//!
//! A livelock is proved, not guessed: since some moment no block ended, no barrier was reached and
//! nothing was stored, and every warp that is not at a barrier has come back to a state that it
//! was in since. States are sampled at the ends of steps and the sample to compare with is renewed
//! at doubling intervals (Brent's cycle detection). While warps are out of an SM, any of them may
//! come in and end the spinning: then an interval must pass whole, and every warp that was present
//! in it must have come back.

use crate::workers::SmArray;
use std::collections::BTreeMap;
use warploom_base::Cycle;

/// Core cycles between two looks at whether anything still goes forward (GPGPU-Sim's interval).
const INTERVAL: Cycle = 50_000;
/// Quiet looks before warps' states are watched.
const PATIENCE: u32 = 3;

/// What the machine is stuck in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stuck {
    Deadlock,
    Livelock,
}

/// One warp's state at an earlier moment.
#[derive(Clone, Copy)]
struct Sample {
    state: u64,
    /// The warp has been in another state since; one that waits for memory stands still.
    left: bool,
    came_back: bool,
}

impl Sample {
    fn new(state: u64) -> Self {
        Self {
            state,
            left: false,
            came_back: false,
        }
    }

    fn observe(&mut self, state: u64) {
        if state != self.state {
            self.left = true;
        } else if self.left {
            self.came_back = true;
        }
    }
}

/// The watchdog.
pub(crate) struct Watchdog {
    next_at: Cycle,
    instructions: u64,
    changes: u64,
    quiet: u32,
    /// By SM and its number for the warp, while states are watched.
    samples: BTreeMap<(usize, u16), Sample>,
    renew_at: Cycle,
    renew_after: Cycle,
}

impl Watchdog {
    pub fn new() -> Self {
        Self {
            next_at: INTERVAL,
            instructions: 0,
            changes: 0,
            quiet: 0,
            samples: BTreeMap::new(),
            renew_at: 0,
            renew_after: INTERVAL,
        }
    }

    /// There is something to look at in this cycle.
    #[inline]
    pub fn is_due(&self, now: Cycle) -> bool {
        now >= self.next_at || self.quiet >= PATIENCE
    }

    /// At the end of a step. `busy_since`: launch of the oldest kernel whose blocks may run.
    pub fn look(
        &mut self,
        now: Cycle,
        busy_since: Option<Cycle>,
        sms: &mut SmArray,
    ) -> Option<Stuck> {
        let (mut issued, mut changes) = (0, 0);
        sms.for_each(|_, sm| {
            let c = &sm.counters;
            issued += c.warp_instructions;
            changes += c.store_instructions + c.barriers + c.blocks_finished + c.blocks_started;
        });
        let changed = changes != self.changes;
        self.changes = changes;
        if changed {
            self.quiet = 0;
        } else if self.quiet >= PATIENCE && self.all_came_back(now, sms) {
            return Some(Stuck::Livelock);
        }
        if now < self.next_at {
            return None;
        }
        self.next_at = now + INTERVAL;
        self.quiet += u32::from(!changed);
        if self.quiet == PATIENCE {
            self.samples.clear();
            (self.renew_at, self.renew_after) = (now, INTERVAL);
        }
        let stopped = issued == self.instructions;
        self.instructions = issued;
        let due = busy_since.is_some_and(|since| since + INTERVAL <= now);
        (stopped && due).then_some(Stuck::Deadlock)
    }

    /// Every warp that spins has come back to a former state, and at least one does.
    fn all_came_back(&mut self, now: Cycle, sms: &mut SmArray) -> bool {
        let mut absent = false;
        sms.for_each(|_, sm| absent |= sm.has_absent());
        let over = now >= self.renew_at;
        let back = self.samples.values().all(|sample| sample.came_back);
        let held = over && back && !self.samples.is_empty();
        if over {
            self.samples.clear();
            self.renew_at = now + self.renew_after;
            self.renew_after *= 2;
        }
        let (mut all, mut any) = (true, false);
        let samples = &mut self.samples;
        sms.for_each(|sm, core| {
            core.fingerprints(|warp, state| {
                let sample = samples
                    .entry((sm, warp))
                    .or_insert_with(|| Sample::new(state));
                sample.observe(state);
                all &= sample.came_back;
                any = true;
            });
        });
        any && if absent { held } else { all }
    }
}

#[cfg(test)]
mod tests {
    use super::{INTERVAL, PATIENCE, Sample, Stuck, Watchdog};
    use crate::workers::SmArray;
    use warploom_base::{Cycle, SmId};
    use warploom_config::preset;
    use warploom_policy::OwnPolicies;
    use warploom_sm::Sm;

    fn sms() -> SmArray {
        let spec = preset("gtx480").expect("a preset");
        SmArray::new(vec![Sm::new(&spec, SmId(0), &OwnPolicies::default())], 1)
    }

    /// A kernel whose blocks may run for an interval without an instruction is stuck; one that
    /// became ready a cycle later is not yet.
    #[test]
    fn a_deadlock_is_an_interval_without_instructions() {
        let look = |ready: Option<Cycle>| Watchdog::new().look(INTERVAL, ready, &mut sms());
        assert_eq!(look(Some(0)), Some(Stuck::Deadlock));
        assert_eq!(look(Some(1)), None);
        assert_eq!(look(None), None, "nothing runs");
        assert!(!Watchdog::new().is_due(INTERVAL - 1) && Watchdog::new().is_due(INTERVAL));
    }

    #[test]
    fn instructions_put_a_deadlock_off() {
        let (mut watch, mut sms) = (Watchdog::new(), sms());
        sms.for_each(|_, sm| sm.counters.warp_instructions = 1);
        assert_eq!(watch.look(INTERVAL, Some(0), &mut sms), None);
        assert!(!watch.is_due(2 * INTERVAL - 1));
        assert_eq!(
            watch.look(2 * INTERVAL, Some(0), &mut sms),
            Some(Stuck::Deadlock)
        );
    }

    /// Between two intervals, too: the next block's warps have the numbers of the last one's, and
    /// begin in the same state.
    #[test]
    fn a_change_puts_a_livelock_off_at_once() {
        let (mut watch, mut sms) = (Watchdog::new(), sms());
        for nth in 1..=u64::from(PATIENCE) {
            assert!(!watch.is_due(nth * INTERVAL - 1));
            assert_eq!(watch.look(nth * INTERVAL, None, &mut sms), None);
        }
        let now = u64::from(PATIENCE) * INTERVAL;
        assert!(watch.is_due(now + 1), "states are watched");
        sms.for_each(|_, sm| sm.counters.blocks_finished = 1);
        assert_eq!(watch.look(now + 1, None, &mut sms), None);
        assert!(!watch.is_due(now + 2), "no longer");
    }

    /// A warp that stands still has not come back: it must have been elsewhere.
    #[test]
    fn a_state_comes_back_only_after_it_was_left() {
        let mut sample = Sample::new(7);
        sample.observe(7);
        assert!(!sample.came_back);
        sample.observe(8);
        assert!(!sample.came_back);
        sample.observe(7);
        assert!(sample.came_back);
    }
}
