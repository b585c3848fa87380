//! Data pipe of a channel: the data of a column command follow CL (reads) or WL (writes) cycles
//! after it, in the order of the commands. The pipe stalls while replies cannot leave.

use super::in_flight::Ticket;
use warploom_base::{Cycle, TimedQueue};
use warploom_state::State;

/// The pipe. Its time is counted in steps: one in each cycle in which it does not stall.
#[derive(Clone, Debug, State)]
pub(super) struct DataPipe {
    /// Cycles in which the pipe stalled.
    stood: u64,
    /// Step at which the last command's data leave.
    last_exit: u64,
    /// Steps between a command and its data.
    delay: u64,
    /// Largest number of steps between the first and the last entry.
    longest: u64,
    /// Requests whose last data are in the pipe, each with the number of steps before the cycle in
    /// which it is taken: write-backs are taken in the cycle in which the data leave, other
    /// requests in the next one, because nothing looks at them in between.
    requests: TimedQueue<Ticket>,
}

impl DataPipe {
    /// An empty pipe for reads with a delay of `read_delay` cycles.
    pub(super) fn new(read_delay: u64) -> Self {
        Self {
            stood: 0,
            last_exit: 0,
            delay: read_delay,
            longest: read_delay + 1,
            requests: TimedQueue::new(read_delay as usize + 2),
        }
    }

    /// Number of steps before cycle `now`.
    #[inline]
    fn steps(&self, now: u64) -> u64 {
        now - self.stood
    }

    /// Takes the next request if it leaves the pipe as a reply in cycle `now`.
    #[inline]
    pub(super) fn take_returned(&mut self, now: u64) -> Option<Ticket> {
        let next = *self.requests.due(self.steps(now))?;
        if next.ends() {
            return None;
        }
        self.requests.drop_oldest();
        Some(next)
    }

    /// Takes the next request if it is a write-back that ends in cycle `now`. Requires that
    /// `take_returned` has taken any reply of the cycle.
    #[inline]
    pub(super) fn take_ended(&mut self, now: u64) -> Option<Ticket> {
        let next = self.requests.take_due(self.steps(now))?;
        debug_assert!(next.ends());
        Some(next)
    }

    /// Request that leaves the pipe next.
    #[inline]
    pub(super) fn next(&self) -> Option<Ticket> {
        self.requests.nth(0).map(|(_, ticket)| *ticket)
    }

    /// Stalls the pipe for a cycle.
    pub(super) fn stand(&mut self) {
        self.stood += 1;
    }

    /// Cycle in which the next request is to be taken if the pipe does not stall until then.
    #[inline]
    pub(super) fn taken_at(&self) -> Cycle {
        self.requests.due_or_never().saturating_add(self.stood)
    }

    /// Cycle from which there is room for another command's data if the pipe does not stall until
    /// then.
    #[inline]
    pub(super) fn room_at(&self) -> u64 {
        (self.last_exit + self.stood).saturating_sub(self.longest)
    }

    /// True if there is no room for another command's data in cycle `now`, in which the pipe did
    /// not stall.
    #[inline]
    pub(super) fn is_full(&self, now: u64) -> bool {
        now < self.room_at()
    }

    /// Changes the delay, between reads and writes.
    #[inline]
    pub(super) fn set_delay(&mut self, delay: u64) {
        self.delay = delay;
    }

    /// Enters the data of a column command issued in cycle `now`; `finished` is the request if the
    /// command is its last.
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
        slot: 0,
        bytes: 32,
        kind: AccessKind::GlobalRead,
        l2_bank: 0,
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
    fn a_stalled_pipe_fills_up() {
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
