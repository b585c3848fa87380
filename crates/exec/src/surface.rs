//! Surfaces (PTX ISA, "Surface Instructions"; CUDA C++ Programming Guide, "Surface Memory"): arrays
//! that kernels read and write, by a position in bytes in a row, and by rows, slices and layers.

use crate::access::Access;
use crate::fault::{FaultKind, RawFault};
use crate::machine::{Exec, Machine};
use crate::step::MemKind;
use crate::texture::Texture;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::{CacheOp, MemSpace, MemTy, Src, SurfEdge, TexGeom};

impl Texture {
    /// Address of the element at a position in bytes, a row, a slice and a layer, all inside.
    fn surface_address(&self, [x, y, z]: [u32; 3], layer: u32) -> u64 {
        self.address_of([0, y, z], layer) + u64::from(x)
    }

    /// The place of an access, or the nearest one inside, and whether that is the same.
    fn surface_place(&self, at: [i32; 3], layer: i32, bytes: u32) -> (u64, bool) {
        let row = self.width.saturating_mul(self.texel_bytes() as u32);
        let last = [
            row.saturating_sub(bytes),
            self.height.saturating_sub(1),
            self.depth.saturating_sub(1),
        ];
        let inside = |i: i32, last: u32| i64::from(i).clamp(0, last.into()) as u32;
        let place = [0, 1, 2].map(|axis| inside(at[axis], last[axis]));
        let nearest = inside(layer, self.layers.saturating_sub(1));
        let same = place.map(i64::from) == at.map(i64::from);
        let same = same && i64::from(nearest) == i64::from(layer);
        (self.surface_address(place, nearest), same)
    }
}

/// Position, row and slice, and the layer, of coordinates in the order of PTX.
fn position(geom: TexGeom, c: &[i32; 4]) -> ([i32; 3], i32) {
    match geom {
        TexGeom::D1 => ([c[0], 0, 0], 0),
        TexGeom::D2 => ([c[0], c[1], 0], 0),
        TexGeom::A1 => ([c[1], 0, 0], c[0]),
        TexGeom::A2 => ([c[1], c[2], 0], c[0]),
        TexGeom::D3 | TexGeom::Cube | TexGeom::ACube => ([c[0], c[1], c[2]], 0),
    }
}

impl Machine<'_, '_> {
    /// Fills in the addresses of an access. Returns the lanes that make it.
    fn surface_addresses(
        &mut self,
        (geom, edge): (TexGeom, SurfEdge),
        coords: &[Src],
        access: Access,
    ) -> Exec<LaneMask> {
        let mut lanes = 0;
        for lane in lanes_of(self.mask) {
            let mut own = [0; 4];
            for (coordinate, src) in own.iter_mut().zip(coords) {
                *coordinate = self.lane_value(*src, lane) as i32;
            }
            let surface = self.bound(lane)?;
            let (at, layer) = position(geom, &own);
            let (address, inside) = surface.surface_place(at, layer, access.bytes as u32);
            self.out.addrs[lane] = address;
            match edge {
                _ if inside => lanes |= 1 << lane,
                SurfEdge::Clamp => lanes |= 1 << lane,
                SurfEdge::Zero => {}
                SurfEdge::Trap => {
                    return Err(RawFault::plain(FaultKind::OutsideSurface, lane));
                }
            }
        }
        // Lanes that access nothing follow one that does, so that they cost nothing.
        for lane in lanes_of(self.mask & !lanes) {
            if lanes != 0 {
                self.out.addrs[lane] = self.out.addrs[lanes.trailing_zeros() as usize];
            }
        }
        for lane in lanes_of(lanes) {
            self.check(access, lane)?;
        }
        Ok(lanes)
    }

    pub fn surface(&mut self, store: bool, geom: TexGeom, edge: SurfEdge, ty: MemTy) -> Exec {
        let extra = self.extra()?;
        let kind = if store { MemKind::Store } else { MemKind::Load };
        let access = Access::new(MemSpace::Global, kind, ty);
        let (bytes, count) = (usize::from(ty.bytes), usize::from(ty.count));
        let values = if store { count } else { 0 };
        if access.bytes > crate::access::LANE_BYTES || extra.srcs.len() < values {
            return Err(self.illegal());
        }
        let (coords, values) = extra.srcs.split_at(extra.srcs.len() - values);
        let lanes = self.surface_addresses((geom, edge), coords, access)?;
        if lanes != 0 {
            self.memory_effect(access, CacheOp::Default, !store);
        }
        let mut data = [[0; crate::access::LANE_BYTES]; WARP_SIZE];
        if !store {
            for lane in lanes_of(lanes) {
                let address = self.out.addrs[lane];
                let to = &mut data[lane][..access.bytes];
                self.read_lane(MemSpace::Global, lane, address, to);
            }
            for (nth, &dst) in extra.dsts.iter().enumerate() {
                let element: [u64; WARP_SIZE] = std::array::from_fn(|lane| {
                    let mut raw = [0; 8];
                    raw[..bytes].copy_from_slice(&data[lane][nth * bytes..][..bytes]);
                    u64::from_le_bytes(raw)
                });
                match ty.wide_reg {
                    true => self.put(dst, &element),
                    false => self.put(dst, &element.map(|bits| bits as u32)),
                }
            }
            return Ok(());
        }
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
}
