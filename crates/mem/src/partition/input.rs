//! What is on its way into L2: packets in the fixed delay, and requests that have left it.
//!
//! Both lie in one ring. A packet stays in its place until the last of its requests is taken, and a
//! request is put together where it is looked up: hosts copy none in between.

use super::Splitting;
use crate::{AccessKind, Request};
use core::hint::cold_path;
use warploom_base::{Cycle, FixedQueue, fetch_ahead};

/// Bytes of an L2 sector.
const SECTOR_BYTES: u16 = 32;

/// Bytes of a line's sectors, as a request has them.
const SECTORS: [u128; 4] = [
    u32::MAX as u128,
    (u32::MAX as u128) << 32,
    (u32::MAX as u128) << 64,
    (u32::MAX as u128) << 96,
];

/// A packet and what is left of it, in one line of the host's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Packet {
    /// The packet. Where it is split, its address is what those of its parts are counted from.
    whole: Request,
    /// Core cycle in which it leaves the fixed delay.
    due_at: Cycle,
    /// Distance of the addresses of neighbouring parts.
    step: u32,
    /// Requests that are made of it.
    parts: u8,
    /// Sectors whose requests are to be taken: one, whichever, where it is not split.
    left: u8,
    /// More than one request is made of it.
    splits: bool,
}

const _: () = assert!(size_of::<Packet>() == 64, "a host's cache line");

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

    /// Makes the packet one to be split, if it is.
    #[inline]
    fn prepare(&mut self, splitting: Splitting) {
        if !self.splits {
            return;
        }
        self.left = sectors_to_ask(&self.whole);
        debug_assert!(self.left != 0, "a packet of something");
        self.parts = self.left.count_ones() as u8;
        self.step = splitting.step(&self.whole);
        self.whole.addr = splitting.base_addr(&self.whole);
    }

    /// The packet as a whole, from which `cut` makes its next request.
    #[inline]
    pub(super) fn whole(&self) -> &Request {
        &self.whole
    }

    /// Makes the next request from a copy of the whole.
    #[inline(always)]
    pub(super) fn cut(&self, request: &mut Request) {
        // Nobody can foretell whether it is split: no branch.
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

    /// The next request is taken. Returns whether it was the last.
    #[inline]
    fn take(&mut self) -> bool {
        self.left &= self.left - 1;
        self.left == 0
    }
}

/// Sectors for each of which a packet that is split makes a request: the dirty ones of a
/// write-back, of anything else those of the bytes that it spans.
fn sectors_to_ask(packet: &Request) -> u8 {
    match packet.kind {
        AccessKind::L1WriteBack => packet.sectors,
        _ => crate::cache::sectors_from(packet.addr, packet.bytes.into()),
    }
}

/// The packets. What every cycle needs comes first, as it lies in memory.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Input {
    /// Core cycle from which the next request may leave the delay; `Cycle::MAX` without one.
    due_at: Cycle,
    /// Requests that have left it and are not taken.
    waiting: u32,
    /// Most of them.
    size: u32,
    /// Requests of the packet at `leaving` that are in the delay.
    in_delay: u32,
    // Packets are counted as they come, modulo 2^32, and have the place of their number in the
    // ring: the oldest, the first with a request in the delay, and the next to come.
    oldest: u32,
    leaving: u32,
    end: u32,
    /// A power of two of them.
    packets: Box<[Packet]>,
    /// Requests that have left the delay, and of them those taken, modulo 2^32.
    left: u32,
    taken: u32,
    /// Packets that do not wait in the delay, with the number of requests that had left it before.
    passing: FixedQueue<(u32, Packet)>,
    splitting: Splitting,
}

/// Places to begin with.
const EXPECTED: usize = 64;

impl Input {
    /// Nothing, with room for `size` requests that have left the delay.
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

    /// Nothing is there to be taken.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Requests for which there is room behind the delay.
    #[inline]
    pub(super) fn room(&self) -> usize {
        (self.size - self.waiting) as usize
    }

    /// Core cycle from which the next request may leave the delay; `None` without one.
    #[inline]
    pub(super) fn due_at(&self) -> Option<Cycle> {
        (self.due_at != Cycle::MAX).then_some(self.due_at)
    }

    /// A request may leave the delay in core cycle `now`, if there is room.
    #[inline]
    pub(super) fn is_due(&self, now: Cycle) -> bool {
        now >= self.due_at
    }

    /// More than one request is made of a packet.
    #[inline]
    pub(super) fn splits(&self, packet: &Request) -> bool {
        self.splitting.splits(packet)
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        (number & (self.packets.len() as u32).wrapping_sub(1)) as usize
    }

    /// A packet comes, whose requests leave the delay from core cycle `due_at` on, one a call of
    /// `leave`. Returns how many they are.
    #[inline]
    pub(super) fn push(&mut self, due_at: Cycle, packet: &Request) -> u32 {
        if (self.end.wrapping_sub(self.oldest)) as usize == self.packets.len() {
            self.grow();
        }
        let place = self.place(self.end);
        let new = &mut self.packets[place];
        // Where it stays: hosts are slow to load a whole that they have just stored in parts.
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

    /// A packet comes that does not wait in the delay, and must find room behind it. Returns how
    /// many requests are made of it.
    #[inline(never)]
    pub(super) fn pass(&mut self, packet: &Request) -> u32 {
        let packet = Packet::new(packet, self.splitting);
        let parts = u32::from(packet.parts);
        assert!(self.room() >= parts as usize, "a packet without room");
        self.waiting += parts;
        self.passing.push((self.left, packet));
        parts
    }

    /// Makes twice as many places. A packet is found in both that could be its own.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.packets = self.packets.repeat(2).into();
    }

    /// A request leaves the delay, if one may in core cycle `now` and finds room. Nobody can
    /// foretell that: no branch.
    #[inline(always)]
    pub(super) fn leave(&mut self, now: Cycle) {
        let leaves = u32::from(self.is_due(now) & (self.waiting != self.size));
        self.waiting += leaves;
        self.left = self.left.wrapping_add(leaves);
        self.in_delay -= leaves;
        // Whether it is its packet's last.
        let is_last = (leaves != 0) & (self.in_delay == 0);
        self.leaving = self.leaving.wrapping_add(u32::from(is_last));
        let next = &self.packets[self.place(self.leaving)];
        let (due_at, parts) = (next.due_at, u32::from(next.parts));
        self.in_delay = if is_last { parts } else { self.in_delay };
        let is_there = self.leaving != self.end;
        self.due_at = if is_there { due_at } else { Cycle::MAX };
        fetch_ahead(&self.packets[self.place(self.leaving.wrapping_add(1))]);
    }

    /// The packet behind that which has the next request to be taken, or any.
    #[inline]
    pub(super) fn after(&self) -> &Request {
        &self.packets[self.place(self.oldest.wrapping_add(1))].whole
    }

    /// The packet that has the next request to be taken. There must be one.
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

    /// The next request is taken.
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

    /// Nothing is anywhere.
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

    /// The next request.
    fn next(input: &Input) -> Request {
        let mut request = *input.next().whole();
        input.next().cut(&mut request);
        request
    }

    /// What comes in a cycle: nothing, a packet, or one that does not wait in the delay; its first
    /// sector and how many.
    type Step = (u8, u64, u16, bool);

    proptest! {
        /// Against two queues of requests that are made as packets come.
        #[test]
        fn requests_come_as_from_two_queues(
            steps in prop::collection::vec((0..3_u8, 0..4_u64, 1..5_u16, any::<bool>()), 0..400)
        ) {
            let mut input = Input::new(SIZE, SPLITTING);
            let mut delay: VecDeque<(u64, Request)> = VecDeque::new();
            let mut behind: VecDeque<Request> = VecDeque::new();
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
                        behind.extend(parts);
                    }
                    _ => {}
                }
                prop_assert_eq!(input.due_at(), delay.front().map(|(at, _)| *at));
                input.leave(now);
                let has_room = behind.len() < SIZE as usize;
                if has_room && delay.front().is_some_and(|(at, _)| *at <= now) {
                    behind.extend(delay.pop_front().map(|(_, part)| part));
                }
                prop_assert_eq!(input.room(), SIZE as usize - behind.len());
                if takes && !input.is_empty() {
                    prop_assert_eq!(Some(next(&input)), behind.pop_front());
                    input.take();
                }
                prop_assert_eq!(input.is_idle(), behind.is_empty() && delay.is_empty());
            }
        }
    }
}
