//! Store of the packets whose numbers the queues of a network hold. A packet stays in one place
//! from `lodge` to `release`. Its request and its header share one cache line of the host.

use warploom_base::{define_id, fetch_ahead};
use warploom_mem::Request;
use warploom_state::{State, Value};

define_id! {
    /// Number of a packet in the store of a network.
    PacketId(u32) = "packet";
}

/// Number that stands for no packet.
const NONE: u32 = u32::MAX;

/// Fields of a packet that the network looks at.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct Header {
    pub output: u32,
    pub flits: u32,
    pub bytes: u32,
    /// Next packet of the queue that this one is in.
    next: u32,
}

/// A packet with its request.
#[derive(Clone, Copy, Debug, Value)]
#[repr(align(64))]
struct Packet {
    content: Request,
    header: Header,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// A stored packet before it enters the network, with what is asked of it there: by then its header
/// has left the host's caches.
#[derive(Clone, Copy, Debug, Value)]
pub struct Lodged {
    /// Number of the packet in the store.
    pub id: PacketId,
    /// Number of its flits.
    pub flits: u32,
    pub(crate) output: u16,
    pub(crate) bytes: u16,
}

impl Lodged {
    /// Stands for a packet where there is none.
    pub const NONE: Self = Self {
        id: PacketId(NONE),
        flits: 0,
        output: 0,
        bytes: 0,
    };

    /// A packet of `flits` flits and `bytes` bytes for an output. Requires numbers of usual size.
    #[inline]
    pub(crate) fn new(id: PacketId, output: u32, flits: u32, bytes: u32) -> Self {
        debug_assert!(output.max(bytes) <= u16::MAX.into(), "{output}, {bytes}");
        Self {
            id,
            flits,
            output: output as u16,
            bytes: bytes as u16,
        }
    }
}

/// Store of all packets of a network.
#[derive(Clone, Debug, State)]
pub(crate) struct Store {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Store {
    /// An empty store with memory for `expected` packets; it grows beyond them.
    pub(crate) fn new(expected: usize) -> Self {
        Self {
            packets: Vec::with_capacity(expected),
            free: Vec::with_capacity(expected),
        }
    }

    /// Stores a packet. Returns its number, and its request, which may be changed.
    #[inline]
    pub(crate) fn lodge(
        &mut self,
        content: &Request,
        output: u32,
        flits: u32,
        bytes: u32,
    ) -> (PacketId, &mut Request) {
        let header = Header {
            output,
            flits,
            bytes,
            next: NONE,
        };
        let id = self.free.pop().unwrap_or_else(|| self.grow(content));
        let packet = &mut self.packets[id.index()];
        packet.content = *content;
        packet.header = header;
        (id, &mut packet.content)
    }

    /// Adds a place to the store.
    #[cold]
    fn grow(&mut self, content: &Request) -> PacketId {
        let id = PacketId::new(self.packets.len());
        let header = Header {
            output: 0,
            flits: 0,
            bytes: 0,
            next: NONE,
        };
        self.packets.push(Packet {
            content: *content,
            header,
        });
        id
    }

    /// Request that a packet carries.
    #[inline]
    pub(crate) fn content(&self, id: PacketId) -> &Request {
        &self.packets[id.index()].content
    }

    /// Header of a packet.
    #[inline]
    pub(crate) fn header(&self, id: PacketId) -> &Header {
        &self.packets[id.index()].header
    }

    /// Prefetches a packet that will be looked at soon.
    #[inline]
    pub(crate) fn fetch(&self, id: PacketId) {
        if let Some(packet) = self.packets.get(id.index()) {
            fetch_ahead(packet);
        }
    }

    /// Prefetches the next packet of the queue that a packet is in, if there is one.
    #[inline]
    pub(crate) fn fetch_next(&self, header: &Header) {
        if let Some(next) = self.packets.get(header.next as usize) {
            fetch_ahead(next);
        }
    }

    /// Releases a packet: another may take its place.
    #[inline]
    pub(crate) fn release(&mut self, id: PacketId) {
        self.free.push(id);
    }
}

/// A queue of packets, linked by their headers. A packet is in one queue at a time.
#[derive(Clone, Copy, Debug, Value)]
pub(crate) struct PacketQueue {
    first: u32,
    last: u32,
}

impl PacketQueue {
    /// A queue without packets.
    pub(crate) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    /// True if the queue has no packet.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// First packet of the queue.
    #[inline]
    pub(crate) fn front(&self) -> Option<PacketId> {
        (!self.is_empty()).then_some(PacketId(self.first))
    }

    /// Appends a packet to the queue.
    #[inline]
    pub(crate) fn push(&mut self, store: &mut Store, id: PacketId) {
        if self.is_empty() {
            self.first = id.0;
        } else {
            store.packets[self.last as usize].header.next = id.0;
        }
        self.last = id.0;
    }

    /// Takes the first packet.
    #[inline]
    pub(crate) fn pop(&mut self, store: &mut Store) -> Option<(PacketId, Header)> {
        let id = self.front()?;
        let header = &mut store.packets[id.index()].header;
        self.first = std::mem::replace(&mut header.next, NONE);
        Some((id, *header))
    }
}

#[cfg(test)]
mod tests {
    use super::{PacketQueue, Store};
    use crate::testing::packet;
    use std::collections::VecDeque;

    /// Queues keep their order while packets move between them and places are used again.
    #[test]
    fn packets_keep_their_order_and_content() {
        let mut store = Store::new(1);
        let mut queues = [PacketQueue::EMPTY; 2];
        let mut expected = [VecDeque::new(), VecDeque::new()];
        let mut most = 0;
        for round in 0..300_u32 {
            let (from, to) = ((round / 5 % 2) as usize, (round / 3 % 2) as usize);
            if round % 4 > 0 {
                let (id, _) = store.lodge(&packet(round), round + 1, 2, 40);
                queues[to].push(&mut store, id);
                expected[to].push_back(round);
                most = most.max(expected.iter().map(VecDeque::len).sum());
            }
            if round % 3 > 0 {
                let id = queues[from].pop(&mut store).map(|(id, _)| id);
                let token = id.map(|id| store.content(id).token);
                assert_eq!(token, expected[from].pop_front());
                if let (Some(id), Some(token)) = (id, token) {
                    assert_eq!(store.header(id).output, token + 1);
                    match round % 2 {
                        0 => store.release(id),
                        _ => {
                            queues[1 - from].push(&mut store, id);
                            expected[1 - from].push_back(token);
                        }
                    }
                }
            }
            for (queue, expected) in queues.iter().zip(&expected) {
                let front = queue.front().map(|id| store.content(id).token);
                assert_eq!(front, expected.front().copied());
                assert_eq!(queue.is_empty(), expected.is_empty());
            }
        }
        assert_eq!(store.packets.len(), most, "places are used again");
    }
}
