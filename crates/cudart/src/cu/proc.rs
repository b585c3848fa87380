//! Addresses of the driver's functions by their names (`cuGetProcAddress`, and
//! `cudaGetDriverEntryPoint` of the runtime).

use super::{DRIVER_VERSION, driver};
use crate::ffi::{put, put_if, text};
use crate::process::own_function;
use std::ffi::c_char;
use warploom_app::{Cuda, CudaError};

/// Results of a search, as `CUdriverProcAddressQueryResult` and its equal of the runtime number
/// them.
const FOUND: i32 = 0;
const NOT_FOUND: i32 = 1;
const NEWER: i32 = 2;
/// Flag of a search for the variants in which every thread has its own default stream.
pub const PER_THREAD: u64 = 2;

/// Releases (12030 for 12.3) from which on a function has the form with a suffix.
type Forms = &'static [(i32, &'static str)];

/// Forms of functions that got data of edges.
const EDGES: Forms = &[(10_000, ""), (12_030, "_v2")];
/// Forms of functions with parameters of kernel nodes.
const KERNELS: Forms = &[(10_000, ""), (12_000, "_v2")];

/// Functions of which this library has several forms with different arguments (`cudaTypedefs.h`).
const FORMS: &[(&str, Forms)] = &[
    (
        "cuCtxCreate",
        &[(3020, "_v2"), (11_040, "_v3"), (12_050, "_v4")],
    ),
    ("cuGetProcAddress", &[(11_030, ""), (12_000, "_v2")]),
    ("cuGraphAddDependencies", EDGES),
    ("cuGraphAddKernelNode", KERNELS),
    ("cuGraphAddNode", &[(12_020, ""), (12_030, "_v2")]),
    ("cuGraphExecKernelNodeSetParams", KERNELS),
    ("cuGraphExecUpdate", &[(10_020, ""), (12_000, "_v2")]),
    ("cuGraphGetEdges", EDGES),
    ("cuGraphKernelNodeGetParams", KERNELS),
    ("cuGraphKernelNodeSetParams", KERNELS),
    ("cuGraphNodeGetDependencies", EDGES),
    ("cuGraphNodeGetDependentNodes", EDGES),
    ("cuGraphRemoveDependencies", EDGES),
    ("cuMemcpyBatchAsync", &[(12_080, ""), (13_000, "_v2")]),
    ("cuStreamBeginCapture", &[(10_000, ""), (10_010, "_v2")]),
    (
        "cuStreamGetCaptureInfo",
        &[(10_010, ""), (11_030, "_v2"), (12_030, "_v3")],
    ),
    ("cuStreamGetCtx", &[(9020, ""), (12_050, "_v2")]),
    (
        "cuStreamUpdateCaptureDependencies",
        &[(11_030, ""), (12_030, "_v2")],
    ),
];

/// Address of the form of a function that a release has, or the status of the search. Other
/// functions have one form in this library, which suits every release.
fn search(name: &str, version: i32, per_thread: bool) -> Result<u64, i32> {
    // Names have no suffixes, and this library has functions of the runtime, too.
    if name.contains('_') || name.starts_with("cuda") {
        return Err(NOT_FOUND);
    }
    let ends: &[&str] = match per_thread {
        true => &["_ptsz", "_ptds", ""],
        false => &[""],
    };
    let find = |form: &str| {
        let mut names = ends.iter().map(|end| format!("{name}{form}{end}"));
        names.find_map(|name| own_function(&name))
    };
    let found = match FORMS.iter().find(|(own, _)| *own == name) {
        Some((_, forms)) => {
            let suits = forms.iter().rfind(|(since, _)| *since <= version);
            find(suits.ok_or(NEWER)?.1)
        }
        None => ["_v2", ""].into_iter().find_map(find),
    };
    found.ok_or(NOT_FOUND)
}

/// Writes the address of a function for a release, or 0, and the status of the search. Returns the
/// status.
///
/// # Safety
/// The name is null or a C string, and the other pointers are null or valid for writes of their
/// type.
pub unsafe fn find(
    name: *const c_char,
    to: *mut u64,
    (version, flags): (i32, u64),
    status: *mut i32,
) -> Cuda<i32> {
    if name.is_null() || version > DRIVER_VERSION || flags > PER_THREAD {
        return Err(CudaError::INVALID_VALUE);
    }
    // SAFETY: the caller fulfils the requirements of this function.
    let found = search(&unsafe { text(name) }, version, flags == PER_THREAD);
    let told = found.err().unwrap_or(FOUND);
    // SAFETY: as above.
    unsafe {
        put(to, found.unwrap_or(0))?;
        put_if(status, told);
    }
    Ok(told)
}

driver! {
    // Before CUDA 12 there is no status, and an unknown name is an error.
    fn cuGetProcAddress(name: *const c_char, to: *mut u64, version: i32, flags: u64) |_context| {
        match find(name, to, (version, flags), std::ptr::null_mut())? {
            FOUND => Ok(()),
            _ => Err(CudaError::SYMBOL_NOT_FOUND),
        }
    }

    fn cuGetProcAddress_v2(
        name: *const c_char, to: *mut u64, version: i32, flags: u64, status: *mut i32,
    ) |_context| {
        find(name, to, (version, flags), status).map(|_| ())
    }
}
