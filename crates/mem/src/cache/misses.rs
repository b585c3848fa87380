//! What a cache sends down: its miss queue and, where it has an outlet, the queue of the next stage
//! before it. Both lie in one ring, so that a request goes from one to the other where it is.

use crate::Request;
use crate::request::InLine;
use warploom_base::FixedQueue;

/// Both queues, the oldest request first.
#[derive(Clone, Debug)]
pub(super) struct Misses {
    ring: FixedQueue<InLine>,
    /// How many of them are in the outlet.
    sent: u32,
    most_sent: u32,
    /// The most in the miss queue.
    size: u32,
}

impl Misses {
    pub(super) fn new(size: u32, outlet: u32) -> Self {
        Self {
            ring: FixedQueue::new(size as usize + outlet as usize),
            sent: 0,
            most_sent: outlet,
            size,
        }
    }

    /// Requests in the miss queue.
    #[inline]
    fn unsent(&self) -> u32 {
        self.ring.len() as u32 - self.sent
    }

    /// Requests for which it has room.
    #[inline]
    pub(super) fn room(&self) -> usize {
        (self.size - self.unsent()) as usize
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.unsent() == self.size
    }

    /// Both queues are empty.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// The miss queue is not empty.
    #[inline]
    pub(super) fn any_unsent(&self) -> bool {
        self.unsent() != 0
    }

    /// Adds a request to the miss queue, which must have room.
    #[inline(always)]
    pub(super) fn push(&mut self, request: &Request) -> &mut Request {
        debug_assert!(!self.is_full());
        &mut self.ring.push(InLine(*request)).0
    }

    /// The oldest of the miss queue. There must be no outlet.
    #[inline]
    pub(super) fn front(&self) -> Option<&Request> {
        debug_assert!(self.most_sent == 0);
        self.ring.front().map(|InLine(request)| request)
    }

    /// Takes it.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Request> {
        debug_assert!(self.most_sent == 0);
        self.ring.pop().map(|InLine(request)| request)
    }

    /// One request goes from the miss queue into the outlet, if there is one and room. Nobody can
    /// foretell that: no branch. Returns whether one did.
    #[inline]
    pub(super) fn send(&mut self) -> bool {
        let sends = self.any_unsent() & !self.outlet_full();
        self.sent += u32::from(sends);
        sends
    }

    #[inline]
    pub(super) fn outlet_full(&self) -> bool {
        self.sent == self.most_sent
    }

    #[inline]
    pub(super) fn any_sent(&self) -> bool {
        self.sent != 0
    }

    /// The oldest in the outlet.
    #[inline]
    pub(super) fn sent_front(&self) -> Option<&Request> {
        if self.any_sent() {
            self.ring.front().map(|InLine(request)| request)
        } else {
            None
        }
    }

    /// Takes it, of which there must be one, unseen.
    #[inline]
    pub(super) fn drop_sent(&mut self) {
        self.sent -= 1;
        self.ring.drop_oldest();
    }
}
