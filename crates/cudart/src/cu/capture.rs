//! Capture of streams into graphs.

use super::driver;
use crate::capture::{CaptureOutputs, number, update, write_capture};
use crate::ffi::{get, list, put};
use warploom_app::CaptureMode;

const NONE: *mut u64 = std::ptr::null_mut();

driver! {
    // The first form has no mode and captures for all threads.
    fn cuStreamBeginCapture / cuStreamBeginCapture_ptsz (stream: u64) |context| {
        context.begin_capture(stream, CaptureMode::of(0)?)
    }

    fn cuStreamBeginCapture_v2 / cuStreamBeginCapture_v2_ptsz (stream: u64, mode: i32) |context| {
        context.begin_capture(stream, CaptureMode::of(mode)?)
    }

    fn cuStreamBeginCaptureToGraph / cuStreamBeginCaptureToGraph_ptsz (
        stream: u64, graph: u64, nodes: *const u64, _edges: *const u64, count: usize, mode: i32,
    ) |context| {
        let nodes = list(nodes, count)?;
        context.begin_capture_to_graph(stream, graph, nodes, CaptureMode::of(mode)?)
    }

    fn cuStreamEndCapture / cuStreamEndCapture_ptsz (stream: u64, graph: *mut u64) |context| {
        put(graph, 0)?;
        let captured = context.end_capture(stream)?;
        put(graph, captured)
    }

    fn cuStreamIsCapturing / cuStreamIsCapturing_ptsz (stream: u64, to: *mut i32) |context| {
        let (status, _) = context.capture_status(stream)?;
        put(to, number(status))
    }

    fn cuStreamGetCaptureInfo / cuStreamGetCaptureInfo_ptsz (
        stream: u64, status: *mut i32, id: *mut u64,
    ) |context| {
        let (graph, nodes, edges, count) = (NONE, NONE, NONE, std::ptr::null_mut());
        write_capture(context, stream, CaptureOutputs { status, id, graph, nodes, edges, count })
    }

    fn cuStreamGetCaptureInfo_v2 / cuStreamGetCaptureInfo_v2_ptsz (
        stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, nodes: *mut u64,
        count: *mut usize,
    ) |context| {
        let outputs = CaptureOutputs { status, id, graph, nodes, edges: NONE, count };
        write_capture(context, stream, outputs)
    }

    fn cuStreamGetCaptureInfo_v3 / cuStreamGetCaptureInfo_v3_ptsz (
        stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, nodes: *mut u64,
        edges: *mut u64,
        count: *mut usize,
    ) |context| {
        write_capture(context, stream, CaptureOutputs { status, id, graph, nodes, edges, count })
    }

    fn cuStreamUpdateCaptureDependencies / cuStreamUpdateCaptureDependencies_ptsz (
        stream: u64, nodes: *const u64, count: usize, flags: u32,
    ) |context| {
        update(context, stream, (nodes, count), flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2 / cuStreamUpdateCaptureDependencies_v2_ptsz (
        stream: u64, nodes: *const u64, _edges: *const u64, count: usize, flags: u32,
    ) |context| {
        update(context, stream, (nodes, count), flags)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut i32) |context| {
        let before = context.exchange_capture_mode(CaptureMode::of(get(mode)?)?)?;
        put(mode, before.number())
    }
}
