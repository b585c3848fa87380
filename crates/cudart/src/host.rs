//! Memory of the process, the standard output of its C library, and its signals.

use crate::{process, signals};
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::atomic::AtomicBool;
use warploom_app::HostMemory;

const PAGE_BYTES: u64 = 4096;

unsafe extern "C" {
    /// Standard output of the C library, whose buffer may hold text of the program.
    static stdout: *mut libc::FILE;
}

/// Access to the memory of the process.
#[derive(Default)]
pub struct Memory {
    /// Pages that were mapped by this object.
    pages: BTreeSet<u64>,
}

impl HostMemory for Memory {
    fn read(&self, address: u64, bytes: u64) -> Vec<u8> {
        // SAFETY: the program guarantees that it may copy from this memory. Concurrent changes are
        // its own responsibility, as with NVIDIA's runtime.
        unsafe { std::slice::from_raw_parts(address as *const u8, bytes as usize) }.to_vec()
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        // SAFETY: the program guarantees that it may copy to this memory. The slice `bytes` belongs
        // to the simulator and does not overlap it.
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
        // SAFETY: the C library initialises `stdout` before any code runs, and locks the stream. A
        // failed write cannot be handled.
        unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
    }

    fn interrupted(&mut self) -> &'static AtomicBool {
        signals::note(process::end_interrupted)
    }
}

/// Writes what the program has printed so far, and ends the process without a further call of its
/// functions.
pub fn leave(status: c_int) -> ! {
    // SAFETY: the C library initialises `stdout` before any code runs, and locks the stream.
    unsafe {
        libc::fflush(stdout);
        libc::_exit(status)
    }
}

impl Memory {
    /// Maps pages from `page` up to the next page that is already mapped, at most up to `last`.
    fn map_page(&mut self, page: u64, last: u64) -> bool {
        let next = self.pages.range(page..last).next().copied().unwrap_or(last);
        let (start, bytes) = (page * PAGE_BYTES, (next - page) * PAGE_BYTES);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_NORESERVE
            | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: NOREPLACE does not touch existing mappings. Kernels that do not know the flag
        // treat the address as a hint, which the comparison of the result detects.
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
                // SAFETY: the memory was mapped just now, and no other code knows its address.
                unsafe { libc::munmap(got, bytes as usize) };
            }
            return false;
        }
        self.pages.extend(page..next);
        true
    }
}
