//! Attributes of kernel functions, and occupancy.

use crate::error::lasting;
use crate::ffi::{put, put_bytes, put_if};
use crate::process::abi;
use crate::types::CFunctionAttributes;
use std::ffi::c_char;
use warploom_app::{Abi, Context, Cuda};

/// Size in bytes of the attributes that CUDA 12 added.
const NEWER_BYTES: usize = 144 - size_of::<CFunctionAttributes>();

/// Writes the offset and, if asked for, the size of a function's parameter.
///
/// # Safety
/// The pointers of `to` are null or valid for writes.
pub unsafe fn put_parameter(
    context: &mut Context,
    function: u64,
    number: usize,
    to: (*mut usize, *mut usize),
) -> Cuda {
    let (offset, bytes) = context.parameter(function, number)?;
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe {
        put(to.0, offset as usize)?;
        put_if(to.1, bytes as usize);
    }
    Ok(())
}

/// Writes the number of blocks with some threads and bytes of dynamic shared memory that an SM
/// holds.
///
/// # Safety
/// The pointer is null or valid for a write.
pub unsafe fn put_occupancy(
    context: &mut Context,
    to: *mut i32,
    function: u64,
    (threads, shared): (i32, usize),
) -> Cuda {
    let fit = context.occupancy(function, threads, shared as u64)?;
    // SAFETY: the caller fulfils the requirements of this function.
    unsafe { put(to, fit.blocks as i32) }
}

runtime! {
    fn cudaFuncGetAttributes(to: *mut CFunctionAttributes, function: u64) |context| {
        let own = context.function_attributes(function)?;
        put(to, CFunctionAttributes {
            shared: own.shared_bytes as usize,
            constant: own.constant_bytes as usize,
            local: own.local_bytes as usize,
            max_threads: own.max_threads,
            registers: own.registers,
            ptx_version: own.ptx_version,
            binary_version: own.binary_version,
            cache_mode: 0,
            max_dynamic_shared: own.max_dynamic_shared,
            carveout: -1,
        })?;
        match abi() {
            Abi::V11 => Ok(()),
            _ => put_bytes(to.wrapping_add(1).cast(), &[0; NEWER_BYTES]),
        }
    }

    fn cudaFuncSetAttribute(function: u64, attribute: i32, value: i32) |context| {
        context.set_function_attribute(function, attribute, value)
    }

    fn cudaFuncSetCacheConfig / cudaFuncSetSharedMemConfig (function: u64, _wish: i32) |context| {
        context.parameters(function).map(|_| ())
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        to: *mut i32, function: u64, threads: i32, shared: usize,
    ) |context| {
        put_occupancy(context, to, function, (threads, shared))
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut i32, function: u64, threads: i32, shared: usize, _flags: u32,
    ) |context| {
        put_occupancy(context, to, function, (threads, shared))
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        to: *mut usize, function: u64, blocks: i32, _threads: i32,
    ) |context| {
        let bytes = context.available_shared(function, blocks)?;
        put(to, bytes as usize)
    }

    fn cudaFuncGetParamCount(function: u64, to: *mut usize) |context| {
        let parameters = context.parameters(function)?;
        put(to, parameters.len())
    }

    fn cudaFuncGetParamInfo(
        function: u64, number: usize, offset: *mut usize, size: *mut usize,
    ) |context| {
        put_parameter(context, function, number, (offset, size))
    }

    fn cudaFuncGetName(to: *mut *const c_char, function: u64) |context| {
        put(to, lasting(context.function_name(function)?))
    }
}
