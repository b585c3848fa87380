//! Values behind pointers that the program gives.
//!
//! # Safety
//! Of all: the pointer is null, or points to a value of the type (an array as long as said) that
//! nobody else uses meanwhile.

use std::ffi::{CStr, c_char};
use warploom_app::{Cuda, CudaError};

/// Writes a result.
///
/// # Safety
/// See above.
pub unsafe fn put<T>(to: *mut T, value: T) -> Cuda {
    if to.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: not null; else see above.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a result where one is wanted.
///
/// # Safety
/// See above.
pub unsafe fn put_if<T>(to: *mut T, value: T) {
    // SAFETY: see above; null is refused and that does not matter here.
    let _ = unsafe { put(to, value) };
}

/// Reads a value.
///
/// # Safety
/// See above.
pub unsafe fn get<T: Copy>(from: *const T) -> Cuda<T> {
    if from.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: not null; else see above.
    Ok(unsafe { from.read_unaligned() })
}

/// Reads bytes.
///
/// # Safety
/// See above.
pub unsafe fn bytes(from: *const u8, count: u64) -> Vec<u8> {
    if from.is_null() || count == 0 {
        return Vec::new();
    }
    // SAFETY: not null; else see above.
    unsafe { std::slice::from_raw_parts(from, count as usize) }.to_vec()
}

/// Writes bytes.
///
/// # Safety
/// See above.
pub unsafe fn put_bytes(to: *mut u8, bytes: &[u8]) -> Cuda {
    if to.is_null() {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: not null; else see above.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    Ok(())
}

/// Reads several values from an array of the program.
///
/// # Safety
/// See above.
pub unsafe fn list<T: Copy>(from: *const T, count: usize) -> Cuda<Vec<T>> {
    // SAFETY: see above.
    (0..count)
        .map(|at| unsafe { get(from.wrapping_add(at)) })
        .collect::<Cuda<Vec<T>>>()
        .and_then(|values| match from.is_null() && count > 0 {
            true => Err(CudaError::INVALID_VALUE),
            false => Ok(values),
        })
}

/// Writes as many handles as there is room for, as the runtime gives lists: without a place, how
/// many there are; else those that fit, zeros in the room behind them, and how many were written.
///
/// # Safety
/// See above.
pub unsafe fn put_list(to: *mut u64, count: *mut usize, values: &[u64]) -> Cuda {
    if to.is_null() {
        // SAFETY: see above.
        return unsafe { put(count, values.len()) };
    }
    // SAFETY: see above.
    unsafe {
        let room = get(count)?;
        for at in 0..room {
            put(to.wrapping_add(at), values.get(at).copied().unwrap_or(0))?;
        }
        put(count, room.min(values.len()))
    }
}

/// Reads a C string.
///
/// # Safety
/// See above; the string ends with a zero.
pub unsafe fn text(from: *const c_char) -> String {
    if from.is_null() {
        return String::new();
    }
    // SAFETY: not null; else see above.
    unsafe { CStr::from_ptr(from) }
        .to_string_lossy()
        .into_owned()
}
