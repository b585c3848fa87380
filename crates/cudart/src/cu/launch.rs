//! Launches of kernels by the driver.

use super::driver;
use crate::ffi::{bytes, get, put};
use crate::launch::{Manner, cluster_occupancy, request};
use crate::types::{CDim3, CLaunchAttribute};
use warploom_app::{Context, Cuda, CudaError};

/// Keys of a list of extra options: the buffer of all arguments, its size, and the end of the list.
const BUFFER_POINTER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// Layout of `CUlaunchConfig` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CDriverLaunch {
    grid: CDim3,
    block: CDim3,
    shared_bytes: u32,
    stream: u64,
    attributes: *const CLaunchAttribute,
    count: u32,
}

impl CDriverLaunch {
    /// Extents of grid and block, and the dynamic shared memory in bytes.
    fn shape(&self) -> (CDim3, CDim3, usize) {
        (self.grid, self.block, self.shared_bytes as usize)
    }

    /// Address and number of the attributes.
    fn attributes(&self) -> (*const CLaunchAttribute, u32) {
        (self.attributes, self.count)
    }
}

/// Where the arguments of a launch are: an address for each, or a list of options with a buffer.
#[derive(Clone, Copy)]
struct Arguments {
    each: *const *const u8,
    options: *const usize,
}

/// Launches a kernel in a stream.
///
/// # Safety
/// The arguments are as `cuLaunchKernel` demands them.
unsafe fn launch(
    context: &mut Context,
    function: u64,
    (grid, block, shared, stream): (CDim3, CDim3, u32, u64),
    arguments: Arguments,
    how: Manner,
) -> Cuda {
    let shape = (grid, block, shared as usize);
    let request = if arguments.each.is_null() && !arguments.options.is_null() {
        // SAFETY: the caller fulfils the requirements of this function.
        let values = unsafe { from_buffer(context, function, arguments.options) }?;
        how.request(function, shape, values)
    } else {
        // SAFETY: the caller fulfils the requirements of this function.
        unsafe { request(context, function, shape, arguments.each, how) }?
    };
    context.launch(request, stream)
}

/// Values of all parameters, from one buffer in which each is at its parameter's offset.
///
/// # Safety
/// `options` is a list of keys and values that ends with a key 0.
unsafe fn from_buffer(
    context: &mut Context,
    function: u64,
    options: *const usize,
) -> Cuda<Vec<Vec<u8>>> {
    let (mut buffer, mut size) = (0, 0);
    for at in (0..).step_by(2) {
        // SAFETY: the list has not ended before this pair.
        let key = unsafe { get(options.wrapping_add(at)) }?;
        match key {
            0 => break,
            // SAFETY: a key is followed by its value.
            BUFFER_POINTER => buffer = unsafe { get(options.wrapping_add(at + 1)) }?,
            BUFFER_SIZE => {
                // SAFETY: the value of this key is the address of the size.
                size = unsafe {
                    let place = get(options.wrapping_add(at + 1))?;
                    get(place as *const usize)?
                };
            }
            _ => return Err(CudaError::INVALID_VALUE),
        }
    }
    // SAFETY: the buffer has as many bytes as the list says.
    let all = unsafe { bytes(buffer as *const u8, size as u64) };
    let count = context.parameters(function)?.len();
    (0..count)
        .map(|number| {
            let (offset, size) = context.parameter(function, number)?;
            let value = all.get(offset as usize..(offset + size) as usize);
            value.map(<[u8]>::to_vec).ok_or(CudaError::INVALID_VALUE)
        })
        .collect()
}

const fn size(x: u32, y: u32, z: u32) -> CDim3 {
    CDim3 { x, y, z }
}

driver! {
    fn cuLaunchKernel / cuLaunchKernel_ptsz (
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        each: *const *const u8,
        options: *const usize,
    ) |context| {
        let (grid, block) = (size(grid_x, grid_y, grid_z), size(block_x, block_y, block_z));
        let arguments = Arguments { each, options };
        launch(context, function, (grid, block, shared, stream), arguments, Manner::default())
    }

    fn cuLaunchCooperativeKernel / cuLaunchCooperativeKernel_ptsz (
        function: u64,
        grid_x: u32,
        grid_y: u32,
        grid_z: u32,
        block_x: u32,
        block_y: u32,
        block_z: u32,
        shared: u32,
        stream: u64,
        each: *const *const u8,
    ) |context| {
        let (grid, block) = (size(grid_x, grid_y, grid_z), size(block_x, block_y, block_z));
        let arguments = Arguments { each, options: std::ptr::null() };
        launch(context, function, (grid, block, shared, stream), arguments, Manner::COOPERATIVE)
    }

    fn cuLaunchKernelEx / cuLaunchKernelEx_ptsz (
        configuration: *const CDriverLaunch,
        function: u64,
        each: *const *const u8,
        options: *const usize,
    ) |context| {
        let own = get(configuration)?;
        let how = Manner::of(context, "cuLaunchKernelEx", own.attributes())?;
        let shape = (own.grid, own.block, own.shared_bytes, own.stream);
        launch(context, function, shape, Arguments { each, options }, how)
    }

    fn cuOccupancyMaxActiveClusters(
        to: *mut i32, function: u64, configuration: *const CDriverLaunch,
    ) |context| {
        let own = get(configuration)?;
        let fit = cluster_occupancy(context, function, own.shape(), own.attributes())?;
        put(to, fit.clusters as i32)
    }

    fn cuOccupancyMaxPotentialClusterSize(
        to: *mut i32, function: u64, configuration: *const CDriverLaunch,
    ) |context| {
        let own = get(configuration)?;
        let fit = cluster_occupancy(context, function, own.shape(), own.attributes())?;
        put(to, fit.largest as i32)
    }
}
