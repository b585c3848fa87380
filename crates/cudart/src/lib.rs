//! A drop-in `libcudart`: the CUDA runtime's C interface over a simulated GPU.
//!
//! Thin: every function turns C into Rust, asks the one [`Context`](warploom_app::Context) of the
//! process, and turns the answer back. What a call means is said in `warploom_app`.
//!
//! This crate is exempt from the rule that there is no `unsafe` and no global: a C interface
//! consists of both. All of it rests on one contract, that of the runtime's own header: a pointer
//! that a program gives is null or points to what the header says, for as long as it says.
//! `unsafe` helpers are in `ffi` and `host`; everything else calls them inside `runtime!`.

#![allow(unsafe_code, reason = "a C interface; see above")]
#![allow(
    non_snake_case,
    reason = "the functions have the names that programs ask for"
)]

#[macro_use]
mod process;

mod array;
mod capture;
mod copy;
mod device;
mod driver;
mod error;
mod event;
mod executable;
mod ffi;
mod function;
mod graph;
mod host;
mod launch;
mod memory;
mod node;
mod pool;
mod register;
mod stream;
mod texture;
mod types;
mod unsupported;
