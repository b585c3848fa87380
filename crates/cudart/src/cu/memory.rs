//! Memory: allocation, copies, fills and queries about addresses.

use super::driver;
use crate::ffi::{get, put, put_if};
use crate::memory::require_output;
use warploom_app::{
    CONTEXT, Context, CopyExtent, Cuda, CudaError, Direction, Endpoint, Fill, Kind, Submission,
};

/// Largest element of an allocation with rows, in bytes.
const MOST_ELEMENT_BYTES: u32 = 16;

/// Attribute `CU_POINTER_ATTRIBUTE_SYNC_MEMOPS` of an address.
const SYNC_MEMOPS: i32 = 6;

/// Copies a row of bytes.
fn copy(
    context: &mut Context,
    (to, from): (u64, u64),
    bytes: usize,
    direction: Direction,
    submission: Submission,
) -> Cuda {
    let (to, from) = (Endpoint::linear(to), Endpoint::linear(from));
    let extent = CopyExtent::linear(bytes as u64);
    context.copy(to, from, extent, direction, submission)
}

/// Fills rows of `width` elements of `element` bytes, `pitch` bytes apart.
fn fill_rows(
    context: &mut Context,
    (address, pitch): (u64, usize),
    (value, element): (u32, u32),
    (width, height): (usize, usize),
    submission: Submission,
) -> Cuda {
    let end = Endpoint {
        pitch: pitch as u64,
        ..Endpoint::linear(address)
    };
    let fill = Fill::of_rows(end, value, element, width as u64, height as u64)?;
    context.fill_elements(fill, submission.stream)?;
    if submission.wait {
        context.synchronize_stream(submission.stream)?;
    }
    Ok(())
}

/// Fills memory with `count` elements of `element` bytes.
fn fill(
    context: &mut Context,
    to: u64,
    element: (u32, u32),
    count: usize,
    submission: Submission,
) -> Cuda {
    fill_rows(context, (to, 0), element, (count, 1), submission)
}

/// Value of an attribute of an address, or `None` if the driver knows no such attribute.
fn pointer_attribute(context: &Context, number: i32, address: u64) -> Cuda<Option<u64>> {
    let facts = context.pointer_facts(address);
    if facts.kind == 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    Ok(Some(match number {
        1 => CONTEXT,
        // Types of memory: 1 of the host, 2 of the device; managed memory counts as the device's.
        2 => {
            if facts.kind == 1 {
                1
            } else {
                2
            }
        }
        3 => facts.device,
        4 => facts.host,
        8 => u64::from(facts.kind == 3),
        9 => 0,
        11 => context.allocation(address)?.0,
        12 => context.allocation(address)?.1,
        13 => 1,
        _ => return Ok(None),
    }))
}

/// Size in bytes of an attribute of an address.
const fn attribute_bytes(number: i32) -> usize {
    match number {
        2 | 9 => 4,
        8 | 13 => 1,
        _ => 8,
    }
}

/// Writes an attribute of an address with its size.
///
/// # Safety
/// The pointer is null or valid for the attribute.
unsafe fn put_attribute(to: *mut u8, number: i32, value: u64) -> Cuda {
    let value = value.to_le_bytes();
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { crate::ffi::put_bytes(to, &value[..attribute_bytes(number)]) }
}

/// Requests copies in a stream. The error has the number of the copy that is wrong.
///
/// # Safety
/// The pointers are null or valid for reads of `count` values.
unsafe fn copy_batch(
    context: &mut Context,
    (to, from, bytes): (*const u64, *const u64, *const usize),
    count: usize,
    stream: u64,
) -> Result<(), (usize, CudaError)> {
    for at in 0..count {
        let wrong = |error| (at, error);
        // SAFETY: the caller fulfils the requirements of this function.
        let sides = unsafe {
            get(to.wrapping_add(at)).and_then(|to| Ok((to, get(from.wrapping_add(at))?)))
        };
        let bytes = unsafe { get(bytes.wrapping_add(at)) }.map_err(wrong)?;
        let submission = Submission::asynchronous(stream);
        let sides = sides.map_err(wrong)?;
        copy(context, sides, bytes, Direction::Default, submission).map_err(wrong)?;
    }
    Ok(())
}

driver! {
    fn cuMemAlloc_v2(to: *mut u64, bytes: usize) |context| {
        require_output(to)?;
        if bytes == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let address = context.malloc(bytes as u64)?;
        put(to, address)
    }

    fn cuMemFree_v2(address: u64) |context| {
        context.free(address, &[Kind::Device, Kind::Managed])
    }

    fn cuMemAllocPitch_v2(
        to: *mut u64, pitch: *mut usize, width: usize, height: usize, element: u32,
    ) |context| {
        require_output(to)?;
        require_output(pitch)?;
        if element > MOST_ELEMENT_BYTES || width == 0 || height == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let (address, bytes) = context.malloc_pitch(width as u64, height as u64)?;
        put(to, address)?;
        put(pitch, bytes as usize)
    }

    fn cuMemAllocHost_v2(to: *mut u64, bytes: usize) |context| {
        require_output(to)?;
        let address = context.malloc_shared(bytes as u64, 0, Kind::Pinned)?;
        put(to, address)
    }

    fn cuMemHostAlloc(to: *mut u64, bytes: usize, flags: u32) |context| {
        require_output(to)?;
        let address = context.malloc_shared(bytes as u64, flags, Kind::Pinned)?;
        put(to, address)
    }

    fn cuMemFreeHost(address: u64) |context| { context.free(address, &[Kind::Pinned]) }

    fn cuMemAllocManaged(to: *mut u64, bytes: usize, flags: u32) |context| {
        require_output(to)?;
        if bytes == 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let address = context.malloc_shared(bytes as u64, flags, Kind::Managed)?;
        put(to, address)
    }

    fn cuMemHostRegister_v2(address: u64, bytes: usize, _flags: u32) |context| {
        context.register_host(address, bytes as u64)
    }

    fn cuMemHostUnregister(address: u64) |context| { context.unregister_host(address) }

    fn cuMemHostGetDevicePointer_v2(to: *mut u64, host: u64, _flags: u32) |context| {
        let address = context.device_pointer(host)?;
        put(to, address)
    }

    fn cuMemHostGetFlags(to: *mut u32, host: u64) |context| {
        let flags = context.host_flags(host)?;
        put(to, flags)
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) |context| {
        let (left, all) = context.memory_info();
        put_if(free, left as usize);
        put_if(total, all as usize);
        Ok::<(), CudaError>(())
    }

    fn cuMemGetAddressRange_v2(base: *mut u64, size: *mut usize, address: u64) |context| {
        let (start, bytes) = context.allocation(address)?;
        put_if(base, start);
        put_if(size, bytes as usize);
        Ok(())
    }

    fn cuPointerGetAttribute(to: *mut u8, number: i32, address: u64) |context| {
        let value = pointer_attribute(context, number, address)?;
        put_attribute(to, number, value.ok_or(CudaError::INVALID_VALUE)?)
    }

    // Attributes of an address that is not the GPU's are 0.
    fn cuPointerGetAttributes(
        count: u32, numbers: *const i32, to: *const *mut u8, address: u64,
    ) |context| {
        for at in 0..count as usize {
            let number = get(numbers.wrapping_add(at))?;
            let value = pointer_attribute(context, number, address).ok().flatten();
            put_attribute(get(to.wrapping_add(at))?, number, value.unwrap_or(0))?;
        }
        Ok(())
    }

    fn cuMemcpyHtoD_v2 / cuMemcpyHtoD_v2_ptds (to: u64, from: u64, bytes: usize) |context| {
        copy(context, (to, from), bytes, Direction::HostToDevice, Submission::BLOCKING)
    }

    fn cuMemcpyDtoH_v2 / cuMemcpyDtoH_v2_ptds (to: u64, from: u64, bytes: usize) |context| {
        copy(context, (to, from), bytes, Direction::DeviceToHost, Submission::BLOCKING)
    }

    fn cuMemcpyDtoD_v2 / cuMemcpyDtoD_v2_ptds (to: u64, from: u64, bytes: usize) |context| {
        copy(context, (to, from), bytes, Direction::DeviceToDevice, Submission::BLOCKING)
    }

    fn cuMemcpy / cuMemcpy_ptds (to: u64, from: u64, bytes: usize) |context| {
        copy(context, (to, from), bytes, Direction::Default, Submission::BLOCKING)
    }

    fn cuMemcpyHtoDAsync_v2 / cuMemcpyHtoDAsync_v2_ptsz (
        to: u64, from: u64, bytes: usize, stream: u64,
    ) |context| {
        let submission = Submission::asynchronous(stream);
        copy(context, (to, from), bytes, Direction::HostToDevice, submission)
    }

    fn cuMemcpyDtoHAsync_v2 / cuMemcpyDtoHAsync_v2_ptsz (
        to: u64, from: u64, bytes: usize, stream: u64,
    ) |context| {
        let submission = Submission::asynchronous(stream);
        copy(context, (to, from), bytes, Direction::DeviceToHost, submission)
    }

    fn cuMemcpyDtoDAsync_v2 / cuMemcpyDtoDAsync_v2_ptsz (
        to: u64, from: u64, bytes: usize, stream: u64,
    ) |context| {
        let submission = Submission::asynchronous(stream);
        copy(context, (to, from), bytes, Direction::DeviceToDevice, submission)
    }

    fn cuMemcpyAsync / cuMemcpyAsync_ptsz (
        to: u64, from: u64, bytes: usize, stream: u64,
    ) |context| {
        copy(context, (to, from), bytes, Direction::Default, Submission::asynchronous(stream))
    }

    // Attributes say when sources may be read, which is at the call or in the order of the stream.
    fn cuMemcpyBatchAsync / cuMemcpyBatchAsync_ptsz (
        to: *const u64, from: *const u64, bytes: *const usize, count: usize,
        _attributes: *const u8, _starts: *const usize, _kinds: usize, failed: *mut usize,
        stream: u64,
    ) |context| {
        copy_batch(context, (to, from, bytes), count, stream).map_err(|(place, error)| {
            put_if(failed, place);
            error
        })
    }

    fn cuMemcpyBatchAsync_v2 / cuMemcpyBatchAsync_v2_ptsz (
        to: *const u64, from: *const u64, bytes: *const usize, count: usize,
        _attributes: *const u8, _starts: *const usize, _kinds: usize, stream: u64,
    ) |context| {
        copy_batch(context, (to, from, bytes), count, stream).map_err(|(_, error)| error)
    }

    fn cuMemsetD8_v2 / cuMemsetD8_v2_ptds (to: u64, value: u8, count: usize) |context| {
        fill(context, to, (value.into(), 1), count, Submission::BLOCKING)
    }

    fn cuMemsetD16_v2 / cuMemsetD16_v2_ptds (to: u64, value: u16, count: usize) |context| {
        fill(context, to, (value.into(), 2), count, Submission::BLOCKING)
    }

    fn cuMemsetD32_v2 / cuMemsetD32_v2_ptds (to: u64, value: u32, count: usize) |context| {
        fill(context, to, (value, 4), count, Submission::BLOCKING)
    }

    fn cuMemsetD8Async / cuMemsetD8Async_ptsz (
        to: u64, value: u8, count: usize, stream: u64,
    ) |context| {
        fill(context, to, (value.into(), 1), count, Submission::asynchronous(stream))
    }

    fn cuMemsetD16Async / cuMemsetD16Async_ptsz (
        to: u64, value: u16, count: usize, stream: u64,
    ) |context| {
        fill(context, to, (value.into(), 2), count, Submission::asynchronous(stream))
    }

    fn cuMemsetD32Async / cuMemsetD32Async_ptsz (
        to: u64, value: u32, count: usize, stream: u64,
    ) |context| {
        fill(context, to, (value, 4), count, Submission::asynchronous(stream))
    }

    fn cuMemsetD2D8_v2 / cuMemsetD2D8_v2_ptds (
        to: u64, pitch: usize, value: u8, width: usize, height: usize,
    ) |context| {
        let (size, submission) = ((width, height), Submission::BLOCKING);
        fill_rows(context, (to, pitch), (value.into(), 1), size, submission)
    }

    fn cuMemsetD2D16_v2 / cuMemsetD2D16_v2_ptds (
        to: u64, pitch: usize, value: u16, width: usize, height: usize,
    ) |context| {
        let (size, submission) = ((width, height), Submission::BLOCKING);
        fill_rows(context, (to, pitch), (value.into(), 2), size, submission)
    }

    fn cuMemsetD2D32_v2 / cuMemsetD2D32_v2_ptds (
        to: u64, pitch: usize, value: u32, width: usize, height: usize,
    ) |context| {
        fill_rows(context, (to, pitch), (value, 4), (width, height), Submission::BLOCKING)
    }

    fn cuMemsetD2D8Async / cuMemsetD2D8Async_ptsz (
        to: u64, pitch: usize, value: u8, width: usize, height: usize, stream: u64,
    ) |context| {
        let (size, submission) = ((width, height), Submission::asynchronous(stream));
        fill_rows(context, (to, pitch), (value.into(), 1), size, submission)
    }

    fn cuMemsetD2D16Async / cuMemsetD2D16Async_ptsz (
        to: u64, pitch: usize, value: u16, width: usize, height: usize, stream: u64,
    ) |context| {
        let (size, submission) = ((width, height), Submission::asynchronous(stream));
        fill_rows(context, (to, pitch), (value.into(), 2), size, submission)
    }

    fn cuMemsetD2D32Async / cuMemsetD2D32Async_ptsz (
        to: u64, pitch: usize, value: u32, width: usize, height: usize, stream: u64,
    ) |context| {
        let (size, submission) = ((width, height), Submission::asynchronous(stream));
        fill_rows(context, (to, pitch), (value, 4), size, submission)
    }

    // All contexts are the only one.
    fn cuMemcpyPeer / cuMemcpyPeer_ptds (
        to: u64, _to_context: u64, from: u64, _from_context: u64, bytes: usize,
    ) |context| {
        copy(context, (to, from), bytes, Direction::Default, Submission::BLOCKING)
    }

    fn cuMemcpyPeerAsync / cuMemcpyPeerAsync_ptsz (
        to: u64, _to_context: u64, from: u64, _from_context: u64, bytes: usize, stream: u64,
    ) |context| {
        copy(context, (to, from), bytes, Direction::Default, Submission::asynchronous(stream))
    }

    // Preferences for the location of memory have no effect.
    fn cuMemAdvise / cuMemAdvise_v2 / cuMemPrefetchAsync / cuMemPrefetchAsync_ptsz
        / cuMemPrefetchAsync_v2 / cuMemPrefetchAsync_v2_ptsz (
        address: u64, bytes: usize,
    ) |context| {
        context.managed(address, bytes as u64)
    }

    // Calls that wait for copies always do so.
    fn cuPointerSetAttribute(_value: *const u8, number: i32, address: u64) |context| {
        context.allocation(address)?;
        match number {
            SYNC_MEMOPS => Ok(()),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }
}
