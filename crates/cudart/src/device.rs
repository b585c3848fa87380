//! The device: properties, limits, profiler and versions.

use crate::ffi::{put, put_bytes, put_if, text};
use crate::process::abi;
use std::ffi::c_char;
use warploom_app::{Abi, Context, Cuda, CudaError, attribute, device_properties};

/// Mask `cudaDeviceMask` of the device flags.
const DEVICE_FLAGS: u32 = 0xff;

/// PCI address of the device.
pub const BUS: &str = "0000:01:00.0";

/// Checks that a number denotes the only device.
pub fn check_device(device: i32) -> Cuda {
    match device {
        0 => Ok(()),
        _ => Err(CudaError::INVALID_DEVICE),
    }
}

/// Writes the PCI address of the device as a C string.
///
/// # Safety
/// The pointer is null or valid for a write of `length` bytes.
pub unsafe fn put_bus(to: *mut u8, length: i32) -> Cuda {
    let mut name = BUS.as_bytes().to_vec();
    name.push(0);
    match usize::try_from(length) {
        // SAFETY: the caller fulfils the requirements of this function.
        Ok(length) if length >= name.len() => unsafe { put_bytes(to, &name) },
        _ => Err(CudaError::INVALID_VALUE),
    }
}

/// Checks that a PCI address is that of the device. The number of the domain may be omitted.
pub fn require_bus(name: &str) -> Cuda {
    match name {
        "" => Err(CudaError::INVALID_VALUE),
        name if BUS.ends_with(name) => Ok(()),
        _ => Err(CudaError::INVALID_DEVICE),
    }
}

/// Writes the device properties in the layout of a release.
///
/// # Safety
/// `to` is null or valid for a write of the properties.
unsafe fn properties(context: &Context, to: *mut u8, device: i32, abi: Abi) -> Cuda {
    check_device(device)?;
    let bytes = device_properties(abi, &context.device_facts(), &context.device_name());
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { put_bytes(to, &bytes) }
}

runtime! {
    fn cudaGetDeviceCount(to: *mut i32) |_context| { put(to, 1) }

    fn cudaGetDevice(to: *mut i32) |_context| { put(to, 0) }

    fn cudaSetDevice(device: i32) |_context| { check_device(device) }

    fn cudaInitDevice(device: i32, _device_flags: u32, _flags: u32) |_context| {
        check_device(device)
    }

    fn cudaChooseDevice(to: *mut i32, _wanted: *const u8) |_context| { put(to, 0) }

    fn cudaSetValidDevices(_devices: *const i32, _count: i32) |_context| {
        Ok::<(), CudaError>(())
    }

    fn cudaSetDeviceFlags(flags: u32) |context| {
        if flags & !DEVICE_FLAGS != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        context.set_flags(flags);
        Ok(())
    }

    fn cudaGetDeviceFlags(to: *mut u32) |context| {
        let flags = context.flags();
        put(to, flags)
    }

    // Before CUDA 13 this name uses the layout of CUDA 11. The newer layout of CUDA 12 has a name
    // of its own.
    fn cudaGetDeviceProperties(to: *mut u8, device: i32) |context| {
        let release = match abi() {
            Abi::V12 => Abi::V11,
            other => other,
        };
        properties(context, to, device, release)
    }

    fn cudaGetDeviceProperties_v2(to: *mut u8, device: i32) |context| {
        properties(context, to, device, Abi::V12)
    }

    fn cudaDeviceGetAttribute(to: *mut i32, number: i32, device: i32) |context| {
        check_device(device)?;
        let value = attribute(&context.device_facts(), number)?;
        put(to, value)
    }

    fn cudaDeviceGetPCIBusId(to: *mut u8, length: i32, device: i32) |_context| {
        check_device(device)?;
        put_bus(to, length)
    }

    fn cudaDeviceGetByPCIBusId(to: *mut i32, name: *const c_char) |_context| {
        require_bus(&text(name))?;
        put(to, 0)
    }

    fn cudaDeviceSynchronize / cudaThreadSynchronize () |context| {
        context.synchronize_device()
    }

    fn cudaDeviceReset / cudaThreadExit () |context| { context.reset() }

    fn cudaDeviceGetLimit / cudaThreadGetLimit (to: *mut usize, limit: i32) |context| {
        let value = context.limit(limit)?;
        put(to, value as usize)
    }

    fn cudaDeviceSetLimit / cudaThreadSetLimit (limit: i32, value: usize) |context| {
        context.set_limit(limit, value as u64)
    }

    // The GPU's configuration decides how caches are divided. Preferences of the program have no
    // effect.
    fn cudaDeviceGetCacheConfig / cudaThreadGetCacheConfig / cudaDeviceGetSharedMemConfig (
        to: *mut i32,
    ) |_context| {
        put(to, 0)
    }

    fn cudaDeviceSetCacheConfig / cudaThreadSetCacheConfig / cudaDeviceSetSharedMemConfig (
        _wish: i32,
    ) |_context| {
        Ok::<(), CudaError>(())
    }

    fn cudaCtxResetPersistingL2Cache() |_context| { Ok::<(), CudaError>(()) }

    fn cudaDeviceCanAccessPeer(to: *mut i32, device: i32, peer: i32) |_context| {
        check_device(device)?;
        check_device(peer)?;
        put(to, 0)
    }

    // Attributes concern pairs of different devices, of which there are none.
    fn cudaDeviceGetP2PAttribute(
        _to: *mut i32, _attribute: i32, _from: i32, _to_device: i32,
    ) |_context| {
        Err::<(), CudaError>(CudaError::INVALID_DEVICE)
    }

    fn cudaDeviceEnablePeerAccess / cudaDeviceDisablePeerAccess (_peer: i32) |_context| {
        Err::<(), CudaError>(CudaError::INVALID_DEVICE)
    }

    fn cudaDriverGetVersion / cudaRuntimeGetVersion (to: *mut i32) |_context| {
        put(to, abi().version())
    }

    fn cudaProfilerStart / cudaProfilerStop () |_context| { Ok::<(), CudaError>(()) }

    fn cudaProfilerInitialize() |_context| { Ok::<(), CudaError>(()) }

    fn cudaSetDoubleForDevice / cudaSetDoubleForHost (_number: *mut f64) |_context| {
        Ok::<(), CudaError>(())
    }

    fn cudaDeviceGetTexture1DLinearMaxWidth(
        to: *mut usize, _channels: *const u8, device: i32,
    ) |context| {
        check_device(device)?;
        let width = attribute(&context.device_facts(), 69)?;
        put_if(to, width as usize);
        Ok(())
    }
}
