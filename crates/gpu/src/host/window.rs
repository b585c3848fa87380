//! State of a window: how far each SM, the request network and the memory backend have come.

use super::exchange::Turn;
use super::sms::SmArray;
use crate::memory::{AtomicEvent, MemorySystem};
use std::collections::VecDeque;
use warploom_base::{BitSet, Cycle, bits, each_bit, each_member};
use warploom_config::GpuSpec;
use warploom_exec::StoredLines;
use warploom_policy::DeviceView;
use warploom_sm::{Outcome, Reason, SettledUpTo, SmEvents};

/// Most cycles of a window.
pub(super) const MOST: Cycle = 32;

/// Most cycles of a window of several threads where SMs often stall for loads: at each stall all
/// other SMs have to come to that cycle.
const SHORT: Cycle = 8;

/// The number of stalls in [`MOST`] cycles that counts as often.
const OFTEN: u32 = 3;

/// The first multiple of `cycles` after cycle `now`.
pub(super) const fn next_multiple(now: Cycle, cycles: Cycle) -> Cycle {
    (now / cycles + 1) * cycles
}

/// Progress of all parts. Kept between windows.
pub(crate) struct Window {
    /// A window ends at the next multiple of this number.
    pub length: Cycle,
    /// The number of times that SMs have stalled for loads since the last multiple of [`MOST`].
    pub stalls: u32,
    /// Most cycles that the backend may be ahead of the request network; 0 if there are no windows.
    pub max_lead: Cycle,
    /// No window begins before this cycle, because the kernel may be near its end.
    pub not_before: Cycle,
    /// Most instructions that an SM issues in a cycle.
    pub issues: u64,
    /// View of the machine when the backend had run the window. No policy looks at its counts of
    /// stalls, because a window ends before a policy's next check.
    pub view: DeviceView,
    /// Memory is settled up to this cycle: loads up to it are final, and stores and atomics of
    /// earlier cycles are visible.
    pub settled: Cycle,
    /// The earliest next cycle of any SM.
    pub next: Cycle,
    /// Blocks have been offered in all cycles before this one.
    pub offers_from: Cycle,
    /// The next cycle of the request network.
    pub requests: Cycle,
    /// The next cycle of the backend, and the cycle up to which it is to run.
    pub backend: Cycle,
    pub backend_end: Cycle,
    /// True if a worker runs the backend.
    pub is_lent: bool,
    /// SMs that have not run all of the window.
    pub running: BitSet,
    /// SMs with a block slot of which the dispatcher has not been told.
    pub with_block_slot: BitSet,
    /// Room for the turns of a round.
    pub turns: Vec<Turn>,
    /// Room for the SMs for which the backend waits.
    pub awaited: Vec<usize>,
    /// Events of all SMs in the window.
    pub events: SmEvents,
    /// True if `stored` is in use, because an SM has stored or an atomic acts.
    pub has_stored: bool,
    /// Lines to which SMs and atomics have stored in the window.
    pub stored: StoredLines,
    /// Atomics that the backend has answered and that have not acted, in their order.
    pub atomics: VecDeque<AtomicEvent>,
    /// Cycles of all windows so far.
    pub cycles: Cycle,
}

impl Window {
    /// State before the first window of a machine whose backend may run `max_lead` cycles ahead.
    pub fn new(spec: &GpuSpec, max_lead: Cycle) -> Self {
        let sms = spec.gpu.sms as usize;
        Self {
            length: MOST,
            stalls: 0,
            max_lead: match spec.gpu.link_cycles {
                1 => max_lead,
                _ => 0,
            },
            not_before: 0,
            issues: u64::from(spec.sm.schedulers.max(1) * spec.sm.max_issue_per_warp.max(1)),
            view: DeviceView::default(),
            settled: 0,
            has_stored: false,
            next: 0,
            offers_from: 0,
            requests: 0,
            backend: 0,
            backend_end: 0,
            is_lent: false,
            running: BitSet::new(sms),
            with_block_slot: BitSet::new(sms),
            turns: Vec::with_capacity(sms),
            awaited: Vec::with_capacity(sms),
            events: SmEvents::default(),
            stored: StoredLines::default(),
            atomics: VecDeque::new(),
            cycles: 0,
        }
    }

    /// Begins a window in cycle `now`.
    pub fn begin(&mut self, now: Cycle, sms: &mut SmArray) {
        sms.begin_window(now);
        (self.next, self.requests, self.settled) = (now, now, now);
        self.has_stored = false;
        (0..sms.len()).for_each(|sm| self.running.insert(sm));
        self.events = SmEvents::default();
    }

    /// Lets the SMs that sleep all of the window, which ends in cycle `to`, come there at once: the
    /// window's replies wake none of them, and they wait for no credits. Requires that the backend
    /// has run the window and that no SM may have room for a block that waits.
    pub fn pass_sleepers(&mut self, (from, to): (Cycle, Cycle), sms: &mut SmArray) {
        for (index, outcomes) in sms.outcomes_mut().chunks_mut(64).enumerate() {
            let sleeps = |run: &Outcome| {
                (run.wake_at >= to)
                    & (run.at == from)
                    & !run.events.any(SmEvents::WAITS_FOR_CREDITS)
            };
            let asleep = bits(outcomes.iter().map(sleeps));
            each_bit!(asleep, sm => { outcomes[sm].at = to; });
            let awake = self.running.word(index) & !asleep;
            self.running.set_word(index, awake);
        }
    }

    /// Ends the window, which has come to cycle `to`. Chooses the length of the next ones.
    pub fn end(&mut self, (from, to): (Cycle, Cycle), is_single_threaded: bool) {
        self.cycles += to - from;
        if to >= next_multiple(from, MOST) {
            // Fewer cycles of short windows have stalls.
            let often = if self.length == MOST { OFTEN } else { 1 };
            let is_often = !is_single_threaded && self.stalls >= often;
            self.length = if is_often { SHORT } else { MOST };
            self.stalls = 0;
        }
    }

    /// Lines to which SMs and atomics have stored in the window.
    pub fn stored_lines(&mut self) -> &mut StoredLines {
        if !self.has_stored {
            self.stored.clear();
            self.has_stored = true;
        }
        &mut self.stored
    }

    /// Cycle up to which memory is settled in a window that began in cycle `began`.
    pub fn settled_up_to(&self, began: Cycle) -> SettledUpTo {
        SettledUpTo {
            began,
            cycle: self.settled,
        }
    }

    /// True if all requests are known that make a difference to the network's next cycle. Those of
    /// an SM that has not run the cycle before make none if earlier ones have to pass first.
    pub fn knows_requests(&self, sms: &SmArray, memory: &MemorySystem) -> bool {
        if self.next >= self.requests {
            return true;
        }
        let mut known = true;
        each_member!(self.running, sm => {
            known &= sms.outcome(sm).at >= self.requests || memory.is_backed_up(sm);
        });
        known
    }

    /// The cycles that an SM is to run now, up to cycle `to` at most; none if it has to wait for
    /// the request network, for settled memory, or for other SMs before it is offered a block. Lets
    /// it sleep as far as its `outcome` says. `offered`: SMs that may have room for a block.
    #[inline]
    pub fn turn(
        &self,
        sm: usize,
        outcome: &mut Outcome,
        offered: Option<&BitSet>,
        to: Cycle,
    ) -> Option<Turn> {
        match outcome.at > self.requests {
            true => None,
            false => self.turn_ahead(sm, outcome, offered, to),
        }
    }

    /// As [`turn`](Self::turn), without waiting for the request network. The SM stops where it may
    /// lack credits.
    #[inline]
    pub fn turn_ahead(
        &self,
        sm: usize,
        outcome: &mut Outcome,
        offered: Option<&BitSet>,
        to: Cycle,
    ) -> Option<Turn> {
        let at = outcome.at;
        let is_offered = offered.is_some_and(|open| open.contains(sm));
        let in_order = is_offered || self.with_block_slot.contains(sm);
        let is_unsettled =
            matches!(outcome.reason, Reason::Unsettled(until) if until > self.settled);
        if at > self.next && in_order || is_unsettled {
            return None;
        }
        // An SM that may have room for a block is offered one in the next cycle.
        let to = if is_offered { at + 1 } else { to };
        let from = outcome.sleeps_until((at, to), self.requests);
        // An SM that credits may wake earlier waits for the network, where it sleeps past the
        // network's next cycle.
        let waits = from > self.requests && outcome.events.any(SmEvents::WAITS_FOR_CREDITS);
        if from < to && !waits {
            let known = self.requests;
            return Some(Turn {
                sm,
                from,
                to,
                known,
            });
        }
        outcome.at = from;
        None
    }

    /// Notes the outcome of an SM's run.
    #[inline]
    pub fn note_run(&mut self, sm: usize, run: &Outcome) {
        self.events = self.events.with(run.events);
        if run.reason == Reason::BlockSlot {
            self.with_block_slot.insert(sm);
        }
    }

    /// Ends a round, in which all SMs have run as far as they could in a window up to cycle `to`.
    pub fn end_round(&mut self, to: Cycle, sms: &SmArray) {
        let mut next = to;
        each_member!(self.running, sm => {
            let at = sms.outcome(sm).at;
            next = next.min(at);
            if at >= to {
                self.running.remove(sm);
            }
        });
        self.next = next;
    }

    /// True if an SM waits until memory is settled up to a cycle that all SMs have come to.
    pub fn can_settle(&self, sms: &SmArray) -> bool {
        let mut can = false;
        each_member!(self.running, sm => {
            if let Reason::Unsettled(until) = sms.outcome(sm).reason {
                can |= (self.settled < until) & (until <= self.next);
            }
        });
        can
    }

    /// Takes an SM out of those with a block slot, if its next cycle, `at`, is `now`. Returns
    /// whether it is.
    pub fn take_block_slot(&mut self, sm: usize, at: Cycle, now: Cycle) -> bool {
        if at == now {
            self.with_block_slot.remove(sm);
        }
        at == now
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Window};
    use warploom_base::Cycle;
    use warploom_config::preset;

    /// The lengths of windows after each of some times 32 cycles in which SMs have stalled `stalls`
    /// times, on one thread or several.
    fn lengths(stalls: &[u32], is_single_threaded: bool) -> Vec<Cycle> {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let mut window = Window::new(&spec, 100);
        let mut now = 0;
        let after = stalls.iter().map(|stalls| {
            window.stalls = *stalls;
            let length = window.length;
            for _ in 0..MOST / length {
                window.end((now, now + length), is_single_threaded);
                now += length;
            }
            window.length
        });
        after.collect()
    }

    #[test]
    fn windows_of_several_threads_are_short_where_sms_often_stall() {
        let stalls = [0, 2, 3, 1, 0, 2, 9, 9];
        assert_eq!(lengths(&stalls, false), [32, 32, 8, 8, 32, 32, 8, 8]);
        assert_eq!(lengths(&stalls, true), [32; 8]);
    }
}
