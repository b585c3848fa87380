//! Memory: allocation, release, what is known of an address.

use crate::ffi::{get, put, put_if};
use crate::types::{CExtent, CPitched, CPointerAttributes};
use warploom_app::{CudaError, Kind};

/// `cudaHostAllocMapped`
const MAPPED: u32 = 2;

runtime! {
    fn cudaMalloc(to: *mut u64, bytes: usize) |context| {
        if to.is_null() {
            return Err(CudaError::INVALID_VALUE);
        }
        let address = context.malloc(bytes as u64)?;
        put(to, address)
    }

    fn cudaMallocAsync / cudaMallocAsync_ptsz (to: *mut u64, bytes: usize, _stream: u64) |context| {
        let address = context.malloc(bytes as u64)?;
        put(to, address)
    }

    fn cudaFree(address: u64) |context| {
        context.free(address, &[Kind::Device, Kind::Managed])
    }

    fn cudaFreeAsync / cudaFreeAsync_ptsz (address: u64, _stream: u64) |context| {
        context.free(address, &[Kind::Device])
    }

    fn cudaMallocPitch(to: *mut u64, pitch: *mut usize, width: usize, height: usize) |context| {
        let (address, bytes) = context.malloc_pitch(width as u64, height as u64)?;
        put(to, address)?;
        put(pitch, bytes as usize)
    }

    fn cudaMalloc3D(to: *mut CPitched, extent: CExtent) |context| {
        let rows = (extent.height as u64).checked_mul(extent.depth as u64);
        let rows = rows.ok_or(CudaError::INVALID_VALUE)?;
        let (pointer, pitch) = context.malloc_pitch(extent.width as u64, rows)?;
        let (width, height, pitch) = (extent.width, extent.height, pitch as usize);
        put(to, CPitched { pointer, pitch, width, height })
    }

    fn cudaMallocHost(to: *mut u64, bytes: usize) |context| {
        let address = context.malloc_shared(bytes as u64, Kind::Pinned)?;
        put(to, address)
    }

    fn cudaHostAlloc(to: *mut u64, bytes: usize, flags: u32) |context| {
        let address = context.malloc_shared(bytes as u64, Kind::Pinned)?;
        if flags & MAPPED != 0 && address != 0 {
            context.device_pointer(address)?;
        }
        put(to, address)
    }

    fn cudaFreeHost(address: u64) |context| {
        context.free(address, &[Kind::Pinned])
    }

    fn cudaMallocManaged(to: *mut u64, bytes: usize, _flags: u32) |context| {
        if bytes == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let address = context.malloc_shared(bytes as u64, Kind::Managed)?;
        put(to, address)
    }

    fn cudaHostRegister(address: u64, bytes: usize, _flags: u32) |context| {
        context.register_host(address, bytes as u64)
    }

    fn cudaHostUnregister(address: u64) |context| { context.unregister_host(address) }

    fn cudaHostGetDevicePointer(to: *mut u64, host: u64, _flags: u32) |context| {
        let address = context.device_pointer(host)?;
        put(to, address)
    }

    fn cudaHostGetFlags(to: *mut u32, host: u64) |context| {
        context.device_pointer(host)?;
        put(to, MAPPED)
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

    // Wishes of where memory should be: it is where it is.
    fn cudaMemPrefetchAsync / cudaMemPrefetchAsync_ptsz / cudaMemPrefetchAsync_v2
        / cudaMemPrefetchAsync_v2_ptsz (address: u64, _bytes: usize) |context| {
        context.extent_of(address).map(|_| ())
    }

    fn cudaMemAdvise / cudaMemAdvise_v2 (address: u64, _bytes: usize) |context| {
        context.extent_of(address).map(|_| ())
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
        _attribute: i32,
        address: u64,
        _count: usize,
    ) |context| {
        context.extent_of(address)?;
        let _ = get(to)?;
        if bytes != size_of::<i32>() {
            return Err(CudaError::INVALID_VALUE);
        }
        put(to, 0)
    }
}
