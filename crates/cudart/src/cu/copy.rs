//! Copies that are described by structures, and copies of arrays.

use super::driver;
use crate::copy::{along_array, between_arrays};
use crate::ffi::get;
use warploom_app::{Context, Copy3, Cuda, CudaError, Direction, Extent, Place, Submission};

/// Numbers of the kinds of `CUmemorytype`.
pub const HOST: i32 = 1;
pub const DEVICE: i32 = 2;
pub const ARRAY: i32 = 3;
pub const UNIFIED: i32 = 4;
/// Numbers of the runtime's directions of copies to and from arrays.
const TO_DEVICE: i32 = 1;
const FROM_DEVICE: i32 = 2;
const ON_DEVICE: i32 = 3;

/// Side of a copy in the layout of `CUDA_MEMCPY3D`. The structure for two contexts has a context in
/// the place of the reserved word.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CSide3 {
    /// Start of the box: bytes, rows and slices.
    pub position: [usize; 3],
    pub level: usize,
    pub kind: i32,
    pub host: u64,
    pub device: u64,
    pub array: u64,
    pub reserved: u64,
    pub pitch: usize,
    pub height: usize,
}

/// Layout of `CUDA_MEMCPY3D` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CBoxCopy {
    pub from: CSide3,
    pub to: CSide3,
    pub bytes: usize,
    pub height: usize,
    pub depth: usize,
}

/// Side of a copy in the layout of `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CSide2 {
    position: [usize; 2],
    kind: i32,
    host: u64,
    device: u64,
    array: u64,
    pitch: usize,
}

/// Layout of `CUDA_MEMCPY2D` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRowsCopy {
    from: CSide2,
    to: CSide2,
    bytes: usize,
    height: usize,
}

impl From<CSide2> for CSide3 {
    fn from(own: CSide2) -> Self {
        let [x, y] = own.position;
        Self {
            position: [x, y, 0],
            level: 0,
            kind: own.kind,
            host: own.host,
            device: own.device,
            array: own.array,
            reserved: 0,
            pitch: own.pitch,
            height: 0,
        }
    }
}

impl From<CRowsCopy> for CBoxCopy {
    fn from(own: CRowsCopy) -> Self {
        Self {
            from: own.from.into(),
            to: own.to.into(),
            bytes: own.bytes,
            height: own.height,
            depth: 1,
        }
    }
}

impl CSide3 {
    /// Size in bytes of a texel of an array, or 1 for other memory.
    fn unit(&self, context: &Context) -> Cuda<u64> {
        match self.kind {
            ARRAY => context.array(self.array)?.channels.texel_bytes(),
            HOST | DEVICE | UNIFIED => Ok(1),
            _ => Err(CudaError::INVALID_VALUE),
        }
    }

    /// Place of the side for a box with rows of `bytes` bytes in slices of `rows` rows.
    fn place(&self, unit: u64, bytes: usize, rows: usize) -> Cuda<Place> {
        let [x, y, z] = self.position.map(|n| n as u64);
        if !x.is_multiple_of(unit) || self.level != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let end = |own: usize, start: u64, size: usize| match own {
            0 => start.saturating_add(size as u64),
            own => own as u64,
        };
        Ok(Place {
            array: if self.kind == ARRAY { self.array } else { 0 },
            position: [x / unit, y, z],
            pointer: match self.kind {
                HOST => self.host,
                ARRAY => 0,
                _ => self.device,
            },
            pitch: end(self.pitch, x, bytes),
            width: bytes as u64,
            height: end(self.height, y, rows),
        })
    }
}

/// Direction of a copy between two kinds of memory.
fn direction(from: i32, to: i32) -> Direction {
    match (from, to) {
        (UNIFIED, _) | (_, UNIFIED) => Direction::Default,
        (HOST, HOST) => Direction::HostToHost,
        (HOST, _) => Direction::HostToDevice,
        (_, HOST) => Direction::DeviceToHost,
        _ => Direction::DeviceToDevice,
    }
}

/// Description of a copy that the simulated runtime uses. Where an array takes part, its texels are
/// the unit of the width.
pub fn described(context: &Context, own: &CBoxCopy) -> Cuda<Copy3> {
    let (from, to) = (own.from.unit(context)?, own.to.unit(context)?);
    let unit = from.max(to);
    let bytes = own.bytes as u64;
    if !bytes.is_multiple_of(unit) {
        return Err(CudaError::INVALID_VALUE);
    }
    Ok(Copy3 {
        to: own.to.place(to, own.bytes, own.height)?,
        from: own.from.place(from, own.bytes, own.height)?,
        extent: Extent {
            width: bytes / unit,
            height: own.height as u64,
            depth: own.depth as u64,
        },
        direction: direction(own.from.kind, own.to.kind),
    })
}

/// Copies as described.
///
/// # Safety
/// `own` is null or points to a description.
unsafe fn copy<T: Copy + Into<CBoxCopy>>(
    context: &mut Context,
    own: *const T,
    submission: Submission,
) -> Cuda {
    // SAFETY: the caller fulfils the requirements of this function.
    let own = unsafe { get(own) }?.into();
    let copy = described(context, &own)?;
    context.copy3(&copy, submission)
}

driver! {
    fn cuMemcpy2D_v2 / cuMemcpy2D_v2_ptds / cuMemcpy2DUnaligned_v2 / cuMemcpy2DUnaligned_v2_ptds (
        own: *const CRowsCopy,
    ) |context| {
        copy(context, own, Submission::BLOCKING)
    }

    fn cuMemcpy2DAsync_v2 / cuMemcpy2DAsync_v2_ptsz (
        own: *const CRowsCopy, stream: u64,
    ) |context| {
        copy(context, own, Submission::asynchronous(stream))
    }

    // All contexts are the only one.
    fn cuMemcpy3D_v2 / cuMemcpy3D_v2_ptds / cuMemcpy3DPeer / cuMemcpy3DPeer_ptds (
        own: *const CBoxCopy,
    ) |context| {
        copy(context, own, Submission::BLOCKING)
    }

    fn cuMemcpy3DAsync_v2 / cuMemcpy3DAsync_v2_ptsz / cuMemcpy3DPeerAsync
        / cuMemcpy3DPeerAsync_ptsz (own: *const CBoxCopy, stream: u64) |context| {
        copy(context, own, Submission::asynchronous(stream))
    }

    fn cuMemcpyHtoA_v2 / cuMemcpyHtoA_v2_ptds (
        array: u64, offset: usize, from: u64, bytes: usize,
    ) |context| {
        let (memory, way) = ((from, bytes), (TO_DEVICE, true));
        along_array(context, array, (offset, 0), memory, way, Submission::BLOCKING)
    }

    fn cuMemcpyAtoH_v2 / cuMemcpyAtoH_v2_ptds (
        to: u64, array: u64, offset: usize, bytes: usize,
    ) |context| {
        let (memory, way) = ((to, bytes), (FROM_DEVICE, false));
        along_array(context, array, (offset, 0), memory, way, Submission::BLOCKING)
    }

    fn cuMemcpyHtoAAsync_v2 / cuMemcpyHtoAAsync_v2_ptsz (
        array: u64, offset: usize, from: u64, bytes: usize, stream: u64,
    ) |context| {
        let (memory, way) = ((from, bytes), (TO_DEVICE, true));
        along_array(context, array, (offset, 0), memory, way, Submission::asynchronous(stream))
    }

    fn cuMemcpyAtoHAsync_v2 / cuMemcpyAtoHAsync_v2_ptsz (
        to: u64, array: u64, offset: usize, bytes: usize, stream: u64,
    ) |context| {
        let (memory, way) = ((to, bytes), (FROM_DEVICE, false));
        along_array(context, array, (offset, 0), memory, way, Submission::asynchronous(stream))
    }

    fn cuMemcpyDtoA_v2 / cuMemcpyDtoA_v2_ptds (
        array: u64, offset: usize, from: u64, bytes: usize,
    ) |context| {
        let (memory, way) = ((from, bytes), (ON_DEVICE, true));
        along_array(context, array, (offset, 0), memory, way, Submission::BLOCKING)
    }

    fn cuMemcpyAtoD_v2 / cuMemcpyAtoD_v2_ptds (
        to: u64, array: u64, offset: usize, bytes: usize,
    ) |context| {
        let (memory, way) = ((to, bytes), (ON_DEVICE, false));
        along_array(context, array, (offset, 0), memory, way, Submission::BLOCKING)
    }

    fn cuMemcpyAtoA_v2 / cuMemcpyAtoA_v2_ptds (
        to: u64, to_offset: usize, from: u64, offset: usize, bytes: usize,
    ) |context| {
        between_arrays(context, (to, to_offset, 0), (from, offset, 0), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{CBoxCopy, CRowsCopy};

    #[test]
    fn layouts_are_those_of_the_headers() {
        assert_eq!(size_of::<CRowsCopy>(), 128);
        assert_eq!(size_of::<CBoxCopy>(), 200);
        assert_eq!(std::mem::offset_of!(CBoxCopy, to), 88);
    }
}
