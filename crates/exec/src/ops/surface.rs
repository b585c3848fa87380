//! Surface instructions (PTX ISA, "Surface Instructions"; CUDA C++ Programming Guide, "Surface
//! Memory"). Kernels read, write and reduce elements of arrays. The first coordinate counts bytes
//! or samples in a row; further coordinates select the row, slice and layer.

use crate::fault::{FaultKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::memory::atomic::atom_bytes;
use crate::memory::effect::MemKind;
use crate::memory::texture::{ChannelKind, Texture};
use crate::numeric::float::narrow;
use crate::numeric::softfloat::Format;
use crate::ops::access::{Access, LANE_BYTES};
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{
    AtomOp, AtomTy, CacheOp, Dst, MemSpace, MemTy, Round, Src, SurfAct, SurfEdge, TexGeom,
};

/// Size and unit of an access to a surface.
#[derive(Clone, Copy)]
struct Reach {
    /// Number of bytes by which the first coordinate advances.
    step: u32,
    /// Number of bytes that must be inside the surface.
    bytes: u32,
}

impl Reach {
    /// An access of the given number of bytes, addressed in bytes.
    fn bytes(bytes: usize) -> Self {
        Self {
            step: 1,
            bytes: bytes as u32,
        }
    }

    /// An access to one sample, addressed in samples.
    fn sample(surface: &Texture) -> Self {
        let bytes = surface.texel_bytes() as u32;
        Self { step: bytes, bytes }
    }
}

impl Texture {
    /// Size of a channel in bytes.
    fn channel_bytes(&self) -> usize {
        usize::from(self.channel_bits / 8)
    }

    /// Address of an element, given its position in the row, row, slice and layer. All must be
    /// inside the surface.
    fn surface_address(&self, [x, y, z]: [u32; 3], layer: u32, step: u32) -> u64 {
        self.address_of([0, y, z], layer) + u64::from(x) * u64::from(step)
    }

    /// Address of an access, and whether it is inside the surface. An access outside is moved to
    /// the nearest position inside. `None` if the access is longer than a row.
    fn surface_place(&self, at: [i32; 3], layer: i32, reach: Reach) -> Option<(u64, bool)> {
        let row = self.width.saturating_mul(self.texel_bytes() as u32);
        let last = [
            row.checked_sub(reach.bytes)? / reach.step,
            self.height.saturating_sub(1),
            self.depth.saturating_sub(1),
        ];
        let inside = |i: i32, last: u32| i64::from(i).clamp(0, last.into()) as u32;
        let place = [0, 1, 2].map(|axis| inside(at[axis], last[axis]));
        let nearest = inside(layer, self.layers.saturating_sub(1));
        let same = place.map(i64::from) == at.map(i64::from);
        let same = same && i64::from(nearest) == i64::from(layer);
        Some((self.surface_address(place, nearest, reach.step), same))
    }

    /// Bits of a channel for a value that a formatted store writes. The PTX ISA ("sust") specifies
    /// the type of the value (f32, u32 or s32, depending on the format) and that it is converted,
    /// but not the conversion. These are the rules of Direct3D ("Data Conversion Rules"). Integers
    /// and normalized values are clamped. Normalized values are rounded to nearest, ties away from
    /// zero, and NaN becomes zero. f16 is rounded toward zero.
    fn encode(&self, value: u32) -> u32 {
        let most = u32::MAX >> (32 - u32::from(self.channel_bits));
        let high = (most >> 1) as i32;
        let float = f64::from(f32::from_bits(value));
        match self.kind {
            ChannelKind::Unsigned => value.min(most),
            ChannelKind::Signed => (value as i32).clamp(-high - 1, high) as u32,
            ChannelKind::UnsignedNormalized => {
                (float.clamp(0.0, 1.0) * f64::from(most)).round() as u32
            }
            ChannelKind::SignedNormalized => {
                (float.clamp(-1.0, 1.0) * f64::from(high)).round() as i32 as u32
            }
            ChannelKind::Float if self.channel_bits == 16 => {
                narrow(float, Format::F16, Round::Zero).into()
            }
            ChannelKind::Float => value,
        }
    }

    /// Type of a reduction of `ty` on samples of this surface: an integer type of the format's
    /// signedness. The channels must have 32 bits, of which a 64-bit reduction combines two. `None`
    /// if the format does not fit.
    fn reduced_as(&self, ty: AtomTy) -> Option<AtomTy> {
        let wide = ty == AtomTy::B64;
        let fits = self.channel_bits == 32 && self.texel_bytes() >= atom_bytes(ty).into();
        match self.kind {
            _ if !fits => None,
            ChannelKind::Signed => Some(if wide { AtomTy::S64 } else { AtomTy::S32 }),
            ChannelKind::Unsigned => Some(if wide { AtomTy::U64 } else { AtomTy::U32 }),
            _ => None,
        }
    }
}

/// Position, row and slice, and the layer, from coordinates in the order of PTX.
fn position(geom: TexGeom, c: &[i32; 4]) -> ([i32; 3], i32) {
    match geom {
        TexGeom::D1 => ([c[0], 0, 0], 0),
        TexGeom::D2 => ([c[0], c[1], 0], 0),
        TexGeom::A1 => ([c[1], 0, 0], c[0]),
        TexGeom::A2 => ([c[1], c[2], 0], c[0]),
        TexGeom::D3 | TexGeom::Cube | TexGeom::ACube => ([c[0], c[1], c[2]], 0),
    }
}

/// Geometry, boundary rule and coordinate operands of a surface instruction.
#[derive(Clone, Copy)]
struct Site<'a> {
    geom: TexGeom,
    edge: SurfEdge,
    coords: &'a [Src],
}

/// An aligned access to global memory.
fn access(kind: MemKind, bytes: usize) -> Access {
    Access {
        space: MemSpace::Global,
        kind,
        bytes,
        align: bytes as u64,
    }
}

type Data = [[u8; LANE_BYTES]; WARP_SIZE];

impl InstExec<'_, '_> {
    /// Executes `suld`, `sust` and `sured`.
    pub fn surface(&mut self, act: SurfAct, geom: TexGeom, edge: SurfEdge) -> Exec {
        let extra = self.extra_operands()?;
        let coords = extra.srcs.len().checked_sub(act.values().into());
        let (coords, values) = extra.srcs.split_at(coords.ok_or_else(|| self.illegal())?);
        let site = Site { geom, edge, coords };
        match act {
            SurfAct::Load(ty) => self.load_surface(site, ty, &extra.dsts),
            SurfAct::Store(ty) => self.store_surface(site, ty, values),
            SurfAct::StoreSample(_) => self.store_samples(site, values),
            SurfAct::Reduce(op, ty) => {
                let reach = Reach::bytes(atom_bytes(ty).into());
                self.reduce_surface(site, |_| reach, op, ty, values)
            }
            SurfAct::ReduceSample(op, ty) => {
                let ty = self.sample_type(ty)?;
                self.reduce_surface(site, Reach::sample, op, ty, values)
            }
        }
    }

    /// Computes the addresses of an access. Returns the lanes that make it.
    fn surface_addresses(
        &mut self,
        site: Site<'_>,
        reach: impl Fn(&Texture) -> Reach,
    ) -> Exec<LaneMask> {
        let mut lanes = 0;
        for lane in lanes_of(self.mask) {
            let mut own = [0; 4];
            for (coordinate, src) in own.iter_mut().zip(site.coords) {
                *coordinate = self.lane_value(*src, lane) as i32;
            }
            let surface = self.bound(lane)?;
            let (at, layer) = position(site.geom, &own);
            let place = surface.surface_place(at, layer, reach(surface));
            self.out.addrs[lane] = place.map_or(surface.base, |(address, _)| address);
            match (place, site.edge) {
                (Some((_, true)), _) | (Some(_), SurfEdge::Clamp) => lanes |= 1 << lane,
                (_, SurfEdge::Zero) => {}
                // An access that is longer than a row cannot be clamped.
                (_, SurfEdge::Trap) | (None, SurfEdge::Clamp) => {
                    return Err(RawFault::plain(FaultKind::OutsideSurface, lane));
                }
            }
        }
        Ok(lanes)
    }

    /// Checks an access in each of the given lanes and reports it.
    fn surface_effect(&mut self, access: Access, lanes: LaneMask) -> Exec {
        for lane in lanes_of(lanes) {
            self.check(access, lane)?;
        }
        if lanes != 0 {
            self.memory_effect(access, CacheOp::Default, access.kind == MemKind::Load);
        }
        Ok(())
    }

    /// Executes the instruction `suld.b`.
    fn load_surface(&mut self, site: Site<'_>, ty: MemTy, dsts: &[Dst]) -> Exec {
        let access = Access::new(MemSpace::Global, MemKind::Load, ty);
        if access.bytes > LANE_BYTES {
            return Err(self.illegal());
        }
        let lanes = self.surface_addresses(site, |_| Reach::bytes(access.bytes))?;
        // Lanes outside read zero without an access. They are given the address of a lane inside,
        // so that they cause no memory traffic.
        for lane in lanes_of(self.mask & !lanes) {
            if lanes != 0 {
                self.out.addrs[lane] = self.out.addrs[lanes.trailing_zeros() as usize];
            }
        }
        self.surface_effect(access, lanes)?;
        let mut data: Data = [[0; LANE_BYTES]; WARP_SIZE];
        for lane in lanes_of(lanes) {
            let address = self.out.addrs[lane];
            let to = &mut data[lane][..access.bytes];
            self.read_lane(MemSpace::Global, lane, address, to);
        }
        let bytes = usize::from(ty.bytes);
        for (nth, &dst) in dsts.iter().enumerate() {
            let element: [u64; WARP_SIZE] = std::array::from_fn(|lane| {
                let mut raw = [0; 8];
                raw[..bytes].copy_from_slice(&data[lane][nth * bytes..][..bytes]);
                u64::from_le_bytes(raw)
            });
            if ty.wide_reg {
                self.write_reg(dst, &element)
            } else {
                self.write_reg(dst, &element.map(|bits| bits as u32))
            }
        }
        Ok(())
    }

    /// Executes the instruction `sust.b`.
    fn store_surface(&mut self, site: Site<'_>, ty: MemTy, values: &[Src]) -> Exec {
        let access = Access::new(MemSpace::Global, MemKind::Store, ty);
        if access.bytes > LANE_BYTES {
            return Err(self.illegal());
        }
        let lanes = self.surface_addresses(site, |_| Reach::bytes(access.bytes))?;
        self.out.active = lanes;
        self.surface_effect(access, lanes)?;
        let bytes = usize::from(ty.bytes);
        let mut data: Data = [[0; LANE_BYTES]; WARP_SIZE];
        for (nth, &src) in values.iter().enumerate() {
            let element: [u64; WARP_SIZE] = self.gather(src, ty.wide_reg);
            for lane in lanes_of(lanes) {
                let raw = element[lane].to_le_bytes();
                data[lane][nth * bytes..][..bytes].copy_from_slice(&raw[..bytes]);
            }
        }
        for lane in lanes_of(lanes) {
            let (address, data) = (self.out.addrs[lane], data[lane]);
            self.write_lane(MemSpace::Global, lane, address, &data[..access.bytes]);
        }
        Ok(())
    }

    /// Executes `sust.p`, a formatted store. Channels without a value are left unchanged. The PTX
    /// ISA allows any value for them.
    fn store_samples(&mut self, site: Site<'_>, values: &[Src]) -> Exec {
        let lanes = self.surface_addresses(site, Reach::sample)?;
        self.out.active = lanes;
        let (mut data, mut sizes): (Data, _) = ([[0; LANE_BYTES]; WARP_SIZE], [0; WARP_SIZE]);
        for lane in lanes_of(lanes) {
            let surface = self.bound(lane)?;
            let channel = surface.channel_bytes();
            let written = &values[..values.len().min(surface.channels.into())];
            for (to, &src) in data[lane].chunks_exact_mut(channel).zip(written) {
                let bits = surface.encode(self.lane_value(src, lane) as u32);
                to.copy_from_slice(&bits.to_le_bytes()[..channel]);
            }
            sizes[lane] = written.len() * channel;
            self.check(access(MemKind::Store, sizes[lane]), lane)?;
        }
        if lanes != 0 {
            // The surfaces of different lanes may have different formats.
            let widest = sizes.into_iter().max().unwrap_or(0);
            self.memory_effect(access(MemKind::Store, widest), CacheOp::Default, false);
        }
        for lane in lanes_of(lanes) {
            let (address, data) = (self.out.addrs[lane], data[lane]);
            self.write_lane(MemSpace::Global, lane, address, &data[..sizes[lane]]);
        }
        Ok(())
    }

    /// Type of a reduction on samples, which the surfaces of all lanes must share.
    fn sample_type(&self, ty: AtomTy) -> Exec<AtomTy> {
        let mut shared = None;
        for lane in lanes_of(self.mask) {
            let own = self.bound(lane)?.reduced_as(ty);
            if own.is_none() || *shared.get_or_insert(own) != own {
                return Err(RawFault::plain(FaultKind::SurfaceFormat, lane));
            }
        }
        shared.flatten().ok_or_else(|| self.illegal())
    }

    /// Executes the instruction `sured`.
    fn reduce_surface(
        &mut self,
        site: Site<'_>,
        reach: impl Fn(&Texture) -> Reach,
        op: AtomOp,
        ty: AtomTy,
        values: &[Src],
    ) -> Exec {
        let bytes = usize::from(atom_bytes(ty));
        let access = access(MemKind::Atomic, bytes);
        let lanes = self.surface_addresses(site, reach)?;
        self.out.active = lanes;
        self.surface_effect(access, lanes)?;
        let &[value] = values else {
            return Err(self.illegal());
        };
        let value: [u64; WARP_SIZE] = match bytes {
            8 => self.gather(value, true),
            _ => self.gather::<u32>(value, false).map(u64::from),
        };
        if lanes != 0 {
            self.combine_lanes(access, op, ty, lanes, &value, &[0; WARP_SIZE]);
        }
        Ok(())
    }
}
