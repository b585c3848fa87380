//! Attributes of kernel functions, and occupancy.

use crate::error::lasting;
use crate::ffi::{put, put_bytes, put_if};
use crate::process::abi;
use crate::types::CFunctionAttributes;
use std::ffi::c_char;
use warploom_app::Abi;

/// Size in bytes of the attributes that CUDA 12 added.
const NEWER_BYTES: usize = 144 - size_of::<CFunctionAttributes>();

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
        let fit = context.occupancy(function, threads, shared as u64)?;
        put(to, fit.blocks as i32)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut i32, function: u64, threads: i32, shared: usize, _flags: u32,
    ) |context| {
        let fit = context.occupancy(function, threads, shared as u64)?;
        put(to, fit.blocks as i32)
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
        let (at, bytes) = context.parameter(function, number)?;
        put(offset, at as usize)?;
        put_if(size, bytes as usize);
        Ok(())
    }

    fn cudaFuncGetName(to: *mut *const c_char, function: u64) |context| {
        put(to, lasting(context.function_name(function)?))
    }
}
