//! Capture of streams into graphs.

use crate::ffi::{get, list, put, put_if};
use crate::process::abi;
use warploom_app::{Abi, CaptureMode, CaptureStatus, Context, Cuda};

/// Flag `cudaStreamSetCaptureDependencies` of an update.
const ONLY_THESE: u32 = 1;

/// Number that the runtime uses for a status.
fn number(status: CaptureStatus) -> i32 {
    match status {
        CaptureStatus::None => 0,
        CaptureStatus::Active => 1,
        CaptureStatus::Invalidated => 2,
    }
}

/// Output arguments of the queries for a stream's capture.
pub struct CaptureOutputs {
    pub status: *mut i32,
    pub id: *mut u64,
    pub graph: *mut u64,
    pub nodes: *mut u64,
    pub edges: *mut u64,
    pub count: *mut usize,
}

/// Writes the description of a stream's capture.
///
/// # Safety
/// All pointers are null or valid for writes of their type.
pub unsafe fn write_capture(context: &mut Context, stream: u64, to: CaptureOutputs) -> Cuda {
    let (status, facts) = context.capture_status(stream)?;
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        put(to.status, number(status))?;
        if status == CaptureStatus::Active {
            put_if(to.id, facts.id);
            put_if(to.graph, facts.graph);
            put_if(to.nodes, facts.nodes);
            // Edges carry no data, since all are of one kind.
            put_if(to.edges, 0);
            put_if(to.count, facts.count);
        }
    }
    Ok(())
}

/// Changes the nodes on which the next operation of a stream depends.
///
/// # Safety
/// `nodes` is null or holds the given number of handles.
pub unsafe fn update(
    context: &mut Context,
    stream: u64,
    (nodes, count): (*const u64, usize),
    flags: u32,
) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function.
    let nodes = unsafe { list(nodes, count) }?;
    context.update_capture(stream, nodes, flags == ONLY_THESE)
}

const NONE: *mut u64 = std::ptr::null_mut();

both! {
    fn cudaStreamBeginCapture / cudaStreamBeginCapture_ptsz
        = cuStreamBeginCapture_v2 / cuStreamBeginCapture_v2_ptsz (
        stream: u64, mode: i32,
    ) |context| {
        context.begin_capture(stream, CaptureMode::of(mode)?)
    }

    fn cudaStreamBeginCaptureToGraph / cudaStreamBeginCaptureToGraph_ptsz
        = cuStreamBeginCaptureToGraph / cuStreamBeginCaptureToGraph_ptsz (
        stream: u64, graph: u64, nodes: *const u64, _edges: *const u64, count: usize, mode: i32,
    ) |context| {
        let nodes = list(nodes, count)?;
        context.begin_capture_to_graph(stream, graph, nodes, CaptureMode::of(mode)?)
    }

    fn cudaStreamEndCapture / cudaStreamEndCapture_ptsz
        = cuStreamEndCapture / cuStreamEndCapture_ptsz (
        stream: u64, graph: *mut u64,
    ) |context| {
        put(graph, 0)?;
        let captured = context.end_capture(stream)?;
        put(graph, captured)
    }

    fn cudaStreamIsCapturing / cudaStreamIsCapturing_ptsz
        = cuStreamIsCapturing / cuStreamIsCapturing_ptsz (
        stream: u64, to: *mut i32,
    ) |context| {
        let (status, _) = context.capture_status(stream)?;
        put(to, number(status))
    }

    fn cudaStreamGetCaptureInfo_v2 / cudaStreamGetCaptureInfo_v2_ptsz
        = cuStreamGetCaptureInfo_v2 / cuStreamGetCaptureInfo_v2_ptsz (
        stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, nodes: *mut u64,
        count: *mut usize,
    ) |context| {
        let outputs = CaptureOutputs { status, id, graph, nodes, edges: NONE, count };
        write_capture(context, stream, outputs)
    }

    fn cudaStreamGetCaptureInfo_v3 / cudaStreamGetCaptureInfo_v3_ptsz
        = cuStreamGetCaptureInfo_v3 / cuStreamGetCaptureInfo_v3_ptsz (
        stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, nodes: *mut u64,
        edges: *mut u64, count: *mut usize,
    ) |context| {
        write_capture(context, stream, CaptureOutputs { status, id, graph, nodes, edges, count })
    }

    fn cudaStreamUpdateCaptureDependencies_v2 / cudaStreamUpdateCaptureDependencies_v2_ptsz
        = cuStreamUpdateCaptureDependencies_v2 / cuStreamUpdateCaptureDependencies_v2_ptsz (
        stream: u64, nodes: *const u64, _edges: *const u64, count: usize, flags: u32,
    ) |context| {
        update(context, stream, (nodes, count), flags)
    }

    fn cudaThreadExchangeStreamCaptureMode = cuThreadExchangeStreamCaptureMode (
        mode: *mut i32,
    ) |context| {
        let before = context.exchange_capture_mode(CaptureMode::of(get(mode)?)?)?;
        put(mode, before.number())
    }
}

runtime! {
    // Three arguments before CUDA 13, and all of them from CUDA 13 on.
    fn cudaStreamGetCaptureInfo / cudaStreamGetCaptureInfo_ptsz (
        stream: u64, status: *mut i32, id: *mut u64, graph: *mut u64, nodes: *mut u64,
        edges: *mut u64,
        count: *mut usize,
    ) |context| {
        let told = match abi() {
            Abi::V13 => CaptureOutputs { status, id, graph, nodes, edges, count },
            _ => CaptureOutputs {
                status, id, graph: NONE, nodes: NONE, edges: NONE, count: std::ptr::null_mut(),
            },
        };
        write_capture(context, stream, told)
    }

    // From CUDA 13 on, an argument with data of edges precedes the number of edges.
    fn cudaStreamUpdateCaptureDependencies / cudaStreamUpdateCaptureDependencies_ptsz (
        stream: u64, nodes: *const u64, third: usize, fourth: usize, flags: u32,
    ) |context| {
        match abi() {
            Abi::V13 => update(context, stream, (nodes, fourth), flags),
            _ => update(context, stream, (nodes, third), fourth as u32),
        }
    }
}
