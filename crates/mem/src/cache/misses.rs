//! Requests of a cache for the level below: the miss queue and, in a cache with an outlet, the
//! queue of the stage that follows. Both share one ring, so that a request moves from one to the
//! other without a copy.

use crate::Request;
use crate::request::InLine;
use warploom_base::FixedQueue;
use warploom_state::State;

/// Miss queue and outlet, the oldest request first.
#[derive(Clone, Debug, State)]
pub(super) struct Misses {
    ring: FixedQueue<InLine>,
    /// Requests of the ring that are in the outlet.
    sent: u32,
    /// Size of the outlet; 0 where there is none.
    most_sent: u32,
    /// Size of the miss queue.
    size: u32,
}

impl Misses {
    /// Empty queues for `size` requests in the miss queue and `outlet` in the outlet.
    pub(super) fn new(size: u32, outlet: u32) -> Self {
        Self {
            ring: FixedQueue::new(size as usize + outlet as usize),
            sent: 0,
            most_sent: outlet,
            size,
        }
    }

    /// Number of requests in the miss queue.
    #[inline]
    fn unsent(&self) -> u32 {
        self.ring.len() as u32 - self.sent
    }

    /// Number of requests for which the miss queue has room.
    #[inline]
    pub(super) fn room(&self) -> usize {
        (self.size - self.unsent()) as usize
    }

    /// True if the miss queue is full.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.unsent() == self.size
    }

    /// True if both queues are empty.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// True if the miss queue has a request.
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

    /// Oldest request of the miss queue. There must be no outlet.
    #[inline]
    pub(super) fn front(&self) -> Option<&Request> {
        debug_assert!(self.most_sent == 0);
        self.ring.front().map(|InLine(request)| request)
    }

    /// Takes the oldest request of the miss queue. There must be no outlet.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Request> {
        debug_assert!(self.most_sent == 0);
        self.ring.pop().map(|InLine(request)| request)
    }

    /// Moves one request from the miss queue into the outlet, if there is one and room for it.
    /// Branch-free: whether one moves is unpredictable. Returns whether one did.
    #[inline]
    pub(super) fn send(&mut self) -> bool {
        let sends = self.any_unsent() & !self.outlet_full();
        self.sent += u32::from(sends);
        sends
    }

    /// True if the outlet is full.
    #[inline]
    pub(super) fn outlet_full(&self) -> bool {
        self.sent == self.most_sent
    }

    /// True if the outlet has a request.
    #[inline]
    pub(super) fn any_sent(&self) -> bool {
        self.sent != 0
    }

    /// Oldest request of the outlet.
    #[inline]
    pub(super) fn sent_front(&self) -> Option<&Request> {
        if self.any_sent() {
            self.ring.front().map(|InLine(request)| request)
        } else {
            None
        }
    }

    /// Removes the oldest request of the outlet, which must have one.
    #[inline]
    pub(super) fn drop_sent(&mut self) {
        self.sent -= 1;
        self.ring.drop_oldest();
    }
}
