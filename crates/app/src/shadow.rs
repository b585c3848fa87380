//! Memory that both sides see: managed, pinned and registered.
//!
//! Host and device have a copy each, at the same address where Warploom chose it. What the host
//! changed goes to the device before a launch, in the order of its stream, and what kernels changed
//! comes back when the host has waited. A third copy, of when both were last the same, tells who
//! changed what. As on GPUs before Pascal, the host must not touch managed memory while kernels
//! run.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use crate::memory::Kind;
use warploom_run::{DevicePtr, HostAction};

/// Bytes that are compared and copied as one.
const PAGE: usize = 4096;

/// Memory with two copies.
pub(crate) struct Shadow {
    pub host: u64,
    pub device: u64,
    /// What both held when they were last the same.
    same: Vec<u8>,
    /// Kernels may reach it by a pointer in memory; else only by one of their parameters.
    hidden: bool,
    /// Registered by the program, which keeps the host's copy.
    registered: bool,
}

impl Shadow {
    fn bytes(&self) -> u64 {
        self.same.len() as u64
    }

    fn holds(&self, address: u64) -> bool {
        (self.device..self.device + self.bytes()).contains(&address)
    }
}

/// Runs of pages in which the two differ, as places in both.
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
    /// Gives the host memory at a device address.
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

    /// Forgets the host's side of a block.
    pub(crate) fn unshare(&mut self, address: u64) {
        self.shadows.retain(|shadow| shadow.device != address);
    }

    /// Lets kernels see memory of the host (`cudaHostRegister`).
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

    /// No longer (`cudaHostUnregister`).
    pub fn unregister_host(&mut self, host: u64) -> Cuda {
        let own = |shadow: &&Shadow| shadow.registered && shadow.host == host;
        let device = self.shadows.iter().find(own).map(|shadow| shadow.device);
        let device = device.ok_or(CudaError::HOST_MEMORY_NOT_REGISTERED)?;
        self.free(device, &[Kind::Device])
    }

    /// Device address of registered memory.
    pub(crate) fn registered(&self, host: u64) -> Option<u64> {
        let holds = |s: &&Shadow| s.registered && (s.host..s.host + s.bytes()).contains(&host);
        let shadow = self.shadows.iter().find(holds)?;
        Some(shadow.device + (host - shadow.host))
    }

    /// Address for kernels of memory of the host (`cudaHostGetDevicePointer`).
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

    /// Before a launch: what the host changed goes to the device. `parameters` are the launch's.
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
            // Once a kernel got it, its results come back.
            shadow.hidden = true;
            self.unsettled = true;
            self.send(at, stream)?;
        }
        Ok(())
    }

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

    /// After a wait: what kernels changed comes to the host.
    pub(crate) fn settle(&mut self) -> Cuda {
        if !self.unsettled {
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
        self.unsettled = self.streams.values().any(|stream| stream.busy);
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
