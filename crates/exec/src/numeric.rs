//! Values of single lanes: how register bits become numbers, and exact arithmetic on them.

pub mod approx;
pub(crate) mod float;
pub(crate) mod lane_value;
pub(crate) mod softfloat;
