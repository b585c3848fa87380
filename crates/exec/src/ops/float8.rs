//! Conversions to and from 8-bit floating-point numbers (PTX ISA 9.7.9.21), two in a register.
//!
//! The format e5m2 is a small IEEE format. The format e4m3 has no infinities and a single NaN, so
//! that its largest numbers have an exponent of all ones. Scaled by 2^-8, its numbers are those of
//! a format with a 5-bit exponent that has the same encoding and to which [`softfloat`] can round.

use crate::inst::{Exec, InstExec};
use crate::numeric::float::relu16;
use crate::numeric::softfloat;
use crate::numeric::softfloat::{Finite, Format, Num};
use warploom_ir::{Float8, FloatTy, Round};

const SIGN: u16 = 0x80;
const MAGNITUDE: u16 = 0x7f;
/// NaN of both formats. e5m2 has further NaNs.
const NAN: u16 = 0x7f;

/// Representation of one of the formats in [`softfloat`].
struct Layout {
    format: Format,
    /// Exponent of the factor by which numbers are scaled.
    scale: i32,
    /// Magnitude of the largest number.
    most: u16,
    /// Smallest magnitude that is not a number.
    above: u16,
}

const fn layout(of: Float8) -> Layout {
    let (precision, scale, most, above) = match of {
        Float8::E4m3 => (4, -8, 0x7e, NAN),
        Float8::E5m2 => (3, 0, 0x7b, 0x7d),
    };
    let format = Format {
        precision,
        exponent: 5,
        nan: NAN as u64,
    };
    Layout {
        format,
        scale,
        most,
        above,
    }
}

/// The value multiplied by a power of two.
fn scaled(value: Num, by: i32) -> Num {
    match value {
        Num::Finite(finite) => Num::Finite(Finite {
            exp: finite.exp + by,
            ..finite
        }),
        other => other,
    }
}

/// True if the sign of a value is negative. NaNs count as positive.
fn is_negative(value: Num) -> bool {
    match value {
        Num::Nan => false,
        Num::Inf(negative) | Num::Zero(negative) => negative,
        Num::Finite(finite) => finite.negative,
    }
}

/// Rounds a value to nearest. A value that is too large becomes the largest number (`.satfinite`).
fn encode(value: Num, to: Float8, relu: bool) -> u16 {
    let layout = layout(to);
    let negative = is_negative(value);
    if relu && negative {
        return 0;
    }
    let value = scaled(value, layout.scale);
    let Some(bits) = softfloat::encode(value, layout.format, Round::Near) else {
        return NAN;
    };
    // The format in `softfloat` may have more than 8 bits. Its magnitude is therefore separated
    // from its sign.
    let magnitude = bits & !layout.format.zero(true);
    let magnitude = magnitude.min(layout.most.into()) as u16;
    if negative {
        magnitude | SIGN
    } else {
        magnitude
    }
}

/// Converts an 8-bit number to f16, which represents every such number exactly.
fn decode(bits: u16, from: Float8, relu: bool) -> u16 {
    let layout = layout(from);
    let magnitude = bits & MAGNITUDE;
    if magnitude >= layout.above {
        return Format::F16.nan as u16;
    }
    let value = scaled(
        softfloat::unpack(magnitude.into(), layout.format),
        -layout.scale,
    );
    let f16 = softfloat::encode(value, Format::F16, Round::Near).unwrap_or(Format::F16.nan) as u16;
    let sign = if bits & SIGN != 0 { 0x8000 } else { 0 };
    relu16(f16 | sign, Format::F16, relu)
}

impl InstExec<'_, '_> {
    /// Executes `cvt` from f32 or f16x2 to two 8-bit numbers.
    pub fn cvt_to_float8(&mut self, to: Float8, from: FloatTy, relu: bool) -> Exec {
        let byte = move |bits: u64, format| encode(softfloat::unpack(bits, format), to, relu);
        match from {
            FloatTy::F32 => self.binary(|a: u32, b: u32| {
                let [a, b] = [a, b].map(|bits| byte(bits.into(), Format::F32));
                a << 8 | b
            }),
            FloatTy::F16x2 => self.unary(|a: u32| {
                let [a, b] = [a >> 16, a & 0xffff].map(|bits| byte(bits.into(), Format::F16));
                a << 8 | b
            }),
            _ => Err(self.illegal()),
        }
    }

    /// Executes `cvt` from two 8-bit numbers to f16x2.
    pub fn cvt_from_float8(&mut self, from: Float8, relu: bool) -> Exec {
        self.unary(|a: u16| {
            let [high, low] = [a >> 8, a & 0xff].map(|bits| decode(bits, from, relu));
            u32::from(high) << 16 | u32::from(low)
        })
    }
}
