//! Creation, recording and querying of events, by the runtime and by the driver.

use crate::ffi::put;

/// Flag `cudaEventRecordExternal` of a recording, and `CU_EVENT_RECORD_EXTERNAL`.
const EXTERNAL: u32 = 1;

both! {
    fn cudaEventCreateWithFlags = cuEventCreate (to: *mut u64, flags: u32) |context| {
        let event = context.create_event(flags)?;
        put(to, event)
    }

    fn cudaEventDestroy = cuEventDestroy_v2 (event: u64) |context| { context.destroy_event(event) }

    fn cudaEventRecord / cudaEventRecord_ptsz = cuEventRecord / cuEventRecord_ptsz (
        event: u64, stream: u64,
    ) |context| {
        context.record(event, stream, false)
    }

    fn cudaEventRecordWithFlags / cudaEventRecordWithFlags_ptsz
        = cuEventRecordWithFlags / cuEventRecordWithFlags_ptsz (
        event: u64, stream: u64, flags: u32,
    ) |context| {
        context.record(event, stream, flags & EXTERNAL != 0)
    }

    // A query waits for the event, because simulated time does not advance while the host polls.
    fn cudaEventSynchronize / cudaEventQuery = cuEventSynchronize / cuEventQuery (
        event: u64,
    ) |context| {
        context.synchronize_event(event)
    }

    fn cudaEventElapsedTime / cudaEventElapsedTime_v2 = cuEventElapsedTime / cuEventElapsedTime_v2 (
        to: *mut f32, start: u64, end: u64,
    ) |context| {
        let milliseconds = context.elapsed(start, end)?;
        put(to, milliseconds)
    }
}

runtime! {
    fn cudaEventCreate(to: *mut u64) |context| {
        let event = context.create_event(0)?;
        put(to, event)
    }
}
