//! Executable graphs: their creation, modification and launch.

use super::copy::CBoxCopy;
use super::driver;
use super::node;
use crate::executable::{instantiate, launch, updated};
use crate::ffi::{put, put_if};
use crate::types::{CFillNode, CNode, CUpdate};

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch(executable: u64, stream: u64) -> i32 {
    launch(|action| super::call(false, action), executable, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch_ptsz(executable: u64, stream: u64) -> i32 {
    launch(|action| super::call(true, action), executable, stream)
}

driver! {
    fn cuGraphInstantiate / cuGraphInstantiate_v2 (
        to: *mut u64, graph: u64, wrong_node: *mut u64, log: *mut u8, bytes: usize,
    ) |context| {
        put_if(wrong_node, 0);
        if bytes > 0 {
            put_if(log, 0);
        }
        put(to, instantiate(context, graph, 0)?)
    }

    fn cuGraphExecUpdate(
        executable: u64, graph: u64, wrong_node: *mut u64, result: *mut i32,
    ) |context| {
        let (told, node, code) = updated(context, executable, graph);
        put_if(wrong_node, node);
        put_if(result, told);
        code
    }

    fn cuGraphExecUpdate_v2(executable: u64, graph: u64, to: *mut CUpdate) |context| {
        let (result, node, code) = updated(context, executable, graph);
        put_if(to, CUpdate::of(result, node));
        code
    }

    fn cuGraphExecKernelNodeSetParams_v2(
        executable: u64, node: u64, own: *const node::CKernel,
    ) |context| {
        let operation = node::kernel(context, own)?;
        context.set_step_operation(executable, node, operation)
    }

    fn cuGraphExecMemcpyNodeSetParams(
        executable: u64, node: u64, own: *const CBoxCopy, _context_handle: u64,
    ) |context| {
        let operation = node::copy(context, own)?;
        context.set_step_operation(executable, node, operation)
    }

    fn cuGraphExecMemsetNodeSetParams(
        executable: u64, node: u64, own: *const CFillNode, _context_handle: u64,
    ) |context| {
        context.set_step_operation(executable, node, crate::node::fill(own)?)
    }

    fn cuGraphExecNodeSetParams(executable: u64, node: u64, own: *mut CNode) |context| {
        let operation = node::any(context, own)?;
        context.set_step_operation(executable, node, operation)
    }
}
