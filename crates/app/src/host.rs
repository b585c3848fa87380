//! What a process has of its own: memory, and standard output.

/// The process's own memory, by address. The program vouches for the addresses that it gives to
/// the runtime, as it does to NVIDIA's; the caller of these has looked that they are not 0.
pub trait HostMemory: Send {
    /// Copies bytes out.
    fn read(&self, address: u64, bytes: u64) -> Vec<u8>;
    /// Copies bytes in.
    fn write(&mut self, address: u64, bytes: &[u8]);
    /// Makes zeroed memory at just these addresses, which need not be whole pages; pages that it
    /// made before are left as they are. False if something else is there.
    fn map(&mut self, address: u64, bytes: u64) -> bool;
    /// Writes to standard output, behind what the program itself has written so far.
    fn print(&mut self, text: &[u8]);
}
