//! The data pipe of a channel: a column command's data comes CL (reads) or WL (writes) cycles
//! after it, in the order of the commands. The pipe stands still while replies cannot leave.

use super::inside::Ticket;
use warploom_base::{Cycle, TimedQueue};

/// The pipe. Its time is counted in steps, one in each cycle in which it does not stand still.
#[derive(Clone, Debug)]
pub(super) struct DataPipe {
    /// Cycles in which it stood still.
    stood: u64,
    /// Step at which the last command's data leaves.
    last_exit: u64,
    /// Delay of what is put in now.
    delay: u64,
    /// Most steps between the first and the last entry.
    longest: u64,
    /// Requests whose last data is in the pipe, with the steps before the cycle in which they are
    /// taken: those that end, in the cycle in which it leaves; others in the next, for nothing
    /// looks at them in between.
    requests: TimedQueue<Ticket>,
}

impl DataPipe {
    pub(super) fn new(read_delay: u64) -> Self {
        Self {
            stood: 0,
            last_exit: 0,
            delay: read_delay,
            longest: read_delay + 1,
            requests: TimedQueue::new(read_delay as usize + 2),
        }
    }

    /// Steps before cycle `now`.
    #[inline]
    fn steps(&self, now: u64) -> u64 {
        now - self.stood
    }

    /// Takes the next request if it is to be returned in cycle `now`.
    #[inline]
    pub(super) fn take_returned(&mut self, now: u64) -> Option<Ticket> {
        let next = *self.requests.due(self.steps(now))?;
        if next.ends() {
            return None;
        }
        self.requests.drop_oldest();
        Some(next)
    }

    /// Takes the next request, any that is to be returned being out, if it ends in cycle `now`.
    #[inline]
    pub(super) fn take_ended(&mut self, now: u64) -> Option<Ticket> {
        let next = self.requests.take_due(self.steps(now))?;
        debug_assert!(next.ends());
        Some(next)
    }

    /// The next request to be taken.
    #[inline]
    pub(super) fn next(&self) -> Option<Ticket> {
        self.requests.nth(0).map(|(_, ticket)| *ticket)
    }

    /// Stands still for a cycle.
    pub(super) fn stand(&mut self) {
        self.stood += 1;
    }

    /// Cycle in which the next request is to be taken, if the pipe moves until then.
    #[inline]
    pub(super) fn taken_at(&self) -> Cycle {
        self.requests.due_or_never().saturating_add(self.stood)
    }

    /// Cycle from which there is room for another command's data, if the pipe moves until then.
    #[inline]
    pub(super) fn room_at(&self) -> u64 {
        (self.last_exit + self.stood).saturating_sub(self.longest)
    }

    /// No room for another command's data in cycle `now`, in which the pipe has moved.
    #[inline]
    pub(super) fn is_full(&self, now: u64) -> bool {
        now < self.room_at()
    }

    /// Switches between reads and writes.
    #[inline]
    pub(super) fn set_delay(&mut self, delay: u64) {
        self.delay = delay;
    }

    /// Puts a column command's data in in cycle `now`; `finished` is the request if this is its
    /// last.
    #[inline]
    pub(super) fn push(&mut self, now: u64, finished: Option<Ticket>) {
        self.last_exit = (self.steps(now + 1) + self.delay).max(self.last_exit + 1);
        if let Some(request) = finished {
            let steps = self.last_exit - u64::from(request.ends());
            self.requests.push(steps, request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DataPipe, Ticket};
    use crate::AccessKind;

    const READ: Ticket = Ticket {
        place: 0,
        bytes: 32,
        kind: AccessKind::GlobalRead,
        side: 0,
    };

    #[test]
    fn data_comes_after_the_delay() {
        let mut pipe = DataPipe::new(12);
        pipe.push(0, Some(READ));
        assert_eq!(pipe.taken_at(), 13);
        assert_eq!((1..13).filter_map(|now| pipe.take_returned(now)).count(), 0);
        assert!(pipe.take_returned(13).is_some());
        assert_eq!(pipe.taken_at(), u64::MAX);
    }

    #[test]
    fn a_write_back_ends_when_its_data_leaves() {
        let mut pipe = DataPipe::new(12);
        let write_back = Ticket {
            kind: AccessKind::L2WriteBack,
            ..READ
        };
        pipe.push(0, Some(READ));
        pipe.push(1, Some(write_back));
        assert!(pipe.take_returned(13).is_some() && pipe.take_returned(13).is_none());
        assert!(pipe.take_ended(13).is_some());
    }

    #[test]
    fn a_write_after_reads_keeps_the_order() {
        let mut pipe = DataPipe::new(12);
        pipe.push(0, Some(READ));
        pipe.set_delay(4);
        pipe.push(1, Some(READ));
        let mut leaves = |now: u64| pipe.take_returned(now + 1).is_some();
        let exits: Vec<_> = (1..=20).filter(|&now| leaves(now)).collect();
        assert_eq!(exits, [12, 13], "cycles in which data leaves");
    }

    #[test]
    fn a_pipe_that_stands_still_fills_up() {
        let mut pipe = DataPipe::new(3);
        pipe.push(0, None);
        assert!(!pipe.is_full(0));
        pipe.push(0, None);
        assert!(pipe.is_full(0));
        pipe.stand();
        assert!(pipe.is_full(1));
        assert!(!pipe.is_full(2));
        assert_eq!(pipe.room_at(), 2);
    }
}
