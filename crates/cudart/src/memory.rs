//! Memory: allocation, release and queries about addresses.

use crate::ffi::{put, put_if};
use crate::types::{CExtent, CPitched, CPointerAttributes};
use warploom_app::{Cuda, CudaError, Kind};

/// Flag `cudaHostAllocMapped` of an allocation.
const MAPPED: u32 = 2;
/// Flags that `cudaHostAlloc` and `cudaHostRegister` accept.
const ALLOCATION_FLAGS: u32 = 0x7;
const REGISTRATION_FLAGS: u32 = 0xf;
/// Flags `cudaMemAttachGlobal` and `cudaMemAttachHost` of managed memory.
const ATTACH_FLAGS: std::ops::RangeInclusive<u32> = 1..=2;

/// Checks that an output pointer is not null before anything is allocated.
pub fn require_output<T>(to: *mut T) -> Cuda {
    if to.is_null() {
        Err(CudaError::INVALID_VALUE)
    } else {
        Ok(())
    }
}

/// Attributes of `cudaMemRangeAttribute`: mostly read, preferred location and last prefetch.
const READ_MOSTLY: i32 = 1;
const PREFERRED_LOCATION: i32 = 2;
const LAST_PREFETCH: i32 = 4;
/// Number `cudaInvalidDeviceId` of no device.
const NO_DEVICE: i32 = -2;

/// Checks that no unknown flags are set.
fn known(flags: u32, all: u32) -> Cuda {
    match flags & !all {
        0 => Ok(()),
        _ => Err(CudaError::INVALID_VALUE),
    }
}

runtime! {
    fn cudaMalloc(to: *mut u64, bytes: usize) |context| {
        require_output(to)?;
        let address = context.malloc(bytes as u64)?;
        put(to, address)
    }

    fn cudaFree(address: u64) |context| {
        context.free(address, &[Kind::Device, Kind::Managed])
    }

    fn cudaMallocPitch(to: *mut u64, pitch: *mut usize, width: usize, height: usize) |context| {
        require_output(to)?;
        require_output(pitch)?;
        let (address, bytes) = context.malloc_pitch(width as u64, height as u64)?;
        put(to, address)?;
        put(pitch, bytes as usize)
    }

    fn cudaMalloc3D(to: *mut CPitched, extent: CExtent) |context| {
        require_output(to)?;
        let rows = (extent.height as u64).checked_mul(extent.depth as u64);
        let rows = rows.ok_or(CudaError::INVALID_VALUE)?;
        let (pointer, pitch) = context.malloc_pitch(extent.width as u64, rows)?;
        let (width, height, pitch) = (extent.width, extent.height, pitch as usize);
        put(to, CPitched { pointer, pitch, width, height })
    }

    fn cudaMallocHost(to: *mut u64, bytes: usize) |context| {
        require_output(to)?;
        let address = context.malloc_shared(bytes as u64, 0, Kind::Pinned)?;
        put(to, address)
    }

    fn cudaHostAlloc(to: *mut u64, bytes: usize, flags: u32) |context| {
        require_output(to)?;
        known(flags, ALLOCATION_FLAGS)?;
        let address = context.malloc_shared(bytes as u64, flags, Kind::Pinned)?;
        if flags & MAPPED != 0 && address != 0 {
            context.device_pointer(address)?;
        }
        put(to, address)
    }

    fn cudaFreeHost(address: u64) |context| {
        context.free(address, &[Kind::Pinned])
    }

    fn cudaMallocManaged(to: *mut u64, bytes: usize, flags: u32) |context| {
        require_output(to)?;
        if bytes == 0 || !ATTACH_FLAGS.contains(&flags) {
            return Err(CudaError::INVALID_VALUE);
        }
        let address = context.malloc_shared(bytes as u64, flags, Kind::Managed)?;
        put(to, address)
    }

    fn cudaHostRegister(address: u64, bytes: usize, flags: u32) |context| {
        known(flags, REGISTRATION_FLAGS)?;
        context.register_host(address, bytes as u64)
    }

    fn cudaHostUnregister(address: u64) |context| { context.unregister_host(address) }

    fn cudaHostGetDevicePointer(to: *mut u64, host: u64, _flags: u32) |context| {
        let address = context.device_pointer(host)?;
        put(to, address)
    }

    fn cudaHostGetFlags(to: *mut u32, host: u64) |context| {
        let flags = context.host_flags(host)?;
        put(to, flags)
    }

    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) |context| {
        let (left, all) = context.memory_info();
        put_if(free, left as usize);
        put_if(total, all as usize);
        Ok(())
    }

    fn cudaPointerGetAttributes(to: *mut CPointerAttributes, address: u64) |context| {
        let facts = context.pointer_facts(address);
        put(to, CPointerAttributes {
            kind: facts.kind,
            device: if facts.kind == 0 { -2 } else { 0 },
            device_pointer: facts.device,
            host_pointer: if facts.kind == 0 { 0 } else { facts.host },
        })
    }

    fn cudaGetSymbolAddress(to: *mut u64, symbol: u64) |context| {
        let (address, _) = context.symbol(symbol)?;
        put(to, address)
    }

    fn cudaGetSymbolSize(to: *mut usize, symbol: u64) |context| {
        let (_, bytes) = context.symbol(symbol)?;
        put(to, bytes as usize)
    }

    // Preferences for the location of memory have no effect.
    fn cudaMemPrefetchAsync / cudaMemPrefetchAsync_ptsz / cudaMemPrefetchAsync_v2
        / cudaMemPrefetchAsync_v2_ptsz (address: u64, bytes: usize) |context| {
        context.managed(address, bytes as u64)
    }

    fn cudaMemAdvise / cudaMemAdvise_v2 (address: u64, bytes: usize) |context| {
        context.managed(address, bytes as u64)
    }

    fn cudaStreamAttachMemAsync / cudaStreamAttachMemAsync_ptsz (
        stream: u64,
        _address: u64,
        _bytes: usize,
        _flags: u32,
    ) |context| {
        context.stream_facts(stream).map(|_| ())
    }

    fn cudaMemRangeGetAttribute(
        to: *mut i32,
        bytes: usize,
        attribute: i32,
        address: u64,
        count: usize,
    ) |context| {
        context.managed(address, count as u64)?;
        // Advice about memory has no effect.
        let value = match attribute {
            READ_MOSTLY => 0,
            PREFERRED_LOCATION..=LAST_PREFETCH => NO_DEVICE,
            _ => return Err(CudaError::INVALID_VALUE),
        };
        if bytes == 0 || !bytes.is_multiple_of(size_of::<i32>()) {
            return Err(CudaError::INVALID_VALUE);
        }
        // All values are equal: a single one, or one for each device that accesses the memory.
        (0..bytes / size_of::<i32>()).try_for_each(|at| put(to.wrapping_add(at), value))
    }
}
