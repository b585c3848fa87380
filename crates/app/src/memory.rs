//! Memory: the allocations of the process, their kinds, and the classification of addresses.

use crate::context::Context;
use crate::error::{Cuda, CudaError};
use warploom_ir::GLOBAL_BASE;
use warploom_run::DevicePtr;

/// Alignment in bytes of the rows of pitched memory and of arrays.
pub(crate) const PITCH_BYTES: u64 = 512;

/// Kind of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Memory of the device (`cudaMalloc`).
    Device,
    /// A variable of a module.
    Variable,
    /// Texels of an array.
    Array,
    /// Host memory that kernels can access (`cudaMallocHost`, `cudaHostAlloc`).
    Pinned,
    /// Memory that host and device access (`cudaMallocManaged`).
    Managed,
}

/// An allocation of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub bytes: u64,
    pub kind: Kind,
    /// Flags with which the memory was allocated.
    pub flags: u32,
}

/// Result of `cudaPointerGetAttributes` for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerFacts {
    /// Kind of the memory: 0 unknown, 1 host, 2 device, 3 managed.
    pub kind: i32,
    /// Address that kernels use, or 0.
    pub device: u64,
    /// Address that the host uses, or 0.
    pub host: u64,
}

impl Context {
    /// Free and total device memory in bytes.
    pub fn memory_info(&self) -> (u64, u64) {
        let all = self.settings.memory_mib << 20;
        (all.saturating_sub(self.used_bytes), all)
    }

    /// Allocates device memory (`cudaMalloc`) and returns its address.
    pub fn malloc(&mut self, bytes: u64) -> Cuda<u64> {
        self.allocate(bytes, Kind::Device)
    }

    /// Allocates memory of the given kind, unless a capture forbids it.
    pub(crate) fn allocate(&mut self, bytes: u64, kind: Kind) -> Cuda<u64> {
        self.forbid_unsafe()?;
        self.allocate_freely(bytes, kind)
    }

    /// Allocates memory of the given kind, even while streams are captured.
    pub(crate) fn allocate_freely(&mut self, bytes: u64, kind: Kind) -> Cuda<u64> {
        if bytes == 0 {
            return Ok(0);
        }
        let got = self.with(move |device| device.alloc(bytes))?;
        let address = got.map_err(|_| CudaError::MEMORY_ALLOCATION)?.0;
        let block = Block {
            bytes,
            kind,
            flags: 0,
        };
        self.memory.insert(address, block);
        self.used_bytes += bytes;
        Ok(address)
    }

    /// Allocates rows of `width` bytes (`cudaMallocPitch`). Returns the address and the distance in
    /// bytes between rows.
    pub fn malloc_pitch(&mut self, width: u64, rows: u64) -> Cuda<(u64, u64)> {
        if width == 0 || rows == 0 {
            return Ok((0, 0));
        }
        let pitch = width.checked_next_multiple_of(PITCH_BYTES);
        let pitch = pitch.ok_or(CudaError::INVALID_VALUE)?;
        let bytes = pitch
            .checked_mul(rows)
            .ok_or(CudaError::MEMORY_ALLOCATION)?;
        Ok((self.malloc(bytes)?, pitch))
    }

    /// Allocates memory that host and kernels access (`cudaMallocManaged`, `cudaHostAlloc`), and
    /// stores the flags.
    pub fn malloc_shared(&mut self, bytes: u64, flags: u32, kind: Kind) -> Cuda<u64> {
        let address = self.allocate(bytes, kind)?;
        if let Some(block) = self.memory.get_mut(&address) {
            block.flags = flags;
        }
        if address != 0 {
            self.share(address, bytes)?;
        }
        Ok(address)
    }

    /// Frees an allocation of one of the given kinds, after waiting for all operations that may use
    /// it.
    pub fn free(&mut self, address: u64, kinds: &[Kind]) -> Cuda {
        if address == 0 {
            return Ok(());
        }
        self.forbid_unsafe()?;
        if kinds.contains(&Kind::Device) && self.free_of_pool(address)? {
            return Ok(());
        }
        let block = self.memory.get(&address).copied();
        let block = block.filter(|block| kinds.contains(&block.kind));
        let block = block.ok_or(CudaError::INVALID_VALUE)?;
        self.synchronize()?;
        self.with(move |device| device.free(DevicePtr(address)))?
            .map_err(|_| CudaError::INVALID_VALUE)?;
        self.memory.remove(&address);
        self.unshare(address);
        self.used_bytes -= block.bytes;
        Ok(())
    }

    /// Allocation that contains an address, with its first address.
    pub(crate) fn block(&self, address: u64) -> Option<(u64, Block)> {
        let (base, block) = self.memory.range(..=address).next_back()?;
        (address - base < block.bytes.max(1)).then_some((*base, *block))
    }

    /// True if only the device can access the memory at an address. Fails if the address belongs to
    /// device memory that is not allocated.
    pub(crate) fn is_device(&self, address: u64) -> Cuda<bool> {
        match self.block(address) {
            Some((_, block)) => Ok(!matches!(block.kind, Kind::Pinned | Kind::Managed)),
            None if self.may_be_simulated(address) => Err(CudaError::INVALID_VALUE),
            None => Ok(false),
        }
    }

    /// True if the address is in the range that device memory has used.
    fn may_be_simulated(&self, address: u64) -> bool {
        let last = self.memory.keys().next_back().copied().unwrap_or(0);
        (GLOBAL_BASE..=last).contains(&address)
    }

    /// Checks that `bytes` bytes from an address on are inside one allocation.
    pub(crate) fn check_inside(&self, address: u64, bytes: u64) -> Cuda {
        let (base, block) = self.block(address).ok_or(CudaError::INVALID_VALUE)?;
        match (address - base).checked_add(bytes) {
            Some(end) if end <= block.bytes => Ok(()),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    /// Reads device memory that must be inside one allocation.
    pub(crate) fn read_device(&mut self, address: u64, bytes: u64) -> Cuda<Vec<u8>> {
        self.check_inside(address, bytes)?;
        let read = self.with(move |device| {
            let mut out = vec![0; bytes as usize];
            device.read(DevicePtr(address), &mut out).map(|()| out)
        })?;
        read.map_err(|_| CudaError::INVALID_VALUE)
    }

    /// Address and size in bytes of the allocation around an address (`cuMemGetAddressRange`).
    pub fn allocation(&self, address: u64) -> Cuda<(u64, u64)> {
        let block = self.block(address).ok_or(CudaError::INVALID_VALUE)?;
        Ok((block.0, block.1.bytes))
    }

    /// Describes an address (`cudaPointerGetAttributes`).
    pub fn pointer_facts(&self, address: u64) -> PointerFacts {
        let facts = |kind, device, host| PointerFacts { kind, device, host };
        match self.block(address).map(|(_, block)| block.kind) {
            Some(Kind::Device | Kind::Variable | Kind::Array) => facts(2, address, 0),
            Some(Kind::Pinned) => facts(1, address, address),
            Some(Kind::Managed) => facts(3, address, address),
            None => match self.registered(address) {
                Some(device) => facts(1, device, address),
                None => facts(0, 0, address),
            },
        }
    }

    /// Checks that all bytes are managed memory.
    pub fn managed(&self, address: u64, bytes: u64) -> Cuda {
        match self.block(address) {
            Some((_, block)) if block.kind == Kind::Managed && bytes > 0 => {
                self.check_inside(address, bytes)
            }
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    /// Flags of pinned memory (`cudaHostGetFlags`).
    pub fn host_flags(&self, address: u64) -> Cuda<u32> {
        match self.block(address) {
            Some((_, block)) if block.kind == Kind::Pinned => Ok(block.flags),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }
}
