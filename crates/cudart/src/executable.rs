//! Executable graphs: their creation, modification and launch.

use crate::ffi::{get, put, put_if};
use crate::launch::call_host;
use crate::node;
use crate::process::{abi, call_with};
use crate::types::{CCopy3, CFillNode, CHostNode, CInstantiation, CKernelNode, CNode, CUpdate};
use warploom_app::{Abi, Context, Cuda, CudaError, GraphLaunch, Operation};

/// Flags of instantiation: free on launch, upload, launch from the device, and priorities of nodes.
const KNOWN_FLAGS: u64 = 0xf;
const DEVICE_LAUNCH: u64 = 4;

/// Creates an executable graph, unless it is meant for launches from the device.
pub fn instantiate(context: &mut Context, graph: u64, flags: u64) -> Cuda<u64> {
    if flags & !KNOWN_FLAGS != 0 {
        return Err(CudaError::INVALID_VALUE);
    }
    if flags & DEVICE_LAUNCH != 0 {
        return Err(context.unsupported("instantiation of a graph for launches from the device"));
    }
    context.instantiate(graph, flags)
}

/// Result `cudaGraphExecUpdateError` of an update.
const OTHER: i32 = 1;

/// Updates an executable graph. Returns the result, the node that prevented it, and the error.
pub fn updated(context: &mut Context, executable: u64, graph: u64) -> (i32, u64, Cuda) {
    match context.update_executable(executable, graph) {
        Ok(Ok(())) => (0, 0, Ok(())),
        Ok(Err(failure)) => {
            let error = Err(CudaError::GRAPH_EXEC_UPDATE_FAILURE);
            (failure.reason as i32, failure.node, error)
        }
        Err(error) => (OTHER, 0, Err(error)),
    }
}

/// Updates an executable graph and writes the result.
///
/// # Safety
/// `third` and `fourth` are null or valid for the results of the release.
unsafe fn update(
    context: &mut Context,
    (executable, graph): (u64, u64),
    third: *mut u8,
    fourth: *mut i32,
) -> Cuda {
    let (result, wrong_node, code) = updated(context, executable, graph);
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        match abi() {
            Abi::V11 => {
                put_if(third.cast(), wrong_node);
                put_if(fourth, result);
            }
            _ => put_if(third.cast(), CUpdate::of(result, wrong_node)),
        }
    }
    code
}

/// Instantiates a graph with parameters, and writes the executable graph and the result.
///
/// # Safety
/// The pointers are null or valid for reads and writes of their types.
unsafe fn instantiate_with(
    context: &mut Context,
    to: *mut u64,
    graph: u64,
    own: *mut CInstantiation,
) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        let asked = get(own)?;
        let made = instantiate(context, graph, asked.flags);
        // The result `cudaGraphInstantiateError` is 1.
        let result = made.is_err().into();
        put(
            own,
            CInstantiation {
                wrong_node: 0,
                result,
                ..asked
            },
        )?;
        put(to, made?)
    }
}

/// Launches an executable graph, and calls its host functions. `call` executes a call of the
/// runtime or of the driver with the context.
pub fn launch(
    call: impl Fn(&mut dyn FnMut(&mut Context) -> Cuda) -> i32,
    executable: u64,
    stream: u64,
) -> i32 {
    let mut launching: Option<GraphLaunch> = None;
    let code = call(&mut |context| {
        launching = context.launch_graph(executable, stream)?;
        Ok(())
    });
    let Some(mut launching) = launching else {
        return code;
    };
    loop {
        let mut next = None;
        let code = call(&mut |context| {
            next = context.advance(&mut launching)?;
            Ok(())
        });
        match next {
            // SAFETY: the program passed the function with its argument.
            Some(next) => unsafe { call_host(next) },
            None => return code,
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphLaunch(executable: u64, stream: u64) -> i32 {
    launch(|action| call_with(false, action), executable, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphLaunch_ptsz(executable: u64, stream: u64) -> i32 {
    launch(|action| call_with(true, action), executable, stream)
}

both! {
    fn cudaGraphInstantiateWithFlags = cuGraphInstantiateWithFlags (
        to: *mut u64, graph: u64, flags: u64,
    ) |context| {
        put(to, instantiate(context, graph, flags)?)
    }

    fn cudaGraphInstantiateWithParams / cudaGraphInstantiateWithParams_ptsz
        = cuGraphInstantiateWithParams / cuGraphInstantiateWithParams_ptsz (
        to: *mut u64, graph: u64, own: *mut CInstantiation,
    ) |context| {
        instantiate_with(context, to, graph, own)
    }

    fn cudaGraphUpload / cudaGraphUpload_ptsz = cuGraphUpload / cuGraphUpload_ptsz (
        executable: u64, stream: u64,
    ) |context| {
        context.upload_graph(executable, stream)
    }

    fn cudaGraphExecDestroy = cuGraphExecDestroy (executable: u64) |context| {
        context.destroy_executable(executable)
    }

    fn cudaGraphExecGetFlags = cuGraphExecGetFlags (executable: u64, to: *mut u64) |context| {
        put(to, context.executable_flags(executable)?)
    }

    fn cudaGraphExecGetId = cuGraphExecGetId (executable: u64, to: *mut u32) |context| {
        put(to, context.executable_number(executable)?)
    }

    fn cudaGraphExecKernelNodeSetParams = cuGraphExecKernelNodeSetParams (
        executable: u64, node: u64, own: *const CKernelNode,
    ) |context| {
        let operation = node::kernel(context, own)?;
        context.set_step_operation(executable, node, operation)
    }

    fn cudaGraphExecHostNodeSetParams = cuGraphExecHostNodeSetParams (
        executable: u64, node: u64, own: *const CHostNode,
    ) |context| {
        context.set_step_operation(executable, node, node::host(own)?)
    }

    fn cudaGraphExecChildGraphNodeSetParams = cuGraphExecChildGraphNodeSetParams (
        executable: u64, node: u64, child: u64,
    ) |context| {
        context.set_step_operation(executable, node, Operation::Graph(child))
    }

    fn cudaGraphExecEventRecordNodeSetEvent = cuGraphExecEventRecordNodeSetEvent (
        executable: u64, node: u64, event: u64,
    ) |context| {
        context.set_step_operation(executable, node, Operation::Record(event))
    }

    fn cudaGraphExecEventWaitNodeSetEvent = cuGraphExecEventWaitNodeSetEvent (
        executable: u64, node: u64, event: u64,
    ) |context| {
        context.set_step_operation(executable, node, Operation::Wait(event))
    }

    fn cudaGraphNodeSetEnabled = cuGraphNodeSetEnabled (
        executable: u64, node: u64, enabled: u32,
    ) |context| {
        context.enable_step(executable, node, enabled != 0)
    }

    fn cudaGraphNodeGetEnabled = cuGraphNodeGetEnabled (
        executable: u64, node: u64, to: *mut u32,
    ) |context| {
        let enabled = context.step_enabled(executable, node)?;
        put(to, enabled.into())
    }
}

runtime! {
    // In CUDA 11, pointers to a node and to a text take the place of the flags.
    fn cudaGraphInstantiate(to: *mut u64, graph: u64, third: u64) |context| {
        let flags = match abi() {
            Abi::V11 => {
                put_if(third as *mut u64, 0);
                0
            }
            _ => third,
        };
        put(to, instantiate(context, graph, flags)?)
    }

    fn cudaGraphExecUpdate(
        executable: u64, graph: u64, third: *mut u8, fourth: *mut i32,
    ) |context| {
        update(context, (executable, graph), third, fourth)
    }

    fn cudaGraphExecMemcpyNodeSetParams(
        executable: u64, node: u64, own: *const CCopy3,
    ) |context| {
        let operation = node::copy3(context, own)?;
        context.set_step_operation(executable, node, operation)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(
        executable: u64, node: u64, to: u64, from: u64, bytes: usize, kind: i32,
    ) |context| {
        let operation = node::copy1(context, (to, from), bytes, kind)?;
        context.set_step_operation(executable, node, operation)
    }

    fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
        executable: u64, node: u64, symbol: u64, from: u64, bytes: usize, offset: usize, kind: i32,
    ) |context| {
        let operation = node::to_symbol(context, symbol, from, (bytes, offset, kind))?;
        context.set_step_operation(executable, node, operation)
    }

    fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        executable: u64, node: u64, to: u64, symbol: u64, bytes: usize, offset: usize, kind: i32,
    ) |context| {
        let operation = node::from_symbol(context, to, symbol, (bytes, offset, kind))?;
        context.set_step_operation(executable, node, operation)
    }

    fn cudaGraphExecMemsetNodeSetParams(
        executable: u64, node: u64, own: *const CFillNode,
    ) |context| {
        context.set_step_operation(executable, node, node::fill(own)?)
    }

    fn cudaGraphExecNodeSetParams(executable: u64, node: u64, own: *mut CNode) |context| {
        let operation = node::any(context, own)?;
        context.set_step_operation(executable, node, operation)
    }
}
