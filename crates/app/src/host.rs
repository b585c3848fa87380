//! Resources of the process itself: its memory, its standard output and its signals.

use std::sync::atomic::AtomicBool;

/// Memory of the process, by address. The program guarantees that the addresses it passes to the
/// runtime are valid, as it does for NVIDIA's runtime. Callers of these methods have checked that
/// addresses are not 0.
pub trait HostMemory: Send {
    /// Returns a copy of `bytes` bytes at an address.
    fn read(&self, address: u64, bytes: u64) -> Vec<u8>;
    /// Writes bytes to an address.
    fn write(&mut self, address: u64, bytes: &[u8]);
    /// Maps zeroed memory at exactly these addresses, which need not be whole pages. Pages mapped
    /// earlier keep their contents. Returns false if other memory occupies the addresses.
    fn map(&mut self, address: u64, bytes: u64) -> bool;
    /// Writes to standard output, after everything that the program itself has written so far.
    fn print(&mut self, text: &[u8]);
    /// Begins to note requests to end the process, and returns the flag that the first one sets.
    /// Once it is set, the process ends after the next [`finish`](crate::Context::finish).
    fn interrupted(&mut self) -> &'static AtomicBool;
}
