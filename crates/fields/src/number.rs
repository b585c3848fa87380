//! Numbers of TOML without rounding.

use toml::de::DeValue;

/// A number as written or as read from a buffer. Integers are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A number without a fraction.
    Int(i128),
    /// A number with a fraction, or not finite.
    Float(f64),
}

impl Number {
    /// The value as f64. Large integers are rounded.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => value.fmt(f),
            // With a decimal point, so that it cannot be mistaken for an integer.
            Self::Float(value) => write!(f, "{value:?}"),
        }
    }
}

/// A TOML number without rounding.
pub fn number(value: &DeValue<'_>) -> Option<Number> {
    match value {
        DeValue::Integer(int) => i128::from_str_radix(int.as_str(), int.radix())
            .ok()
            .map(Number::Int),
        DeValue::Float(float) => float
            .as_str()
            .replace('_', "")
            .parse()
            .ok()
            .map(Number::Float),
        _ => None,
    }
}
