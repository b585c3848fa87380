//! Nodes of graphs: what they do, as the headers lay it out.

use crate::copy::{FROM_SYMBOL, TO_SYMBOL, described, in_symbol};
use crate::ffi::{bytes, get, put};
use crate::launch::request;
use crate::types::{
    CAllocationNode, CCopy3, CCopyNode, CExtent, CFillNode, CHostNode, CKernelNode, CLocation,
    CNode, CPitched, CPoolProperties, CPosition,
};
use warploom_app::{
    Context, Copy3, Cuda, CudaError, Direction, Extent, Fill, HostCall, LaunchRequest, Place, Work,
};

/// Bytes in front of the part of `cudaGraphNodeParams`.
const PART: usize = 16;

/// What a copy of bytes in a row does.
pub fn copy1(context: &Context, (to, from): (u64, u64), bytes: usize, kind: i32) -> Cuda<Work> {
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
    Ok(Work::Copy(context.described_copy(&copy)?))
}

/// What a copy to a symbol does.
pub fn to_symbol(
    context: &mut Context,
    symbol: u64,
    from: u64,
    (bytes, offset, kind): (usize, usize, i32),
) -> Cuda<Work> {
    let to = in_symbol(context, symbol, (bytes, offset), (kind, TO_SYMBOL))?;
    copy1(context, (to, from), bytes, kind)
}

/// What a copy from a symbol does.
pub fn from_symbol(
    context: &mut Context,
    to: u64,
    symbol: u64,
    (bytes, offset, kind): (usize, usize, i32),
) -> Cuda<Work> {
    let from = in_symbol(context, symbol, (bytes, offset), (kind, FROM_SYMBOL))?;
    copy1(context, (to, from), bytes, kind)
}

/// # Safety
/// `own` is null or a description.
pub unsafe fn copy3(context: &Context, own: *const CCopy3) -> Cuda<Work> {
    // SAFETY: see above.
    let own = unsafe { get(own) }?;
    Ok(Work::Copy(context.described_copy(&described(&own)?)?))
}

/// # Safety
/// `own` is null or what a kernel node does, with pointers to its arguments.
pub unsafe fn kernel(context: &mut Context, own: *const CKernelNode) -> Cuda<Work> {
    // SAFETY: see above.
    let own = unsafe { get(own) }?;
    let shape = (own.grid, own.block, own.shared_bytes as usize);
    // SAFETY: see above.
    let made = match own.arguments.is_null() && !own.extra.is_null() {
        true => unsafe { packed(context, &own) },
        false => unsafe { request(context, own.function, shape, own.arguments, false) },
    };
    Ok(Work::Launch(made?))
}

/// Ends the list of `extra`; `CU_LAUNCH_PARAM_BUFFER_POINTER`, `CU_LAUNCH_PARAM_BUFFER_SIZE`.
const END: u64 = 0;
const BUFFER: u64 = 1;
const BUFFER_BYTES: u64 = 2;

/// A launch whose arguments lie in one buffer.
///
/// # Safety
/// `extra` is a list as the header says.
unsafe fn packed(context: &mut Context, own: &CKernelNode) -> Cuda<LaunchRequest> {
    let (mut at, mut buffer, mut size) = (0, 0, 0);
    loop {
        // SAFETY: see above.
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
            // SAFETY: see above.
            BUFFER_BYTES => size = unsafe { get(value as *const usize) }?,
            _ => return Err(CudaError::INVALID_VALUE),
        }
        at += 2;
    }
    // SAFETY: see above.
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
    })
}

/// # Safety
/// `own` is null or what a fill does.
pub unsafe fn fill(own: *const CFillNode) -> Cuda<Work> {
    // SAFETY: see above.
    let own = unsafe { get(own) }?;
    let fill = Fill::of_rows(
        (own.address, own.pitch as u64),
        (own.value, own.element),
        (own.width as u64, own.height as u64),
    )?;
    Ok(Work::Fill(fill))
}

/// # Safety
/// `own` is null or a function with its argument.
pub unsafe fn host(own: *const CHostNode) -> Cuda<Work> {
    // SAFETY: see above.
    let CHostNode { function, data } = unsafe { get(own) }?;
    match function {
        0 => Err(CudaError::INVALID_VALUE),
        _ => Ok(Work::Call(HostCall { function, data })),
    }
}

/// What a node does that begins the use of memory, whose address is told.
///
/// # Safety
/// `own` is null or such a description.
pub unsafe fn allocation(context: &mut Context, own: *mut CAllocationNode) -> Cuda<Work> {
    // SAFETY: see above.
    let asked = unsafe { get(own) }?;
    let bytes = asked.bytes as u64;
    let address = context.allocate_for_node(bytes)?;
    // SAFETY: see above.
    unsafe { put(own, CAllocationNode { address, ..asked }) }?;
    Ok(Work::Allocate(address, bytes))
}

fn laid_out_allocation(address: u64, bytes: u64) -> CAllocationNode {
    // Pinned, of no handles, on the device 0.
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

/// What a node of any kind does.
///
/// # Safety
/// `own` is null or as the header says.
pub unsafe fn any(context: &mut Context, own: *mut CNode) -> Cuda<Work> {
    // SAFETY: see above.
    let node = unsafe { get(own) }?;
    let part = own.cast::<u8>().wrapping_add(PART);
    // SAFETY: see above.
    unsafe {
        match node.kind {
            0 => kernel(context, part.cast()),
            1 => copy3(context, part.wrapping_add(16).cast()),
            2 => fill(part.cast()),
            3 => host(part.cast()),
            4 => Ok(Work::Graph(node.part[0])),
            5 => Ok(Work::Nothing),
            6 => Ok(Work::Wait(node.part[0])),
            7 => Ok(Work::Record(node.part[0])),
            10 => allocation(context, part.cast()),
            11 => Ok(Work::Free(node.part[0])),
            _ => Err(context.unsupported("cudaGraphAddNode of this kind of node")),
        }
    }
}

fn position([x, y, z]: [u64; 3]) -> CPosition {
    let [x, y, z] = [x, y, z].map(|n| n as usize);
    CPosition { x, y, z }
}

fn pitched(place: &Place) -> CPitched {
    CPitched {
        pointer: place.pointer,
        pitch: place.pitch as usize,
        width: place.width as usize,
        height: place.height as usize,
    }
}

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

/// Writes what a node does where its kind has a place for it; `INVALID_VALUE` if it is of another.
///
/// # Safety
/// `to` is null or a place for what nodes of the kind do.
pub unsafe fn tell(context: &mut Context, node: u64, kind: i32, to: *mut u8) -> Cuda {
    let work = context.node_work(node)?.clone();
    if work.kind() != kind {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: see above.
    unsafe {
        match work {
            Work::Launch(own) => put(
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
            Work::Copy(copy) => put(to.cast(), laid_out_copy(&copy.description())),
            Work::Fill(fill) => put(to.cast(), laid_out_fill(&fill)),
            Work::Call(HostCall { function, data }) => put(to.cast(), CHostNode { function, data }),
            Work::Graph(own) | Work::Wait(own) | Work::Record(own) => put(to.cast(), own),
            Work::Nothing => Ok(()),
            Work::Allocate(address, bytes) => put(to.cast(), laid_out_allocation(address, bytes)),
            Work::Free(address) => put(to.cast(), address),
        }
    }
}

/// The same in the layout for all kinds.
///
/// # Safety
/// `to` is null or a place for it.
pub unsafe fn tell_any(context: &mut Context, node: u64, to: *mut CNode) -> Cuda {
    let kind = context.node_work(node)?.kind();
    let empty = CNode {
        kind,
        reserved: [0; 3],
        part: [0; 29],
        more: 0,
    };
    let part = to.cast::<u8>().wrapping_add(PART);
    let before = match kind {
        1 => std::mem::offset_of!(CCopyNode, copy),
        _ => 0,
    };
    // SAFETY: see above.
    unsafe {
        put(to, empty)?;
        tell(context, node, kind, part.wrapping_add(before))
    }
}
