//! The SMs that one thread runs: neighbours by number.

use super::exchange::{Exchange, ToSms, Turn};
use super::untaken::UntakenCounts;
use std::ops::Range;
use std::sync::Arc;
use warploom_base::{Cycle, each_bit};
use warploom_exec::{DeviceMemory, Pages};
use warploom_mem::Reply;
use warploom_sm::{Outcome, Outgoing, Reason, SettledUpTo, Sm, SmEvents};

/// A step, or a round of a window, with device memory as it is meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    /// How far all SMs have come in a window; `None` in a step, in which all run the same cycles.
    pub settled: Option<SettledUpTo>,
    pub memory: &'a DeviceMemory,
}

/// SMs that one thread runs.
pub(crate) struct SmGroup {
    exchange: Exchange,
    /// Number of the first SM.
    first: usize,
    sms: Vec<Sm>,
    /// By place: pages that the SM's unsettled loads read, as of the end of its last round.
    loaded: Vec<Pages>,
    /// Counts of the replies that SMs have not taken, which they note in rounds.
    untaken: Arc<UntakenCounts>,
}

impl SmGroup {
    /// `sms`, of which the first has the number `first`.
    pub fn new(first: usize, sms: Vec<Sm>, untaken: Arc<UntakenCounts>) -> Self {
        Self {
            exchange: Exchange::new(sms.len()),
            first,
            loaded: vec![Pages::default(); sms.len()],
            sms,
            untaken,
        }
    }

    /// Numbers of the SMs in the group.
    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.sms.len()
    }

    /// Sets the turns of the next step or round.
    pub fn order(&mut self, turns: &[Turn]) {
        let orders = &mut self.exchange.to_sms.turns;
        orders.clear();
        orders.extend_from_slice(turns);
    }

    /// True if no SM of the group runs in the step or round.
    #[inline]
    pub fn has_no_turns(&self) -> bool {
        self.exchange.to_sms.turns.is_empty()
    }

    /// Pages that an SM's unsettled loads read, by its number.
    #[inline]
    pub fn loaded(&self, number: usize) -> &Pages {
        &self.loaded[number - self.first]
    }

    /// Sends an SM, by number, credits from a cycle on, 0 for at once.
    pub fn send_credits(&mut self, number: usize, flits: u32, from: Cycle) {
        let place = number - self.first;
        self.exchange.to_sms.add_credits(place, flits, from);
    }

    /// Sends a reply to one of the SMs.
    pub fn send_reply(&mut self, at: Cycle, reply: &Reply) {
        self.exchange.to_sms.replies.push((at, *reply));
    }

    /// Delivers messages to the SMs.
    #[inline]
    fn deliver(&mut self) {
        // In most cases there are none.
        if !self.exchange.to_sms.brings_nothing() {
            self.deliver_all();
        }
    }

    #[inline(never)]
    fn deliver_all(&mut self) {
        self.exchange.to_sms.deliver(self.first, &mut self.sms);
        self.exchange.to_sms.clear();
    }

    /// An SM of the stepping thread's group, by number, which has all messages.
    #[inline]
    pub fn own(&mut self, number: usize) -> &mut Sm {
        debug_assert!(self.first == 0 && self.exchange.to_sms.brings_nothing());
        &mut self.sms[number]
    }

    /// An SM, by number, without messages since its last run.
    #[inline]
    pub fn look(&self, number: usize) -> &Sm {
        &self.sms[number - self.first]
    }

    /// `look`, to change state that does not depend on messages: stores and loads.
    #[inline]
    pub fn touch(&mut self, number: usize) -> &mut Sm {
        &mut self.sms[number - self.first]
    }

    /// An SM, by number, with all messages.
    #[inline]
    pub fn sm(&mut self, number: usize) -> &mut Sm {
        self.deliver();
        &mut self.sms[number - self.first]
    }

    /// Runs the turns of the step or round.
    pub fn run(&mut self, step: &Step<'_>) {
        let Self {
            exchange,
            first,
            sms,
            untaken,
            ..
        } = self;
        let Exchange { to_sms, from_sms } = exchange;
        // Messages stay there until `end`, because another thread writes that line.
        to_sms.deliver(*first, sms);
        let ToSms { turns, .. } = &**to_sms;
        from_sms.runs.clear();
        for turn in turns {
            let sm = &mut sms[turn.sm - *first];
            let run = match &step.settled {
                Some(settled) => {
                    let span = (turn.from, turn.to);
                    let run = sm.run_window(span, turn.known, settled, step.memory);
                    untaken.note(turn.sm, settled.began, run.untaken);
                    run
                }
                None => {
                    sm.run(turn.from, turn.to, step.memory);
                    sm.outcome(turn.to, Reason::Reached)
                }
            };
            from_sms.runs.push(run);
        }
    }

    /// Runs the SMs of a mask `awake`, counted from number `first` on, in a step of the only
    /// thread. Updates their `outcomes`. Returns the events of all, and a mask of those that have
    /// sent packets.
    pub fn run_awake(
        &mut self,
        (from, to): (Cycle, Cycle),
        memory: &DeviceMemory,
        (first, awake): (usize, u64),
        outcomes: &mut [Outcome],
    ) -> (SmEvents, u64) {
        let (mut events, mut senders) = (SmEvents::default(), 0);
        let sms = &mut self.sms[first..][..outcomes.len()];
        each_bit!(awake, nth => {
            let (sm, outcome) = (&mut sms[nth], &mut outcomes[nth]);
            sm.run(from, to, memory);
            *outcome = sm.outcome(to, Reason::Reached);
            events = events.with(outcome.events);
            senders |= u64::from(outcome.events.any(SmEvents::SENT)) << nth;
        });
        (events, senders)
    }

    /// Puts the requests of the SMs that ran into the exchange, and in a round the pages that they
    /// have read, so that the stepping thread need not look at the SMs. Called by the worker that
    /// ran them.
    pub fn post(&mut self, is_round: bool) {
        let Self {
            exchange,
            first,
            sms,
            loaded,
            ..
        } = self;
        let Exchange { to_sms, from_sms } = exchange;
        from_sms.clear_requests();
        for turn in &to_sms.turns {
            let place = turn.sm - *first;
            from_sms.take_requests(turn.sm, &mut sms[place]);
            if is_round {
                loaded[place] = sms[place].loaded_pages();
            }
        }
    }

    /// Ends the step or round. Returns the numbers of the SMs that ran, and the outcomes.
    pub fn end(&mut self) -> impl Iterator<Item = (usize, Outcome)> {
        let Exchange { to_sms, from_sms } = &mut self.exchange;
        if !to_sms.turns.is_empty() {
            to_sms.clear();
        }
        let ran = to_sms.turns.iter().map(|turn| turn.sm);
        ran.zip(from_sms.runs.iter().copied())
    }

    /// Calls `f` on the requests of the step or round. `posted`: [`post`](Self::post) was called.
    pub fn for_each_request(&mut self, posted: bool, f: &mut impl FnMut(usize, &Outgoing)) {
        let Exchange { to_sms, from_sms } = &self.exchange;
        if to_sms.turns.is_empty() {
            return;
        }
        if posted {
            return from_sms.for_each_request(f);
        }
        for (turn, run) in to_sms.turns.iter().zip(&from_sms.runs) {
            if run.events.any(SmEvents::SENT) {
                self.sms[turn.sm - self.first].take_sent(|packet| f(turn.sm, packet));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{idle_sm, reply_to, turns};
    use warploom_mem::{AccessKind, Request};

    /// SMs `first` up to, not including, `end`.
    fn group(first: usize, end: usize) -> SmGroup {
        let sms = (first..end).map(idle_sm).collect();
        SmGroup::new(first, sms, UntakenCounts::new(5).into())
    }

    /// Sends an SM some replies, to be seen in a later cycle.
    fn send(group: &mut SmGroup, number: usize, replies: usize) {
        (0..replies).for_each(|_| group.send_reply(100, &reply_to(number)));
    }

    /// Messages for an SM come to it, whether it runs or is looked at.
    #[test]
    fn an_sm_gets_its_messages() {
        let memory = DeviceMemory::new(1 << 16);
        let step = Step {
            settled: None,
            memory: &memory,
        };
        let mut group = group(3, 5);
        send(&mut group, 3, 2);
        send(&mut group, 4, 3);
        group.order(&turns(&[4], (0, 1)));
        group.run(&step);
        let ran: Vec<_> = group.end().map(|(n, run)| (n, run.untaken)).collect();
        assert_eq!(ran, [(4, 3)]);
        send(&mut group, 3, 10);
        let mut untaken = |number| group.sm(number).link.untaken();
        assert_eq!((untaken(3), untaken(4)), (12, 3));
    }

    /// Requests are taken once, from the SMs themselves or from the exchange. A group without turns
    /// has none.
    #[test]
    fn requests_are_taken_once() {
        let memory = DeviceMemory::new(1 << 16);
        let packet = Request::new(AccessKind::GlobalRead, 0, 32);
        for posted in [false, true] {
            let mut group = group(2, 6);
            let mut step = |awake: &[usize], sends: &[usize]| {
                group.order(&turns(awake, (0, 1)));
                for sm in sends {
                    group.sm(*sm).link.send(0, packet);
                }
                group.run(&Step {
                    settled: None,
                    memory: &memory,
                });
                if posted && !group.has_no_turns() {
                    group.post(false);
                }
                let mut taken = Vec::new();
                group.for_each_request(posted, &mut |number, _| taken.push(number));
                taken
            };
            assert_eq!(step(&[2, 4, 5], &[4, 5, 4]), [4, 4, 5]);
            assert_eq!(step(&[], &[]), [0; 0]);
            assert_eq!(step(&[4], &[4]), [4]);
        }
    }
}
