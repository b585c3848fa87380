//! Arrays, mipmapped arrays and channel formats.

use crate::ffi::{get, put, put_if};
use crate::types::{CChannels, CExtent};
use warploom_app::{CudaError, Extent};

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: i32) -> CChannels {
    CChannels {
        bits: [x, y, z, w],
        kind,
    }
}

runtime! {
    fn cudaMallocArray(
        to: *mut u64, channels: *const CChannels, width: usize, height: usize, flags: u32,
    ) |context| {
        let channels = get(channels)?;
        let extent = Extent {
            width: width as u64,
            height: height as u64,
            depth: 0,
        };
        let array = context.create_array(channels.into(), extent, flags)?;
        put(to, array)
    }

    fn cudaMalloc3DArray(
        to: *mut u64, channels: *const CChannels, extent: CExtent, flags: u32,
    ) |context| {
        let channels = get(channels)?;
        let array = context.create_array(channels.into(), extent.into(), flags)?;
        put(to, array)
    }

    fn cudaFreeArray(array: u64) |context| { context.free_array(array) }

    fn cudaMallocMipmappedArray(
        to: *mut u64, channels: *const CChannels, extent: CExtent, levels: u32, flags: u32,
    ) |context| {
        let channels = get(channels)?;
        let (channels, extent) = (channels.into(), extent.into());
        let array = context.create_mipmapped(channels, extent, levels, flags)?;
        put(to, array)
    }

    fn cudaGetMipmappedArrayLevel(to: *mut u64, array: u64, level: u32) |context| {
        put(to, context.mipmap_level(array, level)?)
    }

    fn cudaFreeMipmappedArray(array: u64) |context| { context.free_mipmapped(array) }

    fn cudaArrayGetInfo(
        channels: *mut CChannels, extent: *mut CExtent, flags: *mut u32, array: u64,
    ) |context| {
        let own = context.array(array)?;
        put_if(channels, own.channels.into());
        put_if(extent, CExtent {
            width: own.extent.width as usize,
            height: own.extent.height as usize,
            depth: own.extent.depth as usize,
        });
        put_if(flags, own.flags);
        Ok(())
    }

    fn cudaGetChannelDesc(to: *mut CChannels, array: u64) |context| {
        let own = context.array(array).map_err(|_| CudaError::INVALID_VALUE)?;
        put(to, own.channels.into())
    }
}
