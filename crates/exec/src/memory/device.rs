//! Device memory: the contents of global and constant memory, and the table of allocations against
//! which accesses are checked. Pages are sparse, so that only touched memory takes space on the
//! host.
//!
//! Invariants: pages are released only with their address space. An untouched page reads as zero.
//! Allocations of one address space never overlap and are placed in the order of the calls, as
//! GPGPU-Sim places them. A global page is marked as live exactly while one live allocation covers
//! all of it, so that most accesses are checked without a search.

mod address_space;
mod nearest;
mod rollback;
mod saved;
mod services;
mod undo;

pub(crate) use address_space::block_of;
pub use address_space::{Allocation, PAGE_BYTES};

use address_space::{AddressSpace, LIVE, NO_PAGE, NUMBER, page_parts, page_spans};
use undo::Undo;
use warploom_base::Digest;
use warploom_ir::{CONST_BASE, CONST_BYTES, GLOBAL_BASE};

/// Granularity in bytes at which a GPU protects memory. CUDA maps memory in units of 2 MiB (the
/// granularity that `cuMemGetAllocationGranularity` reports).
pub const PROTECTED_BYTES: u64 = 2 << 20;

/// Alignment of global allocations in bytes.
pub const ALLOC_ALIGN: u64 = 256;

/// Smallest gap in bytes between global allocations that are placed apart.
const LEAST_GAP: u64 = 64 << 10;

/// Reason for which a request of the host to device memory fails.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MemoryError {
    /// The requested bytes do not fit.
    #[error("{requested} bytes do not fit: {free} of {capacity} bytes of {space} memory are free")]
    OutOfMemory {
        /// Number of bytes requested.
        requested: u64,
        /// Number of free bytes.
        free: u64,
        /// Capacity of the memory in bytes.
        capacity: u64,
        /// Kind of memory: "global" or "constant".
        space: &'static str,
    },
    /// The address passed to `free` is not the start of a live allocation.
    #[error("{address:#x} is not the start of a live allocation")]
    NotAllocated {
        /// Address passed to `free`.
        address: u64,
    },
    /// The size of the heap cannot change after the heap was created.
    #[error("the heap is there already, of {bytes} bytes; set its size before the first launch")]
    HeapInUse {
        /// Size of the heap in bytes.
        bytes: u64,
    },
    /// The host accesses bytes that are not inside one live allocation.
    #[error("{bytes} bytes at {address:#x} are not inside one live allocation")]
    OutOfBounds {
        /// Address of the first byte.
        address: u64,
        /// Number of bytes accessed.
        bytes: u64,
    },
}

/// Contents of one page.
#[derive(Clone, Debug)]
struct Page {
    data: Box<[u8; PAGE_BYTES]>,
    /// Bit mask of the bytes that were written. Present if the memory tracks initialisation.
    written: Option<Box<[u64]>>,
}

/// Contents of memory before or after a launch, where the launch changed them.
#[derive(Clone, Debug)]
pub struct Version(Undo<Page>);

/// Contents of the global and constant memory of every process, indexed by address-space
/// identifier.
#[derive(Clone, Debug)]
pub struct DeviceMemory {
    spaces: Vec<AddressSpace>,
    pages: Vec<Page>,
    /// Pages that belong to no address space any more. Their contents are zero.
    unused: Vec<u32>,
    capacity: u64,
    allocated: u64,
    track: bool,
    /// Contents that a launch has overwritten, while it may still be undone.
    undo: Option<Undo<Page>>,
    /// True if a write is more than a copy: writes are tracked, or may be undone.
    watches_writes: bool,
    /// True if kernels may access any address that shares a protection unit with an allocation.
    coarse_protection: bool,
    /// True if global allocations are placed with gaps between them.
    apart: bool,
}

/// Result of checking an access against the table of allocations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessCheck {
    /// The access is inside one live allocation.
    Ok,
    /// The access is inside one freed allocation.
    Freed,
    /// The access is not inside one allocation.
    Outside,
}

impl DeviceMemory {
    /// Creates empty memory with room for `capacity` bytes of global allocations, shared by all
    /// processes.
    pub fn new(capacity: u64) -> Self {
        Self {
            spaces: vec![AddressSpace::new()],
            pages: Vec::new(),
            unused: Vec::new(),
            capacity,
            allocated: 0,
            track: false,
            undo: None,
            watches_writes: false,
            coarse_protection: false,
            apart: false,
        }
    }

    /// Removes all allocations of a process, so that another program can use its address space.
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

    /// Starts to record which bytes the host or kernels write. Must be called before the first
    /// allocation, since earlier writes are unknown.
    pub fn track_initialised(&mut self) {
        self.track = true;
        self.watches_writes = true;
    }

    /// Makes out-of-bounds checks as coarse as those of a GPU: an access is a fault only if no
    /// allocation shares its unit of [`PROTECTED_BYTES`]. Reads of the unit before the first
    /// allocation are allowed as well, since the context of a GPU has memory of its own there. By
    /// default, every access outside of an allocation is a fault.
    pub fn protect_pages(&mut self) {
        self.coarse_protection = true;
    }

    /// Leaves a gap after each later global allocation, at least as large as the allocation and
    /// as 64 KiB, so that an overrun of one does not end in the next. Gaps take address space, and
    /// none of the capacity.
    pub fn place_apart(&mut self) {
        self.apart = true;
    }

    fn space_mut(&mut self, asid: u8) -> &mut AddressSpace {
        let index = asid as usize;
        while self.spaces.len() <= index {
            self.spaces.push(AddressSpace::new());
        }
        &mut self.spaces[index]
    }

    /// Number of bytes from an address to the end of its allocation, or 0 if the address is in no
    /// allocation.
    pub fn bytes_from(&self, asid: u8, address: u64) -> u64 {
        let space = self.spaces.get(asid as usize);
        let found = space.and_then(|space| space.candidate(address));
        found.map_or(0, |a| (a.base + a.bytes).saturating_sub(address))
    }

    /// Allocates global memory, aligned to [`ALLOC_ALIGN`], and returns its address. An allocation
    /// of zero bytes occupies one alignment unit, so that addresses are distinct.
    ///
    /// # Errors
    /// Returns [`MemoryError::OutOfMemory`] if the bytes do not fit.
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
        let gap = match self.apart {
            true => padded.max(LEAST_GAP),
            false => 0,
        };
        let space = self.space_mut(asid);
        let base = space.next_global;
        space.next_global += padded + gap;
        let allocation = Allocation {
            base,
            bytes,
            live: true,
        };
        space.allocations.push(allocation);
        space.mark(allocation);
        Ok(base)
    }

    /// Allocates constant memory with the given alignment, a power of two, and returns its address.
    ///
    /// # Errors
    /// Returns [`MemoryError::OutOfMemory`] if the bytes do not fit.
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

    /// Frees a global allocation. Its addresses are never allocated again, so that later uses are
    /// detected.
    ///
    /// # Errors
    /// Returns [`MemoryError::NotAllocated`] if no live allocation starts at `address`.
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

    /// Allocations of a process, sorted by address.
    pub fn allocations(&self, asid: u8) -> &[Allocation] {
        self.spaces
            .get(asid as usize)
            .map_or(&[], |s| &s.allocations)
    }

    /// Checks whether the bytes `[address, address + bytes)` are inside one live allocation. If
    /// protection is coarse (see [`Self::protect_pages`]), a live allocation in the same protection
    /// unit suffices.
    #[inline]
    pub fn check(&self, asid: u8, address: u64, bytes: u64) -> AccessCheck {
        match self.check_exactly(asid, address, bytes) {
            AccessCheck::Ok => AccessCheck::Ok,
            _ if self.coarse_protection && self.shares_page(asid, address) => AccessCheck::Ok,
            outside => outside,
        }
    }

    /// True if a kernel may read this address before the first global allocation. Such reads return
    /// zero.
    #[cold]
    pub(crate) fn may_read_before_globals(&self, address: u64) -> bool {
        self.coarse_protection && (GLOBAL_BASE - PROTECTED_BYTES..GLOBAL_BASE).contains(&address)
    }

    /// Checks whether bytes are inside one live allocation.
    #[inline]
    fn check_exactly(&self, asid: u8, address: u64, bytes: u64) -> AccessCheck {
        let Some(a) = self
            .spaces
            .get(asid as usize)
            .and_then(|s| s.candidate(address))
        else {
            return AccessCheck::Outside;
        };
        // The start of `candidate` is at or before the address.
        let offset = address - a.base;
        if bytes > a.bytes || offset > a.bytes - bytes {
            AccessCheck::Outside
        } else if a.live {
            AccessCheck::Ok
        } else {
            AccessCheck::Freed
        }
    }

    /// True if a live allocation shares the protection unit of an address. An access is aligned to
    /// its size and therefore inside one unit.
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

    /// Live allocation that contains `address`, as (address of the first byte, address after the
    /// last byte).
    #[inline]
    pub(crate) fn live_range(&self, asid: u8, address: u64) -> Option<(u64, u64)> {
        let a = self.spaces.get(asid as usize)?.candidate(address)?;
        (a.live && address - a.base < a.bytes).then_some((a.base, a.base + a.bytes))
    }

    /// Page of an address: whether one live allocation covers all of it (smaller allocations cover
    /// no page), and its contents if it was touched.
    #[inline(always)]
    pub(crate) fn page(&self, asid: u8, address: u64) -> (bool, Option<&[u8; PAGE_BYTES]>) {
        let space = self.spaces.get(usize::from(asid));
        let entry = space.and_then(|space| space.entry(address));
        let entry = entry.unwrap_or(NO_PAGE);
        // There are fewer pages than `NO_PAGE`.
        let page = self.pages.get((entry & NUMBER) as usize);
        (entry & LIVE != 0, page.map(|page| &*page.data))
    }

    /// Contents of the page of an address. `None` if the page was never touched.
    #[inline(always)]
    pub(crate) fn page_data(&self, asid: u8, address: u64) -> Option<&[u8; PAGE_BYTES]> {
        let page = self.spaces.get(asid as usize)?.page(address)?;
        Some(&self.pages[page as usize].data)
    }

    /// Number of the page of an address, which is created if necessary.
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

    /// Bytes from an address to the end of its aligned block of 16, followed by zeros.
    #[inline]
    pub(crate) fn read_block(&self, asid: u8, address: u64) -> [u8; 16] {
        let page = self.page_data(asid, address);
        page.map_or([0; 16], |page| block_of(page, address))
    }

    /// Reads bytes without checks. Bytes that were never written are zero.
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

    /// Writes bytes without checks, and creates pages on demand. The caller has checked the range.
    #[inline]
    pub(crate) fn write_raw(&mut self, asid: u8, address: u64, bytes: &[u8]) {
        if !self.write_in_page(asid, address, bytes) {
            self.write_in_pages(asid, address, bytes);
        }
    }

    /// Writes bytes if they are inside one existing page and a write to it is only a copy. Returns
    /// false otherwise.
    #[inline(always)]
    fn write_in_page(&mut self, asid: u8, address: u64, bytes: &[u8]) -> bool {
        let offset = address as usize & (PAGE_BYTES - 1);
        let page = self.spaces.get(usize::from(asid)).map(|s| s.page(address));
        let Some(Some(page)) = page else {
            return false;
        };
        if self.watches_writes && !self.is_kept(page as usize) {
            return false;
        }
        let page = &mut self.pages[page as usize];
        let Some(target) = page.data[offset..].get_mut(..bytes.len()) else {
            return false;
        };
        match <&[u8; 4]>::try_from(bytes) {
            // A word is the usual size. It becomes a single store.
            Ok(word) => target.copy_from_slice(word),
            Err(_) => target.copy_from_slice(bytes),
        }
        true
    }

    /// Writes bytes that may be in several pages or in pages that do not exist.
    #[inline(never)]
    fn write_in_pages(&mut self, asid: u8, address: u64, bytes: &[u8]) {
        for (at, part) in page_parts(address, bytes.len()) {
            let offset = at as usize & (PAGE_BYTES - 1);
            let index = self.page_index(asid, at);
            let page = &mut self.pages[index];
            if let Some(undo) = &mut self.undo {
                undo.save(index, page);
            }
            page.data[offset..offset + part.len()].copy_from_slice(&bytes[part.clone()]);
            if let Some(written) = &mut page.written {
                (offset..offset + part.len()).for_each(|b| written[b / 64] |= 1 << (b % 64));
            }
        }
    }

    /// True if all of the given bytes were written, or if the memory does not track writes.
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

    /// Checks that an access of the host is inside one live allocation.
    fn host_check(&self, asid: u8, address: u64, bytes: u64) -> Result<(), MemoryError> {
        match self.check_exactly(asid, address, bytes) {
            AccessCheck::Ok => Ok(()),
            _ => Err(MemoryError::OutOfBounds { address, bytes }),
        }
    }

    /// Reads bytes of one live allocation for the host.
    ///
    /// # Errors
    /// Returns [`MemoryError::OutOfBounds`] if the bytes are not inside one live allocation.
    pub fn read(&self, asid: u8, address: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        self.host_check(asid, address, out.len() as u64)?;
        self.read_raw(asid, address, out);
        Ok(())
    }

    /// Writes bytes of one live allocation for the host.
    ///
    /// # Errors
    /// Returns [`MemoryError::OutOfBounds`] if the bytes are not inside one live allocation.
    pub fn write(&mut self, asid: u8, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.host_check(asid, address, bytes.len() as u64)?;
        self.write_raw(asid, address, bytes);
        Ok(())
    }

    /// Fills `len` bytes of one live allocation for the host (`cudaMemset`).
    ///
    /// # Errors
    /// Returns [`MemoryError::OutOfBounds`] if the bytes are not inside one live allocation.
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

    /// Bytes of host memory that the contents occupy.
    pub fn resident_bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE_BYTES as u64
    }

    /// Adds the contents of every live allocation to a digest. Pages that are zero count the same
    /// whether or not they were touched, and untouched pages take no time.
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

    /// Adds bytes of one page to a digest unless all are zero.
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

#[cfg(test)]
mod tests {
    use super::{DeviceMemory, PAGE_BYTES};

    /// Pages are marked as live exactly where the table of allocations says so, whether or not they
    /// were written.
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
