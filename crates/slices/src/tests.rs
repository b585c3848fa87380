//! Kernels whose slices are known, and random kernels whose predictions are compared with what they
//! issue when they run.

mod kernels;
mod random;
mod truth;
