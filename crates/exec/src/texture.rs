//! Textures: bindings, addressing modes, filtering (CUDA C++ Programming Guide, "Texture
//! Fetching").
//!
//! A texture is pitch-linear memory. Linear filtering takes weights of 8 fractional bits, as the
//! hardware does. There is one mipmap level: a level of detail or gradients do not change the
//! texel.

use crate::fault::{FaultKind, RawFault};
use crate::float_ops::{narrow, widen};
use crate::machine::{Exec, Machine};
use crate::memory::AccessCheck;
use crate::soft::Format;
use crate::step::{Effect, MemEffect, MemKind};
use warploom_base::{WARP_SIZE, lanes_of};
use warploom_ir::{CacheOp, MemSpace, Round, Src, TexGeom, TexLod, TexQuery, TexTy};

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
    /// Channels of a texel: 1, 2 or 4.
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
}

impl TextureTable {
    /// Binds a texture and returns its handle.
    pub fn bind(&mut self, texture: Texture) -> u64 {
        self.textures.push(texture);
        self.textures.len() as u64
    }

    /// The texture that a handle names.
    pub fn get(&self, handle: u64) -> Option<&Texture> {
        self.textures
            .get(usize::try_from(handle).ok()?.checked_sub(1)?)
    }
}

/// A texel's four channels: floats, or integers by their bits.
type Texel = [f64; 4];

/// Coordinates of one fetch.
#[derive(Clone, Copy, Debug, Default)]
struct Coordinates {
    position: [f32; 3],
    /// The texel itself, if coordinates are integers: f32 holds them exactly up to 2^24 only.
    fetched: Option<[i64; 3]>,
    layer: u32,
    /// Dimensions in use.
    dims: usize,
}

/// What the lanes of a fetch have in common.
#[derive(Clone, Copy)]
struct Fetch<'a> {
    handle: u64,
    texture: &'a Texture,
    /// The allocation that it begins in: what lies there need not be looked up for each texel.
    live: (u64, u64),
}

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

/// Bytes of a tile: a line of the texture cache in every configuration that GPGPU-Sim tests.
const TILE_BYTES: u64 = 128;
/// Bytes from one tile to the next.
const TILE_STRIDE: u64 = 64;

/// Texels of a tile in x: 16 of one or two bytes, half as many with every fourfold size.
fn tile_width(texel_bytes: u64) -> u64 {
    match texel_bytes {
        0..4 => 16,
        4..16 => 8,
        _ => 4,
    }
}

impl Texture {
    pub(crate) fn texel_bytes(&self) -> usize {
        self.channels as usize * self.channel_bits as usize / 8
    }

    fn extent(&self, axis: usize) -> u32 {
        [self.width, self.height, self.depth][axis]
    }

    pub(crate) fn address_of(&self, [x, y, z]: [u32; 3], layer: u32) -> u64 {
        let row = (u64::from(layer) * u64::from(self.depth) + u64::from(z))
            * u64::from(self.height)
            + u64::from(y);
        self.base + row * u64::from(self.pitch) + u64::from(x) * self.texel_bytes() as u64
    }

    /// Address of a texel as the caches see it. GPGPU-Sim keeps textures of two dimensions in tiles
    /// of a line's size (`gpgpu_ptx_sim_bindTextureToArray`, `tex_impl`), whatever the order in
    /// which the functional model stores them. Tiles are 128 bytes but stand 64 apart, there and
    /// here: lower rows of a tile share addresses with upper rows of the next.
    fn cached_address_of(&self, place: [u32; 3], layer: u32, dims: usize) -> u64 {
        if dims != 2 || self.layers > 1 {
            return self.address_of(place, layer);
        }
        let [x, y, _] = place.map(u64::from);
        let bytes = self.texel_bytes() as u64;
        let tile_width = tile_width(bytes);
        let tile_height = TILE_BYTES / (tile_width * bytes);
        let tile = y / tile_height * u64::from(self.width) / tile_width + x / tile_width;
        let inside = y % tile_height * tile_width + x % tile_width;
        self.base + TILE_STRIDE * tile + bytes * inside
    }

    /// A coordinate in texels, brought inside by wrapping or mirroring where that applies.
    fn scale(&self, axis: usize, x: f32) -> f32 {
        if !self.normalized {
            return x;
        }
        let folded = match self.address[axis] {
            AddressMode::Wrap => x - x.floor(),
            AddressMode::Mirror => {
                let part = x - x.floor();
                if x.floor().rem_euclid(2.0) == 0.0 {
                    part
                } else {
                    1.0 - part
                }
            }
            AddressMode::Clamp | AddressMode::Border => x,
        };
        folded * self.extent(axis) as f32
    }

    /// A texel's number inside the texture, `None`: the border.
    fn inside(&self, axis: usize, i: i64, fetch: bool) -> Option<u32> {
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

    fn decode(&self, bytes: &[u8]) -> Texel {
        // Channels that the format lacks: zero, and one for the last.
        let mut texel = [0.0, 0.0, 0.0, 1.0];
        if (self.kind, self.channel_bits) == (ChannelKind::UnsignedNormalized, 8) {
            let channels = texel.iter_mut().zip(bytes);
            channels.for_each(|(channel, raw)| *channel = PARTS_OF_255[usize::from(*raw)]);
            return texel;
        }
        let size = self.channel_bits as usize / 8;
        for (channel, part) in texel.iter_mut().zip(bytes.chunks_exact(size)) {
            let mut raw = [0; 4];
            raw[..size].copy_from_slice(part);
            *channel = self.channel(u32::from_le_bytes(raw));
        }
        texel
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

    fn query(&self, query: TexQuery) -> u32 {
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

/// Weight of the upper neighbour in 1.8 fixed point.
fn weight(fraction: f32) -> f64 {
    f64::from((fraction * 256.0 + 0.5).floor()) / 256.0
}

/// The largest whole number that is not above `x`, as `x.floor() as i64` gives it: without SSE4.1,
/// which not every host has, `floor` is a call.
#[inline]
fn floor(x: f32) -> i64 {
    let whole = x as i64;
    whole.saturating_sub(i64::from(whole as f32 > x))
}

/// The lower neighbour's number and the upper neighbour's weight.
fn neighbours(x: f32) -> (i64, f64) {
    let shifted = x - 0.5;
    let floor = shifted.floor();
    (floor as i64, weight(shifted - floor))
}

/// Face of a cube map and the coordinates on it, from 0 to 1 (OpenGL's face order).
fn cube_face([x, y, z]: [f32; 3]) -> (u32, f32, f32) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let (face, s, t, major) = if ax >= ay && ax >= az {
        if x >= 0.0 {
            (0, -z, -y, ax)
        } else {
            (1, z, -y, ax)
        }
    } else if ay >= az {
        if y >= 0.0 {
            (2, x, z, ay)
        } else {
            (3, x, -z, ay)
        }
    } else if z >= 0.0 {
        (4, x, -y, az)
    } else {
        (5, -x, -y, az)
    };
    (face, (s / major + 1.0) * 0.5, (t / major + 1.0) * 0.5)
}

/// Register bits of one channel.
fn texel_bits(value: f64, kind: ChannelKind, texel: TexTy) -> u32 {
    let integer = matches!(kind, ChannelKind::Signed | ChannelKind::Unsigned);
    match texel {
        TexTy::U32 | TexTy::S32 if integer => value as i64 as u32,
        TexTy::F16 | TexTy::F16x2 => u32::from(narrow(value, Format::F16, Round::Near)),
        // Integers read as floats and floats read as integers keep their bits.
        _ if integer => value as i64 as u32,
        _ => (value as f32).to_bits(),
    }
}

impl<'a> Machine<'a, '_> {
    pub(crate) fn bound(&self, lane: usize) -> Exec<&'a Texture> {
        let handle = self.lane_wide(self.inst.src[0], lane);
        let ctx: &'a crate::launch::LaunchContext = self.ctx;
        let texture = ctx.textures.get(handle);
        texture.ok_or(RawFault::plain(FaultKind::BadTexture, lane))
    }

    fn coordinates(&self, geom: TexGeom, coord: TexTy, srcs: &[Src], lane: usize) -> Coordinates {
        let bits = |k: usize| {
            srcs.get(k)
                .map_or(0, |&src| self.lane_value(src, lane) as u32)
        };
        let number = |k: usize| match coord {
            TexTy::F32 => f32::from_bits(bits(k)),
            TexTy::F16 | TexTy::F16x2 => widen(bits(k) as u16, Format::F16) as f32,
            TexTy::S32 => bits(k) as i32 as f32,
            TexTy::U32 => bits(k) as f32,
        };
        let whole = |k: usize| match coord {
            TexTy::S32 => i64::from(bits(k) as i32),
            _ => i64::from(bits(k)),
        };
        let (layer, first, dims) = match geom {
            TexGeom::D1 => (0, 0, 1),
            TexGeom::D2 => (0, 0, 2),
            TexGeom::D3 | TexGeom::Cube => (0, 0, 3),
            TexGeom::A1 => (bits(0), 1, 1),
            TexGeom::A2 => (bits(0), 1, 2),
            TexGeom::ACube => (bits(0), 1, 3),
        };
        let position = [0, 1, 2].map(|axis| {
            if axis < dims {
                number(first + axis)
            } else {
                0.0
            }
        });
        let integer = matches!(coord, TexTy::S32 | TexTy::U32);
        let texel = || [0, 1, 2].map(|axis| if axis < dims { whole(first + axis) } else { 0 });
        if !matches!(geom, TexGeom::Cube | TexGeom::ACube) {
            return Coordinates {
                position,
                fetched: integer.then(texel),
                layer,
                dims,
            };
        }
        let (face, s, t) = cube_face(position);
        let layer = layer.saturating_mul(6).saturating_add(face);
        Coordinates {
            position: [s, t, 0.0],
            fetched: None,
            layer,
            dims: 2,
        }
    }

    /// The texture that a lane fetches from: mostly that of the lane before.
    fn fetch(&self, lane: usize, last: Option<Fetch<'a>>) -> Exec<Fetch<'a>> {
        let handle = self.lane_wide(self.inst.src[0], lane);
        if let Some(last) = last.filter(|last| last.handle == handle) {
            return Ok(last);
        }
        let texture = self.bound(lane)?;
        let live = self.port.image.live_range(self.ctx.asid, texture.base);
        Ok(Fetch {
            handle,
            texture,
            live: live.unwrap_or((0, 0)),
        })
    }

    /// One texel, zero at the border.
    fn texel(&self, fetch: Fetch<'_>, at: [i64; 3], c: Coordinates, lane: usize) -> Exec<Texel> {
        let texture = fetch.texture;
        let mut place = [0; 3];
        for axis in 0..c.dims {
            match texture.inside(axis, at[axis], c.fetched.is_some()) {
                Some(i) => place[axis] = i,
                None => return Ok([0.0; 4]),
            }
        }
        let layer = c.layer.min(texture.layers.saturating_sub(1));
        let address = texture.address_of(place, layer);
        let bytes = texture.texel_bytes();
        let end = address.saturating_add(bytes as u64);
        if address < fetch.live.0 || end > fetch.live.1 {
            self.check_texel(address, bytes, lane)?;
        }
        let raw = self.port.read_few(self.ctx.asid, address, bytes);
        Ok(texture.decode(&raw[..bytes]))
    }

    /// May a texel be read that lies outside the allocation in which its texture begins?
    #[cold]
    fn check_texel(&self, address: u64, bytes: usize, lane: usize) -> Exec {
        let kind = match self.port.image.check(self.ctx.asid, address, bytes as u64) {
            AccessCheck::Ok => return Ok(()),
            AccessCheck::Freed => FaultKind::Freed,
            AccessCheck::Outside => FaultKind::OutOfBounds,
        };
        let space = MemSpace::Global;
        Err(RawFault::memory(kind, lane, space, address, bytes as u32))
    }

    /// The nearest texel's number per axis.
    fn nearest_texel(texture: &Texture, c: Coordinates) -> [i64; 3] {
        c.fetched.unwrap_or_else(|| {
            std::array::from_fn(|axis| floor(texture.scale(axis, c.position[axis])))
        })
    }

    fn filtered(&self, fetch: Fetch<'_>, c: Coordinates, lane: usize) -> Exec<Texel> {
        let texture = fetch.texture;
        if !texture.linear || c.fetched.is_some() {
            return self.texel(fetch, Self::nearest_texel(texture, c), c, lane);
        }
        let split: [(i64, f64); 3] =
            std::array::from_fn(|axis| neighbours(texture.scale(axis, c.position[axis])));
        let mut sum = [0.0; 4];
        for corner in 0..1 << c.dims {
            let upper = |axis: usize| corner >> axis & 1 == 1;
            let at = std::array::from_fn(|axis| split[axis].0 + i64::from(upper(axis)));
            let part = |axis: usize| {
                if upper(axis) {
                    split[axis].1
                } else {
                    1.0 - split[axis].1
                }
            };
            let weight: f64 = (0..c.dims).map(part).product();
            let texel = self.texel(fetch, at, c, lane)?;
            sum.iter_mut()
                .zip(texel)
                .for_each(|(sum, x)| *sum += weight * x);
        }
        Ok(sum)
    }

    /// Address of the texel that a fetch starts from, for the timing.
    fn representative(texture: &Texture, c: Coordinates) -> u64 {
        let at = Self::nearest_texel(texture, c);
        let place = std::array::from_fn(|axis| {
            let last = i64::from(texture.extent(axis)) - 1;
            if axis < c.dims {
                at[axis].clamp(0, last) as u32
            } else {
                0
            }
        });
        let layer = c.layer.min(texture.layers.saturating_sub(1));
        texture.cached_address_of(place, layer, c.dims)
    }

    pub fn texture(&mut self, geom: TexGeom, _lod: TexLod, texel: TexTy, coord: TexTy) -> Exec {
        let extra = self.extra()?;
        let mut d = [[0u32; WARP_SIZE]; 4];
        let (mut bytes, mut last) = (0, None);
        for lane in lanes_of(self.mask) {
            let fetch = self.fetch(lane, last)?;
            let texture = fetch.texture;
            last = Some(fetch);
            let c = self.coordinates(geom, coord, &extra.srcs, lane);
            self.out.addrs[lane] = Self::representative(texture, c);
            bytes = bytes.max(texture.texel_bytes());
            let value = self.filtered(fetch, c, lane)?;
            for (channel, d) in d.iter_mut().enumerate() {
                d[lane] = texel_bits(value[channel], texture.kind, texel);
            }
        }
        self.texture_effect(bytes);
        if texel == TexTy::F16x2 {
            for lane in 0..WARP_SIZE {
                d[0][lane] |= d[1][lane] << 16;
                d[1][lane] = d[2][lane] | d[3][lane] << 16;
            }
        }
        for (&dst, d) in extra.dsts.iter().zip(&d) {
            self.put(dst, d);
        }
        Ok(())
    }

    fn texture_effect(&mut self, bytes: usize) {
        self.effect(Effect::Memory(MemEffect {
            space: MemSpace::Global,
            kind: MemKind::Texture,
            bytes: bytes as u8,
            cache_op: CacheOp::Default,
            returns: true,
        }));
    }

    pub fn texture_gather(&mut self, channel: u8, geom: TexGeom, texel: TexTy) -> Exec {
        let extra = self.extra()?;
        let mut d = [[0u32; WARP_SIZE]; 4];
        let (mut bytes, mut last) = (0, None);
        // Counter-clockwise from the lower left: (x, y+1), (x+1, y+1), (x+1, y), (x, y).
        const CORNERS: [(i64, i64); 4] = [(0, 1), (1, 1), (1, 0), (0, 0)];
        for lane in lanes_of(self.mask) {
            let fetch = self.fetch(lane, last)?;
            let texture = fetch.texture;
            last = Some(fetch);
            let c = self.coordinates(geom, TexTy::F32, &extra.srcs, lane);
            self.out.addrs[lane] = Self::representative(texture, c);
            bytes = bytes.max(texture.texel_bytes());
            let (x, _) = neighbours(texture.scale(0, c.position[0]));
            let (y, _) = neighbours(texture.scale(1, c.position[1]));
            for (d, (dx, dy)) in d.iter_mut().zip(CORNERS) {
                let value = self.texel(fetch, [x + dx, y + dy, 0], c, lane)?;
                d[lane] = texel_bits(value[channel as usize & 3], texture.kind, texel);
            }
        }
        self.texture_effect(bytes);
        for (&dst, d) in extra.dsts.iter().zip(&d) {
            self.put(dst, d);
        }
        Ok(())
    }

    pub fn texture_query(&mut self, query: TexQuery) -> Exec {
        let mut d = [0u32; WARP_SIZE];
        for lane in lanes_of(self.mask) {
            d[lane] = self.bound(lane)?.query(query);
        }
        self.put0(&d);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{PARTS_OF_255, floor};

    #[test]
    fn floor_is_that_of_the_standard_library() {
        let edges = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 8_388_607.5, -8_388_607.5];
        let far = [1e18, -1e18, 1e19, -1e19, f32::MAX, f32::MIN];
        let none = [
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MIN_POSITIVE,
        ];
        for x in [&edges[..], &far, &none].concat() {
            assert_eq!(floor(x), x.floor() as i64, "{x}");
        }
    }

    #[test]
    fn normalized_channels_are_quotients() {
        for (raw, part) in PARTS_OF_255.into_iter().enumerate() {
            assert_eq!(part, raw as f64 / f64::from(u8::MAX));
        }
    }
}
