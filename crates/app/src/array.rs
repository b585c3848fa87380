//! Arrays: texels that only textures, surfaces and copies can access. They are pitched device
//! memory.

use crate::context::Context;
use crate::copy::Endpoint;
use crate::error::{Cuda, CudaError};
use crate::memory::{Kind, PITCH_BYTES};

/// Format of a texel's channels (`cudaChannelFormatDesc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Channels {
    /// Number of bits of x, y, z and w.
    pub bits: [i32; 4],
    /// Kind of the values: 0 for signed and 1 for unsigned integers, 2 for floats.
    pub kind: i32,
}

impl Channels {
    /// Number of channels and of bits in each channel. Fails if the format is not supported.
    pub fn format(&self) -> Cuda<(u8, u8)> {
        let used = self.bits.iter().take_while(|bits| **bits != 0).count();
        let same = self.bits[..used].iter().all(|bits| *bits == self.bits[0]);
        let none = self.bits[used..].iter().all(|bits| *bits == 0);
        let fits = matches!(used, 1 | 2 | 4) && matches!(self.bits[0], 8 | 16 | 32);
        if same && none && fits && (0..=2).contains(&self.kind) {
            Ok((used as u8, self.bits[0] as u8))
        } else {
            Err(CudaError::INVALID_CHANNEL_DESCRIPTOR)
        }
    }

    /// True for integers of 8 or 16 bits, which a texture can read as floats.
    pub fn is_small_integer(&self) -> bool {
        self.kind != 2 && self.bits[0] < 32
    }

    /// Size of a texel in bytes.
    pub fn texel_bytes(&self) -> Cuda<u64> {
        let (channels, bits) = self.format()?;
        Ok(u64::from(channels) * u64::from(bits) / 8)
    }
}

/// Extent in texels. Dimensions that do not exist are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Extent {
    /// Number of texels in a row.
    pub width: u64,
    /// Number of rows in a slice.
    pub height: u64,
    /// Number of slices or layers.
    pub depth: u64,
}

/// Flags `cudaArrayLayered` and `cudaArrayCubemap`, and the mask of all flags including
/// `cudaArraySurfaceLoadStore` and `cudaArrayTextureGather`.
const LAYERED: u32 = 1;
const CUBE: u32 = 4;
const KNOWN_FLAGS: u32 = 0xf;

/// An array in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Address of the first texel.
    pub address: u64,
    /// Distance in bytes between consecutive rows.
    pub pitch: u64,
    /// Format of a texel.
    pub channels: Channels,
    /// Extent of the array in texels.
    pub extent: Extent,
    /// Flags with which the array was created.
    pub flags: u32,
}

impl Array {
    /// Number of rows in a slice, at least one.
    pub fn rows(&self) -> u64 {
        self.extent.height.max(1)
    }

    /// True if the slices of the array are layers.
    pub fn is_layered(&self) -> bool {
        self.flags & (LAYERED | CUBE) != 0
    }

    /// Position at `bytes` bytes in row `y` of slice `z`.
    pub fn place(&self, bytes: u64, y: u64, z: u64) -> Endpoint {
        let slice = self.pitch.wrapping_mul(self.rows());
        let rows = z
            .wrapping_mul(slice)
            .wrapping_add(y.wrapping_mul(self.pitch));
        Endpoint {
            address: self.address.wrapping_add(rows).wrapping_add(bytes),
            pitch: self.pitch,
            slice,
        }
    }
}

impl Context {
    /// Creates an array and returns its handle.
    pub fn create_array(&mut self, channels: Channels, extent: Extent, flags: u32) -> Cuda<u64> {
        let texel = channels.texel_bytes()?;
        if extent.width == 0 || flags & !KNOWN_FLAGS != 0 {
            return Err(CudaError::INVALID_VALUE);
        }
        let row = extent.width.checked_mul(texel);
        let pitch = row.and_then(|row| row.checked_next_multiple_of(PITCH_BYTES));
        let rows = extent.height.max(1).checked_mul(extent.depth.max(1));
        let bytes = pitch
            .zip(rows)
            .and_then(|(pitch, rows)| pitch.checked_mul(rows));
        let bytes = bytes.ok_or(CudaError::MEMORY_ALLOCATION)?;
        let address = self.allocate(bytes, Kind::Array)?;
        let array = Array {
            address,
            pitch: pitch.unwrap_or(0),
            channels,
            extent,
            flags,
        };
        let handle = self.handle();
        self.arrays.insert(handle, array);
        Ok(handle)
    }

    /// Frees an array that is not a level of a mipmapped array.
    pub fn free_array(&mut self, handle: u64) -> Cuda {
        if handle == 0 {
            return Ok(());
        }
        if self.is_level(handle) {
            return Err(CudaError::INVALID_RESOURCE_HANDLE);
        }
        let array = self.arrays.remove(&handle);
        let array = array.ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
        self.free(array.address, &[Kind::Array])
    }

    /// Returns the array with the given handle.
    pub fn array(&self, handle: u64) -> Cuda<Array> {
        let array = self.arrays.get(&handle).copied();
        array.ok_or(CudaError::INVALID_RESOURCE_HANDLE)
    }
}

#[cfg(test)]
mod tests {
    use super::Channels;

    #[test]
    fn formats_are_those_of_textures() {
        let bytes = |bits, kind| Channels { bits, kind }.texel_bytes().ok();
        assert_eq!(bytes([32, 0, 0, 0], 2), Some(4));
        assert_eq!(bytes([8, 8, 8, 8], 1), Some(4));
        assert_eq!(bytes([16, 16, 0, 0], 0), Some(4));
        for (bits, kind) in [
            ([8, 8, 8, 0], 1),
            ([8, 16, 0, 0], 1),
            ([0, 8, 0, 0], 1),
            ([64, 0, 0, 0], 2),
            ([32, 0, 0, 0], 3),
        ] {
            assert_eq!(bytes(bits, kind), None, "{bits:?}");
        }
    }
}
