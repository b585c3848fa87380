//! The instructions `wmma.load` and `wmma.store`: each lane computes the places of its elements and
//! moves them with ordinary loads and stores, as machine code of GPUs does.

use crate::address::Addr;
use crate::builder::Builder;
use crate::error::Res;
use warploom_ir::matrix::Fragment;
use warploom_ir::{CacheOp, Dst, Half, IntTy, Logic, MemSpace, MemTy, Op, SpecialReg, Src, Width};

/// Most bytes that one access of a lane moves.
const VECTOR_BYTES: usize = 16;
const LANES: usize = 32;

/// Place of a lane's elements in memory.
pub(super) struct Place {
    space: MemSpace,
    /// Address of the first element, less `offset`.
    base: Src,
    offset: i32,
    wide: bool,
    /// Number of elements that are consecutive in memory.
    run: usize,
    /// Distance in elements to the next run.
    stride: Src,
    /// Size of an element in bits.
    bits: usize,
}

/// Computes a lane's place in a matrix whose lines are `stride` elements apart in memory.
pub(super) fn place(
    b: &mut Builder,
    fragment: &Fragment,
    columns: bool,
    addr: Addr,
    stride: Option<Src>,
) -> Res<Place> {
    let inner = if columns {
        fragment.rows
    } else {
        fragment.cols
    };
    let stride = match stride {
        Some(stride) => stride,
        None => b.bits(inner as u64)?,
    };
    let follows = fragment.follows(columns);
    let (line, within) = position(b, fragment, follows, inner)?;
    let elements = b.temp(false)?;
    let mad = Op::Mad(Half::Lo, IntTy::U32, false);
    b.emit(mad, &[Dst::Reg(elements)], &[line, stride, within]);
    let mut place = Place {
        space: addr.space,
        base: addr.base,
        offset: addr.offset,
        // A constant alone is an offset of 32 bits.
        wide: addr.wide && addr.base != Src::None,
        run: if follows {
            fragment.slots.min(inner)
        } else {
            1
        },
        stride,
        bits: fragment.bits,
    };
    place.base = place.behind(b, addr.base, Src::Reg(elements))?;
    Ok(place)
}

impl Place {
    /// Address that is a number of elements after another.
    fn behind(&self, b: &mut Builder, base: Src, elements: Src) -> Res<Src> {
        let (count, bytes) = match self.bits {
            ..8 => (shifted_right(b, elements, 8 / self.bits)?, 1),
            bits => (elements, bits / 8),
        };
        let (to, bytes) = (b.temp(self.wide)?, b.bits(bytes as u64)?);
        let base = if base == Src::None { b.bits(0)? } else { base };
        let half = if self.wide { Half::Wide } else { Half::Lo };
        let mad = Op::Mad(half, IntTy::U32, false);
        b.emit(mad, &[Dst::Reg(to)], &[count, bytes, base]);
        Ok(Src::Reg(to))
    }

    fn next_run(&self, b: &mut Builder, base: Src) -> Res<Src> {
        self.behind(b, base, self.stride)
    }
}

/// Line of memory in which a lane's elements begin, and the position in it. Elements that are not
/// consecutive in memory are on one line each, at the same position.
fn position(b: &mut Builder, fragment: &Fragment, follows: bool, inner: usize) -> Res<(Src, Src)> {
    let all = fragment.rows * fragment.cols;
    let lanes = (all / fragment.slots).min(LANES);
    let lane = Src::Special(SpecialReg::LaneId);
    let lane = if lanes < LANES {
        low(b, lane, lanes)?
    } else {
        lane
    };
    let length = if follows { inner } else { fragment.cols };
    if fragment.slots > length {
        let lines = times(b, lane, fragment.slots / length)?;
        return Ok((lines, b.bits(0)?));
    }
    let share = length / fragment.slots;
    if share == 1 {
        let start = b.bits(0)?;
        return Ok(if follows {
            (lane, start)
        } else {
            (start, lane)
        });
    }
    let line = shifted_right(b, lane, share)?;
    let first = low(b, lane, share)?;
    let within = times(b, first, fragment.slots)?;
    Ok(if follows {
        (line, within)
    } else {
        (within, line)
    })
}

/// Remainder of a division by a power of two.
fn low(b: &mut Builder, value: Src, of: usize) -> Res<Src> {
    let (to, mask) = (b.temp(false)?, b.bits(of as u64 - 1)?);
    b.emit(
        Op::Logic(Logic::And, Width::B32),
        &[Dst::Reg(to)],
        &[value, mask],
    );
    Ok(Src::Reg(to))
}

/// Word of the given number of bits.
pub(super) fn words(b: &mut Builder, bits: Src) -> Res<Src> {
    shifted_right(b, bits, 32)
}

/// Multiplies by a power of two.
fn times(b: &mut Builder, value: Src, factor: usize) -> Res<Src> {
    let (to, count) = (b.temp(false)?, b.bits(factor.trailing_zeros().into())?);
    b.emit(Op::Shl(Width::B32), &[Dst::Reg(to)], &[value, count]);
    Ok(Src::Reg(to))
}

/// Divides by a power of two.
fn shifted_right(b: &mut Builder, value: Src, divisor: usize) -> Res<Src> {
    let (to, count) = (b.temp(false)?, b.bits(divisor.trailing_zeros().into())?);
    b.emit(Op::Shr(IntTy::U32), &[Dst::Reg(to)], &[value, count]);
    Ok(Src::Reg(to))
}

/// Moves of whole registers: (base, offset, first register, registers).
fn moves(
    b: &mut Builder,
    fragment: &Fragment,
    place: &Place,
) -> Res<Vec<(Src, usize, usize, usize)>> {
    let registers = place.run / fragment.per_register();
    let bytes = fragment.bits.max(32) / 8;
    let most = VECTOR_BYTES / bytes;
    let (mut base, mut found) = (place.base, Vec::new());
    for run in 0..fragment.slots / place.run {
        if run > 0 {
            base = place.next_run(b, base)?;
        }
        for first in (0..registers).step_by(most) {
            let count = (registers - first).min(most);
            found.push((base, first * bytes, run * registers + first, count));
        }
    }
    Ok(found)
}

fn memory_type(bytes: usize, count: usize) -> MemTy {
    MemTy {
        bytes: bytes as u8,
        count: count as u8,
        signed: false,
        wide_reg: bytes == 8,
    }
}

/// Emits an access at a base and an offset from the place's own.
fn access(b: &mut Builder, place: &Place, op: Op, at: (Src, usize), dsts: &[Dst], srcs: &[Src]) {
    let (base, offset) = at;
    let single = dsts.len().max(srcs.len()) == 1;
    let extra = (!single).then(|| b.extra(dsts.to_vec(), srcs.to_vec()));
    let (own_dsts, own_src) = match (single, srcs) {
        (true, [src]) => (&[][..], *src),
        (true, _) => (dsts, Src::None),
        _ => (&[][..], Src::None),
    };
    let inst = b.emit(op, own_dsts, &[base, own_src]);
    inst.imm = place.offset.wrapping_add(offset as i32);
    inst.wide_addr = place.wide;
    if let Some(extra) = extra {
        inst.extra = extra;
    }
}

/// True if the runs of a place fill registers.
fn by_registers(fragment: &Fragment, place: &Place) -> bool {
    place.run >= fragment.per_register()
}

pub(super) fn load(b: &mut Builder, fragment: &Fragment, place: &Place, to: &[Dst]) -> Res<()> {
    let bytes = fragment.bits.max(32) / 8;
    if by_registers(fragment, place) {
        for (base, offset, first, count) in moves(b, fragment, place)? {
            let op = Op::Ld(place.space, memory_type(bytes, count), CacheOp::Default);
            access(b, place, op, (base, offset), &to[first..first + count], &[]);
        }
        return Ok(());
    }
    let mut base = place.base;
    let op = Op::Ld(place.space, memory_type(2, 1), CacheOp::Default);
    for &dst in to {
        let mut halves = Vec::with_capacity(2);
        for _ in 0..2 {
            let half = b.temp(false)?;
            access(b, place, op, (base, 0), &[Dst::Reg(half)], &[]);
            base = place.next_run(b, base)?;
            halves.push(Src::Reg(half));
        }
        let extra = b.extra(Vec::new(), halves);
        let pack = Op::Pack {
            part: Width::B16,
            whole: Width::B32,
        };
        b.emit(pack, &[dst], &[]).extra = extra;
    }
    Ok(())
}

pub(super) fn store(b: &mut Builder, fragment: &Fragment, place: &Place, from: &[Src]) -> Res<()> {
    let bytes = fragment.bits.max(32) / 8;
    if by_registers(fragment, place) {
        for (base, offset, first, count) in moves(b, fragment, place)? {
            let op = Op::St(place.space, memory_type(bytes, count), CacheOp::Default);
            access(
                b,
                place,
                op,
                (base, offset),
                &[],
                &from[first..first + count],
            );
        }
        return Ok(());
    }
    let mut base = place.base;
    let op = Op::St(place.space, memory_type(2, 1), CacheOp::Default);
    for &src in from {
        let halves = [b.temp(false)?, b.temp(false)?];
        let extra = b.extra(halves.map(Dst::Reg).to_vec(), Vec::new());
        let unpack = Op::Unpack {
            part: Width::B16,
            whole: Width::B32,
        };
        b.emit(unpack, &[], &[src]).extra = extra;
        for half in halves {
            access(b, place, op, (base, 0), &[], &[Src::Reg(half)]);
            base = place.next_run(b, base)?;
        }
    }
    Ok(())
}
