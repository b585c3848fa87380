//! What programs ask of the driver by way of the runtime: there is none.

use crate::ffi::{put, put_if};
use crate::process::abi;
use std::ffi::c_char;
use warploom_app::{Abi, Cuda};

/// `cudaDriverEntryPointSymbolNotFound`
const NOT_FOUND: i32 = 1;

/// Answers as CUDA does where the driver has no such function.
///
/// # Safety
/// Both are null or places for what they are named after.
unsafe fn not_found(function: *mut u64, status: *mut i32) -> Cuda {
    // SAFETY: see above.
    unsafe {
        put(function, 0)?;
        put_if(status, NOT_FOUND);
    }
    Ok(())
}

runtime! {
    // Until release 12 nobody is told why there is none.
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
