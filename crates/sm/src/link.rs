//! The SM's ends of its links to the network.
//!
//! A packet sent in cycle t reaches the network in cycle t + link; the network's replies come the
//! same way. How much room the network has is known only from the last exchange, so the SM
//! works with credits; what it sends and what it receives in a step depends on nothing that other
//! parts do in the same step. That makes SMs independent of the order in which they run.

use std::collections::VecDeque;
use warploom_base::Cycle;
use warploom_mem::Request;

/// A packet on its way from the SM to the network.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Cycle in which it was sent.
    pub sent_at: Cycle,
    /// The packet.
    pub request: Request,
}

/// Both directions.
#[derive(Clone, Debug)]
pub struct Link {
    flit_bytes: u32,
    /// Flits that may still be sent.
    credits: u32,
    /// Sent in this step, oldest first.
    pub outgoing: Vec<Outgoing>,
    /// Replies with the cycle from which the SM sees them, oldest first.
    incoming: VecDeque<(Cycle, Request)>,
}

impl Link {
    /// A link whose far end buffers `credits` flits.
    pub fn new(flit_bytes: u32, credits: u32) -> Self {
        Self {
            flit_bytes,
            credits,
            outgoing: Vec::with_capacity(64),
            incoming: VecDeque::with_capacity(64),
        }
    }

    /// Flits of a packet of `bytes`.
    #[inline]
    pub fn flits(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.flit_bytes)
    }

    /// There is room for a request.
    #[inline]
    pub fn can_send(&self, request: &Request) -> bool {
        self.flits(request.request_bytes()) <= self.credits
    }

    /// Sends a request. Requires `can_send`.
    #[inline]
    pub fn send(&mut self, now: Cycle, request: Request) {
        let flits = self.flits(request.request_bytes());
        debug_assert!(flits <= self.credits);
        self.credits -= flits;
        self.outgoing.push(Outgoing {
            sent_at: now,
            request,
        });
    }

    /// The far end took packets of this many flits.
    pub fn add_credits(&mut self, flits: u32) {
        self.credits += flits;
    }

    /// A reply that the SM sees from cycle `at` on.
    pub fn deliver(&mut self, at: Cycle, reply: Request) {
        debug_assert!(self.incoming.back().is_none_or(|(last, _)| *last <= at));
        self.incoming.push_back((at, reply));
    }

    /// The oldest reply that has arrived.
    #[inline]
    pub fn front(&self, now: Cycle) -> Option<&Request> {
        self.incoming
            .front()
            .filter(|(at, _)| *at <= now)
            .map(|(_, r)| r)
    }

    /// Takes the oldest reply.
    #[inline]
    pub fn pop(&mut self) -> Option<Request> {
        self.incoming.pop_front().map(|(_, r)| r)
    }

    /// When the oldest reply arrives.
    #[inline]
    pub fn next_arrival(&self) -> Option<Cycle> {
        self.incoming.front().map(|(at, _)| *at)
    }

    /// Replies delivered and not yet taken.
    pub fn waiting(&self) -> usize {
        self.incoming.len()
    }
}
