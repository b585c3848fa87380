//! Tests of single instructions and of small programs, on the lanes of one warp.

mod atomic;
mod barrier;
mod bits;
mod comparison;
mod convert;
mod divergence;
mod float;
mod grid;
mod hardware;
mod integer;
mod memory;
mod support;
mod surface;
mod texture;
mod texture_lanes;
mod video;
mod warp;
mod wide;
