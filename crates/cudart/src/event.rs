//! Creation, recording and querying of events.

use crate::ffi::put;

/// Flag `cudaEventRecordExternal` of a recording.
const EXTERNAL: u32 = 1;

runtime! {
    fn cudaEventCreate(to: *mut u64) |context| {
        let event = context.create_event(0)?;
        put(to, event)
    }

    fn cudaEventCreateWithFlags(to: *mut u64, flags: u32) |context| {
        let event = context.create_event(flags)?;
        put(to, event)
    }

    fn cudaEventDestroy(event: u64) |context| { context.destroy_event(event) }

    fn cudaEventRecord / cudaEventRecord_ptsz (event: u64, stream: u64) |context| {
        context.record(event, stream, false)
    }

    fn cudaEventRecordWithFlags / cudaEventRecordWithFlags_ptsz (
        event: u64, stream: u64, flags: u32,
    ) |context| {
        context.record(event, stream, flags & EXTERNAL != 0)
    }

    fn cudaEventSynchronize(event: u64) |context| { context.synchronize_event(event) }

    // A query waits for the event, because simulated time does not advance while the host polls.
    fn cudaEventQuery(event: u64) |context| { context.synchronize_event(event) }

    fn cudaEventElapsedTime / cudaEventElapsedTime_v2 (
        to: *mut f32, start: u64, end: u64,
    ) |context| {
        let milliseconds = context.elapsed(start, end)?;
        put(to, milliseconds)
    }
}
