//! Start, errors, the device and contexts.

use super::{DRIVER_VERSION, UUID, driver};
use crate::device::{check_device, put_bus, require_bus};
use crate::error::lasting;
use crate::ffi::{put, put_bytes, put_if, text};
use std::ffi::c_char;
use warploom_app::{CONTEXT, Context, Cuda, CudaError, attribute};

/// Version of the interface of contexts.
const API_VERSION: u32 = 3020;

/// Thread that makes the call.
pub fn thread() -> warploom_app::ThreadKey {
    std::thread::current().id()
}

/// Checks that a handle is that of the one context.
pub fn check_context(context: u64) -> Cuda {
    match context {
        CONTEXT => Ok(()),
        _ => Err(CudaError::INVALID_CONTEXT),
    }
}

/// Makes the one context the current one of the calling thread, and writes its handle.
///
/// # Safety
/// The pointer is null or valid for a write.
unsafe fn create(context: &mut Context, to: *mut u64, device: i32) -> Cuda {
    check_device(device)?;
    context.push_context(thread(), CONTEXT)?;
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { put(to, CONTEXT) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: i32, to: *mut *const c_char) -> i32 {
    let name = super::name(code);
    let text = name.as_deref().map_or(std::ptr::null(), lasting);
    // SAFETY: the program passes null or a pointer to a string's address.
    let written = unsafe { put(to, text) };
    i32::from(name.is_none() || written.is_err())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: i32, to: *mut *const c_char) -> i32 {
    let known = super::name(code).is_some();
    let text = if known {
        lasting(warploom_app::error_sentence(code))
    } else {
        std::ptr::null()
    };
    // SAFETY: the program passes null or a pointer to a string's address.
    let written = unsafe { put(to, text) };
    i32::from(!known || written.is_err())
}

driver! {
    fn cuInit(flags: u32) |_context| {
        match flags {
            0 => Ok(()),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    fn cuDriverGetVersion(to: *mut i32) |_context| { put(to, DRIVER_VERSION) }

    fn cuDeviceGetCount(to: *mut i32) |_context| { put(to, 1) }

    fn cuDeviceGet(to: *mut i32, number: i32) |_context| {
        check_device(number)?;
        put(to, number)
    }

    fn cuDeviceGetName(to: *mut u8, length: i32, device: i32) |context| {
        check_device(device)?;
        let length = usize::try_from(length).ok().filter(|length| *length > 0);
        let length = length.ok_or(CudaError::INVALID_VALUE)?;
        let mut name = context.device_name().into_bytes();
        name.truncate(length - 1);
        name.push(0);
        put_bytes(to, &name)
    }

    fn cuDeviceGetUuid / cuDeviceGetUuid_v2 (to: *mut u8, device: i32) |_context| {
        check_device(device)?;
        put_bytes(to, &UUID)
    }

    fn cuDeviceTotalMem_v2(to: *mut usize, device: i32) |context| {
        check_device(device)?;
        let (_, all) = context.memory_info();
        put(to, all as usize)
    }

    fn cuDeviceGetAttribute(to: *mut i32, number: i32, device: i32) |context| {
        check_device(device)?;
        let value = attribute(&context.device_facts(), number)?;
        put(to, value)
    }

    fn cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, device: i32) |context| {
        check_device(device)?;
        let capability = context.capability() as i32;
        put(major, capability / 10)?;
        put(minor, capability % 10)
    }

    fn cuDeviceGetPCIBusId(to: *mut u8, length: i32, device: i32) |_context| {
        check_device(device)?;
        put_bus(to, length)
    }

    fn cuDeviceGetByPCIBusId(to: *mut i32, name: *const c_char) |_context| {
        require_bus(&text(name))?;
        put(to, 0)
    }

    fn cuDeviceCanAccessPeer(to: *mut i32, device: i32, peer: i32) |_context| {
        check_device(device)?;
        check_device(peer)?;
        put(to, 0)
    }

    fn cuDevicePrimaryCtxRetain(to: *mut u64, device: i32) |_context| {
        check_device(device)?;
        put(to, CONTEXT)
    }

    fn cuDevicePrimaryCtxRelease_v2 / cuDevicePrimaryCtxReset_v2 (device: i32) |_context| {
        check_device(device)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, _flags: u32) |_context| {
        check_device(device)
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) |_context| {
        check_device(device)?;
        put_if(flags, 0);
        put(active, 1)
    }

    fn cuCtxCreate_v2(to: *mut u64, _flags: u32, device: i32) |context| {
        create(context, to, device)
    }

    // Parts of the device and shares of it have no effect.
    fn cuCtxCreate_v3(
        to: *mut u64, _shares: *const u8, _count: i32, _flags: u32, device: i32,
    ) |context| {
        create(context, to, device)
    }

    fn cuCtxCreate_v4(
        to: *mut u64, _parameters: *const u8, _flags: u32, device: i32,
    ) |context| {
        create(context, to, device)
    }

    fn cuCtxAttach(to: *mut u64, _flags: u32) |context| {
        check_context(context.current_context(thread()))?;
        put(to, CONTEXT)
    }

    fn cuCtxDetach(handle: u64) |_context| { check_context(handle) }

    fn cuCtxGetId(handle: u64, to: *mut u64) |_context| {
        if handle != 0 {
            check_context(handle)?;
        }
        put(to, CONTEXT)
    }

    fn cuCtxEnablePeerAccess / cuCtxDisablePeerAccess (_peer: u64) |_context| {
        Err::<(), CudaError>(CudaError::INVALID_DEVICE)
    }

    // Attributes concern pairs of different devices, of which there are none.
    fn cuDeviceGetP2PAttribute(
        _to: *mut i32, _attribute: i32, _from: i32, _to_device: i32,
    ) |_context| {
        Err::<(), CudaError>(CudaError::INVALID_DEVICE)
    }

    fn cuCtxDestroy_v2(handle: u64) |context| {
        check_context(handle)?;
        if context.current_context(thread()) == handle {
            context.pop_context(thread())?;
        }
        Ok(())
    }

    fn cuCtxGetCurrent(to: *mut u64) |context| {
        let current = context.current_context(thread());
        put(to, current)
    }

    fn cuCtxSetCurrent(handle: u64) |context| { context.set_current_context(thread(), handle) }

    fn cuCtxPushCurrent_v2(handle: u64) |context| { context.push_context(thread(), handle) }

    fn cuCtxPopCurrent_v2(to: *mut u64) |context| {
        let popped = context.pop_context(thread())?;
        put_if(to, popped);
        Ok(())
    }

    fn cuCtxGetDevice(to: *mut i32) |context| {
        check_context(context.current_context(thread()))?;
        put(to, 0)
    }

    fn cuCtxGetApiVersion(_context_handle: u64, to: *mut u32) |_context| { put(to, API_VERSION) }

    fn cuCtxGetFlags(to: *mut u32) |context| {
        let flags = context.flags();
        put(to, flags)
    }

    fn cuCtxSynchronize() |context| { context.synchronize_device() }

    fn cuCtxGetLimit(to: *mut usize, limit: i32) |context| {
        let value = context.limit(limit)?;
        put(to, value as usize)
    }

    fn cuCtxSetLimit(limit: i32, value: usize) |context| {
        context.set_limit(limit, value as u64)
    }

    // The GPU's configuration decides how caches are divided. Preferences of the program have no
    // effect.
    fn cuCtxSetCacheConfig / cuCtxSetSharedMemConfig (_wish: i32) |_context| {
        Ok::<(), CudaError>(())
    }

    fn cuCtxGetCacheConfig / cuCtxGetSharedMemConfig (to: *mut i32) |_context| { put(to, 0) }

    fn cuCtxSetFlags(flags: u32) |context| {
        context.set_flags(flags);
        Ok::<(), CudaError>(())
    }

    fn cuCtxResetPersistingL2Cache / cuProfilerInitialize / cuProfilerStart / cuProfilerStop (
    ) |_context| {
        Ok::<(), CudaError>(())
    }

    fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) |_context| {
        put_if(least, 0);
        put_if(greatest, 0);
        Ok::<(), CudaError>(())
    }
}
