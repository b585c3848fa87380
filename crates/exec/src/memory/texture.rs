//! Textures: bindings, formats and addressing modes (CUDA C++ Programming Guide, "Texture
//! Fetching").
//!
//! A texture is stored in pitch-linear memory. Linear filtering uses weights with 8 fractional
//! bits, as the hardware does. The module `mipmap` describes textures with several levels.

use crate::numeric::float::widen;
use crate::numeric::softfloat::Format;
use warploom_base::WARP_SIZE;
use warploom_ir::TexQuery;

/// Treatment of coordinates outside of a texture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressMode {
    /// Repeats the texture. Acts like `Clamp` for coordinates that are not normalized.
    Wrap,
    /// Repeats the texture and mirrors every second repetition. Acts like `Clamp` for coordinates
    /// that are not normalized.
    Mirror,
    /// Uses the nearest texel inside the texture.
    #[default]
    Clamp,
    /// Returns the border colour, which is zero by default.
    Border,
}

/// Representation of a texel's channels in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelKind {
    /// Signed integers of the channel width.
    Signed,
    /// Unsigned integers of the channel width.
    Unsigned,
    /// Signed integers that are read as floats in [-1, 1].
    SignedNormalized,
    /// Unsigned integers that are read as floats in [0, 1].
    UnsignedNormalized,
    /// Floats: f16 or f32, depending on the width of a channel.
    Float,
}

/// A texture that is bound to a handle.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Texture {
    /// Address of the first texel in global memory.
    pub base: u64,
    /// Number of texels in x.
    pub width: u32,
    /// Number of texels in y, 1 for one-dimensional textures.
    pub height: u32,
    /// Number of texels in z, 1 for one- and two-dimensional textures.
    pub depth: u32,
    /// Number of layers of an array, else 1. Each cube of a cube map has six layers.
    pub layers: u32,
    /// Distance in bytes between consecutive rows.
    pub pitch: u32,
    /// Number of channels of a texel: 1, 2 or 4.
    pub channels: u8,
    /// Number of bits of a channel: 8, 16 or 32.
    pub channel_bits: u8,
    /// Representation of the channels.
    pub kind: ChannelKind,
    /// True if coordinates range from 0 to 1.
    pub normalized: bool,
    /// Addressing modes of x, y and z.
    pub address: [AddressMode; 3],
    /// True for linear filtering, false for the nearest texel.
    pub linear: bool,
}

/// The four channels of a texel: floats, or the values of integers.
pub(crate) type Texel = [f64; 4];

/// Values of normalized 8-bit channels. A table avoids a division for each, which would take most
/// of the time of a fetch.
const PARTS_OF_255: [f64; 256] = {
    let mut parts = [0.0; 256];
    let mut raw = 0;
    while raw < 256 {
        parts[raw] = raw as f64 / 255.0;
        raw += 1;
    }
    parts
};

/// Rounds like `x.floor()`, except for the sign of zero. Without SSE4.1, which not every host has,
/// `floor` is a function call for each lane.
#[inline(always)]
pub(crate) fn floor(x: f32) -> f32 {
    // From this magnitude on, f32 holds only whole numbers, so that adding it rounds to a whole
    // number.
    const WHOLE: f32 = (1 << 23) as f32;
    let nearest = ((x.abs() + WHOLE) - WHOLE).copysign(x);
    let below = nearest - if nearest > x { 1.0 } else { 0.0 };
    if x.abs() < WHOLE { below } else { x }
}

/// Weight of the upper neighbour in 1.8 fixed point.
#[inline(always)]
pub(crate) fn weight(fraction: f32) -> f64 {
    f64::from(floor(fraction * 256.0 + 0.5)) / 256.0
}

/// Size of a tile in bytes: a line of the texture cache in every configuration that GPGPU-Sim
/// tests.
const TILE_BYTES: u64 = 128;
/// Distance in bytes between the starts of consecutive tiles.
const TILE_STRIDE: u64 = 64;

/// Width of a tile: 16 texels of one or two bytes, and half as many for each fourfold size.
/// Argument and result are binary logarithms.
fn tile_width_log2(texel_bytes: u32) -> u32 {
    4 - texel_bytes / 2
}

/// Bytes as channels of 32 bits.
#[inline(always)]
fn words(bytes: &[u8; 16]) -> [u32; 4] {
    let word = |k: usize| [bytes[k], bytes[k + 1], bytes[k + 2], bytes[k + 3]];
    [0, 4, 8, 12].map(|k| u32::from_le_bytes(word(k)))
}

impl Texture {
    /// Size of a texel in bytes.
    pub(crate) fn texel_bytes(&self) -> usize {
        self.channels as usize * self.channel_bits as usize / 8
    }

    /// Number of texels on an axis.
    #[inline]
    pub(crate) fn extent(&self, axis: usize) -> u32 {
        let texels = match axis {
            0 => self.width,
            1 => self.height,
            _ => self.depth,
        };
        texels.max(1)
    }

    /// Distances in bytes between neighbouring texels in x, y and z, and between consecutive
    /// layers.
    pub(crate) fn strides(&self) -> ([u64; 3], u64) {
        let slice = u64::from(self.pitch) * u64::from(self.height);
        let strides = [self.texel_bytes() as u64, self.pitch.into(), slice];
        (strides, slice.wrapping_mul(self.depth.into()))
    }

    /// Address of a texel inside the texture.
    pub(crate) fn address_of(&self, place: [u32; 3], layer: u32) -> u64 {
        let (strides, to_layer) = self.strides();
        let start = self.base.wrapping_add(to_layer.wrapping_mul(layer.into()));
        let steps = place.iter().zip(strides);
        steps.fold(start, |at, (i, stride)| {
            at.wrapping_add(stride.wrapping_mul(u64::from(*i)))
        })
    }

    /// True if the caches see the texture in tiles, where its coordinates have `dims` dimensions.
    pub(crate) fn is_tiled(&self, dims: usize) -> bool {
        dims == 2 && self.layers <= 1
    }

    /// Address of a texel as the caches see it, of a texture in tiles. GPGPU-Sim stores
    /// two-dimensional textures in tiles of the size of a line (`gpgpu_ptx_sim_bindTextureToArray`,
    /// `tex_impl`), independently of the order in which its functional model stores them. Tiles
    /// have 128 bytes but begin every 64 bytes, in GPGPU-Sim and here. The lower rows of a tile
    /// therefore share addresses with the upper rows of the next one.
    pub(crate) fn tiled_address_of(&self, place: [u32; 3]) -> u64 {
        let (x, y) = (u64::from(place[0]), u64::from(place[1]));
        // All sizes are powers of two.
        let texel = self.texel_bytes().ilog2();
        let tile_width = tile_width_log2(texel);
        let tile_height = TILE_BYTES.ilog2() - tile_width - texel;
        let low = |i: u64, bits: u32| i & ((1 << bits) - 1);
        let tile = (((y >> tile_height) * u64::from(self.width)) >> tile_width) + (x >> tile_width);
        let inside = (low(y, tile_height) << tile_width) + low(x, tile_width);
        self.base + TILE_STRIDE * tile + (inside << texel)
    }

    /// Converts coordinates to texels, and applies wrapping or mirroring to normalized coordinates.
    pub(crate) fn scale(&self, axis: usize, lanes: &mut [f32; WARP_SIZE]) {
        if !self.normalized {
            return;
        }
        let extent = self.extent(axis) as f32;
        let mirrored = |x: f32| {
            let (whole, part) = (floor(x), x - floor(x));
            if whole.rem_euclid(2.0) == 0.0 {
                part
            } else {
                1.0 - part
            }
        };
        match self.address[axis] {
            AddressMode::Wrap => lanes
                .iter_mut()
                .for_each(|x| *x = (*x - floor(*x)) * extent),
            AddressMode::Mirror => lanes.iter_mut().for_each(|x| *x = mirrored(*x) * extent),
            AddressMode::Clamp | AddressMode::Border => lanes.iter_mut().for_each(|x| *x *= extent),
        }
    }

    /// Index of a texel after the addressing mode is applied. `None` stands for the border.
    #[inline]
    pub(crate) fn inside(&self, axis: usize, i: i64, fetch: bool) -> Option<u32> {
        let last = i64::from(self.extent(axis)) - 1;
        if (0..=last).contains(&i) {
            return Some(i as u32);
        }
        match self.address[axis] {
            AddressMode::Border => None,
            // Fetches from linear memory return zero outside of it.
            _ if fetch && axis == 0 && self.height == 1 => None,
            AddressMode::Wrap if self.normalized => Some(i.rem_euclid(last + 1) as u32),
            _ => Some(i.clamp(0, last) as u32),
        }
    }

    /// Decodes the texel at the start of the bytes.
    #[inline(always)]
    pub(crate) fn decode(&self, bytes: &[u8; 16]) -> Texel {
        let [x, y, z, w] = match (self.kind, self.channel_bits) {
            (ChannelKind::UnsignedNormalized, 8) => {
                let part = |k: usize| PARTS_OF_255[usize::from(bytes[k])];
                [part(0), part(1), part(2), part(3)]
            }
            (ChannelKind::Float, 32) => words(bytes).map(|raw| f64::from(f32::from_bits(raw))),
            (ChannelKind::Unsigned, 32) => words(bytes).map(f64::from),
            (ChannelKind::Signed, 32) => words(bytes).map(|raw| f64::from(raw as i32)),
            _ => self.any_channels(bytes),
        };
        // Missing channels are zero, except the last one, which is one.
        match self.channels {
            1 => [x, 0.0, 0.0, 1.0],
            2 => [x, y, 0.0, 1.0],
            _ => [x, y, z, w],
        }
    }

    /// Decodes the channels of any format.
    fn any_channels(&self, bytes: &[u8; 16]) -> Texel {
        let size = self.channel_bits as usize / 8;
        let mut parts = bytes.chunks_exact(size);
        std::array::from_fn(|_| {
            let mut raw = [0; 4];
            if let Some(part) = parts.next() {
                raw[..size].copy_from_slice(part);
            }
            self.channel(u32::from_le_bytes(raw))
        })
    }

    /// Decodes one channel of a texel.
    fn channel(&self, raw: u32) -> f64 {
        let unused = 32 - u32::from(self.channel_bits);
        let signed = f64::from((raw << unused) as i32 >> unused);
        let most = f64::from(u32::MAX >> unused);
        match self.kind {
            ChannelKind::Signed => signed,
            ChannelKind::Unsigned => f64::from(raw),
            ChannelKind::UnsignedNormalized => f64::from(raw) / most,
            ChannelKind::SignedNormalized => (signed / (most / 2.0).floor()).max(-1.0),
            ChannelKind::Float if self.channel_bits == 16 => widen(raw as u16, Format::F16),
            ChannelKind::Float => f64::from(f32::from_bits(raw)),
        }
    }

    /// Border colour as a texel of this format. Channels that the format lacks are zero.
    pub(super) fn border(&self, colour: [u32; 4]) -> Texel {
        let mut texel = [0.0; 4];
        let channels = texel.iter_mut().zip(colour);
        for (channel, bits) in channels.take(self.channels.into()) {
            let float = f64::from(f32::from_bits(bits));
            *channel = match self.kind {
                ChannelKind::Signed => f64::from(bits as i32),
                ChannelKind::Unsigned => f64::from(bits),
                ChannelKind::Float => float,
                ChannelKind::SignedNormalized => float.clamp(-1.0, 1.0),
                ChannelKind::UnsignedNormalized => float.clamp(0.0, 1.0),
            };
        }
        texel
    }

    /// Result of `txq` and `suq`.
    pub(crate) fn query(&self, query: TexQuery) -> u32 {
        let mode = |axis: usize| match self.address[axis] {
            AddressMode::Wrap => 0,
            AddressMode::Mirror => 1,
            AddressMode::Clamp => 3,
            AddressMode::Border => 4,
        };
        match query {
            TexQuery::Width => self.width,
            TexQuery::Height => self.height,
            TexQuery::Depth => self.depth,
            TexQuery::ChannelDataType => self.channel_type(),
            // OpenCL's constants CL_R, CL_RG and CL_RGBA, which PTX uses.
            TexQuery::ChannelOrder => match self.channels {
                1 => 0x10b0,
                2 => 0x10b2,
                _ => 0x10b5,
            },
            TexQuery::NormalizedCoords => self.normalized.into(),
            TexQuery::ForceUnnormalizedCoords => (!self.normalized).into(),
            TexQuery::ArraySize => self.layers,
            TexQuery::NumMipmapLevels => 1,
            TexQuery::FilterMode => self.linear.into(),
            TexQuery::AddrMode0 => mode(0),
            TexQuery::AddrMode1 => mode(1),
            TexQuery::AddrMode2 => mode(2),
        }
    }

    /// OpenCL's channel data type, which PTX uses.
    fn channel_type(&self) -> u32 {
        let step = self.channel_bits.trailing_zeros() - 3;
        match self.kind {
            ChannelKind::SignedNormalized => 0x10d0 + step,
            ChannelKind::UnsignedNormalized => 0x10d2 + step,
            ChannelKind::Signed => 0x10d7 + step,
            ChannelKind::Unsigned => 0x10da + step,
            ChannelKind::Float => 0x10dc + step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PARTS_OF_255, floor};

    #[test]
    fn floor_is_that_of_the_standard_library() {
        let whole = 8_388_608.0;
        let edges = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.0,
            -1.0,
            -1e-40,
            whole,
            -whole,
            whole - 0.5,
        ];
        let far = [
            0.5 - whole,
            whole + 1.0,
            -whole - 1.0,
            3e9,
            1e18,
            -1e19,
            f32::MAX,
            f32::MIN,
        ];
        let odd = [
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MIN_POSITIVE,
            2.5,
            -2.5,
        ];
        for x in [&edges[..], &far, &odd].concat() {
            assert_eq!(floor(x), x.floor(), "{x}");
        }
        assert!(floor(f32::NAN).is_nan());
    }

    #[test]
    fn normalized_channels_are_quotients() {
        for (raw, part) in PARTS_OF_255.into_iter().enumerate() {
            assert_eq!(part, raw as f64 / f64::from(u8::MAX));
        }
    }
}
