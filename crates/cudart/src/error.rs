//! Errors: their names and texts, and the last error of a thread.

use crate::process::{texts, with};
use std::ffi::{CStr, CString, c_char};

/// Returns a C string that is valid until the process ends. Equal texts yield the same string.
pub fn lasting(text: &str) -> *const c_char {
    let mut texts = texts();
    let known = texts
        .iter()
        .find(|known| known.to_bytes() == text.as_bytes());
    if let Some(known) = known {
        return known.as_ptr();
    }
    let Ok(made) = CString::new(text) else {
        return c"".as_ptr();
    };
    let made: &'static CStr = Box::leak(made.into_boxed_c_str());
    texts.push(made);
    made.as_ptr()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(code: i32) -> *const c_char {
    lasting(warploom_app::error_name(code))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(code: i32) -> *const c_char {
    lasting(warploom_app::error_sentence(code))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> i32 {
    let thread = std::thread::current().id();
    with(|context| context.take_last_error(thread)).unwrap_or_else(|error| error.0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> i32 {
    let thread = std::thread::current().id();
    with(|context| context.last_error(thread)).unwrap_or_else(|error| error.0)
}
