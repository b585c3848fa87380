//! Address space of one process: its page table, its table of allocations, its heap and its buffer
//! of printed text.

use crate::memory::heap::Heap;
use crate::memory::printed::Printed;
use std::collections::BTreeMap;
use warploom_ir::{CONST_BASE, GLOBAL_BASE};
use warploom_state::Value;

/// Names of allocations by their addresses.
pub(super) type Names = BTreeMap<u64, String>;

/// Size of a page in bytes.
pub const PAGE_BYTES: usize = 1 << PAGE_SHIFT;
const PAGE_SHIFT: u32 = 16;
const DIRECTORY_SHIFT: u32 = 12;
const DIRECTORY_LEN: usize = 1 << DIRECTORY_SHIFT;
/// An entry of a directory consists of the page's number and of a bit that is set if one live
/// allocation covers all of the page.
pub(super) const NUMBER: u32 = u32::MAX >> 1;
pub(super) const LIVE: u32 = !NUMBER;
/// Number that stands for a page which was never touched.
pub(super) const NO_PAGE: u32 = NUMBER;

/// Default size of a heap in bytes (`cudaLimitMallocHeapSize`).
const HEAP_BYTES: u64 = 8 << 20;

/// Entries of consecutive pages.
type Directory = [u32; DIRECTORY_LEN];

/// An allocation of global or constant memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub struct Allocation {
    /// Address of the first byte.
    pub base: u64,
    /// Number of bytes allocated.
    pub bytes: u64,
    /// True until the allocation is freed.
    pub live: bool,
}

/// Allocations and pages of one process.
#[derive(Clone, Debug, Value)]
pub(super) struct AddressSpace {
    /// Page table of two levels: `directories[page >> 12][page & 4095]`.
    pub directories: Vec<Option<Box<Directory>>>,
    /// Allocations, sorted by base address.
    pub allocations: Vec<Allocation>,
    /// Names of allocations, for messages.
    pub names: Names,
    pub next_global: u64,
    pub next_const: u64,
    pub printed: Printed,
    pub heap: Option<Heap>,
    pub heap_bytes: u64,
}

impl AddressSpace {
    pub fn new() -> Self {
        Self {
            directories: Vec::new(),
            allocations: Vec::new(),
            names: Names::new(),
            next_global: GLOBAL_BASE,
            next_const: CONST_BASE,
            printed: Printed::default(),
            heap: None,
            heap_bytes: HEAP_BYTES,
        }
    }

    /// Directory entry of an address. `None` if its directory does not exist.
    #[inline(always)]
    pub fn entry(&self, address: u64) -> Option<u32> {
        let page = address >> PAGE_SHIFT;
        let directory = self.directories.get((page >> DIRECTORY_SHIFT) as usize)?;
        Some(directory.as_deref()?[page as usize % DIRECTORY_LEN])
    }

    /// Directory entry of an address, whose directory is created if necessary.
    pub fn entry_mut(&mut self, address: u64) -> &mut u32 {
        let page = address >> PAGE_SHIFT;
        let outer = (page >> DIRECTORY_SHIFT) as usize;
        if self.directories.len() <= outer {
            self.directories.resize(outer + 1, None);
        }
        let directory =
            self.directories[outer].get_or_insert_with(|| Box::new([NO_PAGE; DIRECTORY_LEN]));
        &mut directory[page as usize % DIRECTORY_LEN]
    }

    /// Number of the page of an address. `None` if the page was never touched.
    #[inline(always)]
    pub fn page(&self, address: u64) -> Option<u32> {
        let number = self.entry(address)? & NUMBER;
        (number != NO_PAGE).then_some(number)
    }

    /// Sets or clears the live bit of all pages that an allocation covers completely.
    pub fn mark(&mut self, allocation: Allocation) {
        const PAGE: u64 = PAGE_BYTES as u64;
        let Allocation { base, bytes, live } = allocation;
        let (first, end) = (base.next_multiple_of(PAGE), (base + bytes) / PAGE * PAGE);
        for page in (first..end).step_by(PAGE_BYTES) {
            let entry = self.entry_mut(page);
            *entry = (*entry & NUMBER) | if live { LIVE } else { 0 };
        }
    }

    /// Last allocation that starts at or before `address`.
    #[inline]
    pub fn candidate(&self, address: u64) -> Option<&Allocation> {
        let after = self.allocations.partition_point(|a| a.base <= address);
        self.allocations.get(after.checked_sub(1)?)
    }
}

/// Splits a byte range at page boundaries into pairs of (address, number of bytes).
pub(super) fn page_spans(address: u64, len: u64) -> impl Iterator<Item = (u64, usize)> {
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

/// Bytes of a page from an address to the end of its aligned block of 16, followed by zeros.
#[inline(always)]
pub(crate) fn block_of(page: &[u8; PAGE_BYTES], address: u64) -> [u8; 16] {
    let offset = address as usize & (PAGE_BYTES - 16);
    let mut block = [0; 16];
    block.copy_from_slice(&page[offset..offset + 16]);
    (u128::from_le_bytes(block) >> (address % 16 * 8)).to_le_bytes()
}

/// Splits a byte range at page boundaries into pairs of (address, range of the buffer).
pub(super) fn page_parts(
    address: u64,
    len: usize,
) -> impl Iterator<Item = (u64, std::ops::Range<usize>)> {
    page_spans(address, len as u64).map(move |(at, part)| {
        let start = (at - address) as usize;
        (at, start..start + part)
    })
}
