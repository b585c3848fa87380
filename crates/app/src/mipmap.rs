//! Mipmapped arrays: one array for each level of a texture.

use crate::array::{Channels, Extent};
use crate::context::Context;
use crate::error::{Cuda, CudaError};

/// A mipmapped array with its levels.
#[derive(Clone, Debug)]
pub(crate) struct Mipmapped {
    /// Handles of the levels' arrays, the largest first.
    pub levels: Vec<u64>,
}

/// Extent of a level: half of the previous level in each dimension except layers.
fn of_level(extent: Extent, level: u32, layered: bool) -> Extent {
    let half = |texels: u64| match texels {
        0 => 0,
        texels => (texels >> level).max(1),
    };
    Extent {
        width: half(extent.width),
        height: half(extent.height),
        depth: if layered {
            extent.depth
        } else {
            half(extent.depth)
        },
    }
}

/// Flags `cudaArrayLayered` and `cudaArrayCubemap`, with which slices are layers.
const LAYERS: u32 = 5;

/// Number of levels down to a single texel.
fn most_levels(extent: Extent, layered: bool) -> u32 {
    let depth = if layered { 1 } else { extent.depth };
    let longest = extent.width.max(extent.height).max(depth).max(1);
    longest.ilog2() + 1
}

impl Context {
    /// Creates a mipmapped array and returns its handle. `levels` is limited to the number of
    /// levels that the extent has.
    pub fn create_mipmapped(
        &mut self,
        channels: Channels,
        extent: Extent,
        levels: u32,
        flags: u32,
    ) -> Cuda<u64> {
        let layered = flags & LAYERS != 0;
        let levels = levels.clamp(1, most_levels(extent, layered));
        let mut handles = Vec::new();
        for level in 0..levels {
            let array = self.create_array(channels, of_level(extent, level, layered), flags);
            match array {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    handles
                        .into_iter()
                        .try_for_each(|own| self.free_array(own))?;
                    return Err(error);
                }
            }
        }
        let handle = self.handle();
        let own = Mipmapped { levels: handles };
        self.mipmapped.insert(handle, own);
        Ok(handle)
    }

    /// Frees a mipmapped array with all of its levels.
    pub fn free_mipmapped(&mut self, handle: u64) -> Cuda {
        if handle == 0 {
            return Ok(());
        }
        let own = self.mipmapped.remove(&handle);
        let own = own.ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
        own.levels
            .into_iter()
            .try_for_each(|array| self.free_array(array))
    }

    /// Handle of the array of one level (`cudaGetMipmappedArrayLevel`).
    pub fn mipmap_level(&self, handle: u64, level: u32) -> Cuda<u64> {
        let levels = self.mipmap_levels(handle)?;
        let array = levels.get(level as usize).copied();
        array.ok_or(CudaError::INVALID_VALUE)
    }

    /// Handles of the levels of a mipmapped array.
    pub(crate) fn mipmap_levels(&self, handle: u64) -> Cuda<&[u64]> {
        let own = self.mipmapped.get(&handle);
        let own = own.ok_or(CudaError::INVALID_RESOURCE_HANDLE)?;
        Ok(&own.levels)
    }

    /// True if an array is a level of a mipmapped array, which then owns it.
    pub(crate) fn is_level(&self, array: u64) -> bool {
        let mut all = self.mipmapped.values();
        all.any(|own| own.levels.contains(&array))
    }
}

#[cfg(test)]
mod tests {
    use super::{most_levels, of_level};
    use crate::array::Extent;

    #[test]
    fn levels_are_halves_down_to_one_texel() {
        let extent = |width, height, depth| Extent {
            width,
            height,
            depth,
        };
        assert_eq!(of_level(extent(8, 5, 0), 1, false), extent(4, 2, 0));
        assert_eq!(of_level(extent(8, 5, 0), 3, false), extent(1, 1, 0));
        assert_eq!(of_level(extent(8, 8, 6), 1, true), extent(4, 4, 6));
        assert_eq!(of_level(extent(8, 8, 6), 1, false), extent(4, 4, 3));
        assert_eq!(most_levels(extent(8, 5, 0), false), 4);
        assert_eq!(most_levels(extent(4, 4, 64), true), 3);
        assert_eq!(most_levels(extent(1, 0, 0), false), 1);
    }
}
