//! Texture fetches of a warp. Each step handles all lanes: coordinates, texel indices on each axis,
//! texels and their weighted mean (CUDA C++ Programming Guide, "Texture Fetching").

use crate::fault::{FaultKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::memory::device::AccessCheck;
use crate::memory::effect::{MemEffect, MemKind};
use crate::memory::few_reader::FewReader;
use crate::memory::texture::{ChannelKind, Texel, Texture, floor, weight};
use crate::numeric::float::{narrow, widen};
use crate::numeric::softfloat::Format;
use crate::outcome::Effect;
use crate::state::registers::map_lanes;
use crate::texture_reads::{TextureReads, put_back};
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{CacheOp, Dst, MemSpace, Round, Src, TexGeom, TexLod, TexQuery, TexTy};

pub(crate) type Lanes<T> = [T; WARP_SIZE];

/// Texture coordinates of all lanes of a warp.
pub(crate) struct Coordinates {
    position: [Lanes<f32>; 3],
    /// Texel indices, if coordinates are integers. f32 represents integers exactly only up to 2^24.
    pub fetched: Option<[Lanes<i64>; 3]>,
    layer: Lanes<u32>,
    /// Number of dimensions in use.
    dims: usize,
}

/// State of a fetch by lanes that use the same texture.
pub(crate) struct Fetch<'a> {
    pub texture: &'a Texture,
    pub texel_bytes: usize,
    /// Distances in bytes between neighbouring texels, see [`Texture::strides`].
    strides: [u64; 3],
    to_layer: u64,
    /// Allocation that contains the start of the texture. Texels inside need no further check.
    live: (u64, u64),
    /// True if texels are fetched by index and not filtered.
    whole: bool,
    /// Texel that is read at a border.
    border: Texel,
    pub lanes: LaneMask,
}

impl Fetch<'_> {
    /// Address of the first texel of a lane's layer.
    #[inline(always)]
    fn layer(&self, c: &Coordinates, lane: usize) -> u64 {
        let layer = c.layer[lane].min(self.texture.layers.saturating_sub(1));
        let offset = self.to_layer.wrapping_mul(layer.into());
        self.texture.base.wrapping_add(offset)
    }

    /// Address of a texel inside a lane's layer.
    #[inline(always)]
    fn address(&self, c: &Coordinates, lane: usize, place: [u32; 3]) -> u64 {
        let steps = place.into_iter().zip(self.strides);
        steps.fold(self.layer(c, lane), |at, (i, stride)| {
            at.wrapping_add(stride.wrapping_mul(i.into()))
        })
    }

    /// Offset in bytes of a texel on an axis. `None` stands for the border.
    #[inline(always)]
    fn offset(&self, axis: usize, i: i64) -> Option<u64> {
        let inside = self.texture.inside(axis, i, self.whole)?;
        Some(self.strides[axis].wrapping_mul(inside.into()))
    }
}

/// Index of the lower neighbouring texel and weight of the upper one, on each axis.
struct Neighbours {
    lower: [Lanes<i64>; 3],
    upper_weight: [Lanes<f64>; 3],
}

/// Neighbouring texels of all lanes for linear filtering.
#[inline(always)]
fn neighbours(scaled: &[Lanes<f32>; 3], dims: usize) -> Neighbours {
    let mut all = Neighbours {
        lower: [[0; WARP_SIZE]; 3],
        upper_weight: [[0.0; WARP_SIZE]; 3],
    };
    for axis in 0..dims {
        for lane in 0..WARP_SIZE {
            let shifted = scaled[axis][lane] - 0.5;
            let lower = floor(shifted);
            all.lower[axis][lane] = lower as i64;
            all.upper_weight[axis][lane] = weight(shifted - lower);
        }
    }
    all
}

/// Coordinates in texels, after wrapping or mirroring of normalized coordinates.
#[inline(always)]
fn scaled(texture: &Texture, c: &Coordinates) -> [Lanes<f32>; 3] {
    let mut all = c.position;
    for (axis, lanes) in all.iter_mut().enumerate().take(c.dims) {
        texture.scale(axis, lanes);
    }
    all
}

/// Indices of the texels that contain the coordinates.
#[inline(always)]
fn nearest(c: &Coordinates, scaled: &[Lanes<f32>; 3]) -> [Lanes<i64>; 3] {
    c.fetched.unwrap_or_else(|| {
        let mut all = [[0; WARP_SIZE]; 3];
        for (all, scaled) in all.iter_mut().zip(scaled).take(c.dims) {
            for (i, x) in all.iter_mut().zip(scaled) {
                *i = floor(*x) as i64;
            }
        }
        all
    })
}

/// Register bits of one channel.
#[inline(always)]
pub(crate) fn texel_bits(value: f64, kind: ChannelKind, texel: TexTy) -> u32 {
    let integer = matches!(kind, ChannelKind::Signed | ChannelKind::Unsigned);
    match texel {
        TexTy::U32 | TexTy::S32 if integer => value as i64 as u32,
        TexTy::F16 | TexTy::F16x2 => u32::from(narrow(value, Format::F16, Round::Near)),
        // Integers read as floats and floats read as integers keep their bits.
        _ if integer => value as i64 as u32,
        _ => (value as f32).to_bits(),
    }
}

/// Face of a cube map and the coordinates on it, from 0 to 1, in OpenGL's order of faces.
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

impl Coordinates {
    /// Converts directions to positions on one of six faces, each of which is a layer.
    fn onto_faces(&mut self) {
        for lane in 0..WARP_SIZE {
            let (face, s, t) = cube_face(self.position.map(|axis| axis[lane]));
            self.layer[lane] = self.layer[lane].saturating_mul(6).saturating_add(face);
            [self.position[0][lane], self.position[1][lane]] = [s, t];
        }
        self.fetched = None;
        self.dims = 2;
    }
}

impl<'a> InstExec<'a, '_> {
    /// Texture named by the handle of a lane.
    pub(crate) fn bound(&self, lane: usize) -> Exec<&'a Texture> {
        let handle = self.lane_wide(self.inst.src[0], lane);
        let ctx: &'a crate::launch::KernelLaunch = self.ctx;
        let texture = ctx.textures.get(handle);
        texture.ok_or_else(|| RawFault::plain(FaultKind::BadTexture, lane))
    }

    /// Operand of 32 bits in all lanes.
    pub(crate) fn words(&self, src: Option<&Src>) -> Lanes<u32> {
        match src {
            Some(Src::Reg(reg)) => *self.warp.regs.r32(reg.0 as usize),
            Some(src) => self.gather(*src, false),
            None => [0; WARP_SIZE],
        }
    }

    /// Coordinates of a fetch in all lanes.
    #[inline(always)]
    pub(crate) fn coordinates(&self, geom: TexGeom, coord: TexTy, srcs: &[Src]) -> Coordinates {
        let (layered, dims) = match geom {
            TexGeom::D1 => (false, 1),
            TexGeom::D2 => (false, 2),
            TexGeom::D3 | TexGeom::Cube => (false, 3),
            TexGeom::A1 => (true, 1),
            TexGeom::A2 => (true, 2),
            TexGeom::ACube => (true, 3),
        };
        let first = usize::from(layered);
        let mut c = Coordinates {
            position: [[0.0; WARP_SIZE]; 3],
            fetched: matches!(coord, TexTy::S32 | TexTy::U32).then_some([[0; WARP_SIZE]; 3]),
            layer: if layered {
                self.words(srcs.first())
            } else {
                [0; WARP_SIZE]
            },
            dims,
        };
        for axis in 0..dims {
            let words = self.words(srcs.get(first + axis));
            c.position[axis] = match coord {
                TexTy::F32 => map_lanes(&words, f32::from_bits),
                TexTy::F16 | TexTy::F16x2 => {
                    map_lanes(&words, |x| widen(x as u16, Format::F16) as f32)
                }
                TexTy::S32 => map_lanes(&words, |x| x as i32 as f32),
                TexTy::U32 => map_lanes(&words, |x| x as f32),
            };
            if let Some(fetched) = &mut c.fetched {
                fetched[axis] = match coord {
                    TexTy::S32 => map_lanes(&words, |x| i64::from(x as i32)),
                    _ => map_lanes(&words, i64::from),
                };
            }
        }
        if matches!(geom, TexGeom::Cube | TexGeom::ACube) {
            c.onto_faces();
        }
        c
    }

    /// Fetch of the texture that the first of the given lanes uses, by it and the directly
    /// following lanes with the same handle.
    pub(crate) fn fetch(&self, lanes: LaneMask, whole: bool) -> Exec<Fetch<'a>> {
        let first = lanes.trailing_zeros() as usize;
        let texture = self.bound(first)?;
        let handles = self.src::<u64>(0);
        let handle = handles[first];
        let lanes = if handles.iter().all(|other| *other == handle) {
            lanes
        } else {
            let same = lanes_of(lanes).take_while(|lane| handles[*lane] == handle);
            same.fold(0, |mask, lane| mask | 1 << lane)
        };
        Ok(self.fetch_of(texture, lanes, whole, handle))
    }

    /// Fetch of a given texture by given lanes.
    #[inline(always)]
    fn fetch_of(
        &self,
        texture: &'a Texture,
        lanes: LaneMask,
        whole: bool,
        handle: u64,
    ) -> Fetch<'a> {
        let live = self.port.image.live_range(self.ctx.asid, texture.base);
        let (strides, to_layer) = texture.strides();
        Fetch {
            texture,
            texel_bytes: texture.texel_bytes(),
            strides,
            to_layer,
            live: live.unwrap_or((0, 0)),
            whole,
            border: self.ctx.textures.border(handle, texture),
            lanes,
        }
    }

    /// Fetches texels from one level of a texture.
    pub(crate) fn sample_level(
        &mut self,
        texture: &'a Texture,
        lanes: LaneMask,
        c: &Coordinates,
        put: impl FnMut(usize, Texel),
    ) -> Exec {
        let handle = self.lane_wide(self.inst.src[0], lanes.trailing_zeros() as usize);
        let fetch = self.fetch_of(texture, lanes, c.fetched.is_some(), handle);
        self.sample(&fetch, c, put)
    }

    /// Reads a texel inside the texture.
    #[inline(always)]
    fn texel(
        &self,
        fetch: &Fetch<'_>,
        reader: &mut FewReader<'_>,
        address: u64,
        lane: usize,
    ) -> Exec<Texel> {
        let bytes = fetch.texel_bytes;
        let end = address.saturating_add(bytes as u64);
        if address < fetch.live.0 || end > fetch.live.1 {
            self.check_texel(address, bytes, lane)?;
        }
        Ok(fetch.texture.decode(&reader.read(address, bytes)))
    }

    /// Checks a texel outside of the allocation that contains the start of its texture.
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

    /// Reads the texel with the given indices, relative to the address `base`, or the border.
    #[inline(always)]
    fn texel_or_border<const DIMS: usize>(
        &self,
        fetch: &Fetch<'_>,
        reader: &mut FewReader<'_>,
        base: u64,
        at: [i64; DIMS],
        lane: usize,
    ) -> Exec<Texel> {
        let mut address = base;
        for (axis, i) in at.into_iter().enumerate() {
            match fetch.offset(axis, i) {
                Some(offset) => address = address.wrapping_add(offset),
                None => return Ok(fetch.border),
            }
        }
        self.texel(fetch, reader, address, lane)
    }

    /// Weighted mean of the texels around a position in `DIMS` dimensions.
    #[inline]
    fn mean<const DIMS: usize>(
        &self,
        fetch: &Fetch<'_>,
        reader: &mut FewReader<'_>,
        base: u64,
        around: &Neighbours,
        lane: usize,
    ) -> Exec<Texel> {
        let mut offsets = [[None; 2]; DIMS];
        let mut weights = [[0.0; 2]; DIMS];
        for axis in 0..DIMS {
            let (lower, upper) = (around.lower[axis][lane], around.upper_weight[axis][lane]);
            offsets[axis] = [
                fetch.offset(axis, lower),
                fetch.offset(axis, lower.saturating_add(1)),
            ];
            weights[axis] = [1.0 - upper, upper];
        }
        let mut sum = [0.0; 4];
        for corner in 0..1 << DIMS {
            let (mut address, mut weight, mut border) = (base, 1.0, false);
            for axis in 0..DIMS {
                let side = corner >> axis & 1;
                weight *= weights[axis][side];
                address = address.wrapping_add(offsets[axis][side].unwrap_or(0));
                border |= offsets[axis][side].is_none();
            }
            let texel = if border {
                fetch.border
            } else {
                self.texel(fetch, reader, address, lane)?
            };
            for channel in 0..4 {
                sum[channel] += weight * texel[channel];
            }
        }
        Ok(sum)
    }

    /// Reads the texels of all lanes with the given indices, in `DIMS` dimensions.
    #[inline(always)]
    fn texels<const DIMS: usize>(
        &self,
        fetch: &Fetch<'_>,
        reader: &mut FewReader<'_>,
        c: &Coordinates,
        indices: &[Lanes<i64>; 3],
        put: &mut impl FnMut(usize, Texel),
    ) -> Exec {
        for lane in lanes_of(fetch.lanes) {
            let mut at = [0; DIMS];
            for (at, indices) in at.iter_mut().zip(indices) {
                *at = indices[lane];
            }
            let base = fetch.layer(c, lane);
            put(lane, self.texel_or_border(fetch, reader, base, at, lane)?);
        }
        Ok(())
    }

    /// Reports the address of each lane's first texel for the timing.
    #[inline]
    fn note_addresses(&mut self, fetch: &Fetch<'_>, c: &Coordinates, nearest: &[Lanes<i64>; 3]) {
        let is_tiled = fetch.texture.is_tiled(c.dims);
        for lane in lanes_of(fetch.lanes) {
            let mut place = [0; 3];
            for axis in 0..c.dims {
                let last = i64::from(fetch.texture.extent(axis)) - 1;
                place[axis] = nearest[axis][lane].clamp(0, last) as u32;
            }
            self.out.addrs[lane] = match is_tiled {
                true => fetch.texture.tiled_address_of(place),
                false => fetch.address(c, lane, place),
            };
        }
    }

    /// Fetches the texels of all lanes that use the same texture.
    #[inline(always)]
    fn sample(
        &mut self,
        fetch: &Fetch<'_>,
        c: &Coordinates,
        mut put: impl FnMut(usize, Texel),
    ) -> Exec {
        let scaled = scaled(fetch.texture, c);
        let nearest = nearest(c, &scaled);
        self.note_addresses(fetch, c, &nearest);
        self.port.prepare_reader();
        let mut reader = self.port.reader(self.ctx.asid);
        if !fetch.texture.linear || fetch.whole {
            match c.dims {
                1 => self.texels::<1>(fetch, &mut reader, c, &nearest, &mut put)?,
                2 => self.texels::<2>(fetch, &mut reader, c, &nearest, &mut put)?,
                _ => self.texels::<3>(fetch, &mut reader, c, &nearest, &mut put)?,
            }
            self.out.texture.pages.add(&reader.pages);
            return Ok(());
        }
        let around = neighbours(&scaled, c.dims);
        for lane in lanes_of(fetch.lanes) {
            let base = fetch.layer(c, lane);
            let texel = match c.dims {
                1 => self.mean::<1>(fetch, &mut reader, base, &around, lane),
                2 => self.mean::<2>(fetch, &mut reader, base, &around, lane),
                _ => self.mean::<3>(fetch, &mut reader, base, &around, lane),
            };
            put(lane, texel?);
        }
        self.out.texture.pages.add(&reader.pages);
        Ok(())
    }

    /// Executes the instruction `tex`.
    #[inline(always)]
    pub fn texture(&mut self, geom: TexGeom, lod: TexLod, texel: TexTy, coord: TexTy) -> Exec {
        let extra = self.extra_operands()?;
        self.out.texture.begin(self.inst, extra, &self.warp.regs);
        if self.ctx.textures.has_mipmaps() {
            return self.texture_with_levels(geom, lod, texel, coord);
        }
        let c = self.coordinates(geom, coord, &extra.srcs);
        let mut d = [[0; WARP_SIZE]; 4];
        let (mut bytes, mut left) = (0, self.mask);
        while left != 0 {
            let fetch = self.fetch(left, c.fetched.is_some())?;
            let kind = fetch.texture.kind;
            self.sample(&fetch, &c, |lane, value| {
                let channels = d.iter_mut().zip(value);
                channels.for_each(|(d, x)| d[lane] = texel_bits(x, kind, texel));
            })?;
            bytes = bytes.max(fetch.texel_bytes);
            left &= !fetch.lanes;
        }
        self.finish_texture(texel, bytes, d, &extra.dsts);
        Ok(())
    }

    /// Reports the access and writes the channels of all lanes to the destinations.
    #[inline(always)]
    pub(crate) fn finish_texture(
        &mut self,
        texel: TexTy,
        bytes: usize,
        mut d: [Lanes<u32>; 4],
        dsts: &[Dst],
    ) {
        self.texture_effect(bytes);
        if texel == TexTy::F16x2 {
            for lane in 0..WARP_SIZE {
                d[0][lane] |= d[1][lane] << 16;
                d[1][lane] = d[2][lane] | d[3][lane] << 16;
            }
        }
        for (&dst, d) in dsts.iter().zip(&d) {
            self.write_reg(dst, d);
        }
    }

    /// Reports a texture access.
    fn texture_effect(&mut self, bytes: usize) {
        self.set_effect(Effect::Memory(MemEffect {
            space: MemSpace::Global,
            kind: MemKind::Texture,
            bytes: bytes as u8,
            cache_op: CacheOp::Default,
            returns: true,
            mixed: false,
            serial: false,
        }));
    }

    /// Executes the instruction `tld4`.
    pub fn texture_gather(&mut self, channel: u8, geom: TexGeom, texel: TexTy) -> Exec {
        let extra = self.extra_operands()?;
        self.out.texture.begin(self.inst, extra, &self.warp.regs);
        let c = self.coordinates(geom, TexTy::F32, &extra.srcs);
        let mut d = [[0; WARP_SIZE]; 4];
        let (mut bytes, mut left) = (0, self.mask);
        while left != 0 {
            let fetch = self.fetch(left, false)?;
            self.gather_texels(&fetch, &c, |lane, corner, value| {
                d[corner][lane] =
                    texel_bits(value[channel as usize & 3], fetch.texture.kind, texel);
            })?;
            bytes = bytes.max(fetch.texel_bytes);
            left &= !fetch.lanes;
        }
        self.texture_effect(bytes);
        for (&dst, d) in extra.dsts.iter().zip(&d) {
            self.write_reg(dst, d);
        }
        Ok(())
    }

    /// Fetches the four texels around the position of each lane.
    fn gather_texels(
        &mut self,
        fetch: &Fetch<'_>,
        c: &Coordinates,
        mut put: impl FnMut(usize, usize, Texel),
    ) -> Exec {
        // Counter-clockwise order from the lower left: (x, y+1), (x+1, y+1), (x+1, y), (x, y).
        const CORNERS: [(i64, i64); 4] = [(0, 1), (1, 1), (1, 0), (0, 0)];
        let scaled = scaled(fetch.texture, c);
        self.note_addresses(fetch, c, &nearest(c, &scaled));
        let around = neighbours(&scaled, c.dims);
        self.port.prepare_reader();
        let mut reader = self.port.reader(self.ctx.asid);
        for lane in lanes_of(fetch.lanes) {
            let base = fetch.layer(c, lane);
            let [x, y, _] = around.lower.map(|axis| axis[lane]);
            for (corner, (dx, dy)) in CORNERS.into_iter().enumerate() {
                let at = [x.saturating_add(dx), y.saturating_add(dy)];
                let texel = self.texel_or_border(fetch, &mut reader, base, at, lane)?;
                put(lane, corner, texel);
            }
        }
        self.out.texture.pages.add(&reader.pages);
        Ok(())
    }

    /// Executes `txq` and `suq`.
    pub fn texture_query(&mut self, query: TexQuery) -> Exec {
        let mut d = [0u32; WARP_SIZE];
        for lane in lanes_of(self.mask) {
            let handle = self.lane_wide(self.inst.src[0], lane);
            d[lane] = match query {
                TexQuery::NumMipmapLevels => self.ctx.textures.levels(handle),
                other => self.bound(lane)?.query(other),
            };
        }
        self.write_result(&d);
        Ok(())
    }

    /// Executes a texture fetch again with the operands that it had.
    pub(crate) fn fetch_again(&mut self, reads: &TextureReads) -> Exec {
        let extra = self.extra_operands()?;
        let held = reads.put(self.inst, extra, &mut self.warp.regs);
        let result = self.operate();
        put_back((self.inst, extra), &held, self.mask, &mut self.warp.regs);
        result
    }
}
