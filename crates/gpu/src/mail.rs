//! What passes between the stepping thread and a crew while SMs run ahead: what comes for the
//! crew's SMs in a cycle, and what they sent in one.
//!
//! A crew may run a cycle as soon as the memory system has run the one before, and that as soon as
//! all crews have run the one before that. So neither is ever more than a cycle ahead, two boxes
//! each way are enough, and whoever opens one finds it closed: the locks are never waited for.

use crate::workers::OwnLine;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use warploom_base::Cycle;
use warploom_sm::{Arrival, Flags, Outgoing, Sm};

/// Set in `granted` when it will not grow any more.
const CLOSED: u64 = 1 << 63;

/// What came for SMs, by number, in order.
pub(crate) type Inbox = Vec<(u32, Arrival)>;

/// What SMs sent.
#[derive(Default)]
pub(crate) struct Posted {
    /// SM by SM, the oldest first.
    packets: Vec<Outgoing>,
    /// The numbers of those that sent any, in order, with how many.
    by: Vec<(u32, u32)>,
}

impl Posted {
    /// With room for so many packets.
    pub fn reserve(&mut self, packets: usize) {
        self.packets.reserve(packets);
        self.by.reserve(packets);
    }

    pub fn clear(&mut self) {
        self.packets.clear();
        self.by.clear();
    }

    /// Takes what an SM sent, by number.
    #[inline]
    pub fn take_from(&mut self, number: u32, sm: &mut Sm) {
        let before = self.packets.len();
        sm.take_sent(|packet| self.packets.push(*packet));
        let count = self.packets.len() - before;
        if count > 0 {
            self.by.push((number, count as u32));
        }
    }

    /// Calls `f` with each packet and the number of its SM.
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(usize, &Outgoing)) {
        let mut packets = self.packets.iter();
        for &(number, count) in &self.by {
            let its = packets.by_ref().take(count as usize);
            its.for_each(|packet| f(number as usize, packet));
        }
    }
}

/// What the SMs of a crew did in a cycle.
#[derive(Default)]
pub(crate) struct Outbox {
    /// Those that ran, by number, with the replies that they have not taken.
    pub ran: Vec<(u32, u32)>,
    /// What they sent.
    pub posted: Posted,
    /// What any of them has.
    pub flags: Flags,
}

impl Outbox {
    pub fn clear(&mut self) {
        self.ran.clear();
        self.posted.clear();
        self.flags = Flags::default();
    }
}

/// The boxes of a crew.
#[derive(Default)]
pub(crate) struct Mail {
    /// The crew may run the cycles before this one.
    granted: OwnLine<AtomicU64>,
    /// It has run those before this one.
    done: OwnLine<AtomicU64>,
    /// By the parity of the cycle in which they are opened.
    inboxes: [OwnLine<Mutex<Inbox>>; 2],
    /// By the parity of the cycle in which they are filled.
    outboxes: [OwnLine<Mutex<Outbox>>; 2],
}

impl Mail {
    /// SMs begin to run ahead in cycle `from`.
    pub fn open(&self, from: Cycle) {
        self.done.store(from, Ordering::Relaxed);
        self.granted.store(from + 1, Ordering::Relaxed);
    }

    /// The crew may run the cycles before `end`.
    #[inline]
    pub fn grant(&self, end: Cycle) {
        self.granted.store(end, Ordering::Release);
    }

    /// It will get no more.
    pub fn close(&self) {
        self.granted.fetch_or(CLOSED, Ordering::Release);
    }

    /// Whether the crew may run a cycle, once that is known.
    #[inline]
    pub fn may_run(&self, now: Cycle) -> Option<bool> {
        let granted = self.granted.load(Ordering::Acquire);
        match granted & !CLOSED > now {
            true => Some(true),
            false => (granted & CLOSED != 0).then_some(false),
        }
    }

    /// The crew has run the cycles before `end`.
    #[inline]
    pub fn has_run(&self, end: Cycle) {
        self.done.store(end, Ordering::Release);
    }

    /// The first cycle that the crew has not run.
    #[inline]
    pub fn done(&self) -> Cycle {
        self.done.load(Ordering::Acquire)
    }

    /// What comes for the crew in a cycle.
    #[inline]
    pub fn inbox(&self, now: Cycle) -> MutexGuard<'_, Inbox> {
        locked(&self.inboxes[now as usize % 2])
    }

    /// What the crew does in a cycle.
    #[inline]
    pub fn outbox(&self, now: Cycle) -> MutexGuard<'_, Outbox> {
        locked(&self.outboxes[now as usize % 2])
    }
}

#[inline]
fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crew may run the first cycle, then what is granted; what was granted before the end too.
    #[test]
    fn a_crew_runs_what_is_granted() {
        let mail = Mail::default();
        mail.open(7);
        assert_eq!((mail.may_run(7), mail.may_run(8)), (Some(true), None));
        mail.has_run(8);
        mail.grant(9);
        assert_eq!((mail.may_run(8), mail.may_run(9)), (Some(true), None));
        mail.close();
        assert_eq!(
            (mail.may_run(8), mail.may_run(9)),
            (Some(true), Some(false))
        );
        assert_eq!(mail.done(), 8);
        mail.open(20);
        assert_eq!((mail.may_run(20), mail.may_run(21)), (Some(true), None));
    }

    /// What comes for a cycle is not what comes for the next one.
    #[test]
    fn two_boxes_take_turns() {
        let mail = Mail::default();
        mail.inbox(7).push((3, Arrival::Credits(1)));
        assert!(mail.inbox(8).is_empty());
        mail.outbox(8).ran.push((3, 0));
        assert!(mail.outbox(7).ran.is_empty());
        assert_eq!((mail.inbox(9).len(), mail.outbox(6).ran.len()), (1, 1));
    }
}
