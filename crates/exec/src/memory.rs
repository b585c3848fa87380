//! Device memory: what the bytes are. Sparse pages, so that only touched memory costs, and a table
//! of allocations, so that accesses can be checked. Global and constant memory live here.
//!
//! Invariants: pages are removed with their address space only; an untouched page reads as zero;
//! allocations of one address space never overlap and are placed in the order of the calls, as
//! GPGPU-Sim places them; a global page is marked as live exactly while one live allocation holds
//! all of it, so that most accesses are checked without a search.

use crate::heap::Heap;
use crate::printed::Printed;
use warploom_base::Digest;
use warploom_ir::{CONST_BASE, CONST_BYTES, GLOBAL_BASE};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 1 << PAGE_SHIFT;
const PAGE_SHIFT: u32 = 16;
const DIRECTORY_SHIFT: u32 = 12;
const DIRECTORY_LEN: usize = 1 << DIRECTORY_SHIFT;
/// An entry of a directory: the page's number, and whether one live allocation holds all of it.
const NUMBER: u32 = u32::MAX >> 1;
const LIVE: u32 = !NUMBER;
/// The number of a page that nobody has touched.
const NO_PAGE: u32 = NUMBER;

/// Bytes of what a GPU protects as one: CUDA maps memory in pieces of 2 MiB (the granularity that
/// `cuMemGetAllocationGranularity` tells).
pub const PROTECTED_BYTES: u64 = 2 << 20;

/// Alignment of global allocations in bytes.
pub const ALLOC_ALIGN: u64 = 256;

/// Bytes of a heap where nobody says otherwise (`cudaLimitMallocHeapSize`).
const HEAP_BYTES: u64 = 8 << 20;

/// A request to the memory's owner that cannot be met.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MemoryError {
    /// No room left.
    #[error("{requested} bytes do not fit: {free} of {capacity} bytes of {space} memory are free")]
    OutOfMemory {
        /// Bytes asked for.
        requested: u64,
        /// Bytes left.
        free: u64,
        /// Size of the memory.
        capacity: u64,
        /// "global" or "constant".
        space: &'static str,
    },
    /// `free` of an address that is not the start of a live allocation.
    #[error("{address:#x} is not the start of a live allocation")]
    NotAllocated {
        /// The address.
        address: u64,
    },
    /// The heap's size is to change when it is there already.
    #[error("the heap is there already, of {bytes} bytes; set its size before the first launch")]
    HeapInUse {
        /// Its size.
        bytes: u64,
    },
    /// A host access outside every live allocation.
    #[error("{bytes} bytes at {address:#x} are not inside one live allocation")]
    OutOfBounds {
        /// First byte.
        address: u64,
        /// Number of bytes.
        bytes: u64,
    },
}

/// One allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// First byte.
    pub base: u64,
    /// Bytes.
    pub bytes: u64,
    /// Not freed yet.
    pub live: bool,
}

type Directory = [u32; DIRECTORY_LEN];

#[derive(Clone, Debug)]
struct AddressSpace {
    /// Pages in two levels: `directories[page >> 12][page & 4095]`.
    directories: Vec<Option<Box<Directory>>>,
    /// By base address.
    allocations: Vec<Allocation>,
    next_global: u64,
    next_const: u64,
    printed: Printed,
    heap: Option<Heap>,
    heap_bytes: u64,
}

#[derive(Clone, Debug)]
struct Page {
    data: Box<[u8; PAGE_BYTES]>,
    /// One bit per byte, when the memory tracks initialisation.
    written: Option<Box<[u64]>>,
}

/// The contents of global and constant memory of every process, by address-space id.
#[derive(Clone, Debug)]
pub struct DeviceMemory {
    spaces: Vec<AddressSpace>,
    pages: Vec<Page>,
    /// Pages that no address space has any more, zero.
    unused: Vec<u32>,
    capacity: u64,
    allocated: u64,
    track: bool,
    /// Kernels may access whatever shares a page of protection with something allocated.
    by_pages: bool,
}

/// Result of checking an access against the allocation table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessCheck {
    /// Inside one live allocation.
    Ok,
    /// Inside one freed allocation.
    Freed,
    /// Not inside one allocation.
    Outside,
}

impl AddressSpace {
    fn new() -> Self {
        Self {
            directories: Vec::new(),
            allocations: Vec::new(),
            next_global: GLOBAL_BASE,
            next_const: CONST_BASE,
            printed: Printed::default(),
            heap: None,
            heap_bytes: HEAP_BYTES,
        }
    }

    /// The directory's entry of an address, if there is a directory.
    #[inline(always)]
    fn entry(&self, address: u64) -> Option<u32> {
        let page = address >> PAGE_SHIFT;
        let directory = self.directories.get((page >> DIRECTORY_SHIFT) as usize)?;
        Some(directory.as_deref()?[page as usize % DIRECTORY_LEN])
    }

    fn entry_mut(&mut self, address: u64) -> &mut u32 {
        let page = address >> PAGE_SHIFT;
        let outer = (page >> DIRECTORY_SHIFT) as usize;
        if self.directories.len() <= outer {
            self.directories.resize(outer + 1, None);
        }
        let directory =
            self.directories[outer].get_or_insert_with(|| Box::new([NO_PAGE; DIRECTORY_LEN]));
        &mut directory[page as usize % DIRECTORY_LEN]
    }

    #[inline(always)]
    fn page(&self, address: u64) -> Option<u32> {
        let number = self.entry(address)? & NUMBER;
        (number != NO_PAGE).then_some(number)
    }

    /// An allocation begins or ends to be live: so do the pages of which it holds all.
    fn mark(&mut self, allocation: Allocation) {
        const PAGE: u64 = PAGE_BYTES as u64;
        let Allocation { base, bytes, live } = allocation;
        let (first, end) = (base.next_multiple_of(PAGE), (base + bytes) / PAGE * PAGE);
        for page in (first..end).step_by(PAGE_BYTES) {
            let entry = self.entry_mut(page);
            *entry = (*entry & NUMBER) | if live { LIVE } else { 0 };
        }
    }

    /// The allocation that starts last at or before `address`.
    #[inline]
    fn candidate(&self, address: u64) -> Option<&Allocation> {
        self.allocations.get(self.candidate_number(address)?)
    }

    /// Its number.
    #[inline]
    fn candidate_number(&self, address: u64) -> Option<usize> {
        let after = self.allocations.partition_point(|a| a.base <= address);
        after.checked_sub(1)
    }
}

impl DeviceMemory {
    /// Empty memory with room for `capacity` bytes of global allocations (all processes together).
    pub fn new(capacity: u64) -> Self {
        Self {
            spaces: vec![AddressSpace::new()],
            pages: Vec::new(),
            unused: Vec::new(),
            capacity,
            allocated: 0,
            track: false,
            by_pages: false,
        }
    }

    /// Empties the address space of a process: its allocations are gone, and a new program may take
    /// its place.
    pub fn forget(&mut self, asid: u8) {
        let Some(space) = self.spaces.get_mut(usize::from(asid)) else {
            return;
        };
        let space = std::mem::replace(space, AddressSpace::new());
        let padded = |a: &Allocation| a.bytes.max(1).next_multiple_of(ALLOC_ALIGN);
        let global = |a: &&Allocation| a.live && a.base >= GLOBAL_BASE;
        let bytes: u64 = space.allocations.iter().filter(global).map(padded).sum();
        self.allocated -= bytes;
        let entries = space.directories.iter().flatten().flat_map(|d| d.iter());
        let numbers = entries.map(|entry| entry & NUMBER);
        for page in numbers.filter(|number| *number != NO_PAGE) {
            let Page { data, written } = &mut self.pages[page as usize];
            data.fill(0);
            if let Some(written) = written {
                written.fill(0);
            }
            self.unused.push(page);
        }
    }

    /// From now on, remember which bytes were written (by the host or by kernels). Call it before
    /// the first allocation: earlier writes are not known.
    pub fn track_initialised(&mut self) {
        self.track = true;
    }

    /// From now on only what lies outside every page of [`PROTECTED_BYTES`] with something
    /// allocated is an access out of bounds, as on a GPU. Else everything outside an allocation is.
    /// The page in front of all allocations may be read, too: on a GPU a context has memory of its
    /// own around them.
    pub fn protect_pages(&mut self) {
        self.by_pages = true;
    }

    fn space_mut(&mut self, asid: u8) -> &mut AddressSpace {
        let index = asid as usize;
        while self.spaces.len() <= index {
            self.spaces.push(AddressSpace::new());
        }
        &mut self.spaces[index]
    }

    /// Appends what a kernel of a process prints.
    pub(crate) fn print(&mut self, asid: u8, text: Box<[u8]>) {
        self.space_mut(asid).printed.push(text);
    }

    /// Takes what the kernels of a process have printed, oldest first.
    pub fn take_printed(&mut self, asid: u8) -> Vec<u8> {
        self.space_mut(asid).printed.take()
    }

    /// From now on at most so many bytes are kept that kernels of a process print: the newest.
    pub fn limit_printed(&mut self, asid: u8, bytes: u64) {
        self.space_mut(asid).printed.limit(bytes);
    }

    /// Makes a process's heap, unless it is there.
    pub fn open_heap(&mut self, asid: u8) -> Result<(), MemoryError> {
        let space = self.space_mut(asid);
        let bytes = space.heap_bytes;
        if space.heap.is_none() {
            let lock = self.alloc(asid, bytes.saturating_add(ALLOC_ALIGN))?;
            self.space_mut(asid).heap = Some(Heap::new(lock, lock + ALLOC_ALIGN, bytes));
        }
        Ok(())
    }

    /// Says how many bytes a process's heap will have.
    pub fn limit_heap(&mut self, asid: u8, bytes: u64) -> Result<(), MemoryError> {
        let space = self.space_mut(asid);
        if space.heap.is_some() && space.heap_bytes != bytes {
            let bytes = space.heap_bytes;
            return Err(MemoryError::HeapInUse { bytes });
        }
        space.heap_bytes = bytes;
        Ok(())
    }

    pub(crate) fn heap(&self, asid: u8) -> Option<&Heap> {
        self.spaces.get(usize::from(asid))?.heap.as_ref()
    }

    /// Takes bytes from a process's heap; 0 where there are none.
    pub(crate) fn heap_take(&mut self, asid: u8, bytes: u64) -> u64 {
        let heap = &mut self.space_mut(asid).heap;
        heap.as_mut().map_or(0, |heap| heap.take(bytes))
    }

    /// Gives bytes back.
    pub(crate) fn heap_give(&mut self, asid: u8, address: u64) -> u64 {
        if let Some(heap) = &mut self.space_mut(asid).heap {
            heap.give(address);
        }
        0
    }

    /// Bytes from an address to the end of its allocation; 0 where nothing is allocated.
    pub fn bytes_from(&self, asid: u8, address: u64) -> u64 {
        let space = self.spaces.get(asid as usize);
        let found = space.and_then(|space| space.candidate(address));
        found.map_or(0, |a| (a.base + a.bytes).saturating_sub(address))
    }

    /// Allocates global memory, aligned to [`ALLOC_ALIGN`], and returns its address. Zero bytes
    /// take one unit, so that addresses stay distinct.
    pub fn alloc(&mut self, asid: u8, bytes: u64) -> Result<u64, MemoryError> {
        let padded = bytes
            .max(1)
            .checked_next_multiple_of(ALLOC_ALIGN)
            .unwrap_or(u64::MAX);
        let free = self.capacity - self.allocated;
        if padded > free {
            return Err(MemoryError::OutOfMemory {
                requested: bytes,
                free,
                capacity: self.capacity,
                space: "global",
            });
        }
        self.allocated += padded;
        let space = self.space_mut(asid);
        let base = space.next_global;
        space.next_global += padded;
        let allocation = Allocation {
            base,
            bytes,
            live: true,
        };
        space.allocations.push(allocation);
        space.mark(allocation);
        Ok(base)
    }

    /// Allocates constant memory with the given alignment (a power of two) and returns its address.
    pub fn alloc_const(&mut self, asid: u8, bytes: u64, align: u64) -> Result<u64, MemoryError> {
        let space = self.space_mut(asid);
        let base = space.next_const.next_multiple_of(align.max(1));
        let free = (CONST_BASE + CONST_BYTES).saturating_sub(base);
        if bytes > free {
            return Err(MemoryError::OutOfMemory {
                requested: bytes,
                free,
                capacity: CONST_BYTES,
                space: "constant",
            });
        }
        space.next_const = base + bytes.max(1);
        let at = space.allocations.partition_point(|a| a.base < base);
        space.allocations.insert(
            at,
            Allocation {
                base,
                bytes,
                live: true,
            },
        );
        Ok(base)
    }

    /// Frees a global allocation. Its addresses are not given out again, so that later uses are
    /// found.
    pub fn free(&mut self, asid: u8, address: u64) -> Result<(), MemoryError> {
        let missing = MemoryError::NotAllocated { address };
        let space = self.spaces.get_mut(asid as usize).ok_or(missing.clone())?;
        let found = space
            .allocations
            .iter_mut()
            .find(|a| a.base == address && a.live);
        let allocation = found.ok_or(missing)?;
        allocation.live = false;
        let allocation = *allocation;
        space.mark(allocation);
        self.allocated -= allocation.bytes.max(1).next_multiple_of(ALLOC_ALIGN);
        Ok(())
    }

    /// The allocations of a process, by address.
    pub fn allocations(&self, asid: u8) -> &[Allocation] {
        self.spaces
            .get(asid as usize)
            .map_or(&[], |s| &s.allocations)
    }

    /// Is the access `[address, address + bytes)` inside one live allocation, or, where pages are
    /// protected, in a page with one?
    #[inline]
    pub fn check(&self, asid: u8, address: u64, bytes: u64) -> AccessCheck {
        match self.check_exactly(asid, address, bytes) {
            AccessCheck::Ok => AccessCheck::Ok,
            _ if self.by_pages && self.shares_page(asid, address) => AccessCheck::Ok,
            outside => outside,
        }
    }

    /// May a kernel read this address, in front of all global allocations? It finds zeros there.
    #[cold]
    pub(crate) fn reads_front(&self, address: u64) -> bool {
        self.by_pages && (GLOBAL_BASE - PROTECTED_BYTES..GLOBAL_BASE).contains(&address)
    }

    #[inline]
    fn check_exactly(&self, asid: u8, address: u64, bytes: u64) -> AccessCheck {
        let Some(a) = self
            .spaces
            .get(asid as usize)
            .and_then(|s| s.candidate(address))
        else {
            return AccessCheck::Outside;
        };
        // `candidate` starts at or before the address.
        let offset = address - a.base;
        if bytes > a.bytes || offset > a.bytes - bytes {
            AccessCheck::Outside
        } else if a.live {
            AccessCheck::Ok
        } else {
            AccessCheck::Freed
        }
    }

    /// Something allocated lies in the same page of protection. An access is aligned to its size,
    /// so that it lies in one page.
    #[cold]
    fn shares_page(&self, asid: u8, address: u64) -> bool {
        let start = address & !(PROTECTED_BYTES - 1);
        let Some(space) = self
            .spaces
            .get(asid as usize)
            .filter(|_| start >= GLOBAL_BASE)
        else {
            return false;
        };
        let all = &space.allocations;
        let after = all.partition_point(|a| a.base < start + PROTECTED_BYTES);
        let near = all[..after].iter().rev();
        near.take_while(|a| a.base + a.bytes > start)
            .any(|a| a.live)
    }

    /// The live allocation around `address`, as (first byte, byte after the last).
    #[inline]
    pub(crate) fn live_range(&self, asid: u8, address: u64) -> Option<(u64, u64)> {
        let a = self.spaces.get(asid as usize)?.candidate(address)?;
        (a.live && address - a.base < a.bytes).then_some((a.base, a.base + a.bytes))
    }

    /// The page of an address: whether all of it is inside one live allocation (smaller allocations
    /// have no such page), and its bytes, if it has been touched.
    #[inline(always)]
    pub(crate) fn page(&self, asid: u8, address: u64) -> (bool, Option<&[u8; PAGE_BYTES]>) {
        let space = self.spaces.get(usize::from(asid));
        let entry = space.and_then(|space| space.entry(address));
        let entry = entry.unwrap_or(NO_PAGE);
        // There are fewer pages than `NO_PAGE`.
        let page = self.pages.get((entry & NUMBER) as usize);
        (entry & LIVE != 0, page.map(|page| &*page.data))
    }

    /// The allocation nearest to an address, in words.
    pub fn nearest(&self, asid: u8, address: u64) -> String {
        let distance = |a: &Allocation| {
            if address < a.base {
                a.base - address
            } else {
                address.saturating_sub(a.base + a.bytes.saturating_sub(1))
            }
        };
        match self.allocations(asid).iter().min_by_key(|a| distance(a)) {
            None => "nothing is allocated".to_owned(),
            Some(a) => nearest_text(a, address),
        }
    }

    #[inline(always)]
    pub(crate) fn page_data(&self, asid: u8, address: u64) -> Option<&[u8; PAGE_BYTES]> {
        let page = self.spaces.get(asid as usize)?.page(address)?;
        Some(&self.pages[page as usize].data)
    }

    fn page_index(&mut self, asid: u8, address: u64) -> usize {
        let new_page = self.unused.last().copied();
        let new_page = new_page.unwrap_or(self.pages.len() as u32);
        let entry = self.space_mut(asid).entry_mut(address);
        if *entry & NUMBER != NO_PAGE {
            return (*entry & NUMBER) as usize;
        }
        *entry = (*entry & LIVE) | new_page;
        if self.unused.pop().is_some() {
            return new_page as usize;
        }
        let written = self
            .track
            .then(|| vec![0; PAGE_BYTES / 64].into_boxed_slice());
        let data = vec![0; PAGE_BYTES].try_into().expect("it has this length");
        self.pages.push(Page { data, written });
        new_page as usize
    }

    /// The bytes from an address to the end of its aligned block of 16, as [`Self::read_raw`] gives
    /// them; zeros behind.
    #[inline]
    pub(crate) fn read_block(&self, asid: u8, address: u64) -> [u8; 16] {
        let page = self.page_data(asid, address);
        page.map_or([0; 16], |page| block_of(page, address))
    }

    /// Reads bytes without checks; what was never written reads as zero.
    pub(crate) fn read_raw(&self, asid: u8, address: u64, out: &mut [u8]) {
        for (at, part) in page_parts(address, out.len()) {
            let offset = at as usize & (PAGE_BYTES - 1);
            let target = &mut out[part.clone()];
            match self.page_data(asid, at) {
                Some(data) => target.copy_from_slice(&data[offset..offset + part.len()]),
                None => target.fill(0),
            }
        }
    }

    /// Writes bytes without checks. Callers have checked the range: pages appear on demand.
    #[inline]
    pub(crate) fn write_raw(&mut self, asid: u8, address: u64, bytes: &[u8]) {
        if !self.write_in_page(asid, address, bytes) {
            self.write_in_pages(asid, address, bytes);
        }
    }

    /// `write_raw`, if the bytes lie in one page that is there and nobody asks what was written.
    #[inline(always)]
    fn write_in_page(&mut self, asid: u8, address: u64, bytes: &[u8]) -> bool {
        let offset = address as usize & (PAGE_BYTES - 1);
        let page = self.spaces.get(usize::from(asid)).map(|s| s.page(address));
        let (false, Some(Some(page))) = (self.track, page) else {
            return false;
        };
        let page = &mut self.pages[page as usize];
        let Some(target) = page.data[offset..].get_mut(..bytes.len()) else {
            return false;
        };
        match <&[u8; 4]>::try_from(bytes) {
            // Mostly a word, which is one store.
            Ok(word) => target.copy_from_slice(word),
            Err(_) => target.copy_from_slice(bytes),
        }
        true
    }

    #[inline(never)]
    fn write_in_pages(&mut self, asid: u8, address: u64, bytes: &[u8]) {
        for (at, part) in page_parts(address, bytes.len()) {
            let offset = at as usize & (PAGE_BYTES - 1);
            let index = self.page_index(asid, at);
            let page = &mut self.pages[index];
            page.data[offset..offset + part.len()].copy_from_slice(&bytes[part.clone()]);
            if let Some(written) = &mut page.written {
                (offset..offset + part.len()).for_each(|b| written[b / 64] |= 1 << (b % 64));
            }
        }
    }

    /// Were all these bytes written? Always true when the memory does not track it.
    pub(crate) fn is_written(&self, asid: u8, address: u64, bytes: usize) -> bool {
        if !self.track {
            return true;
        }
        let page_of = |at| {
            self.spaces
                .get(asid as usize)
                .and_then(|s: &AddressSpace| s.page(at))
        };
        (address..address + bytes as u64).all(|at| {
            let bit = at as usize & (PAGE_BYTES - 1);
            page_of(at).is_some_and(|page| match &self.pages[page as usize].written {
                Some(written) => written[bit / 64] >> (bit % 64) & 1 == 1,
                None => true,
            })
        })
    }

    fn host_check(&self, asid: u8, address: u64, bytes: u64) -> Result<(), MemoryError> {
        match self.check_exactly(asid, address, bytes) {
            AccessCheck::Ok => Ok(()),
            _ => Err(MemoryError::OutOfBounds { address, bytes }),
        }
    }

    /// Host read of bytes inside one live allocation.
    pub fn read(&self, asid: u8, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        self.host_check(asid, address, out.len() as u64)?;
        self.read_raw(asid, address, out);
        Ok(())
    }

    /// Host write of bytes inside one live allocation.
    pub fn write(&mut self, asid: u8, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.host_check(asid, address, bytes.len() as u64)?;
        self.write_raw(asid, address, bytes);
        Ok(())
    }

    /// Host fill (`cudaMemset`) inside one live allocation.
    pub fn fill(&mut self, asid: u8, address: u64, byte: u8, len: u64) -> Result<(), MemoryError> {
        self.host_check(asid, address, len)?;
        let chunk = vec![byte; len.min(PAGE_BYTES as u64) as usize];
        let mut done = 0;
        while done < len {
            let part = (len - done).min(chunk.len() as u64);
            self.write_raw(asid, address + done, &chunk[..part as usize]);
            done += part;
        }
        Ok(())
    }

    /// Bytes of pages in use: what the contents cost.
    pub fn resident_bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE_BYTES as u64
    }

    /// Adds the contents of every live allocation to a digest. Parts that are all zero count the
    /// same whether they were touched or not, and cost nothing if they were not.
    pub fn digest(&self, digest: &mut Digest) {
        for (asid, space) in self.spaces.iter().enumerate() {
            for a in space.allocations.iter().filter(|a| a.live) {
                digest.u64(a.base).u64(a.bytes);
                for (at, len) in page_spans(a.base, a.bytes) {
                    self.digest_part(asid as u8, at, len, digest);
                }
            }
        }
    }

    fn digest_part(&self, asid: u8, address: u64, len: usize, digest: &mut Digest) {
        let Some(page) = self.page_data(asid, address) else {
            return;
        };
        let offset = address as usize & (PAGE_BYTES - 1);
        let part = &page[offset..offset + len];
        if part.iter().any(|&b| b != 0) {
            digest.u64(address).bytes(part);
        }
    }
}

fn nearest_text(a: &Allocation, address: u64) -> String {
    let state = if a.live { "live" } else { "freed" };
    let place = if address < a.base {
        format!("{} bytes before", a.base - address)
    } else if address - a.base < a.bytes {
        format!("{} bytes into", address - a.base)
    } else {
        format!("{} bytes after the end of", address - a.base - a.bytes)
    };
    format!(
        "{place} the {state} allocation of {} bytes at {:#x}",
        a.bytes, a.base
    )
}

/// Splits a byte range at page boundaries: (address, bytes).
fn page_spans(address: u64, len: u64) -> impl Iterator<Item = (u64, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = address + done;
        let room = PAGE_BYTES as u64 - (at & (PAGE_BYTES as u64 - 1));
        let part = room.min(len - done);
        done += part;
        Some((at, part as usize))
    })
}

/// The bytes of a page from an address to the end of its aligned block of 16; zeros behind.
#[inline(always)]
pub(crate) fn block_of(page: &[u8; PAGE_BYTES], address: u64) -> [u8; 16] {
    let offset = address as usize & (PAGE_BYTES - 16);
    let mut block = [0; 16];
    block.copy_from_slice(&page[offset..offset + 16]);
    (u128::from_le_bytes(block) >> (address % 16 * 8)).to_le_bytes()
}

/// Splits a byte range at page boundaries: (address, range of the buffer).
fn page_parts(address: u64, len: usize) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    page_spans(address, len as u64).map(move |(at, part)| {
        let start = (at - address) as usize;
        (at, start..start + part)
    })
}

#[cfg(test)]
mod tests {
    use super::{DeviceMemory, PAGE_BYTES};

    /// Pages are marked as live exactly where the table of allocations says so, written or not.
    #[test]
    fn live_pages_are_those_of_one_live_allocation() {
        const PAGE: u64 = PAGE_BYTES as u64;
        let mut memory = DeviceMemory::new(1 << 24);
        let sizes = [256, PAGE - 256, 3 * PAGE, 100, 2 * PAGE, PAGE];
        let bases = sizes.map(|bytes| memory.alloc(1, bytes).expect("room"));
        let agrees = |memory: &DeviceMemory| {
            let pages = (bases[0]..bases[5] + 2 * PAGE).step_by(PAGE_BYTES);
            let count = pages.clone().filter(|&page| {
                let range = memory.live_range(1, page);
                let whole = range.is_some_and(|(start, end)| start <= page && page + PAGE <= end);
                assert_eq!(memory.page(1, page + 77).0, whole, "{page:#x}");
                whole
            });
            count.count()
        };
        assert_eq!(agrees(&memory), 4);
        memory.write(1, bases[2] + PAGE, &[1]).expect("it is there");
        assert_eq!(agrees(&memory), 4);
        memory.free(1, bases[2]).expect("it is live");
        assert_eq!(agrees(&memory), 1);
        memory.forget(1);
        assert_eq!(agrees(&memory), 0);
    }
}
