//! Matrices that the lanes of a warp hold together (PTX ISA, "Warp-Level Matrix Multiply-Accumulate
//! Instructions").
//!
//! Where the ISA leaves the arithmetic open, an element of the result starts with c and adds the
//! products in the order of k, each with one rounding to nearest even. Multiplicands of up to 32
//! bits are accumulated in f32. This includes f16 results, which are rounded at the end.
//! Multiplicands of 64 bits are accumulated in f64. Nothing is flushed. Registers of inactive lanes
//! are read as they are.

use crate::fault::FaultKind;
use crate::inst::{Exec, InstExec};
use crate::memory::effect::MemKind;
use crate::numeric::float::{canonical, fma32, nan64, narrow, widen};
use crate::numeric::softfloat::Format;
use crate::ops::access::Access;
use warploom_base::{LaneMask, WARP_SIZE, lanes_of};
use warploom_ir::matrix::{AccTy, Fragment, MatRule, MatTy, Mma};
use warploom_ir::{CacheOp, Dst, MemSpace, Round, Src};

/// Number of elements of the largest multiplicand: `mma.m16n8k64`.
const MULTIPLICAND: usize = 16 * 64;
/// Number of elements of the largest result: `wmma.m16n16k16`, or four results of `mma.m8n8k4`.
const RESULT: usize = 16 * 16;
/// Number of rows and columns of an `ldmatrix` matrix.
const EIGHT: usize = 8;

/// Low bits of a tf32, which are ignored.
const TF32_UNUSED: u32 = (1 << 13) - 1;

/// Value of a floating-point multiplicand.
fn decode_f32(ty: MatTy, bits: u64) -> f32 {
    match ty {
        MatTy::F16 => widen(bits as u16, Format::F16) as f32,
        MatTy::Bf16 => widen(bits as u16, Format::BF16) as f32,
        _ => f32::from_bits(bits as u32 & !TF32_UNUSED),
    }
}

/// Value of an integer multiplicand.
fn decode_int(ty: MatTy, bits: u64) -> i64 {
    match ty {
        MatTy::S8 => i64::from(bits as i8),
        MatTy::S4 => (bits << 60) as i64 >> 60,
        _ => bits as i64,
    }
}

/// Value of a floating-point accumulator.
fn acc_f32(ty: AccTy, bits: u64) -> f32 {
    match ty {
        AccTy::F16 => widen(bits as u16, Format::F16) as f32,
        _ => f32::from_bits(bits as u32),
    }
}

/// Bits of a floating-point result.
fn acc_bits(ty: AccTy, value: f32) -> u64 {
    match ty {
        AccTy::F16 => narrow(f64::from(value), Format::F16, Round::Near).into(),
        _ => canonical(value).to_bits().into(),
    }
}

/// Product of two integer elements under the instruction's rule.
fn bits_of(rule: MatRule, a: i64, b: i64) -> i64 {
    let bits = match rule {
        MatRule::Multiply => return a * b,
        MatRule::Xor => a ^ b,
        MatRule::And => a & b,
    };
    (bits as u32).count_ones().into()
}

/// Elements of the operands of a product.
struct Operands<T> {
    a: [T; MULTIPLICAND],
    b: [T; MULTIPLICAND],
    c: [T; RESULT],
}

/// Adds the products to c, for each of the independent products of the instruction.
fn multiply<T: Copy>(mma: &Mma, of: &mut Operands<T>, step: impl Fn(T, T, T) -> T) {
    let (m, n, k) = (mma.m, mma.n, mma.a().cols);
    for part in 0..mma.products() {
        let a = &of.a[part * m * k..][..m * k];
        let b = &of.b[part * k * n..][..k * n];
        let c = &mut of.c[part * m * n..][..m * n];
        for (row, c) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
            for (a, b) in row.iter().zip(b.chunks_exact(n)) {
                for (c, b) in c.iter_mut().zip(b) {
                    *c = step(*a, *b, *c);
                }
            }
        }
    }
}

impl InstExec<'_, '_> {
    /// Executes `mma` and `wmma.mma`.
    #[inline(always)]
    pub fn mma(&mut self, fused: bool) -> Exec {
        let extra = self.extra_operands()?;
        let Some(mma) = &extra.matrix else {
            return Err(self.illegal());
        };
        match mma.acc[0] {
            AccTy::F16 | AccTy::F32 => {
                let mut of = self.operands(mma, &extra.srcs, decode_f32, acc_f32)?;
                multiply(mma, &mut of, |a, b, c| fma32(a, b, c, fused));
                self.put_result(mma, &extra.dsts, |at| acc_bits(mma.acc[0], of.c[at]))
            }
            AccTy::F64 => {
                let read = |_, bits| f64::from_bits(bits);
                let mut of = self.operands(mma, &extra.srcs, read, |_, b| f64::from_bits(b))?;
                multiply(mma, &mut of, |a, b, c| nan64(a.mul_add(b, c), &[a, b, c]));
                self.put_result(mma, &extra.dsts, |at| of.c[at].to_bits())
            }
            AccTy::S32 => {
                let read = |_, bits: u64| i64::from(bits as i32);
                let mut of = self.operands(mma, &extra.srcs, decode_int, read)?;
                multiply(mma, &mut of, |a, b, c| c + bits_of(mma.rule, a, b));
                self.put_result(mma, &extra.dsts, |at| integer(mma, of.c[at]))
            }
        }
    }

    /// Collects the operands from the registers of all lanes.
    fn operands<T: Copy + Default>(
        &self,
        mma: &Mma,
        srcs: &[Src],
        multiplicand: impl Fn(MatTy, u64) -> T,
        accumulator: impl Fn(AccTy, u64) -> T,
    ) -> Exec<Operands<T>> {
        let (a, b, c) = (mma.a(), mma.b(), mma.accumulator(1));
        let (x, y) = (a.registers(), a.registers() + b.registers());
        if srcs.len() != y + c.registers() {
            return Err(self.illegal());
        }
        let mut of = Operands {
            a: [T::default(); MULTIPLICAND],
            b: [T::default(); MULTIPLICAND],
            c: [T::default(); RESULT],
        };
        self.collect(&a, &srcs[..x], &mut of.a, |bits| {
            multiplicand(mma.from[0], bits)
        });
        self.collect(&b, &srcs[x..y], &mut of.b, |bits| {
            multiplicand(mma.from[1], bits)
        });
        self.collect(&c, &srcs[y..], &mut of.c, |bits| {
            accumulator(mma.acc[1], bits)
        });
        Ok(of)
    }

    /// Collects the elements of one fragment from the registers of all lanes.
    fn collect<T>(
        &self,
        fragment: &Fragment,
        srcs: &[Src],
        to: &mut [T],
        decode: impl Fn(u64) -> T,
    ) {
        let per = fragment.per_register();
        let ones = u64::MAX >> (64 - fragment.bits);
        for (register, &src) in srcs.iter().enumerate() {
            let lanes: [u64; WARP_SIZE] = self.gather(src, fragment.wide());
            for (lane, bits) in lanes.into_iter().enumerate() {
                for nth in 0..per {
                    let element = bits >> (nth * fragment.bits) & ones;
                    to[fragment.place(lane, register * per + nth)] = decode(element);
                }
            }
        }
    }

    /// Writes the result to the registers of all lanes. `bits` returns the bits of an element.
    fn put_result(&mut self, mma: &Mma, dsts: &[Dst], bits: impl Fn(usize) -> u64) -> Exec {
        let fragment = mma.accumulator(0);
        if dsts.len() != fragment.registers() {
            return Err(self.illegal());
        }
        let per = fragment.per_register();
        for (register, &dst) in dsts.iter().enumerate() {
            let value: [u64; WARP_SIZE] = std::array::from_fn(|lane| {
                let part = |nth| bits(fragment.place(lane, register * per + nth));
                (0..per).fold(0, |all, nth| all | part(nth) << (nth * fragment.bits))
            });
            if fragment.wide() {
                self.write_reg(dst, &value)
            } else {
                self.write_reg(dst, &value.map(|bits| bits as u32))
            }
        }
        Ok(())
    }

    /// Computes and checks the addresses of the rows of `count` matrices. Lanes without a row are
    /// given the address of another lane, so that they cause no memory traffic.
    fn rows(&mut self, space: MemSpace, kind: MemKind, count: usize) -> Exec<Access> {
        let rows = count * EIGHT;
        if !(1..=WARP_SIZE).contains(&rows) {
            return Err(self.illegal());
        }
        self.addresses();
        let access = Access {
            space,
            kind,
            bytes: 2 * EIGHT,
            align: 2 * EIGHT as u64,
        };
        for lane in rows..WARP_SIZE {
            self.out.addrs[lane] = self.out.addrs[lane % rows];
        }
        if space == MemSpace::Generic {
            self.only_shared(access)?;
        }
        let access = access.within(MemSpace::Shared);
        for lane in lanes_of(self.mask & LaneMask::MAX >> (WARP_SIZE - rows)) {
            self.check(access, lane)?;
            self.look_for_uninitialised_if_load(access, lane);
        }
        self.look_for_races(access, self.mask & LaneMask::MAX >> (WARP_SIZE - rows));
        self.memory_effect(access, CacheOp::Default, kind == MemKind::Load);
        Ok(access)
    }

    /// Records a finding if a lane loads uninitialised bytes.
    fn look_for_uninitialised_if_load(&mut self, access: Access, lane: usize) {
        if access.kind == MemKind::Load {
            self.look_for_uninitialised(access, lane);
        }
    }

    /// Converts generic addresses to addresses of shared memory. Other addresses are faults.
    pub(crate) fn only_shared(&mut self, access: Access) -> Exec {
        let groups = self.split_spaces(access)?;
        let mut strays = groups
            .iter()
            .filter(|(space, _)| *space != MemSpace::Shared);
        match strays.find(|(_, lanes)| *lanes != 0) {
            None => Ok(()),
            Some((_, lanes)) => {
                let lane = lanes.trailing_zeros() as usize;
                Err(self.memory_fault(FaultKind::NoStateSpace, access, lane))
            }
        }
    }

    /// Executes the instruction `ldmatrix`.
    pub fn load_matrix(&mut self, space: MemSpace, turned: bool) -> Exec {
        let dsts = &self.extra_operands()?.dsts;
        self.rows(space, MemKind::Load, dsts.len())?;
        let mut rows = [[0; 2 * EIGHT]; WARP_SIZE];
        for lane in lanes_of(self.mask & LaneMask::MAX >> (WARP_SIZE - dsts.len() * EIGHT)) {
            let address = self.out.addrs[lane];
            self.read_lane(MemSpace::Shared, lane, address, &mut rows[lane]);
        }
        for (nth, &dst) in dsts.iter().enumerate() {
            let matrix = &rows[nth * EIGHT..][..EIGHT];
            let value: [u32; WARP_SIZE] = std::array::from_fn(|lane| {
                let half = |k: usize| {
                    let (row, col) = eighth(lane, k, turned);
                    u16::from_le_bytes([matrix[row][2 * col], matrix[row][2 * col + 1]])
                };
                u32::from(half(1)) << 16 | u32::from(half(0))
            });
            self.write_reg(dst, &value);
        }
        Ok(())
    }

    /// Executes the instruction `stmatrix`.
    pub fn store_matrix(&mut self, space: MemSpace, turned: bool) -> Exec {
        let srcs = &self.extra_operands()?.srcs;
        self.rows(space, MemKind::Store, srcs.len())?;
        let mut rows = [[0; 2 * EIGHT]; WARP_SIZE];
        for (nth, &src) in srcs.iter().enumerate() {
            let value: [u32; WARP_SIZE] = self.gather(src, false);
            for (lane, bits) in value.into_iter().enumerate() {
                for (k, half) in [bits as u16, (bits >> 16) as u16].into_iter().enumerate() {
                    let (row, col) = eighth(lane, k, turned);
                    rows[nth * EIGHT + row][2 * col..][..2].copy_from_slice(&half.to_le_bytes());
                }
            }
        }
        for lane in lanes_of(self.mask & LaneMask::MAX >> (WARP_SIZE - srcs.len() * EIGHT)) {
            self.write_lane(MemSpace::Shared, lane, self.out.addrs[lane], &rows[lane]);
        }
        Ok(())
    }

    /// Executes `movmatrix`: transposes a matrix of 8 by 8.
    pub fn turn_matrix(&mut self) -> Exec {
        let from = *self.src::<u32>(0);
        let value: [u32; WARP_SIZE] = std::array::from_fn(|lane| {
            let half = |k: usize| {
                let (row, col) = eighth(lane, k, true);
                from[row * 4 + col / 2] >> (col % 2 * 16) & 0xffff
            };
            half(1) << 16 | half(0)
        });
        self.write_result(&value);
        Ok(())
    }
}

/// Row and column of a lane's `k`-th element of a matrix of 8 by 8, transposed if `turned`.
fn eighth(lane: usize, k: usize, turned: bool) -> (usize, usize) {
    let (group, pair) = (lane / 4, lane % 4 * 2 + k);
    if turned { (pair, group) } else { (group, pair) }
}

/// Bits of an s32 result, saturated if the instruction asks for it.
fn integer(mma: &Mma, value: i64) -> u64 {
    if mma.satfinite {
        value.clamp(i32::MIN.into(), i32::MAX.into()) as u64 & u64::from(u32::MAX)
    } else {
        value as u64 & u64::from(u32::MAX)
    }
}
