//! Queries of the runtime for functions of the driver. They find none; `cuGetProcAddress` does.

use crate::ffi::{put, put_if};
use crate::process::abi;
use std::ffi::c_char;
use warploom_app::{Abi, Cuda};

/// Status `cudaDriverEntryPointSymbolNotFound` of a query.
const NOT_FOUND: i32 = 1;

/// Reports that the driver has no such function, as CUDA does for an unknown name.
///
/// # Safety
/// Both pointers are null or valid for writes of their type.
unsafe fn not_found(function: *mut u64, status: *mut i32) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        put(function, 0)?;
        put_if(status, NOT_FOUND);
    }
    Ok(())
}

runtime! {
    // Before CUDA 12 the function has no argument for the status.
    fn cudaGetDriverEntryPoint / cudaGetDriverEntryPoint_ptsz (
        _name: *const c_char, function: *mut u64, _flags: u64, status: *mut i32,
    ) |_context| {
        match abi() {
            Abi::V11 => not_found(function, std::ptr::null_mut()),
            _ => not_found(function, status),
        }
    }

    fn cudaGetDriverEntryPointByVersion / cudaGetDriverEntryPointByVersion_ptsz (
        _name: *const c_char, function: *mut u64, _version: u32, _flags: u64, status: *mut i32,
    ) |_context| {
        not_found(function, status)
    }
}
