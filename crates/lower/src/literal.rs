//! Literals as values of the instruction's type.

use crate::error::{Res, invalid, invalid_help};
use half::{bf16, f16};
use warploom_diag::Span;
use warploom_ptx::ast::Constant;
use warploom_ptx::tokens::ScalarType;

/// Bits of a literal as a value of the type (PTX ISA, "Constants"). Integers are truncated; decimal
/// and `0d` literals are rounded to nearest in `.f32` and `.f16`.
pub(crate) fn literal_bits(value: &Constant, ty: ScalarType, span: Span) -> Res<u64> {
    use ScalarType as S;
    let mask = |bits: u64| bits & (u64::MAX >> (64 - ty.bits().clamp(1, 64)));
    let packed = matches!(ty, S::F16x2 | S::Bf16x2 | S::F32x2);
    Ok(match (value, ty) {
        (Constant::Int(bits, _), _) if !ty.is_float() || packed => mask(*bits),
        (Constant::F32(bits), S::F32 | S::B32) => u64::from(*bits),
        (Constant::F64(bits), S::F64 | S::B64) => *bits,
        (Constant::F32(bits), S::F64) => f64::from(f32::from_bits(*bits)).to_bits(),
        (Constant::F64(bits), S::F32) => u64::from((f64::from_bits(*bits) as f32).to_bits()),
        (Constant::F64(bits), S::F16) => u64::from(f16::from_f64(f64::from_bits(*bits)).to_bits()),
        (Constant::F32(bits), S::F16) => u64::from(f16::from_f32(f32::from_bits(*bits)).to_bits()),
        (Constant::F64(bits), S::Bf16) => {
            u64::from(bf16::from_f64(f64::from_bits(*bits)).to_bits())
        }
        (Constant::F32(bits), S::Bf16) => {
            u64::from(bf16::from_f32(f32::from_bits(*bits)).to_bits())
        }
        (Constant::Int(..), _) => {
            let message = format!("an integer literal where a `.{ty}` value is needed");
            let help = "write `0f` and 8 hexadecimal digits, `0d` and 16, or a decimal point";
            return Err(invalid_help("literal-type", span, message, help));
        }
        (Constant::F32(_) | Constant::F64(_), _) => {
            let message = format!("a floating-point literal where a `.{ty}` value is needed");
            return Err(invalid("literal-type", span, message));
        }
        (Constant::Symbol { .. } | Constant::MaskedSymbol { .. }, _) => {
            let message = format!("an address where a literal of type `.{ty}` is needed");
            return Err(invalid("literal-type", span, message));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::literal_bits;
    use warploom_diag::Span;
    use warploom_ptx::ast::Constant;
    use warploom_ptx::tokens::ScalarType as S;

    fn check(value: Constant, ty: S, expected: Option<u64>) {
        let bits = literal_bits(&value, ty, Span::default());
        assert_eq!(bits.ok(), expected, "{value:?} as .{ty}");
    }

    #[test]
    fn literals_take_the_instructions_type() {
        check(Constant::Int(u64::MAX, false), S::S32, Some(0xFFFF_FFFF));
        check(Constant::Int(0x1_2345, false), S::B16, Some(0x2345));
        check(Constant::Int(1, false), S::F32, None);
        check(
            Constant::Int(0x3C00_3C00, false),
            S::F16x2,
            Some(0x3C00_3C00),
        );
        check(Constant::F32(0x3F80_0000), S::F32, Some(0x3F80_0000));
        check(Constant::F32(0x3F80_0000), S::B32, Some(0x3F80_0000));
        check(Constant::F32(0x3F80_0000), S::U32, None);
        check(Constant::F64(1.5_f64.to_bits()), S::F32, Some(0x3FC0_0000));
        check(Constant::F64(1.5_f64.to_bits()), S::F16, Some(0x3E00));
        check(Constant::F64(1.5_f64.to_bits()), S::Bf16, Some(0x3FC0));
        check(
            Constant::F64(1.5_f64.to_bits()),
            S::F64,
            Some(0x3FF8_0000_0000_0000),
        );
        check(Constant::F64(0), S::S32, None);
    }
}
