//! Bounds of approximate functions, and errors in the units of the bounds that the PTX ISA gives
//! (9.7.3 and 9.7.4).

use std::f64::consts::PI;

use warploom_ptx::tokens::{Modifier, Opcode, ScalarType};

use super::format::Format;

/// Unit of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// Units in the last place of the exact value.
    Units,
    /// Units in the last place of the upper word of an f64.
    UpperUnits,
    /// Relative to the exact value.
    Relative,
    /// Absolute difference from the exact value.
    Absolute,
    /// Absolute where the exact value is below 1, relative to it elsewhere.
    Mixed,
}

/// Properties and bound of an approximation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Text of the documented bound.
    pub text: &'static str,
    opcode: Opcode,
    ty: ScalarType,
    /// True if subnormal operands count as zero.
    flushes: bool,
    /// True for `.approx`, false for `.full`.
    approx: bool,
    measure: Measure,
    most: f64,
}

/// The bound of a form, or `None` for a form that is exact.
pub fn bound(opcode: Opcode, modifiers: &[Modifier]) -> Option<Bound> {
    use Measure as M;
    let has = |modifier| modifiers.contains(&modifier);
    if !has(Modifier::Approx) && !has(Modifier::Full) {
        return None;
    }
    let ty = modifiers
        .iter()
        .find_map(|modifier| modifier.scalar_type())?;
    let half = matches!(ty, ScalarType::F16 | ScalarType::F16x2);
    let brain = matches!(ty, ScalarType::Bf16 | ScalarType::Bf16x2);
    let double = ty == ScalarType::F64;
    let power = |power: f64| power.exp2();
    let (text, measure, most) = match opcode {
        Opcode::Div => ("2 units", M::Units, 2.0),
        // The ISA gives no bound for f64. The permitted error is one unit of a value that the upper
        // word can represent, or two units of the whole value.
        Opcode::Rcp | Opcode::Rsqrt if double && has(Modifier::Ftz) => ("none", M::UpperUnits, 1.0),
        Opcode::Rsqrt if double => ("none", M::Units, 2.0),
        Opcode::Rcp => ("1 unit", M::Units, 1.0),
        Opcode::Sqrt => ("2^-23 of it", M::Relative, power(-23.0)),
        Opcode::Rsqrt => ("2^-22.9 of it", M::Relative, power(-22.9)),
        Opcode::Sin | Opcode::Cos => ("2^-20.9, from -pi to pi", M::Absolute, power(-20.9)),
        Opcode::Lg2 => ("2^-22.6, of it above 1", M::Mixed, power(-22.6)),
        Opcode::Ex2 if half => ("2^-9.9 of it", M::Relative, power(-9.9)),
        Opcode::Ex2 if brain => ("2^-7 of it", M::Relative, power(-7.0)),
        Opcode::Ex2 => ("2^-22.5 of it", M::Relative, power(-22.5)),
        Opcode::Tanh if half => ("2^-10.987", M::Absolute, power(-10.987)),
        Opcode::Tanh if brain => ("2^-8", M::Absolute, power(-8.0)),
        Opcode::Tanh => ("2^-11 of it", M::Relative, power(-11.0)),
        _ => return None,
    };
    Some(Bound {
        text,
        opcode,
        ty,
        flushes: has(Modifier::Ftz),
        approx: has(Modifier::Approx),
        measure,
        most,
    })
}

impl Bound {
    /// Error of a result. `None` where no bound applies: outside of the documented range, or where
    /// the exact result is not a normal number.
    pub fn error(&self, operands: &[u64], result: u64) -> Option<f64> {
        let (format, count) = Format::of(self.ty)?;
        let of_part = |k| {
            let mut parts = operands.iter().map(|&bits| format.part(bits, k));
            let [a, b] = [(); 2].map(|()| parts.next().unwrap_or_default());
            let result = format.value(format.part(result, k));
            self.error_of(
                format,
                self.operand(format, a),
                self.operand(format, b),
                result,
            )
        };
        (0..count).filter_map(of_part).reduce(f64::max)
    }

    /// Value of an operand for the instruction.
    fn operand(&self, format: Format, bits: u64) -> f64 {
        let bits = match self.measure {
            Measure::UpperUnits => bits >> 32 << 32,
            _ => bits,
        };
        let value = format.value(bits);
        if self.flushes && format.is_subnormal(bits) {
            0.0_f64.copysign(value)
        } else {
            value
        }
    }

    fn error_of(&self, format: Format, a: f64, b: f64, result: f64) -> Option<f64> {
        let exact = self.exact(a, b);
        let size = exact.abs();
        let absolute = self.measure == Measure::Absolute;
        let bounded = size <= format.value(format.infinity() - 1)
            && (absolute || self.measure == Measure::Mixed || size >= format.smallest_normal());
        if !bounded || !self.holds(a, b) {
            return None;
        }
        let apart = (result - exact).abs();
        let unit = |bits: u32| {
            let exponent = (size.to_bits() >> 52) as i32 - 1023;
            f64::from(exponent - bits as i32).exp2()
        };
        let error = match self.measure {
            Measure::Units => apart / unit(format.mantissa),
            Measure::UpperUnits => apart / unit(format.mantissa - 32),
            Measure::Relative => apart / size,
            Measure::Absolute => apart,
            Measure::Mixed => apart / size.max(1.0),
        };
        // A result that is not a number has an infinite error.
        Some(if error.is_nan() { f64::INFINITY } else { error })
    }

    /// True if the documented bound applies to these operands.
    fn holds(&self, a: f64, b: f64) -> bool {
        match self.opcode {
            Opcode::Sin | Opcode::Cos => a.abs() <= PI,
            Opcode::Div if self.approx => (2f64.powi(-126)..=2f64.powi(126)).contains(&b.abs()),
            _ => true,
        }
    }

    fn exact(&self, a: f64, b: f64) -> f64 {
        match self.opcode {
            Opcode::Div => a / b,
            Opcode::Rcp => 1.0 / a,
            Opcode::Sqrt => a.sqrt(),
            Opcode::Rsqrt => 1.0 / a.sqrt(),
            Opcode::Sin => a.sin(),
            Opcode::Cos => a.cos(),
            Opcode::Lg2 => a.log2(),
            Opcode::Ex2 => a.exp2(),
            _ => a.tanh(),
        }
    }

    /// True if an error exceeds the bound.
    pub fn is_broken_by(&self, error: f64) -> bool {
        error > self.most
    }

    /// Text of an error with its unit.
    pub fn shown(&self, error: f64) -> String {
        match self.measure {
            Measure::Units => format!("{error:.2} units"),
            Measure::UpperUnits => format!("{error:.2} units of the upper word"),
            _ if error == 0.0 => "0".to_owned(),
            Measure::Relative | Measure::Mixed => format!("2^{:.1} of it", error.log2()),
            Measure::Absolute => format!("2^{:.1}", error.log2()),
        }
    }

    /// True if both results are NaNs, the same infinity, or numbers. If errors are relative, zero
    /// is distinguished from other numbers.
    pub fn is_same_kind(&self, one: u64, other: u64) -> bool {
        let Some((format, count)) = Format::of(self.ty) else {
            return false;
        };
        let kind = |bits: u64, k| {
            let value = format.value(format.part(bits, k));
            let absolute = matches!(self.measure, Measure::Absolute | Measure::Mixed);
            let sign = value.is_sign_negative();
            match (value.is_nan(), value.is_infinite(), value == 0.0) {
                (true, ..) => (0, false),
                (_, true, _) => (1, sign),
                (_, _, true) if !absolute => (2, sign),
                _ => (3, false),
            }
        };
        (0..count).all(|k| kind(one, k) == kind(other, k))
    }
}

#[cfg(test)]
mod tests {
    use warploom_ptx::tokens::{Modifier, Opcode, ScalarType};

    use super::{Bound, bound};

    fn of(opcode: Opcode, ty: ScalarType) -> Bound {
        let modifiers = [Modifier::Approx, Modifier::Ftz, Modifier::Type(ty)];
        bound(opcode, &modifiers).expect("an approximation")
    }

    fn bits(x: f32) -> u64 {
        x.to_bits().into()
    }

    #[test]
    fn errors_have_the_measure_of_the_bound() {
        let rcp = of(Opcode::Rcp, ScalarType::F32);
        let error = rcp.error(&[bits(4.0)], bits(0.25) + 2);
        assert!(rcp.is_broken_by(error.expect("a number")) && error == Some(2.0));
        assert_eq!(rcp.error(&[bits(0.0)], 0), None);
        let nan = rcp.error(&[bits(4.0)], bits(f32::NAN));
        assert_eq!(nan, Some(f64::INFINITY));
        let sine = of(Opcode::Sin, ScalarType::F32);
        assert!(
            sine.error(&[bits(1e-7)], 0)
                .is_some_and(|error| !sine.is_broken_by(error))
        );
        assert_eq!(sine.error(&[bits(4.0)], 0), None, "beyond pi");
        let upper = of(Opcode::Rcp, ScalarType::F64);
        let error = upper.error(&[2f64.to_bits()], 0.5f64.to_bits() + (1 << 32));
        assert_eq!(error, Some(1.0));
        let both = of(Opcode::Ex2, ScalarType::F16x2);
        let error = both.error(&[0x3c00_0000], 0x4000_3c01);
        assert_eq!(error, Some(2f64.powi(-10)), "of the lower half");
    }

    #[test]
    fn kinds_are_told_apart() {
        let rcp = of(Opcode::Rcp, ScalarType::F32);
        assert!(!rcp.is_same_kind(bits(f32::NAN), bits(1.0)));
        assert!(!rcp.is_same_kind(bits(f32::INFINITY), bits(f32::NEG_INFINITY)));
        assert!(!rcp.is_same_kind(0, 1));
        assert!(rcp.is_same_kind(bits(1.0), bits(1.5)));
    }
}
