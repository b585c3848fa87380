//! Layout of the tree and its text in textures: items with near numbers are adjacent, within the
//! small tiles in which GPUs of 2007 stored textures.
//!
//! A column has 32 nodes, a band has 4,096 columns, and further bands follow below. The text has
//! the same layout with four characters per column and 65,536 columns. This is the layout of
//! MUMmerGPU 1.0.

use warploom_run::{AddressMode, ChannelKind, Device, DevicePtr, HostError, Scalar, Texture};

/// Base-2 logarithms of the texels per row of nodes, and of the rows per band.
const NODES: Band = Band { width: 12, rows: 5 };
/// Base-2 logarithms of the same extents for characters. The kernel contains the same constants.
const CHARACTERS: Band = Band { width: 16, rows: 2 };

/// Extents of a band as base-2 logarithms.
struct Band {
    width: u32,
    rows: u32,
}

impl Band {
    /// Column and row of the item with this number.
    fn place(&self, number: u32) -> [u32; 2] {
        let below = number >> (self.width + self.rows) << self.rows;
        let row = number & ((1 << self.rows) - 1);
        [number >> self.rows & ((1 << self.width) - 1), below | row]
    }

    /// Places items row by row, with as many rows as the last band has.
    fn lay<T: Copy + Default>(&self, things: impl ExactSizeIterator<Item = T>) -> Vec<T> {
        let bands = things.len().div_ceil(1 << (self.width + self.rows));
        let mut texels = vec![T::default(); bands << (self.width + self.rows)];
        for (number, thing) in things.enumerate() {
            let [x, y] = self.place(number as u32);
            texels[((y as usize) << self.width) + x as usize] = thing;
        }
        texels
    }
}

/// Name of a node: its column in the lower half, its row in the upper.
pub(super) fn texel(node: u32) -> u32 {
    let [x, y] = NODES.place(node);
    y << 16 | x
}

/// Creates a texture with four words per node, in the order of the nodes' numbers.
pub(super) fn nodes(device: &mut Device, records: &[[u32; 4]]) -> Result<u64, HostError> {
    let texels = NODES.lay(records.iter().copied());
    texture(
        device,
        texels.as_flattened(),
        &NODES,
        4,
        ChannelKind::Unsigned,
    )
}

/// Creates a texture of the text.
pub(super) fn characters(device: &mut Device, text: &[u8]) -> Result<u64, HostError> {
    let texels = CHARACTERS.lay(text.iter().copied());
    texture(device, &texels, &CHARACTERS, 1, ChannelKind::Signed)
}

fn texture<T: Scalar>(
    device: &mut Device,
    channels: &[T],
    band: &Band,
    channels_per_texel: u8,
    kind: ChannelKind,
) -> Result<u64, HostError> {
    let row = usize::from(channels_per_texel) << band.width;
    let DevicePtr(base) = device.alloc_slice(channels)?;
    Ok(device.texture_object(Texture {
        base,
        width: 1 << band.width,
        height: (channels.len() / row) as u32,
        depth: 1,
        layers: 1,
        pitch: (row * T::BYTES) as u32,
        channels: channels_per_texel,
        channel_bits: 8 * T::BYTES as u8,
        kind,
        normalized: false,
        address: [AddressMode::Clamp; 3],
        linear: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fill_first_then_bands() {
        let places = [0, 31, 32, (1 << 17) - 1, 1 << 17];
        let nodes = [[0, 0], [0, 31], [1, 0], [4095, 31], [0, 32]];
        assert_eq!(places.map(|number| NODES.place(number)), nodes);
        assert_eq!(texel((1 << 17) + 33), 33 << 16 | 1);
        let places = [0, 3, 4, (1 << 18) - 1, 1 << 18];
        let characters = [[0, 0], [0, 3], [1, 0], [65_535, 3], [0, 4]];
        assert_eq!(places.map(|number| CHARACTERS.place(number)), characters);
    }

    #[test]
    fn everything_has_a_texel_of_its_own() {
        let count = (1 << 17) + 100;
        let texels = NODES.lay((0..count).map(|number: u32| number + 1));
        assert_eq!(texels.len(), 2 << 17);
        assert_eq!(
            texels.iter().filter(|texel| **texel > 0).count(),
            count as usize
        );
        let at = texel(count - 1);
        let index = ((at >> 16) << 12 | at & 0xffff) as usize;
        assert_eq!(texels[index], count);
    }
}
