//! Arrays and mipmapped arrays.

use super::driver;
use crate::ffi::{get, put};
use warploom_app::{Array, Channels, Cuda, CudaError, Extent};

/// Number of `CUarray_format`, kind of the values (0 signed, 1 unsigned, 2 float) and their bits.
const FORMATS: &[(i32, i32, i32)] = &[
    (0x01, 1, 8),
    (0x02, 1, 16),
    (0x03, 1, 32),
    (0x08, 0, 8),
    (0x09, 0, 16),
    (0x0a, 0, 32),
    (0x10, 2, 16),
    (0x20, 2, 32),
];

/// Channels of a number of components with a format.
pub fn channels(format: i32, count: u32) -> Cuda<Channels> {
    let own = FORMATS.iter().find(|(number, ..)| *number == format);
    let (_, kind, bits) = *own.ok_or(CudaError::INVALID_VALUE)?;
    if !matches!(count, 1 | 2 | 4) {
        return Err(CudaError::INVALID_VALUE);
    }
    let bits = std::array::from_fn(|at| if at < count as usize { bits } else { 0 });
    Ok(Channels { bits, kind })
}

/// Format and number of components of channels.
pub fn format(own: &Channels) -> (i32, u32) {
    let count = own.bits.iter().filter(|bits| **bits != 0).count();
    let same = |(_, kind, bits): &&(i32, i32, i32)| (*kind, *bits) == (own.kind, own.bits[0]);
    let format = FORMATS.iter().find(same);
    (format.map_or(0, |(number, ..)| *number), count as u32)
}

/// Layout of `CUDA_ARRAY_DESCRIPTOR` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRows {
    pub width: usize,
    pub height: usize,
    pub format: i32,
    pub channels: u32,
}

/// Layout of `CUDA_ARRAY3D_DESCRIPTOR` in the headers.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CBox {
    width: usize,
    height: usize,
    depth: usize,
    format: i32,
    channels: u32,
    flags: u32,
}

impl CBox {
    fn extent(&self) -> Extent {
        Extent {
            width: self.width as u64,
            height: self.height as u64,
            depth: self.depth as u64,
        }
    }
}

impl From<CRows> for CBox {
    fn from(own: CRows) -> Self {
        Self {
            width: own.width,
            height: own.height,
            depth: 0,
            format: own.format,
            channels: own.channels,
            flags: 0,
        }
    }
}

impl From<Array> for CBox {
    fn from(own: Array) -> Self {
        let (format, channels) = format(&own.channels);
        Self {
            width: own.extent.width as usize,
            height: own.extent.height as usize,
            depth: own.extent.depth as usize,
            format,
            channels,
            flags: own.flags,
        }
    }
}

driver! {
    fn cuArrayCreate_v2(to: *mut u64, own: *const CRows) |context| {
        let own = CBox::from(get(own)?);
        let channels = channels(own.format, own.channels)?;
        put(to, context.create_array(channels, own.extent(), 0)?)
    }

    fn cuArray3DCreate_v2(to: *mut u64, own: *const CBox) |context| {
        let own = get(own)?;
        let channels = channels(own.format, own.channels)?;
        put(to, context.create_array(channels, own.extent(), own.flags)?)
    }

    fn cuArrayGetDescriptor_v2(to: *mut CRows, array: u64) |context| {
        let CBox { width, height, format, channels, .. } = context.array(array)?.into();
        put(to, CRows { width, height, format, channels })
    }

    fn cuArray3DGetDescriptor_v2(to: *mut CBox, array: u64) |context| {
        put(to, context.array(array)?.into())
    }

    fn cuArrayDestroy(array: u64) |context| {
        context.array(array)?;
        context.free_array(array)
    }

    fn cuMipmappedArrayCreate(to: *mut u64, own: *const CBox, levels: u32) |context| {
        let own = get(own)?;
        let channels = channels(own.format, own.channels)?;
        put(to, context.create_mipmapped(channels, own.extent(), levels, own.flags)?)
    }

    fn cuMipmappedArrayGetLevel(to: *mut u64, array: u64, level: u32) |context| {
        put(to, context.mipmap_level(array, level)?)
    }

    fn cuMipmappedArrayDestroy(array: u64) |context| { context.free_mipmapped(array) }
}

#[cfg(test)]
mod tests {
    use super::{channels, format};

    #[test]
    fn formats_are_those_of_the_header() {
        let half = channels(0x10, 4).unwrap();
        assert_eq!((half.bits, half.kind), ([16; 4], 2));
        let bytes = channels(0x08, 1).unwrap();
        assert_eq!((bytes.bits, bytes.kind), ([8, 0, 0, 0], 0));
        for number in [0x01, 0x02, 0x03, 0x08, 0x09, 0x0a, 0x10, 0x20] {
            let own = channels(number, 2).unwrap();
            assert_eq!(format(&own), (number, 2));
        }
        assert!(channels(0xb0, 1).is_err() && channels(0x20, 3).is_err());
    }
}
