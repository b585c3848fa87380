//! Heap and printed text of each process in device memory.

use super::{ALLOC_ALIGN, DeviceMemory, MemoryError};
use crate::memory::heap::Heap;

impl DeviceMemory {
    /// Appends text that a kernel of a process printed.
    pub(crate) fn print(&mut self, asid: u8, text: Box<[u8]>) {
        self.space_mut(asid).printed.push(text);
    }

    /// Removes and returns the text that the kernels of a process printed, oldest first.
    pub fn take_printed(&mut self, asid: u8) -> Vec<u8> {
        self.space_mut(asid).printed.take()
    }

    /// Limits the printed text that is kept for a process. If it exceeds `bytes`, the oldest text
    /// is dropped.
    pub fn limit_printed(&mut self, asid: u8, bytes: u64) {
        self.space_mut(asid).printed.limit(bytes);
    }

    /// Creates the heap of a process unless it exists.
    ///
    /// # Errors
    /// Returns [`MemoryError::OutOfMemory`] if the heap does not fit.
    pub fn open_heap(&mut self, asid: u8) -> Result<(), MemoryError> {
        let space = self.space_mut(asid);
        let bytes = space.heap_bytes;
        if space.heap.is_none() {
            let lock = self.alloc(asid, bytes.saturating_add(ALLOC_ALIGN))?;
            self.space_mut(asid).heap = Some(Heap::new(lock, lock + ALLOC_ALIGN, bytes));
        }
        Ok(())
    }

    /// Sets the size that the heap of a process will have when it is created.
    ///
    /// # Errors
    /// Returns [`MemoryError::HeapInUse`] if the heap exists with another size.
    pub fn limit_heap(&mut self, asid: u8, bytes: u64) -> Result<(), MemoryError> {
        let space = self.space_mut(asid);
        if space.heap.is_some() && space.heap_bytes != bytes {
            let bytes = space.heap_bytes;
            return Err(MemoryError::HeapInUse { bytes });
        }
        space.heap_bytes = bytes;
        Ok(())
    }

    /// Heap of a process, if it was created.
    pub(crate) fn heap(&self, asid: u8) -> Option<&Heap> {
        self.spaces.get(usize::from(asid))?.heap.as_ref()
    }

    /// Allocates bytes of a process's heap. Returns their address, or 0 if they do not fit.
    pub(crate) fn heap_alloc(&mut self, asid: u8, bytes: u64) -> u64 {
        let heap = &mut self.space_mut(asid).heap;
        heap.as_mut().map_or(0, |heap| heap.alloc(bytes))
    }

    /// Frees a part of a process's heap. Returns 0, the result of every `free`.
    pub(crate) fn heap_free(&mut self, asid: u8, address: u64) -> u64 {
        if let Some(heap) = &mut self.space_mut(asid).heap {
            heap.free(address);
        }
        0
    }
}
