//! Capture of streams into graphs.

use super::driver;
use crate::capture::{CaptureOutputs, update, write_capture};
use warploom_app::CaptureMode;

const NONE: *mut u64 = std::ptr::null_mut();

driver! {
    // The first form has no mode and captures for all threads.
    fn cuStreamBeginCapture / cuStreamBeginCapture_ptsz (stream: u64) |context| {
        context.begin_capture(stream, CaptureMode::of(0)?)
    }

    fn cuStreamGetCaptureInfo / cuStreamGetCaptureInfo_ptsz (
        stream: u64, status: *mut i32, id: *mut u64,
    ) |context| {
        let (graph, nodes, edges, count) = (NONE, NONE, NONE, std::ptr::null_mut());
        write_capture(context, stream, CaptureOutputs { status, id, graph, nodes, edges, count })
    }

    fn cuStreamUpdateCaptureDependencies / cuStreamUpdateCaptureDependencies_ptsz (
        stream: u64, nodes: *const u64, count: usize, flags: u32,
    ) |context| {
        update(context, stream, (nodes, count), flags)
    }
}
