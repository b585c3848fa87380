//! Operations of graph nodes in the layout of the driver's headers. Fills, host functions and
//! allocations have the layout of the runtime.

use super::copy::{ARRAY, CBoxCopy, CSide3, DEVICE, HOST, UNIFIED, described};
use crate::ffi::{get, put};
use crate::node;
use crate::types::{CKernelNode, CNode};
use warploom_app::{CONTEXT, Context, Copy3, Cuda, CudaError, Direction, Operation, Place};

/// Offset in bytes of the operation's part in `CUgraphNodeParams`, and of the description in the
/// part of a copy.
const PART: usize = 16;
const COPY: usize = 16;
/// Kinds of nodes whose layout differs from the runtime's.
const KERNEL_NODE: i32 = 0;
const COPY_NODE: i32 = 1;

/// Layout of `CUDA_KERNEL_NODE_PARAMS` from CUDA 12 on.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CKernel {
    common: CKernelNode,
    /// Kernel of a library, if there is no function.
    kernel: u64,
    context: u64,
}

/// Operation that launches a kernel.
///
/// # Safety
/// `own` is null or points to the parameters of a kernel node, with valid pointers to its
/// arguments.
pub unsafe fn kernel(context: &mut Context, own: *const CKernel) -> Cuda<Operation> {
    // SAFETY: the caller fulfils the requirements of this function.
    let CKernel { common, kernel, .. } = unsafe { get(own) }?;
    let function = match common.function {
        0 => kernel,
        own => own,
    };
    let own = CKernelNode { function, ..common };
    // SAFETY: as above.
    unsafe { node::kernel(context, &raw const own) }
}

/// Operation that copies as described.
///
/// # Safety
/// `own` is null or points to a description.
pub unsafe fn copy(context: &Context, own: *const CBoxCopy) -> Cuda<Operation> {
    // SAFETY: the caller fulfils the requirements of this function.
    let own = unsafe { get(own) }?;
    let copy = context.described_copy(&described(context, &own)?)?;
    Ok(Operation::Copy(copy))
}

/// Operation of a node of any kind.
///
/// # Safety
/// `own` is null or points to valid parameters in the layout of the header.
pub unsafe fn any(context: &mut Context, own: *mut CNode) -> Cuda<Operation> {
    let part = own.cast::<u8>().wrapping_add(PART);
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        match get(own)?.kind {
            KERNEL_NODE => kernel(context, part.cast()),
            COPY_NODE => copy(context, part.wrapping_add(COPY).cast()),
            _ => node::any(context, own),
        }
    }
}

/// Side of a copy in the layout of the header, and the size in bytes of a texel.
fn side(context: &Context, place: &Place, is_host: bool, known: bool) -> Cuda<(CSide3, u64)> {
    let unit = match place.array {
        0 => 1,
        array => context.array(array)?.channels.texel_bytes()?,
    };
    let kind = match (place.array, known, is_host) {
        (0, false, _) => UNIFIED,
        (0, _, true) => HOST,
        (0, ..) => DEVICE,
        _ => ARRAY,
    };
    let [x, y, z] = place.position;
    let side = CSide3 {
        position: [x * unit, y, z].map(|n| n as usize),
        level: 0,
        kind,
        host: if kind == HOST { place.pointer } else { 0 },
        device: if kind == HOST { 0 } else { place.pointer },
        array: place.array,
        reserved: 0,
        pitch: place.pitch as usize,
        height: place.height as usize,
    };
    Ok((side, unit))
}

/// Description of a copy in the layout of the header.
fn laid_out(context: &Context, copy: &Copy3) -> Cuda<CBoxCopy> {
    let known = copy.direction != Direction::Default;
    let from_host = matches!(
        copy.direction,
        Direction::HostToHost | Direction::HostToDevice
    );
    let to_host = matches!(
        copy.direction,
        Direction::HostToHost | Direction::DeviceToHost
    );
    let (from, unit) = side(context, &copy.from, from_host, known)?;
    let (to, to_unit) = side(context, &copy.to, to_host, known)?;
    Ok(CBoxCopy {
        from,
        to,
        bytes: (copy.extent.width * unit.max(to_unit)) as usize,
        height: copy.extent.height as usize,
        depth: copy.extent.depth as usize,
    })
}

/// Writes the description of a node that copies.
///
/// # Safety
/// `to` is null or valid for a write.
pub unsafe fn write_copy(context: &Context, node: u64, to: *mut CBoxCopy) -> Cuda {
    match context.node_operation(node)? {
        Operation::Copy(copy) => {
            let own = laid_out(context, &copy.description())?;
            // SAFETY: the caller fulfils the requirements of this function.
            unsafe { put(to, own) }
        }
        _ => Err(CudaError::INVALID_VALUE),
    }
}

/// Writes the parameters of a node that launches a kernel.
///
/// # Safety
/// `to` is null or valid for a write.
pub unsafe fn write_kernel(context: &mut Context, node: u64, to: *mut CKernel) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function. The common part comes first.
    unsafe {
        node::write_parameters(context, node, KERNEL_NODE, to.cast())?;
        let common = get(to.cast::<CKernelNode>())?;
        put(
            to,
            CKernel {
                common,
                kernel: 0,
                context: CONTEXT,
            },
        )
    }
}

/// Writes the parameters of a node in the layout for all kinds.
///
/// # Safety
/// `to` is null or valid for a write.
pub unsafe fn write_any(context: &mut Context, node: u64, to: *mut CNode) -> Cuda {
    let part = to.cast::<u8>().wrapping_add(PART);
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        match context.node_operation(node)?.kind() {
            COPY_NODE => {
                put(to, CNode::empty(COPY_NODE))?;
                write_copy(context, node, part.wrapping_add(COPY).cast())
            }
            KERNEL_NODE => {
                put(to, CNode::empty(KERNEL_NODE))?;
                write_kernel(context, node, part.cast())
            }
            _ => node::write_any_parameters(context, node, to),
        }
    }
}
