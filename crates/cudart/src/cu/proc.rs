//! Addresses of the driver's functions by their names (`cuGetProcAddress`).

use super::driver;
use crate::ffi::{put, put_if, text};
use crate::process::own_function;
use std::ffi::c_char;
use warploom_app::{Cuda, CudaError};

/// Results of a query: the function exists, or its name is unknown.
const FOUND: i32 = 0;
const NOT_FOUND: i32 = 1;
/// Flag of a query for the variants in which every thread has its own default stream.
const PER_THREAD: u64 = 2;

/// Address of the newest form of a function. All forms that this library has suit every release.
fn newest(name: &str, per_thread: bool) -> Option<u64> {
    let suffixes: &[&str] = if per_thread {
        &["_v2_ptsz", "_v2_ptds", "_ptsz", "_ptds", "_v2", ""]
    } else {
        &["_v2", ""]
    };
    let mut forms = suffixes.iter().map(|suffix| format!("{name}{suffix}"));
    forms.find_map(|form| own_function(&form))
}

/// Writes the address of a function, or 0 and a status.
///
/// # Safety
/// The pointers are null or valid for writes of their type.
unsafe fn find(name: &str, to: *mut u64, flags: u64, status: *mut i32) -> Cuda {
    let found = newest(name, flags & PER_THREAD != 0);
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        put(to, found.unwrap_or(0))?;
        put_if(status, if found.is_some() { FOUND } else { NOT_FOUND });
    }
    found.map(|_| ()).ok_or(CudaError::SYMBOL_NOT_FOUND)
}

driver! {
    fn cuGetProcAddress(name: *const c_char, to: *mut u64, _version: i32, flags: u64) |_context| {
        find(&text(name), to, flags, std::ptr::null_mut())
    }

    fn cuGetProcAddress_v2(
        name: *const c_char, to: *mut u64, _version: i32, flags: u64, status: *mut i32,
    ) |_context| {
        find(&text(name), to, flags, status)
    }
}
