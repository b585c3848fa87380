//! Miss status holding registers (MSHRs): lines on their way, and the requests that wait for each.

use super::table::{AddressTable, Slot};
use crate::request_arena::{NONE, RequestArena};
use crate::{AccessKind, Request};
use warploom_base::{FixedQueue, fetch_ahead};
use warploom_state::{State, Value};

/// A line on its way with the first request that waits for it. An entry has a cache line of the
/// host to itself, because it has left the nearest caches when its fill comes.
#[derive(Clone, Copy, Debug, Value)]
#[repr(align(64))]
struct Entry {
    /// Request that started the entry. It may have been answered already.
    first: Request,
    /// Set and sector of the fill, and the flags below.
    place: u32,
    /// Line of the fill, as in [`Fill::index`].
    index: u32,
    /// Last of the other requests, which are linked in a ring: its successor is the first of them.
    /// In a free entry, the next free entry.
    last: u32,
    /// Number of requests that wait.
    waiting: u16,
    /// Bytes still to come.
    bytes_left: u16,
}

const _: () = assert!(size_of::<Entry>() == 64, "a cache line of the host");

/// Flag: an atomic waits.
const HAS_ATOMIC: u32 = 1 << 31;
/// Flag: a write waits.
const WRITE_WAITS: u32 = 1 << 30;
/// Flag: a write waits, and a read that came after it.
const READ_AFTER_WRITE: u32 = 1 << 29;
/// Flag: the first request has been answered.
const FIRST_IS_OUT: u32 = 1 << 28;
/// Bits of the sector.
const SECTOR: u32 = 0xf << SECTOR_SHIFT;
const SECTOR_SHIFT: u32 = 24;
/// Bits of the set.
const SET: u32 = (1 << SECTOR_SHIFT) - 1;

impl Entry {
    #[inline]
    const fn is(&self, flag: u32) -> bool {
        self.place & flag != 0
    }

    /// Address of the line or sector on its way; `number` masks the bits that name it.
    #[inline]
    const fn addr(&self, number: u64) -> u64 {
        self.first.addr & number
    }

    /// True if requests other than the first wait.
    #[inline]
    const fn has_others(&self) -> bool {
        self.waiting > !self.is(FIRST_IS_OUT) as u16
    }

    /// Flags that a waiting request sets.
    #[inline]
    fn flags_of(request: &Request) -> u32 {
        let flag = |flag, is_set| if is_set { flag } else { 0 };
        flag(HAS_ATOMIC, request.kind == AccessKind::GlobalAtomic)
            | flag(WRITE_WAITS, request.kind.is_write())
    }
}

/// Destination of a fill.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fill {
    /// Set of the line.
    pub(super) set: u32,
    /// Line reserved at the miss; without meaning where lines are allocated at the fill.
    pub(super) index: u32,
    /// Sector of the line.
    pub(super) sector: u8,
}

/// Room of the MSHRs for a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Room {
    /// The line is on its way in this entry, which has room for another request.
    Merge(u32),
    /// The line is on its way, and its entry is full.
    MergeFull,
    /// An entry is free, and this slot of the table is for it.
    New(Slot),
    /// No entry is free.
    Full,
}

/// The MSHRs of a cache. In memory, the fields that tell whether there is something to do come
/// first.
#[derive(Clone, Debug, State)]
#[repr(C)]
pub(super) struct Mshrs {
    /// Entries whose line has come, in order of arrival.
    ready: FixedQueue<u32>,
    by_addr: AddressTable,
    entries: Vec<Entry>,
    /// First free entry; free entries are linked by `last`.
    free_entry: u32,
    in_use: u32,
    most_entries: u32,
    most_waiting: u16,
    /// Mask of the address bits that name a line or sector.
    number: u64,
    /// Waiting requests other than the first of an entry, each entry's in a ring.
    others: RequestArena,
}

impl Mshrs {
    /// MSHRs for `entries` lines or sectors of `atom_bytes` bytes, with up to `merge` requests
    /// each. Requires [`furnish`](Self::furnish) before the first request.
    pub(super) fn new(entries: u32, merge: u32, atom_bytes: u16) -> Self {
        let most_entries = entries as usize;
        debug_assert!(atom_bytes.is_power_of_two(), "a line or sector");
        Self {
            by_addr: AddressTable::new(0),
            entries: Vec::new(),
            free_entry: NONE,
            in_use: 0,
            number: !(u64::from(atom_bytes) - 1),
            others: RequestArena::new(),
            ready: FixedQueue::new(most_entries.max(1)),
            most_entries: entries,
            most_waiting: merge as u16,
        }
    }

    /// Allocates the table of addresses. Requires that there is no request.
    pub(super) fn furnish(&mut self) {
        debug_assert!(self.is_empty(), "a table with requests");
        self.by_addr = AddressTable::new(self.most_entries as usize);
    }

    /// Number of free entries.
    pub(super) fn free(&self) -> u32 {
        self.most_entries - self.in_use
    }

    /// Room for a request for the line or sector at `addr`.
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
        let has_addr = |entry: u32| self.entries[entry as usize].addr(self.number) == addr;
        self.by_addr.find(addr, has_addr)
    }

    /// True if the line or sector at `addr` is on its way, or has requests to be answered.
    pub(super) fn is_coming(&self, addr: u64) -> bool {
        self.find(addr).is_ok()
    }

    /// True if nothing is on its way or waits to be answered.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.in_use == 0
    }

    /// Starts an entry for `bytes` bytes at `addr`, and returns its number. Requires that `room`
    /// has answered `Room::New(slot)`, and that nothing has changed since.
    #[inline(always)]
    pub(super) fn start(
        &mut self,
        slot: Slot,
        addr: u64,
        bytes: u16,
        fill: Fill,
        request: &Request,
    ) -> u32 {
        let index = match self.free_entry {
            NONE => self.add_entry(request),
            index => index,
        };
        let entry = &mut self.entries[index as usize];
        self.free_entry = entry.last;
        // Stored in its final place at once: hosts are slow to load a value as a whole that was
        // just stored in parts.
        entry.first = *request;
        debug_assert!(fill.set <= SET, "a set of a cache");
        let sector = u32::from(fill.sector) << SECTOR_SHIFT;
        (entry.index, entry.waiting, entry.bytes_left) = (fill.index, 1, bytes);
        entry.place = fill.set | sector | Entry::flags_of(request);
        // Prefetched for the next call.
        if let Some(free) = self.entries.get(self.free_entry as usize) {
            fetch_ahead(free);
        }
        self.in_use += 1;
        self.by_addr.insert(slot, addr, index);
        index
    }

    /// Adds a request to an entry. Requires `Room::Merge(entry)`.
    pub(super) fn merge(&mut self, entry: u32, request: &Request) {
        let index = self.others.keep(request);
        let entry = &mut self.entries[entry as usize];
        let mut next = index;
        if entry.has_others() {
            next = self.others.next(entry.last);
            self.others.link(entry.last, index);
        }
        self.others.link(index, next);
        entry.last = index;
        entry.waiting += 1;
        if entry.is(WRITE_WAITS) && !request.kind.is_write() {
            entry.place |= READ_AFTER_WRITE;
        }
        entry.place |= Entry::flags_of(request);
    }

    /// Adds an entry to the table and returns its number.
    #[cold]
    #[inline(never)]
    fn add_entry(&mut self, any: &Request) -> u32 {
        self.entries.push(Entry {
            first: *any,
            place: 0,
            index: 0,
            last: NONE,
            waiting: 0,
            bytes_left: 0,
        });
        self.entries.len() as u32 - 1
    }

    /// Prefetches an entry, if there is one of this number.
    #[inline]
    pub(super) fn fetch_entry(&self, entry: u32) {
        if let Some(entry) = self.entries.get(entry as usize) {
            fetch_ahead(entry);
        }
    }

    /// Prefetches what a search for the line or sector at `addr` looks at.
    #[inline]
    pub(super) fn fetch_slot(&self, addr: u64) {
        self.by_addr.fetch_ahead(addr);
    }

    /// True if a read waits after a write in this entry.
    #[inline]
    pub(super) fn read_after_write(&self, entry: u32) -> bool {
        self.entries[entry as usize].is(READ_AFTER_WRITE)
    }

    /// Takes `bytes` bytes of an entry's line or sector. Returns true with the last of them, when
    /// the entry's requests become ready.
    #[inline]
    pub(super) fn arrive(&mut self, index: u32, bytes: u16) -> bool {
        let entry = &mut self.entries[index as usize];
        assert!(
            entry.waiting > 0 && entry.bytes_left > 0,
            "nothing waits for what came: {entry:?}"
        );
        entry.bytes_left = entry.bytes_left.saturating_sub(bytes);
        let is_whole = entry.bytes_left == 0;
        if is_whole {
            // Prefetched for `take_out`.
            self.by_addr.fetch_ahead(entry.addr(self.number));
            self.ready.push(index);
        }
        is_whole
    }

    /// True if an entry's line or sector has come, and only requests are left to be answered.
    #[inline]
    pub(super) fn is_whole(&self, entry: u32) -> bool {
        self.entries[entry as usize].bytes_left == 0
    }

    /// Makes an entry's line or sector go to another line of its set when it comes.
    pub(super) fn lead_fill_to(&mut self, entry: u32, index: u32) {
        self.entries[entry as usize].index = index;
    }

    /// Destination of an entry's line or sector.
    #[inline]
    pub(super) fn fill(&self, entry: u32) -> Fill {
        let entry = &self.entries[entry as usize];
        Fill {
            set: entry.place & SET,
            index: entry.index,
            sector: ((entry.place & SECTOR) >> SECTOR_SHIFT) as u8,
        }
    }

    /// First of the requests that wait for an entry.
    #[inline]
    pub(super) fn first(&self, entry: u32) -> &Request {
        &self.entries[entry as usize].first
    }

    /// True if an atomic waits for an entry.
    #[inline]
    pub(super) fn has_atomic(&self, entry: u32) -> bool {
        self.entries[entry as usize].is(HAS_ATOMIC)
    }

    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes the next request of the line that came first.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<&Request> {
        let index = *self.ready.front()?;
        Some(self.take_out(index))
    }

    /// Takes the next request of an entry whose line has come.
    fn take_out(&mut self, index: u32) -> &Request {
        let entry = &mut self.entries[index as usize];
        let is_first = !entry.is(FIRST_IS_OUT);
        entry.waiting -= 1;
        entry.place |= FIRST_IS_OUT;
        let last = entry.last;
        if entry.waiting == 0 {
            let addr = entry.addr(self.number);
            entry.last = self.free_entry;
            self.free_entry = index;
            self.in_use -= 1;
            self.ready.drop_oldest();
            self.by_addr.remove(addr, index);
        }
        if is_first {
            return &self.entries[index as usize].first;
        }
        self.others.take_after(last)
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

    fn mshrs(entries: u32, merge: u32, atom_bytes: u16) -> Mshrs {
        let mut mshrs = Mshrs::new(entries, merge, atom_bytes);
        mshrs.furnish();
        mshrs
    }

    fn start(mshrs: &mut Mshrs, addr: u64, bytes: u16) {
        let Room::New(slot) = mshrs.room(addr) else {
            panic!("no room at {addr}");
        };
        mshrs.start(slot, addr, bytes, FILL, &read(addr, 32));
    }

    #[test]
    fn merges_up_to_the_limit_and_answers_in_order() {
        let mut mshrs = mshrs(2, 2, 128);
        start(&mut mshrs, 0, 128);
        assert_eq!(mshrs.room(0), Room::Merge(0));
        mshrs.merge(0, &read(64, 32));
        assert_eq!(mshrs.room(0), Room::MergeFull);
        start(&mut mshrs, 128, 128);
        assert_eq!(mshrs.room(256), Room::Full);

        let mut arrive = |addr, bytes| {
            let entry = mshrs.find(addr).expect("it is waited for");
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
        let mut mshrs = mshrs(1, 2, 32);
        start(&mut mshrs, 0, 32);
        let entry = mshrs.find(0).expect("it is waited for");
        mshrs.arrive(entry, 32);
        assert_eq!(mshrs.room(0), Room::Merge(0));
        mshrs.next_ready();
        assert!(matches!(mshrs.room(0), Room::New(_)));
    }

    /// The longest line that a cache may have, sector by sector, with requests that wait in turn.
    #[test]
    fn a_long_line_comes_in_parts_and_its_requests_go_in_order() {
        let mut mshrs = mshrs(1, 4, 1024);
        start(&mut mshrs, 0x800, 1024);
        let entry = mshrs.find(0x800).expect("it is waited for");
        (1..4).for_each(|n| mshrs.merge(entry, &read(0x800 + 256 * n, 32)));
        let parts: Vec<_> = (0..32).map(|_| mshrs.arrive(entry, 32)).collect();
        assert_eq!(parts.iter().position(|is_whole| *is_whole), Some(31));
        let first = mshrs.next_ready().map(|r| r.addr);
        assert_eq!(first, Some(0x800));
        // Another comes while the others go.
        mshrs.merge(entry, &read(0xbff, 1));
        let others: Vec<_> = std::iter::from_fn(|| mshrs.next_ready().map(|r| r.addr)).collect();
        assert_eq!(others, [0x900, 0xa00, 0xb00, 0xbff]);
        assert!(mshrs.is_empty());
    }
}
