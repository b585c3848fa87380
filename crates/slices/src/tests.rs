//! Tests with kernels whose slices are known, and with random kernels whose predictions are
//! compared with the addresses that they issue.

mod kernels;
mod random;
mod rects;
mod truth;
