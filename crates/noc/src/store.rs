//! Where packets are while queues hold their numbers. A packet stays in its place from `lodge` to
//! `release`, what it carries and what the network looks at in one line of the host's cache.

use warploom_base::{define_id, fetch_ahead};
use warploom_mem::Request;

define_id! {
    /// A packet in a network's store.
    PacketId(u32) = "packet";
}

/// No packet.
const NONE: u32 = u32::MAX;

/// A packet without its content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parcel {
    pub output: u32,
    pub flits: u32,
    pub bytes: u32,
    /// The packet behind it in its line.
    next: u32,
}

/// A packet.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Packet {
    content: Request,
    parcel: Parcel,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// All of a network's packets.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Store {
    /// An empty store with room for as many packets as are expected.
    pub(crate) fn new(expected: usize) -> Self {
        Self {
            packets: Vec::with_capacity(expected),
            free: Vec::with_capacity(expected),
        }
    }

    /// Takes a packet in. Returns what it carries, too, which may be changed.
    #[inline]
    pub(crate) fn lodge(
        &mut self,
        content: &Request,
        output: u32,
        flits: u32,
        bytes: u32,
    ) -> (PacketId, &mut Request) {
        let parcel = Parcel {
            output,
            flits,
            bytes,
            next: NONE,
        };
        let id = self.free.pop().unwrap_or_else(|| self.grow(content));
        let packet = &mut self.packets[id.index()];
        packet.content = *content;
        packet.parcel = parcel;
        (id, &mut packet.content)
    }

    /// Makes a place.
    #[cold]
    fn grow(&mut self, content: &Request) -> PacketId {
        let id = PacketId::new(self.packets.len());
        let parcel = Parcel {
            output: 0,
            flits: 0,
            bytes: 0,
            next: NONE,
        };
        self.packets.push(Packet {
            content: *content,
            parcel,
        });
        id
    }

    /// What a packet carries.
    #[inline]
    pub(crate) fn content(&self, id: PacketId) -> &Request {
        &self.packets[id.index()].content
    }

    /// The rest of it.
    #[inline]
    pub(crate) fn parcel(&self, id: PacketId) -> &Parcel {
        &self.packets[id.index()].parcel
    }

    /// The packet behind another in its line, if there is one, will be looked at soon.
    #[inline]
    pub(crate) fn fetch_next(&self, parcel: &Parcel) {
        if let Some(next) = self.packets.get(parcel.next as usize) {
            fetch_ahead(next);
        }
    }

    /// Its place is free for another.
    #[inline]
    pub(crate) fn release(&mut self, id: PacketId) {
        self.free.push(id);
    }
}

/// Packets one behind the other. A packet is in one line at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    first: u32,
    last: u32,
}

impl Line {
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// The first packet.
    #[inline]
    pub(crate) fn front(&self) -> Option<PacketId> {
        (!self.is_empty()).then_some(PacketId(self.first))
    }

    /// A packet comes last.
    #[inline]
    pub(crate) fn push(&mut self, store: &mut Store, id: PacketId) {
        if self.is_empty() {
            self.first = id.0;
        } else {
            store.packets[self.last as usize].parcel.next = id.0;
        }
        self.last = id.0;
    }

    /// Takes the first packet.
    #[inline]
    pub(crate) fn pop(&mut self, store: &mut Store) -> Option<(PacketId, Parcel)> {
        let id = self.front()?;
        let parcel = &mut store.packets[id.index()].parcel;
        self.first = std::mem::replace(&mut parcel.next, NONE);
        Some((id, *parcel))
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, Store};
    use crate::testing::packet;
    use std::collections::VecDeque;

    /// Lines keep their order while packets change from one to the other and places are used again.
    #[test]
    fn packets_keep_their_order_and_content() {
        let mut store = Store::new(1);
        let mut lines = [Line::EMPTY; 2];
        let mut expected = [VecDeque::new(), VecDeque::new()];
        let mut most = 0;
        for round in 0..300_u32 {
            let (from, to) = ((round / 5 % 2) as usize, (round / 3 % 2) as usize);
            if round % 4 > 0 {
                let (id, _) = store.lodge(&packet(round), round + 1, 2, 40);
                lines[to].push(&mut store, id);
                expected[to].push_back(round);
                most = most.max(expected.iter().map(VecDeque::len).sum());
            }
            if round % 3 > 0 {
                let id = lines[from].pop(&mut store).map(|(id, _)| id);
                let token = id.map(|id| store.content(id).token);
                assert_eq!(token, expected[from].pop_front());
                if let (Some(id), Some(token)) = (id, token) {
                    assert_eq!(store.parcel(id).output, token + 1);
                    match round % 2 {
                        0 => store.release(id),
                        _ => {
                            lines[1 - from].push(&mut store, id);
                            expected[1 - from].push_back(token);
                        }
                    }
                }
            }
            for (line, expected) in lines.iter().zip(&expected) {
                let front = line.front().map(|id| store.content(id).token);
                assert_eq!(front, expected.front().copied());
                assert_eq!(line.is_empty(), expected.is_empty());
            }
        }
        assert_eq!(store.packets.len(), most, "places are used again");
    }
}
