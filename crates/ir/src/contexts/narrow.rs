//! Number of low bits that hold every lane's value of a register while the other bits are zero. The
//! analysis ignores the order of instructions and covers every write of the register.
//!
//! Widths start at zero and grow to a fixed point. A width that keeps growing (a counter in a loop)
//! is set to all bits after a few steps. Operations that are not listed here produce all bits.

use crate::inst::{Inst, SpecialReg, Src};
use crate::op::{Half, IntBin, IntTy, IntUn, Logic, Op, Ty, Width};
use crate::operands::{Code, Var};
use crate::program::ConstValue;

/// Number of times that a register's width may grow before it is set to all bits.
const PATIENCE: u8 = 8;

/// Number of bits that hold the value of each virtual register.
pub(super) fn widths(code: &Code, wide: &[bool], consts: &[ConstValue]) -> Vec<u32> {
    let full: Vec<u32> = wide.iter().map(|w| if *w { 64 } else { 32 }).collect();
    let mut this = Widths {
        bits: vec![0; wide.len()],
        consts,
    };
    let mut grown = vec![0_u8; wide.len()];
    loop {
        let mut changed = false;
        for inst in code.insts {
            let result = this.result(inst);
            for var in code.writes(inst) {
                let Var::Reg(reg) = var else { continue };
                let reg = usize::from(reg.0);
                let bits = result.min(full[reg]);
                if bits > this.bits[reg] {
                    grown[reg] = grown[reg].saturating_add(1);
                    let given_up = grown[reg] > PATIENCE;
                    this.bits[reg] = if given_up { full[reg] } else { bits };
                    changed = true;
                }
            }
        }
        if !changed {
            return this.bits;
        }
    }
}

struct Widths<'a> {
    bits: Vec<u32>,
    consts: &'a [ConstValue],
}

/// All bits that a register may have.
const ALL: u32 = 64;

impl Widths<'_> {
    fn of(&self, src: Src) -> u32 {
        match src {
            Src::Reg(reg) => self.bits[usize::from(reg.0)],
            Src::Const(_) => self.value(src).map_or(ALL, |v| ALL - v.leading_zeros()),
            Src::Special(special) => special_bits(special),
            Src::None | Src::Pred(..) => ALL,
        }
    }

    fn value(&self, src: Src) -> Option<u64> {
        match src {
            Src::Const(at) => match self.consts[usize::from(at)] {
                ConstValue::Bits(bits) => Some(bits),
                ConstValue::Global(..) | ConstValue::Texture(_) | ConstValue::Param(_) => None,
            },
            _ => None,
        }
    }

    /// Bits of what the instruction writes.
    fn result(&self, inst: &Inst) -> u32 {
        let [a, b, c, _] = inst.src;
        let most = |x: u32, y: u32| x.max(y);
        match inst.op {
            Op::Mov(_) => self.of(a),
            Op::Ld(_, ty, _) if !ty.signed => 8 * u32::from(ty.bytes),
            Op::Int(IntBin::Add, ty) => within(most(self.of(a), self.of(b)) + 1, ty),
            Op::Int(IntBin::Min, ty) if self.both_positive(a, b, ty) => self.of(a).min(self.of(b)),
            Op::Int(IntBin::Max, ty) if self.both_positive(a, b, ty) => {
                most(self.of(a), self.of(b))
            }
            Op::IntUn(IntUn::Popc | IntUn::Clz, _) => 7,
            Op::Mul(Half::Lo, ty) => within(self.of(a) + self.of(b), ty),
            Op::Mul(Half::Wide, ty) if self.both_positive(a, b, ty) => self.of(a) + self.of(b),
            Op::Mad(Half::Lo, ty, false) => {
                within(most(self.of(a) + self.of(b), self.of(c)) + 1, ty)
            }
            Op::Mad(Half::Wide, ty, false) if self.both_positive(a, b, ty) => {
                most(self.of(a) + self.of(b), self.of(c)) + 1
            }
            Op::Logic(Logic::And, _) => self.of(a).min(self.of(b)),
            Op::Logic(Logic::Or | Logic::Xor, _) => most(self.of(a), self.of(b)),
            Op::Shl(width) => match self.value(b) {
                Some(by) if by < 64 => {
                    let bits = self.of(a) + by as u32;
                    if bits <= width_bits(width) { bits } else { ALL }
                }
                _ => ALL,
            },
            Op::Shr(ty) if self.of(a) < int_bits(ty) => {
                let by = self.value(b).unwrap_or(0).min(64) as u32;
                self.of(a).saturating_sub(by)
            }
            Op::Bfe(IntTy::U32 | IntTy::U64) => {
                self.value(c).map_or(ALL, |bits| bits.min(64) as u32)
            }
            Op::Selp(_) => most(self.of(a), self.of(b)),
            Op::Cvt {
                to: Ty::Int(to),
                from: Ty::Int(from),
                sat: false,
                ..
            } => self.convert(a, from, to),
            _ => ALL,
        }
    }

    /// Neither has its sign bit set.
    fn both_positive(&self, a: Src, b: Src, ty: IntTy) -> bool {
        let positive = |src| is_unsigned(ty) || self.of(src) < int_bits(ty);
        !matches!(ty, IntTy::U16x2 | IntTy::S16x2) && positive(a) && positive(b)
    }

    fn convert(&self, a: Src, from: IntTy, to: IntTy) -> u32 {
        let low = self.of(a).min(int_bits(from));
        let positive = is_unsigned(from) || self.of(a) < int_bits(from);
        match positive && (is_unsigned(to) || low < int_bits(to)) {
            true => low.min(int_bits(to)),
            false => ALL,
        }
    }
}

/// `bits` if arithmetic of that type holds them without going round.
fn within(bits: u32, ty: IntTy) -> u32 {
    match ty {
        IntTy::U16x2 | IntTy::S16x2 => ALL,
        _ if bits <= int_bits(ty) => bits,
        _ => ALL,
    }
}

fn is_unsigned(ty: IntTy) -> bool {
    matches!(ty, IntTy::U8 | IntTy::U16 | IntTy::U32 | IntTy::U64)
}

fn int_bits(ty: IntTy) -> u32 {
    match ty {
        IntTy::U8 | IntTy::S8 => 8,
        IntTy::U16 | IntTy::S16 => 16,
        IntTy::U32 | IntTy::S32 | IntTy::U16x2 | IntTy::S16x2 => 32,
        IntTy::U64 | IntTy::S64 => 64,
    }
}

fn width_bits(width: Width) -> u32 {
    match width {
        Width::B8 => 8,
        Width::B16 => 16,
        Width::B32 => 32,
        Width::B64 => 64,
    }
}

/// Bits of a special register: blocks have at most 1024 threads.
fn special_bits(special: SpecialReg) -> u32 {
    use SpecialReg as S;
    match special {
        S::TidX | S::TidY | S::TidZ => 10,
        S::NtidX | S::NtidY | S::NtidZ => 11,
        S::LaneId => 5,
        S::CtaidY | S::CtaidZ => 16,
        S::NctaidY | S::NctaidZ => 16,
        _ => ALL,
    }
}
