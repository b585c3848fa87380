//! Detection of runs that cannot end: deadlocks, in which nothing issues, and livelocks, in which
//! warps spin on a condition that nothing can change any more (lanes of their own warp where these
//! make no progress, or blocks that have not started).
//!
//! A livelock is proved: since some moment no block has ended, no barrier was reached and nothing
//! was stored, and every warp that is not at a barrier has come back to a state that it was in
//! since then. States are sampled about once in 60 cycles, because a sample of all warps takes
//! longer than a cycle of the machine. The reference states are renewed at doubling intervals
//! (Brent's cycle detection). While warps are absent from an SM, any of them may return and end the
//! spinning. Then a whole interval must pass in which every warp that was present has come back to
//! a former state.

use crate::host::sms::SmArray;
use std::collections::BTreeMap;
use warploom_base::Cycle;
use warploom_state::{State, Value};

/// Core cycles between two checks for progress (GPGPU-Sim's interval).
const INTERVAL: Cycle = 50_000;
/// Number of checks without progress before states of warps are sampled.
const PATIENCE: u32 = 3;
/// Core cycles in which states are sampled once.
const STRIDE: Cycle = 64;

/// Way in which the machine is stuck.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stuck {
    Deadlock,
    Livelock,
}

/// State of a warp at an earlier moment.
#[derive(Clone, Copy, Value)]
struct Sample {
    state: u64,
    /// True if the warp has been in another state since. A warp that waits for memory has not.
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

/// Detector of runs that cannot end.
#[derive(State)]
pub(crate) struct Watchdog {
    next_at: Cycle,
    instructions: u64,
    changes: u64,
    quiet: u32,
    /// Reference states by SM and number of the warp, while states are sampled.
    samples: BTreeMap<(usize, u16), Sample>,
    renew_at: Cycle,
    renew_after: Cycle,
    /// Cycle in which states are sampled next, while they are sampled.
    sample_at: Cycle,
}

/// The first cycle after `now` in which states are sampled: one in each stride, at another place in
/// the next stride than in the last, so that no loop has all of its samples at one place. Depends
/// on time alone, whatever steps the machine takes.
fn next_sample(now: Cycle) -> Cycle {
    let of = |stride: Cycle| stride * STRIDE + stride * 37 % STRIDE;
    let stride = now / STRIDE;
    if of(stride) > now {
        of(stride)
    } else {
        of(stride + 1)
    }
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
            sample_at: 0,
        }
    }

    /// True if a check or sample is due in this cycle.
    #[inline]
    pub fn is_due(&self, now: Cycle) -> bool {
        now >= self.due()
    }

    /// The first cycle in which a check or sample is due.
    #[inline]
    pub fn due(&self) -> Cycle {
        match self.quiet >= PATIENCE {
            true => self.next_at.min(self.sample_at),
            false => self.next_at,
        }
    }

    /// Checks and samples what is due, at the end of a step. `busy_since`: cycle since which the
    /// blocks of all kernels may run.
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
        self.sample_at = next_sample(now);
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

    /// True if there are spinning warps, and every one has come back to a former state.
    fn all_came_back(&mut self, now: Cycle, sms: &mut SmArray) -> bool {
        let mut absent = false;
        sms.for_each(|_, sm| absent |= sm.has_absent());
        let over = now >= self.renew_at;
        let back = self.samples.values().all(|sample| sample.came_back);
        let held = over && back && !self.samples.is_empty();
        if over {
            self.samples.clear();
            self.renew_at += self.renew_after;
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
    use super::{INTERVAL, PATIENCE, STRIDE, Sample, Stuck, Watchdog, next_sample};
    use crate::host::sms::SmArray;
    use std::collections::BTreeSet;
    use warploom_base::{Cycle, SmId};
    use warploom_config::preset;
    use warploom_policy::CustomPolicies;
    use warploom_sm::Sm;

    fn sms() -> SmArray {
        let spec = preset("gtx480").expect("a preset");
        SmArray::new(vec![Sm::new(&spec, SmId(0), &CustomPolicies::default())], 1)
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
        let next = next_sample(now);
        assert!(!watch.is_due(next - 1) && watch.is_due(next), "watched");
        sms.for_each(|_, sm| sm.counters.blocks_finished = 1);
        assert_eq!(watch.look(next, None, &mut sms), None);
        assert!(!watch.is_due(now + INTERVAL - 1), "no longer");
    }

    /// States of a loop are sampled in more than one place, whatever its length is.
    #[test]
    fn states_are_looked_at_out_of_step() {
        let mut times = vec![next_sample(0)];
        for nth in 1..1000 {
            times.push(next_sample(times[nth - 1]));
            assert_eq!(
                times[nth] / STRIDE,
                times[nth - 1] / STRIDE + 1,
                "one a stride"
            );
        }
        for length in 2..1000 {
            let seen: BTreeSet<_> = times.iter().map(|time| time % length).collect();
            assert!(seen.len() > 1, "a loop of {length} cycles");
        }
    }

    /// A warp whose state does not change has not come back: it must have been in another state.
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
