//! Operations of graph nodes in the layout of the headers.

use crate::copy::{FROM_SYMBOL, TO_SYMBOL, described, in_symbol};
use crate::ffi::{bytes, get, put};
use crate::launch::{Manner, request};
use crate::types::{
    CAllocationNode, CCopy3, CCopyNode, CExtent, CFillNode, CHostNode, CKernelNode, CLocation,
    CNode, CPitched, CPoolProperties, CPosition,
};
use warploom_app::{
    Context, Copy3, Cuda, CudaError, Direction, Endpoint, Extent, Fill, HostCall, LaunchRequest,
    Operation, Place,
};

/// Offset in bytes of the operation's part in `cudaGraphNodeParams`.
const PART: usize = 16;

/// Operation that copies one row of bytes.
pub fn copy1(
    context: &Context,
    (to, from): (u64, u64),
    bytes: usize,
    kind: i32,
) -> Cuda<Operation> {
    let place = |pointer| Place {
        pointer,
        pitch: bytes as u64,
        width: bytes as u64,
        height: 1,
        ..Place::default()
    };
    let extent = Extent {
        width: bytes as u64,
        height: 1,
        depth: 1,
    };
    let copy = Copy3 {
        to: place(to),
        from: place(from),
        extent,
        direction: Direction::of(kind)?,
    };
    Ok(Operation::Copy(context.described_copy(&copy)?))
}

/// Operation that copies to a symbol.
pub fn to_symbol(
    context: &mut Context,
    symbol: u64,
    from: u64,
    (bytes, offset, kind): (usize, usize, i32),
) -> Cuda<Operation> {
    let to = in_symbol(context, symbol, (bytes, offset), (kind, TO_SYMBOL))?;
    copy1(context, (to, from), bytes, kind)
}

/// Operation that copies from a symbol.
pub fn from_symbol(
    context: &mut Context,
    to: u64,
    symbol: u64,
    (bytes, offset, kind): (usize, usize, i32),
) -> Cuda<Operation> {
    let from = in_symbol(context, symbol, (bytes, offset), (kind, FROM_SYMBOL))?;
    copy1(context, (to, from), bytes, kind)
}

/// Operation that copies as described by `cudaMemcpy3DParms`.
///
/// # Safety
/// `own` is null or points to a description.
pub unsafe fn copy3(context: &Context, own: *const CCopy3) -> Cuda<Operation> {
    // SAFETY: the caller fulfils the requirements of this function.
    let own = unsafe { get(own) }?;
    Ok(Operation::Copy(context.described_copy(&described(&own)?)?))
}

/// Operation that launches a kernel.
///
/// # Safety
/// `own` is null or points to the parameters of a kernel node, with valid pointers to its
/// arguments.
pub unsafe fn kernel(context: &mut Context, own: *const CKernelNode) -> Cuda<Operation> {
    // SAFETY: the caller fulfils the requirements of this function.
    let own = unsafe { get(own) }?;
    let shape = (own.grid, own.block, own.shared_bytes as usize);
    // SAFETY: the caller fulfils the requirements of this function.
    let made = if own.arguments.is_null() && !own.extra.is_null() {
        unsafe { packed(context, &own) }
    } else {
        unsafe {
            request(
                context,
                own.function,
                shape,
                own.arguments,
                Manner::default(),
            )
        }
    };
    Ok(Operation::Launch(made?))
}

/// Constants of the list `extra`: its end, `CU_LAUNCH_PARAM_BUFFER_POINTER` and
/// `CU_LAUNCH_PARAM_BUFFER_SIZE`.
const END: u64 = 0;
const BUFFER: u64 = 1;
const BUFFER_BYTES: u64 = 2;

/// Launch whose arguments are in a single buffer.
///
/// # Safety
/// `extra` is a list in the format of the header.
unsafe fn packed(context: &mut Context, own: &CKernelNode) -> Cuda<LaunchRequest> {
    let (mut at, mut buffer, mut size) = (0, 0, 0);
    loop {
        // SAFETY: the caller fulfils the requirements of this function.
        let (key, value) = unsafe {
            let key = get(own.extra.wrapping_add(at))?;
            (
                key,
                if key == END {
                    0
                } else {
                    get(own.extra.wrapping_add(at + 1))?
                },
            )
        };
        match key {
            END => break,
            BUFFER => buffer = value,
            // SAFETY: the caller fulfils the requirements of this function.
            BUFFER_BYTES => size = unsafe { get(value as *const usize) }?,
            _ => return Err(CudaError::INVALID_VALUE),
        }
        at += 2;
    }
    // SAFETY: the caller fulfils the requirements of this function.
    let all = unsafe { bytes(buffer as *const u8, size as u64) };
    let count = context.parameters(own.function)?.len();
    let argument = |context: &mut Context, number| {
        let (offset, bytes) = context.parameter(own.function, number)?;
        let value = all.get(offset as usize..(offset + bytes) as usize);
        value.map(<[u8]>::to_vec).ok_or(CudaError::INVALID_VALUE)
    };
    let arguments = (0..count).map(|number| argument(context, number));
    Ok(LaunchRequest {
        function: own.function,
        grid: own.grid.into(),
        block: own.block.into(),
        shared_bytes: own.shared_bytes.into(),
        arguments: arguments.collect::<Cuda<_>>()?,
        cooperative: false,
        cluster: None,
    })
}

/// Operation that fills memory.
///
/// # Safety
/// `own` is null or points to the parameters of a fill.
pub unsafe fn fill(own: *const CFillNode) -> Cuda<Operation> {
    // SAFETY: the caller fulfils the requirements of this function.
    let own = unsafe { get(own) }?;
    let start = Endpoint {
        address: own.address,
        pitch: own.pitch as u64,
        slice: 0,
    };
    let (width, height) = (own.width as u64, own.height as u64);
    let fill = Fill::of_rows(start, own.value, own.element, width, height)?;
    Ok(Operation::Fill(fill))
}

/// Operation that calls a host function.
///
/// # Safety
/// `own` is null or points to a function with its argument.
pub unsafe fn host(own: *const CHostNode) -> Cuda<Operation> {
    // SAFETY: the caller fulfils the requirements of this function.
    let CHostNode { function, data } = unsafe { get(own) }?;
    match function {
        0 => Err(CudaError::INVALID_VALUE),
        _ => Ok(Operation::Call(HostCall { function, data })),
    }
}

/// Operation that begins the use of an allocation. The address is written to the parameters.
///
/// # Safety
/// `own` is null or points to the parameters of an allocation node.
pub unsafe fn allocation(context: &mut Context, own: *mut CAllocationNode) -> Cuda<Operation> {
    // SAFETY: the caller fulfils the requirements of this function.
    let asked = unsafe { get(own) }?;
    let bytes = asked.bytes as u64;
    let address = context.allocate_for_node(bytes)?;
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { put(own, CAllocationNode { address, ..asked }) }?;
    Ok(Operation::Allocate(address, bytes))
}

/// Parameters of an allocation node in the layout of the header.
fn laid_out_allocation(address: u64, bytes: u64) -> CAllocationNode {
    // Pinned memory without exported handles, on device 0.
    let location = CLocation { kind: 1, id: 0 };
    let properties = CPoolProperties {
        kind: 1,
        handles: 0,
        location,
        more: [0; 9],
    };
    CAllocationNode {
        properties,
        access: std::ptr::null(),
        count: 0,
        bytes: bytes as usize,
        address,
    }
}

/// Operation of a node of any kind.
///
/// # Safety
/// `own` is null or points to valid parameters in the layout of the header.
pub unsafe fn any(context: &mut Context, own: *mut CNode) -> Cuda<Operation> {
    // SAFETY: the caller fulfils the requirements of this function.
    let node = unsafe { get(own) }?;
    let part = own.cast::<u8>().wrapping_add(PART);
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        match node.kind {
            0 => kernel(context, part.cast()),
            1 => copy3(context, part.wrapping_add(16).cast()),
            2 => fill(part.cast()),
            3 => host(part.cast()),
            4 => Ok(Operation::Graph(node.part[0])),
            5 => Ok(Operation::Nothing),
            6 => Ok(Operation::Wait(node.part[0])),
            7 => Ok(Operation::Record(node.part[0])),
            10 => allocation(context, part.cast()),
            11 => Ok(Operation::Free(node.part[0])),
            _ => Err(context.unsupported("cudaGraphAddNode of this kind of node")),
        }
    }
}

/// Position in the layout of the header.
fn position([x, y, z]: [u64; 3]) -> CPosition {
    let [x, y, z] = [x, y, z].map(|n| n as usize);
    CPosition { x, y, z }
}

/// Pitched memory in the layout of the header.
fn pitched(place: &Place) -> CPitched {
    CPitched {
        pointer: place.pointer,
        pitch: place.pitch as usize,
        width: place.width as usize,
        height: place.height as usize,
    }
}

/// Description of a copy in the layout of the header.
fn laid_out_copy(copy: &Copy3) -> CCopy3 {
    let extent = copy.extent;
    CCopy3 {
        from_array: copy.from.array,
        from_position: position(copy.from.position),
        from: pitched(&copy.from),
        to_array: copy.to.array,
        to_position: position(copy.to.position),
        to: pitched(&copy.to),
        extent: CExtent {
            width: extent.width as usize,
            height: extent.height as usize,
            depth: extent.depth as usize,
        },
        kind: copy.direction.number(),
    }
}

/// Parameters of a fill in the layout of the header.
fn laid_out_fill(fill: &Fill) -> CFillNode {
    let area = fill.area;
    CFillNode {
        address: area.end.address,
        pitch: area.end.pitch as usize,
        value: fill.value,
        element: fill.element,
        width: (area.extent.width / u64::from(fill.element)) as usize,
        height: (area.extent.height * area.extent.depth) as usize,
    }
}

/// Writes the parameters of a node in the layout of its kind. Fails with `INVALID_VALUE` if the
/// node is of another kind.
///
/// # Safety
/// `to` is null or valid for a write of the parameters of this kind.
pub unsafe fn write_parameters(context: &mut Context, node: u64, kind: i32, to: *mut u8) -> Cuda {
    let operation = context.node_operation(node)?.clone();
    if operation.kind() != kind {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        match operation {
            Operation::Launch(own) => put(
                to.cast(),
                CKernelNode {
                    function: own.function,
                    grid: own.grid.into(),
                    block: own.block.into(),
                    shared_bytes: own.shared_bytes as u32,
                    arguments: context.node_arguments(node)? as *const *const u8,
                    extra: std::ptr::null(),
                },
            ),
            Operation::Copy(copy) => put(to.cast(), laid_out_copy(&copy.description())),
            Operation::Fill(fill) => put(to.cast(), laid_out_fill(&fill)),
            Operation::Call(HostCall { function, data }) => {
                put(to.cast(), CHostNode { function, data })
            }
            Operation::Graph(own) | Operation::Wait(own) | Operation::Record(own) => {
                put(to.cast(), own)
            }
            Operation::Nothing => Ok(()),
            Operation::Allocate(address, bytes) => {
                put(to.cast(), laid_out_allocation(address, bytes))
            }
            Operation::Free(address) => put(to.cast(), address),
        }
    }
}

/// Writes the parameters of a node in the layout for all kinds.
///
/// # Safety
/// `to` is null or valid for a write.
pub unsafe fn write_any_parameters(context: &mut Context, node: u64, to: *mut CNode) -> Cuda {
    let kind = context.node_operation(node)?.kind();
    let part = to.cast::<u8>().wrapping_add(PART);
    let before = match kind {
        1 => std::mem::offset_of!(CCopyNode, copy),
        _ => 0,
    };
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        put(to, CNode::empty(kind))?;
        write_parameters(context, node, kind, part.wrapping_add(before))
    }
}
