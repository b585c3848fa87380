//! Memory that host and device access: managed, pinned and registered memory.
//!
//! Host and device have a copy each, at the same address if Warploom chose the address. Changes by
//! the host are sent to the device before a launch, in the order of its stream. Changes by kernels
//! are sent to the host after the host has waited. A third copy, taken when both were last equal,
//! shows which side changed a byte. As on GPUs before Pascal, the host must not access managed
//! memory while kernels run.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::memory::Kind;
use warploom_run::{DevicePtr, HostAction};

/// Granularity in bytes of comparisons and copies.
const PAGE: usize = 4096;

/// Memory of which host and device have a copy each.
pub(crate) struct Shadow {
    pub host: u64,
    pub device: u64,
    /// Contents of both copies when they were last equal.
    same: Vec<u8>,
    /// True if kernels may access the memory through a pointer in memory. Otherwise they access it
    /// only through a parameter.
    hidden: bool,
    /// True if the program registered the memory and owns the copy of the host.
    registered: bool,
}

impl Shadow {
    fn bytes(&self) -> u64 {
        self.same.len() as u64
    }

    /// True if a device address is in this memory.
    fn holds(&self, address: u64) -> bool {
        (self.device..self.device + self.bytes()).contains(&address)
    }
}

/// Ranges of pages in which two copies differ.
fn differences(one: &[u8], other: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for (page, (a, b)) in one.chunks(PAGE).zip(other.chunks(PAGE)).enumerate() {
        if a == b {
            continue;
        }
        let (start, end) = (page * PAGE, page * PAGE + a.len());
        match runs.last_mut().filter(|run| run.end == start) {
            Some(run) => run.end = end,
            None => runs.push(start..end),
        }
    }
    runs
}

impl Context {
    /// Maps host memory at a device address, so that both sides can access it.
    pub(crate) fn share(&mut self, address: u64, bytes: u64) -> Cuda {
        if !self.host.map(address, bytes) {
            return Err(CudaError::MEMORY_ALLOCATION);
        }
        let kind = self.memory.get(&address).map(|block| block.kind);
        self.host.write(address, &vec![0; bytes as usize]);
        if kind == Some(Kind::Variable)
            && let Some(block) = self.memory.get_mut(&address)
        {
            block.kind = Kind::Managed;
        }
        self.shadows.push(Shadow {
            host: address,
            device: address,
            same: vec![0; bytes as usize],
            hidden: kind != Some(Kind::Pinned),
            registered: false,
        });
        Ok(())
    }

    /// Drops the host's copy of an allocation.
    pub(crate) fn unshare(&mut self, address: u64) {
        self.shadows.retain(|shadow| shadow.device != address);
    }

    /// Makes host memory accessible to kernels (`cudaHostRegister`).
    pub fn register_host(&mut self, host: u64, bytes: u64) -> Cuda {
        if host == 0 || bytes == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        if self.registered(host).is_some() || self.block(host).is_some() {
            return Err(CudaError::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let device = self.allocate(bytes, Kind::Device)?;
        self.shadows.push(Shadow {
            host,
            device,
            same: vec![0; bytes as usize],
            hidden: false,
            registered: true,
        });
        Ok(())
    }

    /// Ends the access of kernels to registered host memory (`cudaHostUnregister`).
    pub fn unregister_host(&mut self, host: u64) -> Cuda {
        let own = |shadow: &&Shadow| shadow.registered && shadow.host == host;
        let device = self.shadows.iter().find(own).map(|shadow| shadow.device);
        let device = device.ok_or(CudaError::HOST_MEMORY_NOT_REGISTERED)?;
        self.free(device, &[Kind::Device])
    }

    /// Device address of registered host memory.
    pub(crate) fn registered(&self, host: u64) -> Option<u64> {
        let holds = |s: &&Shadow| s.registered && (s.host..s.host + s.bytes()).contains(&host);
        let shadow = self.shadows.iter().find(holds)?;
        Some(shadow.device + (host - shadow.host))
    }

    /// Device address of host memory (`cudaHostGetDevicePointer`).
    pub fn device_pointer(&mut self, host: u64) -> Cuda<u64> {
        let address = match self.block(host) {
            Some((_, block)) if block.kind == Kind::Pinned => host,
            _ => self.registered(host).ok_or(CudaError::INVALID_VALUE)?,
        };
        for shadow in self.shadows.iter_mut().filter(|s| s.holds(address)) {
            shadow.hidden = true;
        }
        Ok(address)
    }

    /// Sends changes of the host to the device before a launch with the given parameters.
    pub(crate) fn send_shadows(&mut self, stream: u32, parameters: &[Vec<u8>]) -> Cuda {
        let mut pointers: Vec<u64> = Vec::new();
        for bytes in parameters {
            let words = bytes.chunks_exact(8);
            pointers.extend(
                words
                    .filter_map(|w| w.try_into().ok())
                    .map(u64::from_le_bytes),
            );
        }
        for at in 0..self.shadows.len() {
            let shadow = &mut self.shadows[at];
            if !shadow.hidden && !pointers.iter().any(|pointer| shadow.holds(*pointer)) {
                continue;
            }
            // A kernel may change memory that it has received, so that its results are copied back.
            shadow.hidden = true;
            self.copy_back_pending = true;
            self.send(at, stream)?;
        }
        Ok(())
    }

    /// Sends the changed pages of one block of memory to the device.
    fn send(&mut self, at: usize, stream: u32) -> Cuda {
        let (host, device) = (self.shadows[at].host, self.shadows[at].device);
        let now = self.host.read(host, self.shadows[at].bytes());
        for run in differences(&now, &self.shadows[at].same) {
            let bytes = now[run.clone()].to_vec();
            let to = DevicePtr(device + run.start as u64);
            self.act(HostAction::Write { stream, to, bytes })?;
        }
        self.shadows[at].same = now;
        Ok(())
    }

    /// Copies changes of kernels to the host after a wait.
    pub(crate) fn copy_back_changes(&mut self) -> Cuda {
        if !self.copy_back_pending {
            return Ok(());
        }
        for at in 0..self.shadows.len() {
            if !self.shadows[at].hidden {
                continue;
            }
            let (device, bytes) = (self.shadows[at].device, self.shadows[at].bytes());
            let now = self.read_device(device, bytes)?;
            let shadow = &mut self.shadows[at];
            for run in differences(&now, &shadow.same) {
                self.host.write(shadow.host + run.start as u64, &now[run]);
            }
            shadow.same = now;
        }
        self.copy_back_pending = self.streams.values().any(|stream| stream.busy);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, differences};

    #[test]
    fn differences_are_runs_of_pages() {
        let one = vec![0; 5 * PAGE / 2];
        assert!(differences(&one, &one).is_empty());
        let mut other = one.clone();
        other[1] = 1;
        other[2 * PAGE] = 1;
        assert_eq!(differences(&one, &other), [0..PAGE, 2 * PAGE..5 * PAGE / 2]);
        other[PAGE + 7] = 1;
        assert_eq!(differences(&one, &other), vec![0..5 * PAGE / 2]);
    }
}
