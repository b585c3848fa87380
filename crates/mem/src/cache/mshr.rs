//! Miss status holding registers: lines on their way, and the requests that wait for each.

use super::table::{AddressTable, Slot};
use crate::places::{NONE, Places};
use crate::{AccessKind, Request};
use warploom_base::{FixedQueue, fetch_ahead};

/// One line on its way, in half of a host's cache line: it has left the nearest caches by the time
/// that its fill comes.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Entry {
    /// Address of the line or sector.
    addr: u64,
    /// See `Fill`.
    set: u32,
    index: u32,
    /// First and last of the requests that wait.
    head: u32,
    tail: u32,
    /// Bytes still to come.
    bytes_left: u16,
    waiting: u16,
    /// See `Fill`.
    sector: u8,
    has_atomic: bool,
    /// A write waits, and then a read.
    write_waits: bool,
    read_after_write: bool,
}

const _: () = assert!(size_of::<Entry>() == 32, "half of a host's cache line");

impl Entry {
    /// The last of those that are free.
    const FREE: Self = Self {
        addr: 0,
        set: 0,
        index: 0,
        head: NONE,
        tail: NONE,
        bytes_left: 0,
        waiting: 0,
        sector: 0,
        has_atomic: false,
        write_waits: false,
        read_after_write: false,
    };
}

/// Where a fill goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill {
    /// Set of the line.
    pub(super) set: u32,
    /// Line reserved at the miss; meaningless when lines are allocated at the fill.
    pub(super) index: u32,
    /// Sector of the line.
    pub(super) sector: u8,
}

/// Whether a request can be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    /// The line is on its way and has room for another request.
    Merge(u32),
    /// The line is on its way, but may not take more.
    MergeFull,
    /// A new entry is free, to be found at this place from now on.
    New(Slot),
    /// No entry is free.
    Full,
}

/// The table. What a look whether there is something to do needs comes first, as it lies in memory.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Mshrs {
    /// Entries whose line came, in order of arrival.
    ready: FixedQueue<u32>,
    by_addr: AddressTable,
    entries: Vec<Entry>,
    /// The first of the entries that are free, each of which has the next as its `head`.
    free_entry: u32,
    in_use: u32,
    most_entries: u32,
    most_waiting: u16,
    /// Requests that wait, those for an entry in a list.
    waiting: Places,
}

impl Mshrs {
    pub(super) fn new(entries: u32, merge: u32) -> Self {
        let most_entries = entries as usize;
        let waiting = most_entries * merge as usize;
        Self {
            by_addr: AddressTable::new(most_entries),
            entries: Vec::with_capacity(most_entries),
            free_entry: NONE,
            in_use: 0,
            waiting: Places::new(waiting),
            ready: FixedQueue::new(most_entries.max(1)),
            most_entries: entries,
            most_waiting: merge as u16,
        }
    }

    /// What a request for the line or sector at `addr` would find.
    #[inline]
    pub(super) fn room(&self, addr: u64) -> Room {
        match self.find(addr) {
            Ok(entry) if self.entries[entry as usize].waiting < self.most_waiting => {
                Room::Merge(entry)
            }
            Ok(_) => Room::MergeFull,
            Err(slot) if self.in_use < self.most_entries => Room::New(slot),
            Err(_) => Room::Full,
        }
    }

    #[inline]
    fn find(&self, addr: u64) -> Result<u32, Slot> {
        let has_addr = |entry: u32| self.entries[entry as usize].addr == addr;
        self.by_addr.find(addr, has_addr)
    }

    /// Nothing on its way or waiting to be answered.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.in_use == 0
    }

    /// Starts an entry for `bytes` at `addr`, and returns which. Requires `Room::New`, with `slot`,
    /// and that nothing has changed since.
    #[inline(always)]
    pub(super) fn start(
        &mut self,
        slot: Slot,
        addr: u64,
        bytes: u16,
        fill: Fill,
        request: &Request,
    ) -> u32 {
        let first = self.waiting.keep(request);
        let index = match self.free_entry {
            NONE => self.add_entry(),
            index => index,
        };
        let entry = &mut self.entries[index as usize];
        self.free_entry = entry.head;
        // Where it stays: hosts are slow to load a whole that they have just stored in parts.
        *entry = Entry {
            addr,
            set: fill.set,
            index: fill.index,
            sector: fill.sector,
            bytes_left: bytes,
            waiting: 1,
            has_atomic: request.kind == AccessKind::GlobalAtomic,
            write_waits: request.kind.is_write(),
            read_after_write: false,
            head: first,
            tail: first,
        };
        self.in_use += 1;
        self.by_addr.insert(slot, addr, index);
        index
    }

    /// Adds a request to an entry. Requires `Room::Merge`.
    pub(super) fn merge(&mut self, entry: u32, request: &Request) {
        let index = self.waiting.keep(request);
        let entry = &mut self.entries[entry as usize];
        self.waiting.link(entry.tail, index);
        entry.tail = index;
        entry.waiting += 1;
        entry.has_atomic |= request.kind == AccessKind::GlobalAtomic;
        entry.read_after_write |= entry.write_waits && !request.kind.is_write();
        entry.write_waits |= request.kind.is_write();
    }

    /// Adds an entry, the last that is free.
    #[cold]
    #[inline(never)]
    fn add_entry(&mut self) -> u32 {
        self.entries.push(Entry::FREE);
        self.entries.len() as u32 - 1
    }

    /// What waits in an entry will come soon.
    #[inline]
    pub(super) fn fetch_entry(&self, entry: u32) {
        fetch_ahead(&self.entries[entry as usize]);
    }

    /// The line or sector at `addr` will be looked for soon.
    #[inline]
    pub(super) fn fetch_slot(&self, addr: u64) {
        self.by_addr.fetch_ahead(addr);
    }

    /// A read waits behind a write in this entry.
    #[inline]
    pub(super) fn read_after_write(&self, entry: u32) -> bool {
        self.entries[entry as usize].read_after_write
    }

    /// The entry of the line or sector at `addr`, if it is on its way.
    #[inline]
    pub(super) fn on_its_way(&self, addr: u64) -> Option<u32> {
        self.find(addr).ok()
    }

    /// Takes `bytes` of the line or sector of an entry. When that was the last of it, its requests
    /// become ready, and the answer is true.
    #[inline]
    pub(super) fn arrive(&mut self, index: u32, bytes: u16) -> bool {
        let entry = &mut self.entries[index as usize];
        entry.bytes_left = entry.bytes_left.saturating_sub(bytes);
        let is_whole = entry.bytes_left == 0;
        if is_whole {
            // For `take_out`.
            self.waiting.fetch_ahead(entry.head);
            self.by_addr.fetch_ahead(entry.addr);
            self.ready.push(index);
        }
        is_whole
    }

    /// Where the line or sector of an entry goes.
    #[inline]
    pub(super) fn fill(&self, entry: u32) -> Fill {
        let entry = &self.entries[entry as usize];
        Fill {
            set: entry.set,
            index: entry.index,
            sector: entry.sector,
        }
    }

    /// The first of the requests that wait for an entry.
    #[inline]
    pub(super) fn first(&self, entry: u32) -> &Request {
        self.waiting.get(self.entries[entry as usize].head)
    }

    /// An atomic waits for an entry.
    #[inline]
    pub(super) fn has_atomic(&self, entry: u32) -> bool {
        self.entries[entry as usize].has_atomic
    }

    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Next request of the line that came first: it waits no longer.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<&Request> {
        let index = *self.ready.front()?;
        Some(self.take_out(index))
    }

    /// The next request of an entry that came.
    fn take_out(&mut self, index: u32) -> &Request {
        let entry = &mut self.entries[index as usize];
        let (request, next) = self.waiting.release(entry.head);
        entry.waiting -= 1;
        if entry.waiting == 0 {
            self.ready.drop_oldest();
            self.by_addr.remove(entry.addr, index);
            entry.head = self.free_entry;
            self.free_entry = index;
            self.in_use -= 1;
        } else {
            entry.head = next;
        }
        request
    }
}

#[cfg(test)]
mod tests {
    use super::{Fill, Mshrs, Room};
    use crate::testing::read;

    const FILL: Fill = Fill {
        set: 0,
        index: 0,
        sector: 0,
    };

    fn start(mshrs: &mut Mshrs, addr: u64, bytes: u16) {
        let Room::New(slot) = mshrs.room(addr) else {
            panic!("no room at {addr}");
        };
        mshrs.start(slot, addr, bytes, FILL, &read(addr, 32));
    }

    #[test]
    fn merges_up_to_the_limit_and_answers_in_order() {
        let mut mshrs = Mshrs::new(2, 2);
        start(&mut mshrs, 0, 128);
        assert_eq!(mshrs.room(0), Room::Merge(0));
        mshrs.merge(0, &read(64, 32));
        assert_eq!(mshrs.room(0), Room::MergeFull);
        start(&mut mshrs, 128, 128);
        assert_eq!(mshrs.room(256), Room::Full);

        let mut arrive = |addr, bytes| {
            let entry = mshrs.on_its_way(addr).expect("it is waited for");
            mshrs.arrive(entry, bytes)
        };
        assert!(arrive(128, 128));
        assert!(!arrive(0, 96), "32 bytes are missing");
        assert!(arrive(0, 32));
        let order = std::iter::from_fn(|| mshrs.next_ready().map(|r| r.addr));
        assert_eq!(order.collect::<Vec<_>>(), [128, 0, 64]);
        assert!(mshrs.is_empty() && !mshrs.has_ready());
    }

    #[test]
    fn a_line_that_came_still_takes_requests_until_it_is_answered() {
        let mut mshrs = Mshrs::new(1, 2);
        start(&mut mshrs, 0, 32);
        let entry = mshrs.on_its_way(0).expect("it is waited for");
        mshrs.arrive(entry, 32);
        assert_eq!(mshrs.room(0), Room::Merge(0));
        mshrs.next_ready();
        assert!(matches!(mshrs.room(0), Room::New(_)));
    }
}
