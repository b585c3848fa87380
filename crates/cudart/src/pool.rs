//! Memory pools and stream-ordered allocation.

use crate::device::check_device;
use crate::ffi::{get, put};
use crate::memory::require_output;
use crate::types::{CLocation, CPoolAccess, CPoolProperties};
use warploom_app::{Context, Cuda, CudaError};

/// Constants `cudaMemAllocationTypePinned`, `cudaMemLocationTypeDevice` and
/// `cudaMemAccessFlagsProtReadWrite`.
const PINNED: i32 = 1;
const DEVICE: i32 = 1;
const READ_WRITE: i32 = 3;

/// Checks that a location is the device.
pub fn here(context: &mut Context, location: CLocation) -> Cuda {
    match location.kind {
        DEVICE => check_device(location.id),
        0 => Err(CudaError::INVALID_VALUE),
        _ => Err(context.unsupported("a memory pool that is not on the device")),
    }
}

/// Checks that the kind of memory is the only one that pools support.
pub fn pinned(kind: i32) -> Cuda {
    match kind {
        PINNED => Ok(()),
        _ => Err(CudaError::INVALID_VALUE),
    }
}

runtime! {
    fn cudaMallocAsync / cudaMallocAsync_ptsz (to: *mut u64, bytes: usize, stream: u64) |context| {
        require_output(to)?;
        let address = context.malloc_async(bytes as u64, None, stream)?;
        put(to, address)
    }

    fn cudaMallocFromPoolAsync / cudaMallocFromPoolAsync_ptsz (
        to: *mut u64, bytes: usize, pool: u64, stream: u64,
    ) |context| {
        require_output(to)?;
        let address = context.malloc_async(bytes as u64, Some(pool), stream)?;
        put(to, address)
    }

    fn cudaFreeAsync / cudaFreeAsync_ptsz (address: u64, stream: u64) |context| {
        context.free_async(address, stream)
    }

    fn cudaDeviceGetDefaultMemPool(to: *mut u64, device: i32) |context| {
        check_device(device)?;
        let pool = context.default_pool();
        put(to, pool)
    }

    fn cudaDeviceGetMemPool(to: *mut u64, device: i32) |context| {
        check_device(device)?;
        let pool = context.current_pool();
        put(to, pool)
    }

    fn cudaDeviceSetMemPool(device: i32, pool: u64) |context| {
        check_device(device)?;
        context.set_current_pool(pool)
    }

    fn cudaMemGetDefaultMemPool(to: *mut u64, location: *const CLocation, kind: i32) |context| {
        pinned(kind)?;
        here(context, get(location)?)?;
        let pool = context.default_pool();
        put(to, pool)
    }

    fn cudaMemGetMemPool(to: *mut u64, location: *const CLocation, kind: i32) |context| {
        pinned(kind)?;
        here(context, get(location)?)?;
        let pool = context.current_pool();
        put(to, pool)
    }

    fn cudaMemSetMemPool(location: *const CLocation, kind: i32, pool: u64) |context| {
        pinned(kind)?;
        here(context, get(location)?)?;
        context.set_current_pool(pool)
    }

    fn cudaMemPoolCreate(to: *mut u64, own: *const CPoolProperties) |context| {
        require_output(to)?;
        let own = get(own)?;
        pinned(own.kind)?;
        here(context, own.location)?;
        if own.handles != 0 {
            return Err(context.unsupported("cudaMemPoolCreate of a pool to export"));
        }
        let pool = context.create_pool();
        put(to, pool)
    }

    fn cudaMemPoolDestroy(pool: u64) |context| { context.destroy_pool(pool) }

    fn cudaMemPoolTrimTo(pool: u64, bytes: usize) |context| {
        context.trim_pool(pool, bytes as u64)
    }

    fn cudaMemPoolGetAttribute(pool: u64, number: i32, to: *mut u64) |context| {
        let value = context.pool_attribute(pool, number)?;
        if Context::pool_attribute_is_word(number) {
            put(to.cast(), value as u32)
        } else {
            put(to, value)
        }
    }

    fn cudaMemPoolSetAttribute(pool: u64, number: i32, from: *const u64) |context| {
        let value = if Context::pool_attribute_is_word(number) {
            get(from.cast::<u32>())?.into()
        } else {
            get(from)?
        };
        context.set_pool_attribute(pool, number, value)
    }

    // The device always has access to its own memory.
    fn cudaMemPoolSetAccess(pool: u64, own: *const CPoolAccess, count: usize) |context| {
        context.pool_attribute(pool, 1)?;
        for at in 0..count {
            let asked = get(own.wrapping_add(at))?;
            here(context, asked.location)?;
            if asked.flags != READ_WRITE {
                return Err(CudaError::INVALID_DEVICE);
            }
        }
        Ok(())
    }

    fn cudaMemPoolGetAccess(to: *mut i32, pool: u64, location: *const CLocation) |context| {
        context.pool_attribute(pool, 1)?;
        here(context, get(location)?)?;
        put(to, READ_WRITE)
    }
}
