//! Input of L2: packets in the fixed delay, and requests that have left it.
//!
//! Both share one ring. A packet stays in its place until the last of its requests is taken, and a
//! request is built where it is looked up, so that none is copied in between.

use super::Splitting;
use crate::{AccessKind, Request};
use core::hint::cold_path;
use warploom_base::{Cycle, FixedQueue, fetch_ahead};
use warploom_state::{State, Value};

/// Bytes of an L2 sector.
const SECTOR_BYTES: u16 = 32;

/// Byte masks of a line's sectors.
const SECTORS: [u128; 4] = [
    u32::MAX as u128,
    (u32::MAX as u128) << 32,
    (u32::MAX as u128) << 64,
    (u32::MAX as u128) << 96,
];

/// A packet with the state of its splitting, in one cache line of the host.
#[derive(Clone, Copy, Debug, Value)]
#[repr(align(64))]
pub(super) struct Packet {
    /// The packet. If it is split, its address is the one from which the addresses of its parts are
    /// counted.
    whole: Request,
    /// Core cycle in which the packet leaves the fixed delay.
    due_at: Cycle,
    /// Distance in bytes between the addresses of neighbouring parts.
    step: u32,
    /// Number of requests that the packet becomes.
    parts: u8,
    /// Sectors whose requests are still to be taken, one bit each; any one bit if the packet is not
    /// split.
    left: u8,
    /// True if the packet becomes more than one request.
    splits: bool,
}

const _: () = assert!(size_of::<Packet>() == 64, "a cache line of the host");

impl Packet {
    fn new(packet: &Request, splitting: Splitting) -> Self {
        let mut new = Self {
            whole: *packet,
            due_at: 0,
            step: 0,
            parts: 1,
            left: 1,
            splits: splitting.splits(packet),
        };
        new.prepare(splitting);
        new
    }

    /// Sets the fields that splitting needs, if the packet is split.
    #[inline]
    fn prepare(&mut self, splitting: Splitting) {
        if !self.splits {
            return;
        }
        self.left = sectors_to_ask(&self.whole);
        debug_assert!(self.left != 0, "a packet with bytes");
        self.parts = self.left.count_ones() as u8;
        self.step = splitting.step(&self.whole);
        self.whole.addr = splitting.base_addr(&self.whole);
    }

    /// The whole packet, from a copy of which `cut` makes the next request.
    #[inline]
    pub(super) fn whole(&self) -> &Request {
        &self.whole
    }

    /// Turns a copy of the whole packet into the next request.
    #[inline(always)]
    pub(super) fn cut(&self, request: &mut Request) {
        // Branch-free: whether a packet is split is unpredictable.
        let (sector, splits) = (self.left.trailing_zeros(), self.splits);
        request.addr = self.whole.addr + u64::from(self.step * sector);
        request.bytes = if splits {
            SECTOR_BYTES
        } else {
            self.whole.bytes
        };
        let first = self.left & self.left.wrapping_neg();
        request.sectors = if splits { first } else { self.whole.sectors };
        let all = u128::from(splits).wrapping_sub(1);
        request.byte_mask = self.whole.byte_mask & (SECTORS[sector as usize % 4] | all);
    }

    /// Removes the next request. Returns whether it was the last.
    #[inline]
    fn take(&mut self) -> bool {
        self.left &= self.left - 1;
        self.left == 0
    }
}

/// Sectors for which a split packet makes requests: the dirty sectors of a write-back, and for
/// other kinds the sectors of the bytes that the packet spans.
fn sectors_to_ask(packet: &Request) -> u8 {
    match packet.kind {
        AccessKind::L1WriteBack => packet.sectors,
        _ => crate::cache::sectors_from(packet.addr, packet.bytes.into()),
    }
}

/// Packets and requests on their way into L2. Fields that every cycle needs come first in memory.
#[derive(Clone, Debug, State)]
#[repr(C)]
pub(super) struct Input {
    /// Core cycle from which the next request may leave the delay; `Cycle::MAX` if there is none.
    due_at: Cycle,
    /// Number of requests that have left the delay and are not taken.
    waiting: u32,
    /// Largest number of such requests.
    size: u32,
    /// Number of requests of the packet at `leaving` that are in the delay.
    in_delay: u32,
    // Packets are numbered as they come, modulo 2^32, and a packet's number gives its place in the
    // ring.
    /// Number of the oldest packet.
    oldest: u32,
    /// Number of the first packet with a request in the delay.
    leaving: u32,
    /// Number of the next packet to come.
    end: u32,
    /// The ring; its length is a power of two.
    packets: Box<[Packet]>,
    /// Number of requests that have left the delay, modulo 2^32.
    left: u32,
    /// Number of those requests that were taken, modulo 2^32.
    taken: u32,
    /// Packets that skip the delay, each with the number of requests that had left it before.
    passing: FixedQueue<(u32, Packet)>,
    #[state(fixed)]
    splitting: Splitting,
}

/// Initial length of the ring.
const EXPECTED: usize = 8;

impl Input {
    /// An empty input with room for `size` requests that have left the delay.
    pub(super) fn new(size: u32, splitting: Splitting) -> Self {
        let any = Request::new(AccessKind::GlobalRead, 0, 32);
        Self {
            due_at: Cycle::MAX,
            waiting: 0,
            size,
            in_delay: 0,
            oldest: 0,
            leaving: 0,
            end: 0,
            packets: vec![Packet::new(&any, splitting); EXPECTED].into(),
            left: 0,
            taken: 0,
            passing: FixedQueue::new(size as usize),
            splitting,
        }
    }

    /// True if no request can be taken.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Number of requests that have left the delay and are not taken.
    #[inline]
    pub(super) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Number of requests for which there is room after the delay.
    pub(super) fn room(&self) -> usize {
        (self.size - self.waiting) as usize
    }

    /// Core cycle from which the next request may leave the delay; `None` if there is none.
    #[inline]
    pub(super) fn due_at(&self) -> Option<Cycle> {
        (self.due_at != Cycle::MAX).then_some(self.due_at)
    }

    /// True if a request may leave the delay in core cycle `now`, given room.
    #[inline]
    pub(super) fn is_due(&self, now: Cycle) -> bool {
        now >= self.due_at
    }

    /// True if a packet becomes more than one request.
    #[inline]
    pub(super) fn splits(&self, packet: &Request) -> bool {
        self.splitting.splits(packet)
    }

    /// Number of requests that a packet becomes.
    pub(super) fn parts(&self, packet: &Request) -> u32 {
        match self.splits(packet) {
            true => sectors_to_ask(packet).count_ones(),
            false => 1,
        }
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        (number & (self.packets.len() as u32).wrapping_sub(1)) as usize
    }

    /// Adds a packet, whose requests leave the delay from core cycle `due_at` on, one a call of
    /// `leave`. Returns the number of requests.
    #[inline]
    pub(super) fn push(&mut self, due_at: Cycle, packet: &Request) -> u32 {
        if (self.end.wrapping_sub(self.oldest)) as usize == self.packets.len() {
            self.grow();
        }
        let place = self.place(self.end);
        let new = &mut self.packets[place];
        // Stored in its final place at once: hosts are slow to load a value as a whole that was
        // just stored in parts.
        (new.whole, new.due_at) = (*packet, due_at);
        (new.step, new.parts, new.left) = (0, 1, 1);
        new.splits = self.splitting.splits(packet);
        new.prepare(self.splitting);
        let parts = u32::from(new.parts);
        if self.leaving == self.end {
            (self.due_at, self.in_delay) = (due_at, parts);
        }
        self.end = self.end.wrapping_add(1);
        fetch_ahead(&self.packets[self.place(self.end)]);
        parts
    }

    /// Adds a packet that skips the delay; there must be room after it. Returns the number of its
    /// requests.
    #[inline(never)]
    pub(super) fn pass(&mut self, packet: &Request) -> u32 {
        let packet = Packet::new(packet, self.splitting);
        let parts = u32::from(packet.parts);
        assert!(self.room() >= parts as usize, "a packet without room");
        self.waiting += parts;
        self.passing.push((self.left, packet));
        parts
    }

    /// Doubles the ring. Each packet is copied to both places that its number may give.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.packets = self.packets.repeat(2).into();
    }

    /// Moves a request out of the delay, if one is due in core cycle `now` and finds room.
    /// Branch-free: whether one leaves is unpredictable.
    #[inline(always)]
    pub(super) fn leave(&mut self, now: Cycle) {
        let leaves = u32::from(self.is_due(now) & (self.waiting != self.size));
        self.waiting += leaves;
        self.left = self.left.wrapping_add(leaves);
        self.in_delay -= leaves;
        // True if the request is the last of its packet.
        let is_last = (leaves != 0) & (self.in_delay == 0);
        self.leaving = self.leaving.wrapping_add(u32::from(is_last));
        let next = &self.packets[self.place(self.leaving)];
        let (due_at, parts) = (next.due_at, u32::from(next.parts));
        self.in_delay = if is_last { parts } else { self.in_delay };
        let is_there = self.leaving != self.end;
        self.due_at = if is_there { due_at } else { Cycle::MAX };
        fetch_ahead(&self.packets[self.place(self.leaving.wrapping_add(1))]);
    }

    /// Packet after the one with the next request to be taken; any packet if there is none.
    #[inline]
    pub(super) fn after(&self) -> &Request {
        &self.packets[self.place(self.oldest.wrapping_add(1))].whole
    }

    /// Packet with the next request to be taken. There must be one.
    #[inline]
    pub(super) fn next(&self) -> &Packet {
        match self.passing.front() {
            Some((after, packet)) if *after == self.taken => {
                cold_path();
                packet
            }
            _ => &self.packets[self.place(self.oldest)],
        }
    }

    /// Removes the next request.
    #[inline]
    pub(super) fn take(&mut self) {
        self.waiting -= 1;
        if let Some((after, packet)) = self.passing.front_mut()
            && *after == self.taken
        {
            cold_path();
            if packet.take() {
                self.passing.drop_oldest();
            }
            return;
        }
        self.taken = self.taken.wrapping_add(1);
        let place = self.place(self.oldest);
        let is_last = self.packets[place].take();
        self.oldest = self.oldest.wrapping_add(u32::from(is_last));
    }

    /// True if there is no packet and no request.
    pub(super) fn is_idle(&self) -> bool {
        self.oldest == self.end && self.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Splitting;
    use super::Input;
    use crate::{AccessKind, Request};
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const SPLITTING: Splitting = Splitting {
        sectored: true,
        exact: true,
    };
    const SIZE: u32 = 8;

    /// Next request of an input.
    fn next(input: &Input) -> Request {
        let mut request = *input.next().whole();
        input.next().cut(&mut request);
        request
    }

    /// Event of a cycle: 0 for none, 1 for a packet, 2 for a packet that skips the delay; its first
    /// sector, its number of sectors, and whether a request is taken.
    type Step = (u8, u64, u16, bool);

    proptest! {
        /// Against two queues of requests that are made as packets come.
        #[test]
        fn requests_come_as_from_two_queues(
            steps in prop::collection::vec((0..3_u8, 0..4_u64, 1..5_u16, any::<bool>()), 0..400)
        ) {
            let mut input = Input::new(SIZE, SPLITTING);
            let mut delay: VecDeque<(u64, Request)> = VecDeque::new();
            let mut after_delay: VecDeque<Request> = VecDeque::new();
            for (now, step) in steps.iter().enumerate() {
                let (now, (comes, sector, sectors, takes)): (u64, Step) = (now as u64, *step);
                let bytes = 32 * sectors.min(4 - sector as u16);
                let kind = match comes {
                    1 => AccessKind::GlobalRead,
                    _ => AccessKind::TextureRead,
                };
                let packet = Request::new(kind, now * 128 + sector * 32, bytes);
                let parts = packet.by_sector();
                match comes {
                    1 => {
                        input.push(now + 5, &packet);
                        delay.extend(parts.map(|part| (now + 5, part)));
                    }
                    2 if input.room() >= 4 => {
                        input.pass(&packet);
                        after_delay.extend(parts);
                    }
                    _ => {}
                }
                prop_assert_eq!(input.due_at(), delay.front().map(|(at, _)| *at));
                input.leave(now);
                let has_room = after_delay.len() < SIZE as usize;
                if has_room && delay.front().is_some_and(|(at, _)| *at <= now) {
                    after_delay.extend(delay.pop_front().map(|(_, part)| part));
                }
                prop_assert_eq!(input.room(), SIZE as usize - after_delay.len());
                if takes && !input.is_empty() {
                    prop_assert_eq!(Some(next(&input)), after_delay.pop_front());
                    input.take();
                }
                prop_assert_eq!(input.is_idle(), after_delay.is_empty() && delay.is_empty());
            }
        }
    }
}
