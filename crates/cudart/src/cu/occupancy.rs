//! Occupancy of SMs, and the block size at which it is highest.

use super::{call, driver};
use crate::ffi::put;
use crate::function::put_occupancy;

/// Threads of a warp.
const WARP: i32 = 32;

/// Function of the program that gives the dynamic shared memory in bytes for a block size.
type SharedBytes = Option<unsafe extern "C" fn(i32) -> usize>;

/// Sizes of blocks to try, the largest first: the limit and all smaller multiples of a warp.
fn sizes(limit: i32) -> impl Iterator<Item = i32> {
    let below = (limit - 1).max(0) / WARP;
    let multiples = (1..=below).rev().map(|warps| warps * WARP);
    (limit > 0).then_some(limit).into_iter().chain(multiples)
}

/// Writes the best block size of a kernel, and the number of blocks that fill the device.
///
/// # Safety
/// The first two pointers are null or valid for writes, and the function is one of the program.
unsafe fn best(
    blocks: *mut i32,
    threads: *mut i32,
    kernel: u64,
    (each, shared): (SharedBytes, usize),
    limit: i32,
) -> i32 {
    let mut most = 0;
    let code = call(false, |context| {
        most = context.function_attributes(kernel)?.max_threads;
        Ok(())
    });
    if code != 0 {
        return code;
    }
    let limit = if limit > 0 { limit.min(most) } else { most };
    // The program's function runs without the context, which it may use.
    let bytes = |threads: i32| match each {
        // SAFETY: the caller fulfils the requirements of this function.
        Some(each) => unsafe { each(threads) },
        None => shared,
    };
    let sizes: Vec<(i32, u64)> = sizes(limit).map(|own| (own, bytes(own) as u64)).collect();
    call(false, |context| {
        let (grid, block) = context.best_block(kernel, &sizes)?;
        // SAFETY: the caller fulfils the requirements of this function.
        unsafe {
            put(blocks, grid as i32)?;
            put(threads, block)
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    blocks: *mut i32,
    threads: *mut i32,
    kernel: u64,
    each: SharedBytes,
    shared: usize,
    limit: i32,
) -> i32 {
    // SAFETY: the program keeps the contract of CUDA's header.
    unsafe { best(blocks, threads, kernel, (each, shared), limit) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    blocks: *mut i32,
    threads: *mut i32,
    kernel: u64,
    each: SharedBytes,
    shared: usize,
    limit: i32,
    _flags: u32,
) -> i32 {
    // SAFETY: the program keeps the contract of CUDA's header.
    unsafe { best(blocks, threads, kernel, (each, shared), limit) }
}

driver! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        to: *mut i32, function: u64, threads: i32, shared: usize,
    ) |context| {
        put_occupancy(context, to, function, (threads, shared))
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut i32, function: u64, threads: i32, shared: usize, _flags: u32,
    ) |context| {
        put_occupancy(context, to, function, (threads, shared))
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        to: *mut usize, function: u64, blocks: i32, _threads: i32,
    ) |context| {
        let bytes = context.available_shared(function, blocks)?;
        put(to, bytes as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::sizes;

    #[test]
    fn sizes_are_warps_below_the_limit() {
        assert_eq!(sizes(96).collect::<Vec<_>>(), [96, 64, 32]);
        assert_eq!(sizes(70).collect::<Vec<_>>(), [70, 64, 32]);
        assert_eq!(sizes(1).collect::<Vec<_>>(), [1]);
        assert_eq!(sizes(0).count(), 0);
    }
}
