//! User objects, which graphs keep.

use crate::ffi::put;
use warploom_app::{Context, Cuda, CudaError, HostCall};

/// Flag without which no object can be created: its destructor cannot be waited for.
const NO_DESTRUCTOR_SYNC: u32 = 1;

/// Creates an object that `function` destroys, and writes its handle.
///
/// # Safety
/// The pointer is null or valid for a write.
unsafe fn create(
    context: &mut Context,
    to: *mut u64,
    (data, function): (u64, u64),
    count: u32,
    flags: u32,
) -> Cuda {
    if to.is_null() || flags != NO_DESTRUCTOR_SYNC {
        return Err(CudaError::INVALID_VALUE);
    }
    let made = context.create_user_object(HostCall { function, data }, count)?;
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { put(to, made) }
}

both! {
    fn cudaUserObjectCreate = cuUserObjectCreate (
        to: *mut u64, data: u64, destroy: u64, count: u32, flags: u32,
    ) |context| {
        create(context, to, (data, destroy), count, flags)
    }

    fn cudaUserObjectRetain = cuUserObjectRetain (object: u64, count: u32) |context| {
        context.retain_user_object(object, count)
    }

    fn cudaUserObjectRelease = cuUserObjectRelease (object: u64, count: u32) |context| {
        context.release_user_object(object, count)
    }

    fn cudaGraphRetainUserObject = cuGraphRetainUserObject (
        graph: u64, object: u64, count: u32, flags: u32,
    ) |context| {
        context.retain_for_graph(graph, object, count, flags)
    }

    fn cudaGraphReleaseUserObject = cuGraphReleaseUserObject (
        graph: u64, object: u64, count: u32,
    ) |context| {
        context.release_for_graph(graph, object, count)
    }
}
