//! The data pipe of a channel: a column command's data comes CL (reads) or WL (writes) cycles
//! after it, in the order of the commands. The pipe stands still while replies cannot leave.

use super::inside::Ticket;
use crate::timed::Timed;

/// The pipe. Time is counted in steps of the pipe, not in cycles.
#[derive(Clone, Debug)]
pub(super) struct DataPipe {
    steps: u64,
    /// Step at which the last command's data leaves.
    last_exit: u64,
    /// Delay of what is put in now.
    delay: u64,
    /// Most steps between the first and the last entry.
    longest: u64,
    /// Requests whose last data is in the pipe, with the step at which it leaves.
    requests: Timed<Ticket>,
}

impl DataPipe {
    pub(super) fn new(read_delay: u64) -> Self {
        Self {
            steps: 0,
            last_exit: 0,
            delay: read_delay,
            longest: read_delay + 1,
            requests: Timed::new(read_delay as usize + 2),
        }
    }

    /// Moves by one step; returns the request whose last data left.
    #[inline]
    pub(super) fn step(&mut self) -> Option<Ticket> {
        self.steps += 1;
        self.requests.take_due(self.steps)
    }

    /// Moves by `steps` with nothing inside.
    #[inline]
    pub(super) fn skip(&mut self, steps: u64) {
        debug_assert!(self.is_empty(), "data cannot skip");
        self.steps += steps;
    }

    /// No room for another command's data.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.last_exit >= self.steps + self.longest
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Switches between reads and writes.
    #[inline]
    pub(super) fn set_delay(&mut self, delay: u64) {
        self.delay = delay;
    }

    /// Puts a column command's data in; `finished` is the request if this is its last.
    #[inline]
    pub(super) fn push(&mut self, finished: Option<Ticket>) {
        self.last_exit = (self.steps + self.delay).max(self.last_exit + 1);
        if let Some(request) = finished {
            self.requests.push(self.last_exit, request);
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
        pipe.push(Some(READ));
        assert_eq!((0..11).filter_map(|_| pipe.step()).count(), 0);
        assert!(pipe.step().is_some() && pipe.is_empty());
    }

    #[test]
    fn a_write_after_reads_keeps_the_order() {
        let mut pipe = DataPipe::new(12);
        pipe.push(Some(READ));
        pipe.step();
        pipe.set_delay(4);
        pipe.push(Some(READ));
        let exits: Vec<_> = (2..=20).filter(|_| pipe.step().is_some()).collect();
        assert_eq!(exits, [12, 13], "steps at which data leaves");
    }

    #[test]
    fn a_pipe_that_stands_still_fills_up() {
        let mut pipe = DataPipe::new(3);
        pipe.push(None);
        assert!(!pipe.is_full());
        pipe.push(None);
        assert!(pipe.is_full());
        pipe.step();
        assert!(!pipe.is_full());
    }
}
