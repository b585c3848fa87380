//! Tests of allocated kernels: what stays the same, and what the checker finds in damaged ones.

mod kept;
mod method;
mod mutation;
mod order;
mod pressure;
