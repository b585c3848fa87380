//! Textures: bindings, formats, addressing modes (CUDA C++ Programming Guide, "Texture Fetching").
//!
//! A texture is pitch-linear memory. Linear filtering takes weights of 8 fractional bits, as the
//! hardware does. Textures in several sizes are in `mipmap`.

use crate::memory::mipmap::{Detail, Mipmap};
use crate::numeric::float::widen;
use crate::numeric::softfloat::Format;
use std::collections::BTreeMap;
use warploom_base::WARP_SIZE;
use warploom_ir::TexQuery;

/// What happens to coordinates outside the texture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressMode {
    /// Repeats. Normalized coordinates only, else as `Clamp`.
    Wrap,
    /// Repeats, every second time mirrored. Normalized coordinates only, else as `Clamp`.
    Mirror,
    /// The nearest texel inside.
    #[default]
    Clamp,
    /// Zero.
    Border,
}

/// Kind of a texel's channels in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelKind {
    /// Signed integer.
    Signed,
    /// Unsigned integer.
    Unsigned,
    /// Signed integer read as a float in [-1, 1].
    SignedNormalized,
    /// Unsigned integer read as a float in [0, 1].
    UnsignedNormalized,
    /// f16 or f32, by width.
    Float,
}

/// One bound texture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Texture {
    /// Address of the first texel in global memory.
    pub base: u64,
    /// Texels in x.
    pub width: u32,
    /// Texels in y (1 for one dimension).
    pub height: u32,
    /// Texels in z (1 for one and two dimensions).
    pub depth: u32,
    /// Layers of an array (cube maps: six per cube), else 1.
    pub layers: u32,
    /// Bytes from one row to the next.
    pub pitch: u32,
    /// Channels of a texel: 1, 2 or 4 (a power of two).
    pub channels: u8,
    /// Bits of a channel: 8, 16 or 32.
    pub channel_bits: u8,
    /// Kind of the channels.
    pub kind: ChannelKind,
    /// Coordinates run from 0 to 1.
    pub normalized: bool,
    /// For x, y and z.
    pub address: [AddressMode; 3],
    /// Linear filtering, else the nearest texel.
    pub linear: bool,
}

/// The textures that handles name. Handle 0 names none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextureTable {
    textures: Vec<Texture>,
    /// By handle: those with several levels.
    mipmaps: BTreeMap<u64, Mipmap>,
    /// By handle: colours of borders that are not zero.
    borders: BTreeMap<u64, [u32; 4]>,
}

impl TextureTable {
    /// Binds a texture and returns its handle.
    pub fn bind(&mut self, texture: Texture) -> u64 {
        self.textures.push(texture);
        self.textures.len() as u64
    }

    /// Binds a texture in several sizes, the largest first, and returns its handle; 0 if there is
    /// none.
    pub fn bind_mipmap(&mut self, levels: Vec<Texture>, detail: Detail) -> u64 {
        let Some(largest) = levels.first() else {
            return 0;
        };
        let handle = self.bind(*largest);
        self.mipmaps.insert(handle, Mipmap { levels, detail });
        handle
    }

    /// Says the colour of a texture's border: floats by their bits, or integers where its texels
    /// are read as such.
    pub fn colour_border(&mut self, handle: u64, colour: [u32; 4]) {
        self.borders.insert(handle, colour);
    }

    pub(crate) fn has_mipmaps(&self) -> bool {
        !self.mipmaps.is_empty()
    }

    pub(crate) fn mipmap(&self, handle: u64) -> Option<&Mipmap> {
        self.mipmaps.get(&handle)
    }

    /// Levels of a texture.
    pub(crate) fn levels(&self, handle: u64) -> u32 {
        let mipmap = self.mipmap(handle);
        mipmap.map_or(1, |mipmap| mipmap.levels.len() as u32)
    }

    /// The texel of a texture's border.
    #[inline]
    pub(crate) fn border(&self, handle: u64, texture: &Texture) -> Texel {
        if self.borders.is_empty() {
            return [0.0; 4];
        }
        let colour = self.borders.get(&handle);
        colour.map_or([0.0; 4], |colour| texture.border(*colour))
    }

    /// The texture that a handle names.
    pub fn get(&self, handle: u64) -> Option<&Texture> {
        self.textures
            .get(usize::try_from(handle).ok()?.checked_sub(1)?)
    }
}

/// A texel's four channels: floats, or integers by their bits.
pub(crate) type Texel = [f64; 4];

/// Normalized channels of 8 bits: a division for each would be most of a fetch.
const PARTS_OF_255: [f64; 256] = {
    let mut parts = [0.0; 256];
    let mut raw = 0;
    while raw < 256 {
        parts[raw] = raw as f64 / 255.0;
        raw += 1;
    }
    parts
};

/// `x.floor()`, but for the sign of zero: without SSE4.1, which not every host has, that is a call
/// for each lane.
#[inline(always)]
pub(crate) fn floor(x: f32) -> f32 {
    // From here on f32 holds whole numbers only: a sum with it is rounded to one.
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

/// Bytes of a tile: a line of the texture cache in every configuration that GPGPU-Sim tests.
const TILE_BYTES: u64 = 128;
/// Bytes from one tile to the next.
const TILE_STRIDE: u64 = 64;

/// Texels of a tile in x: 16 of one or two bytes, half as many with every fourfold size. All as
/// powers of two.
fn tile_width_log2(texel_bytes: u32) -> u32 {
    4 - texel_bytes / 2
}

impl Texture {
    pub(crate) fn texel_bytes(&self) -> usize {
        self.channels as usize * self.channel_bits as usize / 8
    }

    /// Texels on an axis.
    #[inline]
    pub(crate) fn extent(&self, axis: usize) -> u32 {
        let texels = match axis {
            0 => self.width,
            1 => self.height,
            _ => self.depth,
        };
        texels.max(1)
    }

    /// Bytes from a texel to the next one in x, y and z, and from a layer to the next one.
    pub(crate) fn strides(&self) -> ([u64; 3], u64) {
        let slice = u64::from(self.pitch) * u64::from(self.height);
        let strides = [self.texel_bytes() as u64, self.pitch.into(), slice];
        (strides, slice.wrapping_mul(self.depth.into()))
    }

    pub(crate) fn address_of(&self, place: [u32; 3], layer: u32) -> u64 {
        let (strides, to_layer) = self.strides();
        let start = self.base.wrapping_add(to_layer.wrapping_mul(layer.into()));
        let steps = place.iter().zip(strides);
        steps.fold(start, |at, (i, stride)| {
            at.wrapping_add(stride.wrapping_mul(u64::from(*i)))
        })
    }

    /// Address of a texel as the caches see it. GPGPU-Sim keeps textures of two dimensions in tiles
    /// of a line's size (`gpgpu_ptx_sim_bindTextureToArray`, `tex_impl`), whatever the order in
    /// which the functional model stores them. Tiles are 128 bytes but stand 64 apart, there and
    /// here: lower rows of a tile share addresses with upper rows of the next.
    pub(crate) fn cached_address_of(&self, place: [u32; 3], layer: u32, dims: usize) -> u64 {
        if dims != 2 || self.layers > 1 {
            return self.address_of(place, layer);
        }
        let (x, y) = (u64::from(place[0]), u64::from(place[1]));
        // All are powers of two.
        let texel = self.texel_bytes().ilog2();
        let tile_width = tile_width_log2(texel);
        let tile_height = TILE_BYTES.ilog2() - tile_width - texel;
        let low = |i: u64, bits: u32| i & ((1 << bits) - 1);
        let tile = (((y >> tile_height) * u64::from(self.width)) >> tile_width) + (x >> tile_width);
        let inside = (low(y, tile_height) << tile_width) + low(x, tile_width);
        self.base + TILE_STRIDE * tile + (inside << texel)
    }

    /// Coordinates in texels, brought inside by wrapping or mirroring where that applies.
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

    /// A texel's number inside the texture, `None`: the border.
    #[inline]
    pub(crate) fn inside(&self, axis: usize, i: i64, fetch: bool) -> Option<u32> {
        let last = i64::from(self.extent(axis)) - 1;
        if (0..=last).contains(&i) {
            return Some(i as u32);
        }
        match self.address[axis] {
            AddressMode::Border => None,
            // Fetches from linear memory give zero outside.
            _ if fetch && axis == 0 && self.height == 1 => None,
            AddressMode::Wrap if self.normalized => Some(i.rem_euclid(last + 1) as u32),
            _ => Some(i.clamp(0, last) as u32),
        }
    }

    /// The texel that these bytes begin with.
    #[inline(always)]
    pub(crate) fn decode(&self, bytes: &[u8; 16]) -> Texel {
        let [x, y, z, w] = match (self.kind, self.channel_bits) {
            (ChannelKind::UnsignedNormalized, 8) => {
                let part = |k: usize| PARTS_OF_255[usize::from(bytes[k])];
                [part(0), part(1), part(2), part(3)]
            }
            _ => self.any_channels(bytes),
        };
        // Channels that the format lacks: zero, and one for the last.
        match self.channels {
            1 => [x, 0.0, 0.0, 1.0],
            2 => [x, y, 0.0, 1.0],
            _ => [x, y, z, w],
        }
    }

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

    /// A colour as texels of this format have it: channels that it lacks are zero.
    fn border(&self, colour: [u32; 4]) -> Texel {
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
            // OpenCL's CL_R, CL_RG, CL_RGBA, which PTX uses.
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

    /// OpenCL's channel data types, which PTX uses.
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
