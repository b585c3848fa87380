//! Queries of streams that only the driver has.

use super::driver;
use crate::ffi::{put, put_if};

driver! {
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

    fn cuStreamAttachMemAsync / cuStreamAttachMemAsync_ptsz (
        stream: u64, _address: u64, _bytes: usize, _flags: u32,
    ) |context| {
        context.stream_facts(stream).map(|_| ())
    }
}
