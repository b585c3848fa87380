//! Launches that the program prepares call by call, as before CUDA 4.

use super::driver;
use crate::ffi::bytes;
use warploom_base::Dim3;

/// Extents of a grid or of a block from the header's signed numbers. A negative one is refused as
/// too large.
fn size(x: i32, y: i32, z: i32) -> Dim3 {
    let [x, y, z] = [x, y, z].map(|n| n as u32);
    Dim3 { x, y, z }
}

driver! {
    fn cuFuncSetBlockShape(function: u64, x: i32, y: i32, z: i32) |context| {
        context.prepare_block(function, size(x, y, z))
    }

    fn cuFuncSetSharedSize(function: u64, shared: u32) |context| {
        context.prepare_shared(function, shared.into())
    }

    fn cuParamSetSize(function: u64, size: u32) |context| {
        context.prepare_size(function, size as usize)
    }

    fn cuParamSeti(function: u64, offset: i32, value: u32) |context| {
        context.prepare_bytes(function, offset as usize, &value.to_le_bytes())
    }

    fn cuParamSetf(function: u64, offset: i32, value: f32) |context| {
        context.prepare_bytes(function, offset as usize, &value.to_le_bytes())
    }

    fn cuParamSetv(function: u64, offset: i32, from: *const u8, size: u32) |context| {
        context.prepare_bytes(function, offset as usize, &bytes(from, size.into()))
    }

    fn cuLaunch(function: u64) |context| {
        context.launch_prepared(function, size(1, 1, 1), 0)
    }

    fn cuLaunchGrid(function: u64, width: i32, height: i32) |context| {
        context.launch_prepared(function, size(width, height, 1), 0)
    }

    fn cuLaunchGridAsync(function: u64, width: i32, height: i32, stream: u64) |context| {
        context.launch_prepared(function, size(width, height, 1), stream)
    }
}
