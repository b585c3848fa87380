//! State spaces and their windows in the generic address space.

use warploom_ir::{
    CLUSTER_STRIDE, CLUSTER_WINDOW, CONST_BASE, CONST_BYTES, GLOBAL_BASE, LOCAL_WINDOW,
    LOCAL_WINDOW_BYTES, MOST_CLUSTER_BLOCKS, MemSpace, PARAM_WINDOW, PARAM_WINDOW_BYTES,
    SHARED_WINDOW, SHARED_WINDOW_BYTES,
};

/// Size of the generic window onto the shared memory of a cluster in bytes.
const CLUSTER_WINDOW_BYTES: u64 = MOST_CLUSTER_BLOCKS as u64 * CLUSTER_STRIDE;

/// Start and size of a state space's window in the generic address space. `None` if generic
/// addresses equal the addresses of the space.
pub(crate) fn window(space: MemSpace) -> Option<(u64, u64)> {
    match space {
        MemSpace::Shared => Some((SHARED_WINDOW, SHARED_WINDOW_BYTES)),
        MemSpace::Local | MemSpace::FrameParam => Some((LOCAL_WINDOW, LOCAL_WINDOW_BYTES)),
        MemSpace::Param => Some((PARAM_WINDOW, PARAM_WINDOW_BYTES)),
        MemSpace::Generic | MemSpace::Global | MemSpace::Const => None,
    }
}

/// True if an address is in global memory. The windows of all other spaces are below it, and so are
/// their own addresses.
#[inline]
pub(crate) const fn is_global(address: u64) -> bool {
    address >= GLOBAL_BASE
}

/// State space of a generic address, and the address in that space. `None` if the address is in no
/// space.
#[inline]
pub(crate) fn resolve(address: u64) -> Option<(MemSpace, u64)> {
    if is_global(address) {
        return Some((MemSpace::Global, address));
    }
    if (CLUSTER_WINDOW..CLUSTER_WINDOW + CLUSTER_WINDOW_BYTES).contains(&address) {
        return Some((MemSpace::Shared, address - SHARED_WINDOW));
    }
    for space in [MemSpace::Shared, MemSpace::Local, MemSpace::Param] {
        if let Some((start, bytes)) = window(space)
            && (start..start + bytes).contains(&address)
        {
            return Some((space, address - start));
        }
    }
    let constant = (CONST_BASE..CONST_BASE + CONST_BYTES).contains(&address);
    constant.then_some((MemSpace::Const, address))
}
