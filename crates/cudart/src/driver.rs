//! Queries of the runtime for functions of the driver, which `cuGetProcAddress` answers as well.

use crate::cu::proc::{PER_THREAD, find};
use crate::process::abi;
use std::ffi::c_char;
use warploom_app::{Abi, Cuda};

/// Writes the address of a function for the runtime's release, and the status.
///
/// # Safety
/// The name is null or a C string, and the other pointers are null or valid for writes of their
/// type.
unsafe fn entry_point(name: *const c_char, to: *mut u64, flags: u64, status: *mut i32) -> Cuda {
    // Before CUDA 12 the function has no argument for the status.
    let status = match abi() {
        Abi::V11 => std::ptr::null_mut(),
        _ => status,
    };
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { find(name, to, (abi().version(), flags), status) }.map(|_| ())
}

/// Flags of a search from a program in which every thread has its own default stream.
fn per_thread(flags: u64) -> u64 {
    match flags {
        0 => PER_THREAD,
        other => other,
    }
}

runtime! {
    fn cudaGetDriverEntryPoint(
        name: *const c_char, to: *mut u64, flags: u64, status: *mut i32,
    ) |_context| {
        entry_point(name, to, flags, status)
    }

    fn cudaGetDriverEntryPoint_ptsz(
        name: *const c_char, to: *mut u64, flags: u64, status: *mut i32,
    ) |_context| {
        entry_point(name, to, per_thread(flags), status)
    }

    fn cudaGetDriverEntryPointByVersion(
        name: *const c_char, to: *mut u64, version: u32, flags: u64, status: *mut i32,
    ) |_context| {
        find(name, to, (version as i32, flags), status).map(|_| ())
    }

    fn cudaGetDriverEntryPointByVersion_ptsz(
        name: *const c_char, to: *mut u64, version: u32, flags: u64, status: *mut i32,
    ) |_context| {
        find(name, to, (version as i32, per_thread(flags)), status).map(|_| ())
    }
}
