//! Types and roundings that only conversions have.

use crate::op::Round;

/// Floating-point types of 8 bits.
#[allow(missing_docs, reason = "PTX's own type names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Float8 {
    E4m3,
    E5m2,
}

/// Destination element of `cvt.pack`.
#[allow(missing_docs, reason = "PTX's own type names")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntTyNarrow {
    U2,
    S2,
    U4,
    S4,
    U8,
    S8,
    U16,
    S16,
}

/// Rounding of the instruction `cvt`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CvtRound {
    /// No rounding: exact, or from integer to integer.
    None,
    /// IEEE rounding to a float.
    Float(Round),
    /// Rounding to an integral value: `.rni .rzi .rmi .rpi`.
    Integral(Round),
}
