//! `cvt` in all its forms. The common conversions have loops of their own; every other one goes
//! lane by lane through an exact intermediate value.
//!
//! Floats to integers saturate. A NaN gives 0, or the highest bit alone when the source is f64 or
//! the destination has 64 bits (PTX ISA, `cvt`). Results of 8- and 16-bit signed types are extended
//! to the slot, since the destination register may be wider than the type.

use crate::inst::{Exec, InstExec};
use crate::numeric::float::{canonical, flush_if, format_of, narrow, relu16, saturate};
use crate::numeric::lane_value::with_int;
use crate::numeric::softfloat as soft;
use crate::numeric::softfloat::{Finite, Format, Num};
use warploom_ir::{CvtRound, FloatTy, IntTy, IntTyNarrow, Round, Ty, Width};

/// One `cvt` instruction's modifiers.
#[derive(Clone, Copy)]
pub(crate) struct Cvt {
    pub to: Ty,
    pub from: Ty,
    pub round: CvtRound,
    pub ftz: bool,
    pub sat: bool,
}

/// Untyped bits convert as unsigned integers.
fn typed(ty: Ty) -> Ty {
    match ty {
        Ty::Bits(Width::B8) => Ty::Int(IntTy::U8),
        Ty::Bits(Width::B16) => Ty::Int(IntTy::U16),
        Ty::Bits(Width::B32) => Ty::Int(IntTy::U32),
        Ty::Bits(Width::B64) => Ty::Int(IntTy::U64),
        other => other,
    }
}

fn is_wide(ty: Ty) -> bool {
    matches!(
        ty,
        Ty::Int(IntTy::U64 | IntTy::S64) | Ty::Float(FloatTy::F64) | Ty::Bits(Width::B64)
    )
}

/// Least and greatest value of an integer type, and its width in bits.
fn range(ty: IntTy) -> (i128, i128, u32) {
    let (signed, bits) = match ty {
        IntTy::U8 => (false, 8),
        IntTy::S8 => (true, 8),
        IntTy::U16 | IntTy::U16x2 => (false, 16),
        IntTy::S16 | IntTy::S16x2 => (true, 16),
        IntTy::U32 => (false, 32),
        IntTy::S32 => (true, 32),
        IntTy::U64 => (false, 64),
        IntTy::S64 => (true, 64),
    };
    if signed {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits)
    } else {
        (0, (1 << bits) - 1, bits)
    }
}

/// Value of an integer source.
fn integer(bits: u64, ty: IntTy) -> i128 {
    let (least, _, width) = range(ty);
    let value = i128::from(bits) & ((1 << width) - 1);
    if least < 0 && value >> (width - 1) & 1 == 1 {
        value - (1 << width)
    } else {
        value
    }
}

fn finite(value: i128) -> Num {
    match value {
        0 => Num::Zero(false),
        v => Num::Finite(Finite {
            negative: v < 0,
            exp: 0,
            sig: v.unsigned_abs(),
        }),
    }
}

/// Rounds a decoded value to an integral one, sign of zero kept.
fn to_integral(value: Num, round: Round) -> Num {
    match value {
        Num::Finite(x) if x.exp < 0 => match soft::to_integer(x, round) {
            (negative, 0) => Num::Zero(negative),
            (negative, sig) => Num::Finite(Finite {
                negative,
                exp: 0,
                sig,
            }),
        },
        other => other,
    }
}

fn float_to_int(value: Num, to: IntTy, from: FloatTy, round: Round) -> i128 {
    let (least, greatest, bits) = range(to);
    match value {
        Num::Nan if from == FloatTy::F64 || bits == 64 => 1 << (bits - 1),
        Num::Nan | Num::Zero(_) => 0,
        Num::Inf(negative) => {
            if negative {
                least
            } else {
                greatest
            }
        }
        Num::Finite(x) => {
            let (negative, magnitude) = soft::to_integer(x, round);
            let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
            (if negative { -magnitude } else { magnitude }).clamp(least, greatest)
        }
    }
}

/// [0, 1] for any format; NaN gives +0.
fn saturate_num(value: Num, format: Format) -> Num {
    let one = soft::unpack(
        ((1 << (format.exponent - 1)) - 1) << (format.precision - 1),
        format,
    );
    match value {
        Num::Nan | Num::Zero(_) | Num::Inf(true) => Num::Zero(false),
        Num::Inf(false) => one,
        Num::Finite(x) if x.negative => Num::Zero(false),
        Num::Finite(x) => {
            let top = 127 - x.sig.leading_zeros() as i32 + x.exp;
            if top >= 0 { one } else { value }
        }
    }
}

/// f32's NaN payload carried into f64; narrower floats have canonical NaNs.
fn wider_nan(bits: u64, from: FloatTy) -> u64 {
    match from {
        FloatTy::F32 => (bits >> 31 & 1) << 63 | 0x7ff8 << 48 | (bits & 0x3f_ffff) << 29,
        FloatTy::F64 => bits | 1 << 51,
        _ => 0x7fff_ffff_e000_0000,
    }
}

fn to_float(value: Num, bits: u64, to: FloatTy, from: Ty, cvt: Cvt) -> u64 {
    let format = format_of(to);
    let value = match cvt.round {
        CvtRound::Integral(round) => to_integral(value, round),
        _ => value,
    };
    let value = if cvt.sat {
        saturate_num(value, format)
    } else {
        value
    };
    let round = match cvt.round {
        CvtRound::Float(round) => round,
        _ => Round::Near,
    };
    let nan = match (to, from) {
        (FloatTy::F64, Ty::Float(from)) => wider_nan(bits, from),
        _ => format.nan,
    };
    let result = soft::encode(value, format, round).unwrap_or(nan);
    let flushed = cvt.ftz && to == FloatTy::F32 && soft::is_subnormal(result, format);
    if flushed {
        format.zero(result >> 31 & 1 == 1)
    } else {
        result
    }
}

/// Any conversion, one lane.
fn lane(bits: u64, cvt: Cvt) -> u64 {
    let value = match cvt.from {
        Ty::Float(FloatTy::F32) => {
            // Hardware flushes nothing on the way to f16 (measured: `docs/hardware.md`).
            let ftz = cvt.ftz && cvt.to != Ty::Float(FloatTy::F16);
            let x = flush_if(ftz, f32::from_bits(bits as u32));
            soft::unpack(x.to_bits().into(), Format::F32)
        }
        Ty::Float(ty) => soft::unpack(bits & mask_of(ty), format_of(ty)),
        Ty::Int(ty) => finite(integer(bits, ty)),
        Ty::Bits(_) => Num::Zero(false),
    };
    match (cvt.to, cvt.from) {
        (Ty::Int(to), Ty::Float(from)) => {
            let round = match cvt.round {
                CvtRound::Integral(round) | CvtRound::Float(round) => round,
                CvtRound::None => Round::Zero,
            };
            float_to_int(value, to, from, round) as u64
        }
        (Ty::Int(to), Ty::Int(from)) => {
            let (least, greatest, _) = range(to);
            let value = integer(bits, from);
            let value = if cvt.sat {
                value.clamp(least, greatest)
            } else {
                value
            };
            integer(value as u64, to) as u64
        }
        (Ty::Float(to), from) => to_float(value, bits, to, from, cvt),
        _ => 0,
    }
}

fn mask_of(ty: FloatTy) -> u64 {
    let format = format_of(ty);
    u64::MAX >> (64 - format.precision - format.exponent)
}

/// Saturates to `bits` bits, as the field of a packed result.
fn field(value: i32, to: IntTyNarrow) -> (u32, u32) {
    let (signed, bits) = match to {
        IntTyNarrow::U2 => (false, 2),
        IntTyNarrow::S2 => (true, 2),
        IntTyNarrow::U4 => (false, 4),
        IntTyNarrow::S4 => (true, 4),
        IntTyNarrow::U8 => (false, 8),
        IntTyNarrow::S8 => (true, 8),
        IntTyNarrow::U16 => (false, 16),
        IntTyNarrow::S16 => (true, 16),
    };
    let (least, greatest) = if signed {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    };
    (
        value.clamp(least, greatest) as u32 & ((1 << bits) - 1),
        bits,
    )
}

/// An f32 with 10 bits of mantissa. With `.rna` hardware lets NaNs keep what is not cut, even if
/// that makes them infinities; `.satfinite` takes one unit from all that then has the exponent of
/// infinities (measured: `docs/hardware.md`).
fn tf32(a: f32, round: Round, relu: bool, finite: bool) -> u32 {
    const UNIT: u32 = 1 << 13;
    let infinity = f32::INFINITY.to_bits();
    let converted = soft::convert(a.to_bits().into(), Format::F32, Format::TF32, round);
    let bits = match converted {
        Some(bits) => (bits as u32) * UNIT,
        None if round == Round::NearAway => a.to_bits() & !(UNIT - 1),
        None => Format::TF32.nan as u32 * UNIT,
    };
    let negative = converted.is_some() && bits >> 31 == 1;
    match (relu && negative, finite && bits & infinity == infinity) {
        (true, _) => 0,
        (_, true) => bits - UNIT,
        _ => bits,
    }
}

impl InstExec<'_, '_> {
    #[inline(always)]
    pub fn cvt(&mut self, cvt: Cvt) -> Exec {
        let cvt = Cvt {
            to: typed(cvt.to),
            from: typed(cvt.from),
            ..cvt
        };
        use FloatTy::{F32, F64};
        let near = matches!(cvt.round, CvtRound::Float(Round::Near) | CvtRound::None);
        let to_zero = matches!(cvt.round, CvtRound::Integral(Round::Zero));
        match (cvt.to, cvt.from) {
            (Ty::Int(to), Ty::Int(from)) if !cvt.sat => self.resize(to, from),
            (Ty::Float(F32), Ty::Int(IntTy::S32)) if near && !cvt.sat => self.un(|a: i32| a as f32),
            (Ty::Float(F32), Ty::Int(IntTy::U32)) if near && !cvt.sat => self.un(|a: u32| a as f32),
            (Ty::Float(F64), Ty::Int(IntTy::S32)) if !cvt.sat => self.un(|a: i32| f64::from(a)),
            (Ty::Float(F64), Ty::Int(IntTy::U32)) if !cvt.sat => self.un(|a: u32| f64::from(a)),
            (Ty::Int(IntTy::S32), Ty::Float(F32)) if to_zero => self.un(|a: f32| a as i32),
            (Ty::Int(IntTy::U32), Ty::Float(F32)) if to_zero => self.un(|a: f32| a as u32),
            (Ty::Float(F32), Ty::Float(F64)) if near => self.un(|a: f64| {
                let x = flush_if(cvt.ftz, a as f32);
                let x = if cvt.sat { saturate(x) } else { x };
                canonical(x)
            }),
            (Ty::Float(F32), Ty::Float(F32)) => self.integral32(cvt),
            (Ty::Float(F64), Ty::Float(F32)) if !cvt.sat => self.un(|a: f32| {
                let x = f64::from(flush_if(cvt.ftz, a)).to_bits();
                if a.is_nan() {
                    wider_nan(a.to_bits().into(), F32)
                } else {
                    x
                }
            }),
            _ => self.cvt_lanes(cvt),
        }
    }

    /// Integer to integer: low bits, extended.
    #[allow(clippy::unnecessary_cast, reason = "one body for every source type")]
    #[inline(always)]
    fn resize(&mut self, to: IntTy, from: IntTy) -> Exec {
        with_int!(from, F => match to {
            IntTy::U8 => self.un(|a: F| a as u8),
            IntTy::S8 => self.un(|a: F| a as i8 as i32),
            IntTy::U16 => self.un(|a: F| a as u16),
            IntTy::S16 => self.un(|a: F| a as i16 as i32),
            IntTy::U32 | IntTy::S32 => self.un(|a: F| a as u32),
            IntTy::U64 | IntTy::S64 => self.un(|a: F| a as u64),
            IntTy::U16x2 | IntTy::S16x2 => Err(self.illegal()),
        }, packed => Err(self.illegal()))
    }

    /// f32 to f32: rounding to an integral value, saturation, flushing.
    #[inline(always)]
    fn integral32(&mut self, cvt: Cvt) -> Exec {
        let round: fn(f32) -> f32 = match cvt.round {
            CvtRound::Integral(Round::Near) => f32::round_ties_even,
            CvtRound::Integral(Round::NearAway) => f32::round,
            CvtRound::Integral(Round::Zero) => f32::trunc,
            CvtRound::Integral(Round::Down) => f32::floor,
            CvtRound::Integral(Round::Up) => f32::ceil,
            _ => |x| x,
        };
        self.un(|a: f32| {
            let x = round(flush_if(cvt.ftz, a));
            let x = if cvt.sat { saturate(x) } else { x };
            canonical(x)
        })
    }

    fn cvt_lanes(&mut self, cvt: Cvt) -> Exec {
        match (is_wide(cvt.to), is_wide(cvt.from)) {
            (false, false) => self.un(|a: u32| lane(a.into(), cvt) as u32),
            (false, true) => self.un(|a: u64| lane(a, cvt) as u32),
            (true, false) => self.un(|a: u32| lane(a.into(), cvt)),
            (true, true) => self.un(|a: u64| lane(a, cvt)),
        }
    }

    pub fn cvt_pack2(&mut self, to: FloatTy, round: Round, relu: bool) -> Exec {
        let format = format_of(to);
        let half = move |x: f32| u32::from(relu16(narrow(x.into(), format, round), format, relu));
        self.bin(|a: f32, b: f32| half(a) << 16 | half(b))
    }

    pub fn cvt_pack_int(&mut self, to: IntTyNarrow) -> Exec {
        self.tri(|a: i32, b: i32, c: u32| {
            let ((high, bits), (low, _)) = (field(a, to), field(b, to));
            // Earlier results move up; 16-bit fields leave no room for them.
            let rest = if bits == 16 { 0 } else { c << (2 * bits) };
            rest | high << bits | low
        })
    }

    pub fn cvt_tf32(&mut self, round: Round, relu: bool, finite: bool) -> Exec {
        self.un(|a: f32| tf32(a, round, relu, finite))
    }
}
