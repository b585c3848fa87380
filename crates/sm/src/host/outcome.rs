//! Outcome of an SM's run: all that the host's scheduler needs to know of the SM until the next
//! one. The scheduler looks at the SM itself only where an event says so.

use crate::sm::Sm;
use warploom_base::Cycle;
use warploom_state::Value;

/// Events in a run of an SM, or in runs of several SMs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Value)]
pub struct SmEvents(u32);

impl SmEvents {
    /// Packets have left for the network.
    pub const SENT: Self = Self(1);
    /// At least one block has ended.
    pub const FINISHED: Self = Self(1 << 1);
    /// A block may have room that had none before, although no block has ended.
    pub const GAINED_ROOM: Self = Self(1 << 2);
    /// Stores have to become visible to other SMs.
    pub const STORED: Self = Self(1 << 3);
    /// A warp has caused a fault.
    pub const FAULT: Self = Self(1 << 4);
    /// The SM sleeps, and credits wake it.
    pub const WAITS_FOR_CREDITS: Self = Self(1 << 5);

    /// True if at least one of these events has happened.
    #[inline]
    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// The event if it has happened, otherwise no event.
    #[inline]
    const fn when(self, happened: bool) -> Self {
        Self(if happened { self.0 } else { 0 })
    }

    /// All events of two runs together.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Reason why a run has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Value)]
pub enum Reason {
    /// All cycles that were asked for have been run.
    #[default]
    Reached,
    /// The next cycle may send more than there are credits for.
    Credits,
    /// A block has ended, or one may have room that had none: another may begin.
    BlockSlot,
    /// The next cycle stalls before issue until memory is settled up to this cycle.
    Unsettled(Cycle),
}

/// Outcome of the last run of an SM, kept up to date with input that has come since.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Value)]
pub struct Outcome {
    /// The first cycle in which the SM may have something to do.
    pub wake_at: Cycle,
    /// Number of replies at the link that the SM has not taken.
    pub untaken: u32,
    /// Events in the run.
    pub events: SmEvents,
    /// The first cycle that has not been run.
    pub at: Cycle,
    /// Reason why the run ended there.
    pub reason: Reason,
}

impl Outcome {
    /// Wakes the SM in cycle `at`, if it does not wake before.
    #[inline]
    pub fn wake(&mut self, at: Cycle) {
        self.wake_at = self.wake_at.min(at);
    }

    /// Notes that replies have come, of which the SM sees the first one in cycle `at`.
    #[inline]
    pub fn add_replies(&mut self, count: u32, at: Cycle) {
        self.untaken += count;
        self.wake(at);
    }

    /// The cycle up to which the SM sleeps, between `now` and `to`. An SM that waits for credits
    /// may get some in any cycle after `known`.
    #[inline]
    pub fn sleeps_until(&self, (now, to): (Cycle, Cycle), known: Cycle) -> Cycle {
        let end = match self.events.any(SmEvents::WAITS_FOR_CREDITS) {
            true => self.wake_at.min(known + 1),
            false => self.wake_at,
        };
        end.clamp(now, to)
    }

    /// Notes that credits have come before cycle `now`, which wake an SM that waits for them.
    #[inline]
    pub fn wake_for_credits(&mut self, now: Cycle) {
        if self.events.any(SmEvents::WAITS_FOR_CREDITS) {
            self.wake(now);
        }
    }
}

impl Sm {
    /// Outcome of a run that has come to cycle `end`, for this reason.
    #[inline]
    pub fn outcome(&self, end: Cycle, reason: Reason) -> Outcome {
        let waits = self.wake_at() > end && self.waits_for_credits();
        let mut events = (SmEvents::SENT.when(!self.link.outgoing.is_empty()))
            .with(SmEvents::STORED.when(!self.log.is_empty()))
            .with(SmEvents::WAITS_FOR_CREDITS.when(waits));
        // The other events are rare, so that one look for all of them mostly suffices.
        let none = self.finished.is_empty() & !self.gained_room & self.fault.is_none();
        if !none {
            events = events.with(self.rare_events());
        }
        Outcome {
            wake_at: self.wake_at(),
            untaken: self.link.untaken() as u32,
            events,
            at: end,
            reason,
        }
    }

    /// The events that most runs have none of.
    #[inline(never)]
    fn rare_events(&self) -> SmEvents {
        (SmEvents::FINISHED.when(!self.finished.is_empty()))
            .with(SmEvents::GAINED_ROOM.when(self.gained_room))
            .with(SmEvents::FAULT.when(self.fault.is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::FinishedBlock;
    use warploom_base::{BlockId, KernelSlot, SmId};
    use warploom_config::preset;
    use warploom_exec::DeviceMemory;
    use warploom_mem::{AccessKind, Request};
    use warploom_policy::CustomPolicies;

    /// An SM that has run cycle 0 and sleeps.
    fn sm() -> Sm {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let mut sm = Sm::new(&spec, SmId::new(3), &CustomPolicies::default());
        sm.furnish();
        sm.run(0, 1, &DeviceMemory::new(1 << 16));
        sm
    }

    fn request() -> Request {
        Request {
            addr: 0,
            byte_mask: 1,
            entry: Request::NO_ENTRY,
            issued_at: 0,
            returned_at: 0,
            token: 0,
            bytes: 32,
            sm: SmId(3),
            kind: AccessKind::GlobalRead,
            sectors: 1,
            kernel: KernelSlot(0),
            asid: 0,
        }
    }

    /// An SM that waits for credits may get some in any cycle for which they are not known.
    #[test]
    fn an_sm_sleeps_no_further_than_credits_are_known() {
        let asleep = |events| Outcome {
            wake_at: 20,
            events,
            ..Outcome::default()
        };
        let sleeps = asleep(SmEvents::default());
        let waits = asleep(SmEvents::WAITS_FOR_CREDITS);
        assert_eq!(sleeps.sleeps_until((10, 32), 12), 20);
        assert_eq!(sleeps.sleeps_until((10, 16), 12), 16);
        assert_eq!(waits.sleeps_until((10, 32), 12), 13);
        assert_eq!(waits.sleeps_until((10, 32), 30), 20);
        assert_eq!(sleeps.sleeps_until((25, 32), 30), 25, "it is awake");
    }

    /// The events of an outcome.
    fn events(outcome: &Outcome) -> [bool; 6] {
        let all = [
            SmEvents::SENT,
            SmEvents::FINISHED,
            SmEvents::GAINED_ROOM,
            SmEvents::STORED,
            SmEvents::FAULT,
            SmEvents::WAITS_FOR_CREDITS,
        ];
        all.map(|event| outcome.events.any(event))
    }

    fn outcome(sm: &Sm, end: Cycle) -> Outcome {
        sm.outcome(end, Reason::Reached)
    }

    /// Number of the event that shows, and a change of an SM.
    type Thing = (usize, fn(&mut Sm));

    /// Each event shows, and no other one.
    #[test]
    fn each_event_shows() {
        let mut quiet = sm();
        assert_eq!(
            outcome(&quiet, 1).events,
            SmEvents::default(),
            "nothing happened"
        );
        quiet.link.deliver(7, &(&request()).into());
        quiet.link.deliver(8, &(&request()).into());
        assert_eq!(
            (outcome(&quiet, 1).untaken, events(&outcome(&quiet, 1))),
            (2, [false; 6])
        );
        let things: [Thing; 4] = [
            (0, |sm| sm.link.send(0, request())),
            (1, |sm| {
                sm.finished.push(FinishedBlock {
                    at: 1,
                    kernel: KernelSlot(0),
                    rank: 2,
                    slot: BlockId(0),
                    instructions: 0,
                });
            }),
            (2, |sm| sm.gained_room = true),
            (5, |sm| {
                let kind = AccessKind::InstRead;
                sm.front.l1i.access(0, &Request { kind, ..request() });
            }),
        ];
        for (nth, thing) in things {
            let mut sm = sm();
            thing(&mut sm);
            let mut expected = [false; 6];
            expected[nth] = true;
            assert_eq!(events(&outcome(&sm, 1)), expected);
            let both = outcome(&quiet, 1).events.with(outcome(&sm, 1).events);
            assert_eq!(both, outcome(&sm, 1).events);
            let awake = outcome(&sm, Cycle::MAX).events;
            assert!(!awake.any(SmEvents::WAITS_FOR_CREDITS), "it is not asked");
        }
    }
}
