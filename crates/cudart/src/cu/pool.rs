//! Memory pools and stream-ordered allocation. Numbers and structures equal those of the runtime.

use super::driver;
use crate::device::check_device;
use crate::ffi::{get, put};
use crate::memory::require_output;
use crate::pool::{here, pinned};
use crate::types::{CPoolAccess, CPoolProperties};
use warploom_app::Context;

driver! {
    fn cuMemAllocAsync / cuMemAllocAsync_ptsz (to: *mut u64, bytes: usize, stream: u64) |context| {
        require_output(to)?;
        let address = context.malloc_async(bytes as u64, None, stream)?;
        put(to, address)
    }

    fn cuMemAllocFromPoolAsync / cuMemAllocFromPoolAsync_ptsz (
        to: *mut u64, bytes: usize, pool: u64, stream: u64,
    ) |context| {
        require_output(to)?;
        let address = context.malloc_async(bytes as u64, Some(pool), stream)?;
        put(to, address)
    }

    fn cuMemFreeAsync / cuMemFreeAsync_ptsz (address: u64, stream: u64) |context| {
        context.free_async(address, stream)
    }

    fn cuDeviceGetDefaultMemPool(to: *mut u64, device: i32) |context| {
        check_device(device)?;
        let pool = context.default_pool();
        put(to, pool)
    }

    fn cuDeviceGetMemPool(to: *mut u64, device: i32) |context| {
        check_device(device)?;
        let pool = context.current_pool();
        put(to, pool)
    }

    fn cuDeviceSetMemPool(device: i32, pool: u64) |context| {
        check_device(device)?;
        context.set_current_pool(pool)
    }

    fn cuMemPoolCreate(to: *mut u64, own: *const CPoolProperties) |context| {
        require_output(to)?;
        let own = get(own)?;
        pinned(own.kind)?;
        here(context, own.location)?;
        if own.handles != 0 {
            return Err(context.unsupported("cuMemPoolCreate of a pool to export"));
        }
        let pool = context.create_pool();
        put(to, pool)
    }

    fn cuMemPoolDestroy(pool: u64) |context| { context.destroy_pool(pool) }

    fn cuMemPoolTrimTo(pool: u64, bytes: usize) |context| {
        context.trim_pool(pool, bytes as u64)
    }

    fn cuMemPoolGetAttribute(pool: u64, number: i32, to: *mut u64) |context| {
        let value = context.pool_attribute(pool, number)?;
        if Context::pool_attribute_is_word(number) {
            put(to.cast(), value as u32)
        } else {
            put(to, value)
        }
    }

    fn cuMemPoolSetAttribute(pool: u64, number: i32, from: *const u64) |context| {
        let value = if Context::pool_attribute_is_word(number) {
            get(from.cast::<u32>())?.into()
        } else {
            get(from)?
        };
        context.set_pool_attribute(pool, number, value)
    }

    // The device always has access to its own memory.
    fn cuMemPoolSetAccess(pool: u64, own: *const CPoolAccess, count: usize) |context| {
        context.pool_attribute(pool, 1)?;
        (0..count).try_for_each(|at| here(context, get(own.wrapping_add(at))?.location))
    }
}
