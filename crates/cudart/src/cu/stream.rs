//! Streams and events of the driver.

use super::driver;
use crate::ffi::{get, put, put_if};
use warploom_app::AttributeValue;

/// Flag `CU_EVENT_RECORD_EXTERNAL` of a recording.
const EXTERNAL: u32 = 1;

driver! {
    fn cuStreamCreate(to: *mut u64, flags: u32) |context| {
        let stream = context.create_stream(flags, 0)?;
        put(to, stream)
    }

    fn cuStreamCreateWithPriority(to: *mut u64, flags: u32, priority: i32) |context| {
        let stream = context.create_stream(flags, priority)?;
        put(to, stream)
    }

    fn cuStreamDestroy_v2(stream: u64) |context| { context.destroy_stream(stream) }

    // A query waits for the stream, because simulated time does not advance while the host polls.
    fn cuStreamSynchronize / cuStreamSynchronize_ptsz / cuStreamQuery / cuStreamQuery_ptsz (
        stream: u64,
    ) |context| {
        context.synchronize_stream(stream)
    }

    fn cuStreamWaitEvent / cuStreamWaitEvent_ptsz (stream: u64, event: u64, flags: u32) |context| {
        context.wait_for_event(stream, event, flags & 1 != 0)
    }

    fn cuStreamGetFlags / cuStreamGetFlags_ptsz (stream: u64, to: *mut u32) |context| {
        let (flags, _) = context.stream_facts(stream)?;
        put(to, flags)
    }

    fn cuStreamGetPriority / cuStreamGetPriority_ptsz (stream: u64, to: *mut i32) |context| {
        let (_, priority) = context.stream_facts(stream)?;
        put(to, priority)
    }

    fn cuStreamGetCtx / cuStreamGetCtx_ptsz (stream: u64, to: *mut u64) |context| {
        context.stream_facts(stream)?;
        put(to, warploom_app::CONTEXT)
    }

    // No stream belongs to a part of the device.
    fn cuStreamGetCtx_v2 / cuStreamGetCtx_v2_ptsz (
        stream: u64, to: *mut u64, part: *mut u64,
    ) |context| {
        context.stream_facts(stream)?;
        put_if(part, 0);
        put(to, warploom_app::CONTEXT)
    }

    fn cuStreamGetDevice / cuStreamGetDevice_ptsz (stream: u64, to: *mut i32) |context| {
        context.stream_facts(stream)?;
        put(to, 0)
    }

    fn cuStreamGetAttribute / cuStreamGetAttribute_ptsz (
        stream: u64, number: i32, to: *mut AttributeValue,
    ) |context| {
        put(to, context.stream_attribute(stream, number)?)
    }

    fn cuStreamSetAttribute / cuStreamSetAttribute_ptsz (
        stream: u64, number: i32, value: *const AttributeValue,
    ) |context| {
        context.set_stream_attribute(stream, number, get(value)?)
    }

    fn cuStreamCopyAttributes / cuStreamCopyAttributes_ptsz (to: u64, from: u64) |context| {
        context.copy_stream_attributes(to, from)
    }

    fn cuStreamAttachMemAsync / cuStreamAttachMemAsync_ptsz (
        stream: u64, _address: u64, _bytes: usize, _flags: u32,
    ) |context| {
        context.stream_facts(stream).map(|_| ())
    }

    fn cuStreamGetId / cuStreamGetId_ptsz (stream: u64, to: *mut u64) |context| {
        context.stream_facts(stream)?;
        put(to, stream)
    }

    fn cuEventCreate(to: *mut u64, flags: u32) |context| {
        let event = context.create_event(flags)?;
        put(to, event)
    }

    fn cuEventDestroy_v2(event: u64) |context| { context.destroy_event(event) }

    fn cuEventRecord / cuEventRecord_ptsz (event: u64, stream: u64) |context| {
        context.record(event, stream, false)
    }

    fn cuEventRecordWithFlags / cuEventRecordWithFlags_ptsz (
        event: u64, stream: u64, flags: u32,
    ) |context| {
        context.record(event, stream, flags & EXTERNAL != 0)
    }

    // A query waits for the event, as that of a stream does.
    fn cuEventSynchronize / cuEventQuery (event: u64) |context| {
        context.synchronize_event(event)
    }

    fn cuEventElapsedTime / cuEventElapsedTime_v2 (to: *mut f32, start: u64, end: u64) |context| {
        let milliseconds = context.elapsed(start, end)?;
        put(to, milliseconds)
    }
}
