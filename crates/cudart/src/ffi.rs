//! Access to values through pointers that the program passes.
//!
//! # Safety
//! For all functions: the pointer is null, or points to a value of the type, or to an array of the
//! given length, that no other code accesses during the call.

use std::ffi::{CStr, c_char};
use warploom_app::{Cuda, CudaError};

/// Writes a result. Fails if the pointer is null.
///
/// # Safety
/// The pointer is null or valid for a write of `T`.
pub unsafe fn put<T>(to: *mut T, value: T) -> Cuda {
    if to.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: the pointer is not null, and the caller guarantees that it is valid.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a result unless the pointer is null.
///
/// # Safety
/// The pointer is null or valid for a write of `T`.
pub unsafe fn put_if<T>(to: *mut T, value: T) {
    // SAFETY: the caller guarantees the requirements of `put`. A null pointer is not an error here.
    let _ = unsafe { put(to, value) };
}

/// Reads a value. Fails if the pointer is null.
///
/// # Safety
/// The pointer is null or valid for a read of `T`.
pub unsafe fn get<T: Copy>(from: *const T) -> Cuda<T> {
    if from.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: the pointer is not null, and the caller guarantees that it is valid.
    Ok(unsafe { from.read_unaligned() })
}

/// Reads `count` bytes. Returns none if the pointer is null.
///
/// # Safety
/// The pointer is null or valid for a read of `count` bytes.
pub unsafe fn bytes(from: *const u8, count: u64) -> Vec<u8> {
    if from.is_null() || count == 0 {
        return Vec::new();
    }
    // SAFETY: the pointer is not null, and the caller guarantees that it is valid.
    unsafe { std::slice::from_raw_parts(from, count as usize) }.to_vec()
}

/// Writes bytes. Fails if the pointer is null.
///
/// # Safety
/// The pointer is null or valid for a write of these bytes.
pub unsafe fn put_bytes(to: *mut u8, bytes: &[u8]) -> Cuda {
    if to.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: the pointer is not null, and the caller guarantees that it is valid.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    Ok(())
}

/// Reads `count` values from an array of the program.
///
/// # Safety
/// The pointer is null or valid for a read of `count` values.
pub unsafe fn list<T: Copy>(from: *const T, count: usize) -> Cuda<Vec<T>> {
    // SAFETY: the caller fulfils the requirements of this function.
    (0..count)
        .map(|at| unsafe { get(from.wrapping_add(at)) })
        .collect::<Cuda<Vec<T>>>()
        .and_then(|values| {
            if from.is_null() && count > 0 {
                Err(CudaError::INVALID_VALUE)
            } else {
                Ok(values)
            }
        })
}

/// Writes a list of handles as the runtime does. If `to` is null, only the number of handles is
/// written to `count`. Otherwise `count` holds the capacity of the array: the handles that fit are
/// written, followed by zeros, and `count` receives the number of written handles.
///
/// # Safety
/// `to` is null or valid for as many handles as `count` says, and `count` is null or valid.
pub unsafe fn put_list(to: *mut u64, count: *mut usize, values: &[u64]) -> Cuda {
    if to.is_null() {
        // SAFETY: the caller fulfils the requirements of this function.
        return unsafe { put(count, values.len()) };
    }
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        let room = get(count)?;
        for at in 0..room {
            put(to.wrapping_add(at), values.get(at).copied().unwrap_or(0))?;
        }
        put(count, room.min(values.len()))
    }
}

/// Reads a C string. Returns an empty text if the pointer is null.
///
/// # Safety
/// The pointer is null or points to a string that ends with a zero byte.
pub unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: the pointer is not null, and the caller guarantees that it is valid.
    unsafe { CStr::from_ptr(from) }
        .to_string_lossy()
        .into_owned()
}
