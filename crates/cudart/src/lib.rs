//! Drop-in replacement for `libcudart`, in `cu` for `libcuda` and in `nvml` for `libnvidia-ml`: the
//! C interfaces of CUDA's runtime and driver, and of queries of machines, for a simulated GPU.
//!
//! Every function converts its arguments to Rust, calls the [`Context`](warploom_app::Context) of
//! the process, and converts the result back. The behaviour of the calls is implemented and
//! documented in `warploom_app`.
//!
//! This crate is exempt from the rules against `unsafe` and global state, because a C interface
//! consists of both. Safety rests on the contract of the runtime's header: a pointer that a program
//! passes is null or points to an object of the documented type, for as long as the header
//! requires. The `unsafe` helpers are in `ffi`, `host` and `signals`, and all other modules call
//! them inside `runtime!` and `driver!`.

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
mod cu;
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
mod nvml;
mod pool;
mod register;
mod signals;
mod stream;
mod texture;
mod types;
mod unsupported;
mod user_object;

use mimalloc::MiMalloc;

/// An allocator that uses large pages where the system supports them. It serves the simulation, not
/// the program, whose `malloc` stays its own.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;
