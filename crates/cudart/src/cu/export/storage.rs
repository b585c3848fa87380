//! Values that libraries keep for a context, by keys of their own. There is one context, which
//! lives as long as the process, so that their destructors are never called.

use crate::cu::device::{check_context, thread};
use crate::ffi::put;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use warploom_app::{Context, Cuda, CudaError};

static VALUES: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

/// Calls a function with the values of a context, or of the current one if the handle is 0.
fn with<R>(
    context: &mut Context,
    handle: u64,
    action: impl FnOnce(&mut BTreeMap<u64, u64>) -> R,
) -> Cuda<R> {
    check_context(match handle {
        0 => context.current_context(thread()),
        handle => handle,
    })?;
    let mut values = VALUES.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(action(&mut values))
}

pub extern "C" fn store(handle: u64, key: u64, value: u64, _destructor: u64) -> i32 {
    crate::cu::call(false, |context| {
        with(context, handle, |values| values.insert(key, value)).map(|_| ())
    })
}

pub extern "C" fn remove(handle: u64, key: u64) -> i32 {
    crate::cu::call(false, |context| {
        with(context, handle, |values| values.remove(&key)).map(|_| ())
    })
}

pub unsafe extern "C" fn load(to: *mut u64, handle: u64, key: u64) -> i32 {
    crate::cu::call(false, |context| {
        let value = with(context, handle, |values| values.get(&key).copied())?;
        // SAFETY: the library passes the address of a value.
        unsafe { put(to, value.ok_or(CudaError::INVALID_RESOURCE_HANDLE)?) }
    })
}
