//! Bulk copies of boxes of tensors (PTX ISA, "cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor",
//! "Tensors").
//!
//! A box lies in shared memory row by row, the first dimension fastest, with the chunks of 16 bytes
//! permuted as the tensor map says. Elements outside of the tensor are filled when they are loaded,
//! and left alone when they are stored.

use crate::fault::{FaultKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::memory::effect::MemKind;
use crate::ops::access::Access;
use crate::ops::swizzle::{CHUNK, Swizzle};
use crate::outcome::Effect;
use warploom_base::lanes_of;
use warploom_ir::tensor_map::{ElementType, Im2col, MOST_DIMENSIONS, TENSOR_MAP_BYTES, TensorMap};
use warploom_ir::{AtomOp, AtomTy, BulkAct, MemSpace};

/// Alignment of a box in shared memory in bytes.
const BOX_ALIGN: u64 = 128;
/// Bytes of the longest row: 256 elements of 8 bytes.
const LONGEST_ROW: usize = 256 * 8;

/// A box of a tensor, at some coordinates.
struct TensorBox<'a> {
    map: &'a TensorMap,
    /// Coordinates of the first element, or of the first pixel before its offset.
    first: [i64; MOST_DIMENSIONS],
    /// Offsets of pixels by spatial dimension, in mode `.im2col`.
    offsets: [i64; MOST_DIMENSIONS - 2],
    /// Address of the box in shared memory.
    near: u64,
}

/// Part of a row of a box that lies in the tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct RowPart {
    /// Address of its first element in global memory.
    far: u64,
    /// Elements of the row from this one...
    from: usize,
    /// ...up to, not including, this one.
    to: usize,
}

impl TensorBox<'_> {
    /// Part of row `nth` that lies in the tensor; empty if none does.
    fn part(&self, nth: usize) -> RowPart {
        let map = self.map;
        let place = match &map.im2col {
            None => self.row_place(nth),
            Some(im2col) => self.pixel_place(im2col, nth),
        };
        let mut far = map.address;
        for dimension in 1..map.rank {
            let at = place[dimension];
            if !(0..i64::from(map.dims[dimension])).contains(&at) {
                return RowPart::default();
            }
            far = far.wrapping_add((at as u64).wrapping_mul(map.strides[dimension - 1]));
        }
        let step = i64::from(map.column_stride());
        // Elements before the tensor's first, and those up to its last.
        let from = ((-self.first[0]).max(0) + step - 1) / step;
        let to = (i64::from(map.dims[0]) - self.first[0] + step - 1).div_euclid(step);
        let to = to.clamp(from, (map.columns() as i64).max(from));
        let column = self.first[0] + from * step;
        RowPart {
            far: far.wrapping_add((column * map.ty.bytes() as i64) as u64),
            from: from as usize,
            to: to as usize,
        }
    }

    /// Coordinates of row `nth` of a box.
    fn row_place(&self, nth: usize) -> [i64; MOST_DIMENSIONS] {
        let (map, mut left, mut place) = (self.map, nth, self.first);
        for dimension in 1..map.rank {
            let count = map.count(dimension);
            let index = (left % count) as i64;
            left /= count;
            place[dimension] += index * i64::from(map.element_strides[dimension]);
        }
        place
    }

    /// Coordinates of pixel `nth` after the first one: the walk goes on in the next row of the
    /// bounding box where it has come to its edge, and in the next image after the last row.
    fn pixel_place(&self, im2col: &Im2col, nth: usize) -> [i64; MOST_DIMENSIONS] {
        let (map, mut place) = (self.map, self.first);
        let (mut carry, last) = (nth as i64, map.rank - 1);
        for spatial in 0..map.rank - 2 {
            let dimension = spatial + 1;
            let stride = i64::from(map.element_strides[dimension]);
            let lower = i64::from(im2col.lower[spatial]);
            let end = i64::from(map.dims[dimension]) + i64::from(im2col.upper[spatial]);
            let count = ((end - lower + stride - 1) / stride).max(1);
            let index = (place[dimension] - lower).div_euclid(stride) + carry;
            carry = index.div_euclid(count);
            place[dimension] = lower + index.rem_euclid(count) * stride + self.offsets[spatial];
        }
        place[last] += carry;
        place
    }

    /// Distance in bytes between elements of a row in global memory.
    fn step(&self) -> usize {
        self.map.ty.bytes() * self.map.column_stride() as usize
    }

    /// Bytes from the first to the last element of a part in global memory.
    fn span(&self, part: &RowPart) -> usize {
        match part.to - part.from {
            0 => 0,
            count => (count - 1) * self.step() + self.map.ty.bytes(),
        }
    }
}

/// Type of the atomic that a reduction of elements makes.
fn atomic_type(ty: ElementType, op: AtomOp) -> Option<AtomTy> {
    let bits = matches!(op, AtomOp::And | AtomOp::Or | AtomOp::Xor);
    Some(match ty {
        ElementType::U32 | ElementType::S32 if bits => AtomTy::B32,
        ElementType::U64 | ElementType::S64 if bits => AtomTy::B64,
        ElementType::U32 => AtomTy::U32,
        ElementType::S32 => AtomTy::S32,
        ElementType::U64 => AtomTy::U64,
        ElementType::S64 => AtomTy::S64,
        ElementType::F16 => AtomTy::F16,
        ElementType::Bf16 => AtomTy::Bf16,
        ElementType::F32 | ElementType::F32Ftz => AtomTy::F32,
        ElementType::F64 => AtomTy::F64,
        _ => return None,
    })
}

impl InstExec<'_, '_> {
    /// Executes `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
    pub fn bulk_tensor(
        &mut self,
        act: BulkAct,
        space: MemSpace,
        im2col: bool,
        wide: [bool; 2],
    ) -> Exec {
        self.addresses();
        self.out.bulk.begin(act.writes_global());
        let (near, barriers) = self.shared_operands(wide);
        let mut coordinates = &self.extra_operands()?.srcs[..];
        if let (BulkAct::Multicast, [own @ .., _mask]) = (act, coordinates) {
            coordinates = own;
        }
        for lane in lanes_of(self.mask) {
            let map = self.tensor_map(space, lane)?;
            let (mut first, mut offsets) = ([0; MOST_DIMENSIONS], [0; MOST_DIMENSIONS - 2]);
            let more = match im2col && act.completes_transactions() {
                true => map.rank.saturating_sub(2),
                false => 0,
            };
            if coordinates.len() != map.rank + more || map.im2col.is_some() != im2col {
                return Err(RawFault::plain(FaultKind::BadTensorMap, lane));
            }
            let (places, pixels) = coordinates.split_at(map.rank);
            for (at, &src) in first.iter_mut().zip(places) {
                *at = i64::from(self.lane_value(src, lane) as i32);
            }
            for (offset, &src) in offsets.iter_mut().zip(pixels) {
                *offset = i64::from(self.lane_value(src, lane) as u16);
            }
            let mut of = TensorBox {
                map: &map,
                first,
                offsets,
                near: near[lane],
            };
            match act {
                BulkAct::Load | BulkAct::Multicast => {
                    let targets = self.targets(act, of.near, map.box_bytes(), lane)?;
                    of.near = targets.1;
                    self.check_box(&of, lane)?;
                    let loaded = self.load_box(&of, lane)?;
                    self.write_blocks(targets.0, of.near, &loaded, lane);
                    self.complete_bulk(act, barriers[lane], map.box_bytes(), lane)?;
                    continue;
                }
                _ => self.check_box(&of, lane)?,
            }
            match act {
                BulkAct::Load
                | BulkAct::Multicast
                | BulkAct::Within
                | BulkAct::ReduceWithin(..) => return Err(self.illegal()),
                BulkAct::Store => self.store_box(&of, None, lane)?,
                BulkAct::Reduce(op, _) => {
                    let ty = atomic_type(map.ty, op);
                    let ty = ty.ok_or_else(|| RawFault::plain(FaultKind::BadTensorMap, lane))?;
                    self.store_box(&of, Some((op, ty)), lane)?;
                }
            }
        }
        self.set_effect(Effect::Bulk);
        Ok(())
    }

    /// Reads the tensor map of a lane.
    fn tensor_map(&mut self, space: MemSpace, lane: usize) -> Exec<TensorMap> {
        let mut access = Access {
            space,
            kind: MemKind::Load,
            bytes: TENSOR_MAP_BYTES,
            align: 64,
        };
        if space == MemSpace::Generic {
            let address = self.out.addrs[lane];
            let Some((space, inside)) = crate::memory::state_space::resolve(address) else {
                return Err(self.memory_fault(FaultKind::NoStateSpace, access, lane));
            };
            self.out.addrs[lane] = inside;
            access = access.within(space);
        }
        self.check(access, lane)?;
        let mut bytes = [0; TENSOR_MAP_BYTES];
        self.read_lane(access.space, lane, self.out.addrs[lane], &mut bytes);
        let map = TensorMap::from_bytes(&bytes);
        map.ok_or_else(|| self.memory_fault(FaultKind::BadTensorMap, access, lane))
    }

    /// Checks the place of a box in shared memory.
    fn check_box(&mut self, of: &TensorBox<'_>, lane: usize) -> Exec {
        let bytes = of.map.box_bytes();
        if !of.near.is_multiple_of(BOX_ALIGN) {
            let kind = FaultKind::Misaligned;
            let space = MemSpace::Shared;
            return Err(RawFault::memory(kind, lane, space, of.near, bytes as u32));
        }
        self.check_bulk(MemSpace::Shared, MemKind::Load, of.near, bytes, lane)
    }

    /// Checks the elements of a part of a row in global memory.
    fn check_part(
        &mut self,
        of: &TensorBox<'_>,
        part: &RowPart,
        kind: MemKind,
        lane: usize,
    ) -> Exec {
        let access = Access {
            space: MemSpace::Global,
            kind,
            bytes: of.span(part),
            align: of.map.ty.bytes() as u64,
        };
        let before = std::mem::replace(&mut self.out.addrs[lane], part.far);
        let checked = self.check(access, lane);
        self.out.addrs[lane] = before;
        checked
    }

    /// Address in shared memory of a chunk of a row.
    fn chunk_of_row(of: &TensorBox<'_>, row: usize, chunk: usize) -> usize {
        let linear = (row * of.map.row_bytes() + chunk * CHUNK) as u64;
        Swizzle::of_span(of.map.swizzle).apply(of.near + linear, 0) as usize
    }

    /// Contents of a box as it is to lie in shared memory.
    fn load_box(&mut self, of: &TensorBox<'_>, lane: usize) -> Exec<Vec<u8>> {
        let mut loaded = vec![0; of.map.box_bytes()];
        let (size, row_bytes) = (of.map.ty.bytes(), of.map.row_bytes());
        let fill = if of.map.nan_fill { of.map.ty.nan() } else { 0 };
        let mut buffer = [0; LONGEST_ROW];
        for nth in 0..of.map.rows() {
            let row = &mut buffer[..row_bytes];
            for element in row.chunks_exact_mut(size) {
                element.copy_from_slice(&fill.to_le_bytes()[..size]);
            }
            let part = of.part(nth);
            if part.to > part.from {
                self.check_part(of, &part, MemKind::Load, lane)?;
                let inside = &mut row[part.from * size..part.to * size];
                self.read_part(of, &part, inside);
                self.out.bulk.touch(part.far, of.span(&part));
            }
            for (chunk, bytes) in row.chunks_exact(CHUNK).enumerate() {
                let at = Self::chunk_of_row(of, nth, chunk).wrapping_sub(of.near as usize);
                let place = loaded.get_mut(at..at.saturating_add(CHUNK));
                place
                    .ok_or_else(|| RawFault::plain(FaultKind::OutOfBounds, lane))?
                    .copy_from_slice(bytes);
            }
        }
        Ok(loaded)
    }

    /// Reads the elements of a part of a row, next to each other.
    fn read_part(&mut self, of: &TensorBox<'_>, part: &RowPart, out: &mut [u8]) {
        if of.map.column_stride() == 1 {
            return self.port.read(self.ctx.asid, part.far, out);
        }
        for (nth, element) in out.chunks_exact_mut(of.map.ty.bytes()).enumerate() {
            let far = part.far + (nth * of.step()) as u64;
            self.port.read(self.ctx.asid, far, element);
        }
    }

    /// Writes a box to the tensor, or combines it with the tensor.
    fn store_box(
        &mut self,
        of: &TensorBox<'_>,
        how: Option<(AtomOp, AtomTy)>,
        lane: usize,
    ) -> Exec {
        let (size, row_bytes) = (of.map.ty.bytes(), of.map.row_bytes());
        let mut buffer = [0; LONGEST_ROW];
        for nth in 0..of.map.rows() {
            let row = &mut buffer[..row_bytes];
            for (chunk, bytes) in row.chunks_exact_mut(CHUNK).enumerate() {
                let at = Self::chunk_of_row(of, nth, chunk);
                let place = self.block.shared.get(at..at + CHUNK);
                let place = place.ok_or_else(|| RawFault::plain(FaultKind::OutOfBounds, lane))?;
                bytes.copy_from_slice(place);
            }
            let part = of.part(nth);
            if part.to == part.from {
                continue;
            }
            self.check_part(of, &part, MemKind::Store, lane)?;
            let inside = &row[part.from * size..part.to * size];
            let pieces = match of.map.column_stride() {
                1 => inside.len(),
                _ => size,
            };
            for (nth, piece) in inside.chunks(pieces).enumerate() {
                let far = part.far + (nth * of.step()) as u64;
                match how {
                    None => self.port.write(self.ctx.asid, far, piece),
                    Some(how) => self.port.combine(self.ctx.asid, far, piece, how),
                }
            }
            self.out.bulk.touch(part.far, of.span(&part));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{RowPart, TensorBox};
    use warploom_ir::tensor_map::{ElementType, TensorMap};

    fn map() -> TensorMap {
        TensorMap {
            address: 0x1000,
            rank: 2,
            dims: [10, 4, 0, 0, 0],
            strides: [32, 0, 0, 0],
            box_dims: [8, 2, 0, 0, 0],
            element_strides: [1, 1, 0, 0, 0],
            ty: ElementType::F16,
            swizzle: 16,
            nan_fill: false,
            im2col: None,
        }
    }

    fn part(map: &TensorMap, x: i64, y: i64, nth: usize) -> RowPart {
        let of = TensorBox {
            map,
            first: [x, y, 0, 0, 0],
            offsets: [0; 3],
            near: 0,
        };
        of.part(nth)
    }

    #[test]
    fn rows_are_cut_at_the_edges_of_the_tensor() {
        let map = map();
        let cut = |far, from, to| RowPart { far, from, to };
        assert_eq!(part(&map, 0, 0, 1), cut(0x1020, 0, 8));
        assert_eq!(part(&map, 4, 1, 0), cut(0x1028, 0, 6));
        assert_eq!(part(&map, -3, 0, 0), cut(0x1000, 3, 8));
        assert_eq!(
            part(&map, 0, 3, 1),
            RowPart::default(),
            "beyond the last row"
        );
        assert_eq!(part(&map, 0, -2, 1), RowPart::default(), "before the first");
        let outside = part(&map, 10, 0, 0);
        assert_eq!(outside.from, outside.to);
        let before = part(&map, -9, 0, 0);
        assert_eq!(before.from, before.to);
    }

    #[test]
    fn a_stride_leaves_elements_out() {
        let mut map = map();
        map.element_strides[0] = 3;
        map.box_dims[0] = 24;
        // Columns 0, 3, 6 and 9.
        assert_eq!(
            part(&map, 0, 0, 0),
            RowPart {
                far: 0x1000,
                from: 0,
                to: 4
            }
        );
        // Columns -1, 2, 5 and 8.
        assert_eq!(
            part(&map, -1, 0, 0),
            RowPart {
                far: 0x1004,
                from: 1,
                to: 4
            }
        );
    }
}
