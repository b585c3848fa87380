//! What the process has of its own: memory, and C's standard output.

use std::collections::BTreeSet;
use warploom_app::HostMemory;

const PAGE_BYTES: u64 = 4096;

unsafe extern "C" {
    /// C's standard output, with the program's own texts in its buffer.
    static stdout: *mut libc::FILE;
}

/// The process's memory.
#[derive(Default)]
pub struct Memory {
    /// Pages that were made here.
    pages: BTreeSet<u64>,
}

impl HostMemory for Memory {
    fn read(&self, address: u64, bytes: u64) -> Vec<u8> {
        // SAFETY: the program vouches for memory that it has copied from; it may change it at the
        // same time only at its own risk, as with NVIDIA's runtime.
        unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize) }.to_vec()
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        // SAFETY: the program vouches for memory that it has copied to; `bytes` is ours and does
        // not overlap it.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len());
        }
    }

    fn map(&mut self, address: u64, bytes: u64) -> bool {
        let first = address / PAGE_BYTES;
        let last = (address + bytes).div_ceil(PAGE_BYTES);
        (first..last).all(|page| self.pages.contains(&page) || self.map_page(page, last))
    }

    fn print(&mut self, text: &[u8]) {
        // SAFETY: the C library sets `stdout` before anything runs and locks what it points to.
        // Nothing can be done about a reader that is gone.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
    }
}

impl Memory {
    /// Maps from `page` to the next page that is there, at most to `last`.
    fn map_page(&mut self, page: u64, last: u64) -> bool {
        let next = self.pages.range(page..last).next().copied().unwrap_or(last);
        let (start, bytes) = (page * PAGE_BYTES, (next - page) * PAGE_BYTES);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_NORESERVE
            | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: NOREPLACE leaves alone what is there already; kernels that do not know the flag
        // take the address as a hint, and the result tells.
        let got = unsafe {
            libc::mmap(
                start as *mut libc::c_void,
                bytes as usize,
                protection,
                flags,
                -1,
                0,
            )
        };
        if got as u64 != start {
            if got != libc::MAP_FAILED {
                // SAFETY: it was mapped just now, and nobody knows of it.
                unsafe { libc::munmap(got, bytes as usize) };
            }
            return false;
        }
        self.pages.extend(page..next);
        true
    }
}
