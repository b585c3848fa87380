//! Conversions (`cvt`). Common conversions have loops of their own. All others go lane by lane
//! through an exact intermediate value.
//!
//! Conversions from floating point to integer saturate. A NaN becomes 0, or only the highest bit if
//! the source is f64 or the destination has 64 bits (PTX ISA, `cvt`). Results of signed 8- and
//! 16-bit types are extended to the slot, since the destination register may be wider than the
//! type.

use crate::inst::{Exec, InstExec};
use crate::numeric::float::{canonical, flush_if, format_of, narrow, relu16, saturate};
use crate::numeric::lane_value::with_int;
use crate::numeric::softfloat;
use crate::numeric::softfloat::{Finite, Format, Num};
use warploom_ir::{CvtRound, FloatTy, IntTy, IntTyNarrow, Round, Ty, Width};

/// Types and modifiers of a `cvt` instruction.
#[derive(Clone, Copy)]
pub(crate) struct Cvt {
    pub to: Ty,
    pub from: Ty,
    pub round: CvtRound,
    pub ftz: bool,
    pub sat: bool,
}

/// Replaces untyped bits by the unsigned integer of the same width.
fn typed(ty: Ty) -> Ty {
    match ty {
        Ty::Bits(Width::B8) => Ty::Int(IntTy::U8),
        Ty::Bits(Width::B16) => Ty::Int(IntTy::U16),
        Ty::Bits(Width::B32) => Ty::Int(IntTy::U32),
        Ty::Bits(Width::B64) => Ty::Int(IntTy::U64),
        other => other,
    }
}

/// True if a type has 64 bits.
fn is_wide(ty: Ty) -> bool {
    matches!(
        ty,
        Ty::Int(IntTy::U64 | IntTy::S64) | Ty::Float(FloatTy::F64) | Ty::Bits(Width::B64)
    )
}

/// Minimum and maximum of an integer type, and its width in bits.
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

/// Value of an integer source operand.
fn integer(bits: u64, ty: IntTy) -> i128 {
    let (least, _, width) = range(ty);
    let value = i128::from(bits) & ((1 << width) - 1);
    if least < 0 && value >> (width - 1) & 1 == 1 {
        value - (1 << width)
    } else {
        value
    }
}

/// An integer as a decoded floating-point value.
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

/// Rounds a decoded value to an integral one and keeps the sign of a zero.
fn to_integral(value: Num, round: Round) -> Num {
    match value {
        Num::Finite(x) if x.exp < 0 => match softfloat::to_integer(x, round) {
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

/// Converts a decoded value to an integer type with saturation.
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
            let (negative, magnitude) = softfloat::to_integer(x, round);
            let magnitude = i128::try_from(magnitude).unwrap_or(i128::MAX);
            (if negative { -magnitude } else { magnitude }).clamp(least, greatest)
        }
    }
}

/// Clamps a value of any format to [0, 1]. A NaN becomes +0.
fn saturate_num(value: Num, format: Format) -> Num {
    let one = softfloat::unpack(
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

/// NaN of f64 that a NaN of another type converts to. The payload of an f32 NaN is kept, whereas
/// narrower types have only canonical NaNs.
fn wider_nan(bits: u64, from: FloatTy) -> u64 {
    match from {
        FloatTy::F32 => (bits >> 31 & 1) << 63 | 0x7ff8 << 48 | (bits & 0x3f_ffff) << 29,
        FloatTy::F64 => bits | 1 << 51,
        _ => 0x7fff_ffff_e000_0000,
    }
}

/// Converts a decoded value to a floating-point type.
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
    let result = softfloat::encode(value, format, round).unwrap_or(nan);
    let flushed = cvt.ftz && to == FloatTy::F32 && softfloat::is_subnormal(result, format);
    if flushed {
        format.zero(result >> 31 & 1 == 1)
    } else {
        result
    }
}

/// Converts the value of one lane between any two types.
fn lane(bits: u64, cvt: Cvt) -> u64 {
    let value = match cvt.from {
        Ty::Float(FloatTy::F32) => {
            // Hardware does not flush subnormal numbers in conversions to f16 (measured:
            // `docs/hardware.md`).
            let ftz = cvt.ftz && cvt.to != Ty::Float(FloatTy::F16);
            let x = flush_if(ftz, f32::from_bits(bits as u32));
            softfloat::unpack(x.to_bits().into(), Format::F32)
        }
        Ty::Float(ty) => softfloat::unpack(bits & mask_of(ty), format_of(ty)),
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

/// Mask of the bits of a floating-point type.
fn mask_of(ty: FloatTy) -> u64 {
    let format = format_of(ty);
    u64::MAX >> (64 - format.precision - format.exponent)
}

/// Saturates a value to the width of a narrow type, as a field of a packed result. Returns the
/// field and its width in bits.
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

/// Converts an f32 to tf32, which has 10 bits of mantissa. With `.rna`, hardware keeps the upper
/// bits of a NaN even if they form an infinity. `.satfinite` subtracts one unit from any result
/// with the exponent of an infinity (measured: `docs/hardware.md`).
fn tf32(a: f32, round: Round, relu: bool, finite: bool) -> u32 {
    const UNIT: u32 = 1 << 13;
    let infinity = f32::INFINITY.to_bits();
    let converted = softfloat::convert(a.to_bits().into(), Format::F32, Format::TF32, round);
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
    /// Executes `cvt` between scalar types.
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
            (Ty::Float(F32), Ty::Int(IntTy::S32)) if near && !cvt.sat => {
                self.unary(|a: i32| a as f32)
            }
            (Ty::Float(F32), Ty::Int(IntTy::U32)) if near && !cvt.sat => {
                self.unary(|a: u32| a as f32)
            }
            (Ty::Float(F64), Ty::Int(IntTy::S32)) if !cvt.sat => self.unary(|a: i32| f64::from(a)),
            (Ty::Float(F64), Ty::Int(IntTy::U32)) if !cvt.sat => self.unary(|a: u32| f64::from(a)),
            (Ty::Int(IntTy::S32), Ty::Float(F32)) if to_zero => self.unary(|a: f32| a as i32),
            (Ty::Int(IntTy::U32), Ty::Float(F32)) if to_zero => self.unary(|a: f32| a as u32),
            (Ty::Float(F32), Ty::Float(F64)) if near => self.unary(|a: f64| {
                let x = flush_if(cvt.ftz, a as f32);
                let x = if cvt.sat { saturate(x) } else { x };
                canonical(x)
            }),
            (Ty::Float(F32), Ty::Float(F32)) => self.integral32(cvt),
            (Ty::Float(F64), Ty::Float(F32)) if !cvt.sat => self.unary(|a: f32| {
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

    /// Converts between integer types: takes the low bits and extends them.
    #[allow(clippy::unnecessary_cast, reason = "one body for every source type")]
    #[inline(always)]
    fn resize(&mut self, to: IntTy, from: IntTy) -> Exec {
        with_int!(from, F => match to {
            IntTy::U8 => self.unary(|a: F| a as u8),
            IntTy::S8 => self.unary(|a: F| a as i8 as i32),
            IntTy::U16 => self.unary(|a: F| a as u16),
            IntTy::S16 => self.unary(|a: F| a as i16 as i32),
            IntTy::U32 | IntTy::S32 => self.unary(|a: F| a as u32),
            IntTy::U64 | IntTy::S64 => self.unary(|a: F| a as u64),
            IntTy::U16x2 | IntTy::S16x2 => Err(self.illegal()),
        }, packed => Err(self.illegal()))
    }

    /// Converts f32 to f32: rounding to an integral value, saturation and flushing.
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
        self.unary(|a: f32| {
            let x = round(flush_if(cvt.ftz, a));
            let x = if cvt.sat { saturate(x) } else { x };
            canonical(x)
        })
    }

    /// Executes any conversion lane by lane.
    fn cvt_lanes(&mut self, cvt: Cvt) -> Exec {
        match (is_wide(cvt.to), is_wide(cvt.from)) {
            (false, false) => self.unary(|a: u32| lane(a.into(), cvt) as u32),
            (false, true) => self.unary(|a: u64| lane(a, cvt) as u32),
            (true, false) => self.unary(|a: u32| lane(a.into(), cvt)),
            (true, true) => self.unary(|a: u64| lane(a, cvt)),
        }
    }

    /// Executes `cvt` from two f32 to a packed 16-bit type.
    pub fn cvt_pack2(&mut self, to: FloatTy, round: Round, relu: bool) -> Exec {
        let format = format_of(to);
        let half = move |x: f32| u32::from(relu16(narrow(x.into(), format, round), format, relu));
        self.binary(|a: f32, b: f32| half(a) << 16 | half(b))
    }

    /// Executes the instruction `cvt.pack`.
    pub fn cvt_pack_int(&mut self, to: IntTyNarrow) -> Exec {
        self.ternary(|a: i32, b: i32, c: u32| {
            let ((high, bits), (low, _)) = (field(a, to), field(b, to));
            // Earlier results move up. Fields of 16 bits leave no room for them.
            let rest = if bits == 16 { 0 } else { c << (2 * bits) };
            rest | high << bits | low
        })
    }

    /// Executes `cvt` to tf32.
    pub fn cvt_tf32(&mut self, round: Round, relu: bool, finite: bool) -> Exec {
        self.unary(|a: f32| tf32(a, round, relu, finite))
    }
}
