//! The SM's ends of its links to the network.
//!
//! A packet sent in cycle t reaches the network in cycle t + link, and replies take as long. The SM
//! knows of the network's room by credits only, which come with the same delay. So nothing that an
//! SM does in a cycle depends on what other parts do in that cycle, and SMs may run in any order.

use warploom_base::{Cycle, TimedQueue};
use warploom_config::GpuSpec;
use warploom_mem::{Reply, Request};
use warploom_state::{State, Value};

/// A packet that leaves the SM for the network.
#[derive(Clone, Copy, Debug, Value)]
pub struct Outgoing {
    /// Cycle in which it was sent.
    pub sent_at: Cycle,
    /// Content of the packet.
    pub request: Request,
}

/// The SM's ends of both directions.
#[derive(Clone, Debug, State)]
pub struct Link {
    flit_bytes: u32,
    /// Number of flits of a packet without data.
    header_flits: u32,
    /// Number of flits that may still be sent.
    credits: u32,
    /// Further credits, each with the cycle from which it counts, oldest first.
    coming: TimedQueue<u32>,
    /// Most flits that the SM sends in a cycle, and in a packet.
    most_a_cycle: u32,
    most_a_packet: u32,
    /// Packets sent in this step, oldest first.
    pub outgoing: Vec<Outgoing>,
    /// Replies with the cycle from which the SM sees them, oldest first.
    incoming: TimedQueue<Reply>,
    /// Number of the newest replies, which have not been counted.
    fresh: usize,
}

impl Link {
    /// A link whose far end buffers `credits` flits. In a cycle the SM sends at most one packet of
    /// each of the sizes `most_a_cycle`, in bytes, the last of which is the longest.
    pub fn new(flit_bytes: u32, credits: u32, most_a_cycle: &[u32]) -> Self {
        let flits = most_a_cycle.iter().map(|bytes| bytes.div_ceil(flit_bytes));
        Self {
            most_a_packet: flits.clone().next_back().unwrap_or(0),
            flit_bytes,
            header_flits: Request::HEADER_BYTES.div_ceil(flit_bytes),
            credits,
            coming: TimedQueue::new(32),
            most_a_cycle: flits.sum(),
            outgoing: Vec::with_capacity(64),
            incoming: TimedQueue::new(64),
            fresh: 0,
        }
    }

    /// Number of flits of a packet of `bytes` bytes.
    #[inline]
    pub fn flits(&self, bytes: u32) -> u32 {
        // Most packets are headers alone, and a division takes long.
        match bytes {
            Request::HEADER_BYTES => self.header_flits,
            _ => bytes.div_ceil(self.flit_bytes),
        }
    }

    /// True if there is room for a request.
    #[inline]
    pub fn can_send(&self, request: &Request) -> bool {
        // In bytes, because flits take a division, and the answer is no for many cycles.
        u64::from(request.request_bytes()) <= u64::from(self.credits) * u64::from(self.flit_bytes)
    }

    /// True if there are fewer credits than the SM may need in a cycle.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.credits < self.most_a_cycle
    }

    /// Number of flits that may still be sent.
    pub fn credits(&self) -> u32 {
        self.credits
    }

    /// Most flits that the SM sends in a cycle.
    pub fn most_a_cycle(&self) -> u32 {
        self.most_a_cycle
    }

    /// Most flits of a packet that the SM sends.
    pub fn most_a_packet(&self) -> u32 {
        self.most_a_packet
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

    /// Adds credits for packets of `flits` flits that the far end took.
    pub fn add_credits(&mut self, flits: u32) {
        self.credits += flits;
    }

    /// Adds credits that count from cycle `at` on, in the order of cycles.
    pub fn add_credits_from(&mut self, at: Cycle, flits: u32) {
        self.coming.push(at, flits);
    }

    /// Takes the credits that count from cycle `now` on or before.
    #[inline]
    pub fn take_credits(&mut self, now: Cycle) {
        while let Some(flits) = self.coming.take_due(now) {
            self.credits += flits;
        }
    }

    /// The cycle from which further credits count, as far as that is known; else `Cycle::MAX`.
    #[inline]
    pub fn next_credits(&self) -> Cycle {
        self.coming.due_or_never()
    }

    /// Adds a reply that the SM sees from cycle `at` on.
    #[inline]
    pub fn deliver(&mut self, at: Cycle, reply: &Reply) {
        self.incoming.push(at, *reply);
        self.fresh += 1;
    }

    /// Calls `f` on the replies that have come since the last call, oldest first, with the bytes
    /// and flits of their packets. Requires that none of them has been taken.
    #[inline]
    pub fn look_at_fresh(&mut self, mut f: impl FnMut(&Reply, u32, u32)) {
        let all = self.incoming.len();
        for (_, reply) in (all - self.fresh..all).filter_map(|nth| self.incoming.nth(nth)) {
            let bytes = reply.packet_bytes();
            f(reply, bytes, self.flits(bytes));
        }
        self.fresh = 0;
    }

    /// The oldest reply, if it has arrived.
    #[inline]
    pub fn front(&self, now: Cycle) -> Option<&Reply> {
        self.incoming.due(now)
    }

    /// Drops the oldest reply, of which there must be one.
    #[inline]
    pub fn drop_oldest(&mut self) {
        self.incoming.drop_oldest();
    }

    /// True if the oldest reply has arrived.
    #[inline]
    pub fn has_arrived(&self, now: Cycle) -> bool {
        self.incoming.is_due(now)
    }

    /// Cycle in which the oldest reply arrives.
    #[inline]
    pub fn next_arrival(&self) -> Option<Cycle> {
        self.incoming.due_at()
    }

    /// Number of replies that were delivered and not taken.
    #[inline]
    pub fn untaken(&self) -> usize {
        self.incoming.len()
    }
}

/// Bytes of each of the packets that an SM sends in a cycle at most: a read of instructions, and
/// for each port of the load/store unit a read of constants, one of textures, an access past the
/// data cache and one of the data cache. The longest comes last.
pub(crate) fn most_sent(spec: &GpuSpec) -> Vec<u32> {
    let read = Request::HEADER_BYTES;
    let data = read + spec.l1d.line_bytes.max(128);
    let ports = spec.sm.mem_unit_ports.max(1) as usize;
    let mut most = vec![read];
    most.extend([read, read, data, data].repeat(ports));
    most
}

#[cfg(test)]
mod tests {
    use super::Link;
    use warploom_base::{Cycle, KernelSlot, SmId};
    use warploom_mem::{AccessKind, Request};

    fn request(kind: AccessKind) -> Request {
        Request {
            addr: 0,
            byte_mask: 0,
            entry: Request::NO_ENTRY,
            issued_at: 0,
            returned_at: 0,
            token: 0,
            bytes: 128,
            sm: SmId(0),
            kind,
            sectors: 15,
            kernel: KernelSlot(0),
            asid: 0,
        }
    }

    /// A write of 128 bytes and its header are five flits of 32 bytes, a read is one.
    #[test]
    fn credits_are_flits_of_the_far_ends_buffer() {
        let mut link = Link::new(32, 5, &[]);
        let (write, read) = (
            request(AccessKind::GlobalWrite),
            request(AccessKind::GlobalRead),
        );
        link.send(7, read);
        assert!(
            link.can_send(&read) && !link.can_send(&write),
            "four are left"
        );
        link.add_credits(1);
        assert!(link.can_send(&write));
        link.send(8, write);
        assert!(!link.can_send(&read));
        let sent: Vec<_> = link.outgoing.iter().map(|o| o.sent_at).collect();
        assert_eq!(sent, [7, 8]);
    }

    /// Credits count from their cycle on, which is known before.
    #[test]
    fn credits_may_be_known_before_they_are_there() {
        let mut link = Link::new(32, 5, &[]);
        let write = request(AccessKind::GlobalWrite);
        link.send(0, write);
        assert_eq!(link.next_credits(), Cycle::MAX);
        link.add_credits_from(12, 4);
        link.add_credits_from(13, 1);
        link.take_credits(11);
        assert_eq!((link.credits(), link.next_credits()), (0, 12));
        link.take_credits(12);
        assert_eq!((link.credits(), link.next_credits()), (4, 13));
        link.take_credits(20);
        assert!(link.can_send(&write));
        assert_eq!(link.next_credits(), Cycle::MAX);
    }

    /// Two packets of 8 and 136 bytes a cycle are six flits of 32 bytes.
    #[test]
    fn a_link_is_short_that_cannot_send_all_of_a_cycle() {
        let mut link = Link::new(32, 7, &[8, 136]);
        assert_eq!((link.most_a_cycle(), link.most_a_packet()), (6, 5));
        assert!(!link.is_short());
        link.send(0, request(AccessKind::GlobalRead));
        assert!(!link.is_short());
        link.send(0, request(AccessKind::GlobalRead));
        assert!(link.is_short());
    }

    #[test]
    fn replies_are_seen_from_their_cycle_on() {
        let mut link = Link::new(32, 5, &[]);
        link.deliver(10, &(&request(AccessKind::GlobalRead)).into());
        assert_eq!(link.next_arrival(), Some(10));
        assert!(link.front(9).is_none() && !link.has_arrived(9));
        assert!(link.front(10).is_some() && link.has_arrived(10));
        assert_eq!(link.untaken(), 1);
        link.drop_oldest();
        assert_eq!((link.untaken(), link.next_arrival()), (0, None));
    }

    /// Each reply is looked at once, whether it has arrived or not.
    #[test]
    fn replies_are_looked_at_as_they_come() {
        let mut link = Link::new(32, 5, &[]);
        let mut looked_at = Vec::new();
        for (at, kind) in [(10, AccessKind::GlobalRead), (99, AccessKind::GlobalWrite)] {
            link.deliver(at, &(&request(kind)).into());
            for _ in 0..2 {
                link.look_at_fresh(|reply, bytes, flits| {
                    looked_at.push((reply.kind, bytes, flits))
                });
            }
        }
        let expected = [
            (AccessKind::GlobalRead, 136, 5),
            (AccessKind::GlobalWrite, 8, 1),
        ];
        assert_eq!(looked_at, expected);
    }
}
