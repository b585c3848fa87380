//! Stream capture.

use crate::ffi::{get, list, put, put_if};
use crate::process::abi;
use warploom_app::{Abi, CaptureMode, CaptureStatus, Context, Cuda};

/// `cudaStreamSetCaptureDependencies`
const ONLY_THESE: u32 = 1;

fn number(status: CaptureStatus) -> i32 {
    match status {
        CaptureStatus::None => 0,
        CaptureStatus::Active => 1,
        CaptureStatus::Invalidated => 2,
    }
}

/// Where what is known of a capture goes.
struct Told {
    status: *mut i32,
    id: *mut u64,
    graph: *mut u64,
    nodes: *mut u64,
    edges: *mut u64,
    count: *mut usize,
}

/// Tells what is known of a stream's capture.
///
/// # Safety
/// All are null or places for what they are named after.
unsafe fn tell(context: &mut Context, stream: u64, to: Told) -> Cuda {
    let (status, facts) = context.capture_status(stream)?;
    // SAFETY: see above.
    unsafe {
        put(to.status, number(status))?;
        if status == CaptureStatus::Active {
            put_if(to.id, facts.id);
            put_if(to.graph, facts.graph);
            put_if(to.nodes, facts.nodes);
            // Edges have no data: all are of the one kind.
            put_if(to.edges, 0);
            put_if(to.count, facts.count);
        }
    }
    Ok(())
}

/// Changes what comes before the next node.
///
/// # Safety
/// `nodes` holds as many.
unsafe fn update(
    context: &mut Context,
    stream: u64,
    (nodes, count): (*const u64, usize),
    flags: u32,
) -> Cuda {
    // SAFETY: see above.
    let nodes = unsafe { list(nodes, count) }?;
    context.update_capture(stream, nodes, flags == ONLY_THESE)
}

const NONE: *mut u64 = std::ptr::null_mut();

runtime! {
    fn cudaStreamBeginCapture / cudaStreamBeginCapture_ptsz (stream: u64, mode: i32) |context| {
        context.begin_capture(stream, CaptureMode::of(mode)?)
    }

    fn cudaStreamBeginCaptureToGraph / cudaStreamBeginCaptureToGraph_ptsz (
        stream: u64, graph: u64, nodes: *const u64, _edges: *const u64, count: usize, mode: i32,
    ) |context| {
        let nodes = list(nodes, count)?;
        context.begin_capture_to_graph(stream, graph, nodes, CaptureMode::of(mode)?)
    }

    fn cudaStreamEndCapture / cudaStreamEndCapture_ptsz (stream: u64, graph: *mut u64) |context| {
        put(graph, 0)?;
        let captured = context.end_capture(stream)?;
        put(graph, captured)
    }

    fn cudaStreamIsCapturing / cudaStreamIsCapturing_ptsz (stream: u64, to: *mut i32) |context| {
        let (status, _) = context.capture_status(stream)?;
        put(to, number(status))
    }

    // Until release 12 three arguments, from 13 on all of them.
    fn cudaStreamGetCaptureInfo / cudaStreamGetCaptureInfo_ptsz (
        stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, nodes: *mut u64,
        edges: *mut u64,
        count: *mut usize,
    ) |context| {
        let told = match abi() {
            Abi::V13 => Told { status, id, graph, nodes, edges, count },
            _ => Told {
                status, id, graph: NONE, nodes: NONE, edges: NONE, count: std::ptr::null_mut(),
            },
        };
        tell(context, stream, told)
    }

    fn cudaStreamGetCaptureInfo_v2 / cudaStreamGetCaptureInfo_v2_ptsz (
        stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, nodes: *mut u64,
        count: *mut usize,
    ) |context| {
        tell(context, stream, Told { status, id, graph, nodes, edges: NONE, count })
    }

    fn cudaStreamGetCaptureInfo_v3 / cudaStreamGetCaptureInfo_v3_ptsz (
        stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, nodes: *mut u64,
        edges: *mut u64,
        count: *mut usize,
    ) |context| {
        tell(context, stream, Told { status, id, graph, nodes, edges, count })
    }

    // From 13 on data of edges stand before their number.
    fn cudaStreamUpdateCaptureDependencies / cudaStreamUpdateCaptureDependencies_ptsz (
        stream: u64, nodes: *const u64, third: usize, fourth: usize, flags: u32,
    ) |context| {
        match abi() {
            Abi::V13 => update(context, stream, (nodes, fourth), flags),
            _ => update(context, stream, (nodes, third), fourth as u32),
        }
    }

    fn cudaStreamUpdateCaptureDependencies_v2 / cudaStreamUpdateCaptureDependencies_v2_ptsz (
        stream: u64, nodes: *const u64, _edges: *const u64, count: usize, flags: u32,
    ) |context| {
        update(context, stream, (nodes, count), flags)
    }

    fn cudaThreadExchangeStreamCaptureMode(mode: *mut i32) |context| {
        let before = context.exchange_capture_mode(CaptureMode::of(get(mode)?)?)?;
        put(mode, before.number())
    }
}
