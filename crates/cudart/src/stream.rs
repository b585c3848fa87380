//! Creation, synchronization and attributes of streams, by the runtime and by the driver.

use crate::ffi::{get, put, put_if};
use warploom_app::{AttributeValue, CudaError};

/// Flag `cudaEventWaitExternal` of a wait, and `CU_EVENT_WAIT_EXTERNAL`.
const EXTERNAL: u32 = 1;

both! {
    fn cudaStreamCreateWithFlags = cuStreamCreate (to: *mut u64, flags: u32) |context| {
        let stream = context.create_stream(flags, 0)?;
        put(to, stream)
    }

    fn cudaStreamCreateWithPriority = cuStreamCreateWithPriority (
        to: *mut u64, flags: u32, priority: i32,
    ) |context| {
        let stream = context.create_stream(flags, priority)?;
        put(to, stream)
    }

    fn cudaStreamDestroy = cuStreamDestroy_v2 (stream: u64) |context| {
        context.destroy_stream(stream)
    }

    fn cudaStreamSynchronize / cudaStreamSynchronize_ptsz
        = cuStreamSynchronize / cuStreamSynchronize_ptsz (stream: u64) |context| {
        context.synchronize_stream(stream)
    }

    // A query waits for the stream, because simulated time does not advance while the host polls.
    fn cudaStreamQuery / cudaStreamQuery_ptsz = cuStreamQuery / cuStreamQuery_ptsz (
        stream: u64,
    ) |context| {
        context.synchronize_stream(stream)
    }

    fn cudaStreamWaitEvent / cudaStreamWaitEvent_ptsz
        = cuStreamWaitEvent / cuStreamWaitEvent_ptsz (
        stream: u64, event: u64, flags: u32,
    ) |context| {
        context.wait_for_event(stream, event, flags & EXTERNAL != 0)
    }

    fn cudaStreamGetFlags / cudaStreamGetFlags_ptsz = cuStreamGetFlags / cuStreamGetFlags_ptsz (
        stream: u64, to: *mut u32,
    ) |context| {
        let (flags, _) = context.stream_facts(stream)?;
        put(to, flags)
    }

    fn cudaStreamGetPriority / cudaStreamGetPriority_ptsz
        = cuStreamGetPriority / cuStreamGetPriority_ptsz (
        stream: u64, to: *mut i32,
    ) |context| {
        let (_, priority) = context.stream_facts(stream)?;
        put(to, priority)
    }

    fn cudaStreamGetId / cudaStreamGetId_ptsz = cuStreamGetId / cuStreamGetId_ptsz (
        stream: u64, to: *mut u64,
    ) |context| {
        context.stream_facts(stream)?;
        put(to, stream)
    }

    fn cudaStreamGetDevice / cudaStreamGetDevice_ptsz = cuStreamGetDevice / cuStreamGetDevice_ptsz (
        stream: u64, to: *mut i32,
    ) |context| {
        context.stream_facts(stream)?;
        put(to, 0)
    }

    fn cudaStreamGetAttribute / cudaStreamGetAttribute_ptsz
        = cuStreamGetAttribute / cuStreamGetAttribute_ptsz (
        stream: u64, number: i32, to: *mut AttributeValue,
    ) |context| {
        put(to, context.stream_attribute(stream, number)?)
    }

    fn cudaStreamSetAttribute / cudaStreamSetAttribute_ptsz
        = cuStreamSetAttribute / cuStreamSetAttribute_ptsz (
        stream: u64, number: i32, value: *const AttributeValue,
    ) |context| {
        context.set_stream_attribute(stream, number, get(value)?)
    }

    fn cudaStreamCopyAttributes / cudaStreamCopyAttributes_ptsz
        = cuStreamCopyAttributes / cuStreamCopyAttributes_ptsz (
        to: u64, from: u64,
    ) |context| {
        context.copy_stream_attributes(to, from)
    }
}

runtime! {
    fn cudaStreamCreate(to: *mut u64) |context| {
        let stream = context.create_stream(0, 0)?;
        put(to, stream)
    }

    fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) |_context| {
        put_if(least, 0);
        put_if(greatest, 0);
        Ok::<(), CudaError>(())
    }
}
