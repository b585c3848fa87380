//! What the code that compilers put into a program calls before `main`.

use crate::ffi::{bytes, get, text};
use crate::process::with;
use std::ffi::{c_char, c_int, c_void};
use warploom_app::{FatBinary, Referred, Texturing, fatbin};

/// A registered fat binary's handle is a pointer that programs keep; they never look behind it.
fn handle(module: FatBinary) -> *mut *mut c_void {
    (0x100 + 16 * module.0) as *mut *mut c_void
}

fn module(handle: *mut *mut c_void) -> FatBinary {
    FatBinary(((handle as usize).wrapping_sub(0x100)) / 16)
}

/// `__fatBinC_Wrapper_t`
#[repr(C)]
#[derive(Clone, Copy)]
struct Wrapper {
    magic: i32,
    version: i32,
    data: *const u8,
    file: *const c_void,
}

/// The container behind a wrapper, with those that CUDA 13 puts behind an empty one.
///
/// # Safety
/// The wrapper is one that a compiler wrote.
unsafe fn container(wrapper: *const c_void) -> Vec<u8> {
    // SAFETY: see above.
    let Ok(wrapper) = (unsafe { get(wrapper.cast::<Wrapper>()) }) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let mut at = wrapper.data;
    loop {
        // SAFETY: a container's header has 16 bytes; behind an empty one stands another.
        let header = unsafe { bytes(at, 16) };
        let Ok(size) = fatbin::container_bytes(&header) else {
            return all;
        };
        // SAFETY: the container says itself how long it is.
        all.extend(unsafe { bytes(at, size) });
        if size > 16 {
            return all;
        }
        at = at.wrapping_add(size as usize);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *const c_void) -> *mut *mut c_void {
    // SAFETY: the compiler's own code gives the wrapper that the compiler wrote.
    let bytes = unsafe { container(wrapper) };
    with(|context| context.register(bytes)).map_or(std::ptr::null_mut(), handle)
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(_handle: *mut *mut c_void) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    host: u64,
    _device: *const c_char,
    name: *const c_char,
) {
    // SAFETY: names are C strings.
    let name = unsafe { text(name) };
    let _ = with(|context| context.register_function(module(handle), host, name));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: u64,
    _device: *const c_char,
    name: *const c_char,
    _external: c_int,
    size: usize,
    constant: c_int,
) {
    // SAFETY: names are C strings.
    let name = unsafe { text(name) };
    let what = (size as u64, constant != 0);
    let _ = with(|context| context.register_variable(module(handle), host, name, what));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    pointer: u64,
    _device: *const c_char,
    name: *const c_char,
    _external: c_int,
    size: usize,
) {
    // SAFETY: names are C strings.
    let name = unsafe { text(name) };
    let bytes = size as u64;
    let _ = with(|context| context.register_managed(module(handle), pointer, name, bytes));
}

/// Registers a texture or surface reference.
///
/// # Safety
/// The name is a C string.
unsafe fn reference(handle: *mut *mut c_void, host: u64, name: *const c_char, what: Referred) {
    // SAFETY: see above.
    let name = unsafe { text(name) };
    // nvcc gives the C++ name of a reference in the global scope; PTX has it without the scope.
    let name = name.strip_prefix("::").unwrap_or(&name).to_owned();
    let _ = with(|context| context.register_reference(module(handle), host, name, what));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterTexture(
    handle: *mut *mut c_void,
    host: u64,
    _device: *const *const c_void,
    name: *const c_char,
    dimensions: c_int,
    normalized: c_int,
    _external: c_int,
) {
    let texturing = Texturing {
        dimensions,
        normalized_read: normalized != 0,
    };
    // SAFETY: names are C strings.
    unsafe { reference(handle, host, name, Referred::Texture(texturing)) };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterSurface(
    handle: *mut *mut c_void,
    host: u64,
    _device: *const *const c_void,
    name: *const c_char,
    _dimensions: c_int,
    _external: c_int,
) {
    // SAFETY: names are C strings.
    unsafe { reference(handle, host, name, Referred::Surface) };
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterHostVar() {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterUnifiedTable() {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(handle: *mut *mut c_void) -> c_char {
    let done = with(|context| context.initialise(module(handle)));
    c_char::from(matches!(done, Ok(Ok(()))))
}
