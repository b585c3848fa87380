//! Launch files: a kernel, its buffers, launches and expected outputs as TOML, run without a host
//! program of one's own.
//!
//! ```toml
//! module = "saxpy.ptx"               # relative to this file
//!
//! [[buffer]]
//! name = "x"
//! type = "f32"                       # u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64; s8.. for i8..
//! shape = [1024]
//! init = "uniform"                   # zeros, iota, constant, uniform, normal, or a .npy file
//! seed = 1
//!
//! [[launch]]
//! kernel = "saxpy"
//! grid = [4, 1, 1]                   # or 4
//! block = 256
//! args = ["x", 1024, 2.0]            # buffers by name, scalars as the kernel declares them
//! # dynamic_shared_bytes = 0, stream = 0, registers_per_thread = 20, cluster = [2, 1, 1]
//!
//! [[expect]]
//! buffer = "x"
//! npy = "expected.npy"               # or constant = 1.0
//! tolerance = 1e-5                   # |got - expected| <= tolerance x max(1, |expected|)
//!
//! [[dump]]
//! buffer = "x"
//! npy = "out.npy"
//! ```
//!
//! `init` takes further keys: `value` (constant); `low`, `high` (uniform, high excluded; 0 and 1
//! for floats unless given); `mean`, `deviation` (normal; 0 and 1 unless given); `seed`.
//!
//! The file is read in three steps, each of which reports every problem with its place: text to
//! [`Plan`], data files to values, and, once the module is compiled, the launches against what the
//! kernels declare and the GPU allows. Names of kernels and buffers that do not exist are reported
//! in the first two steps, too.

mod access;
mod bind;
mod compare;
mod element;
mod error;
mod initial;
mod mentioned;
mod npy;
mod parse;
mod plan;
mod processes;
mod program;
mod structure;
#[cfg(test)]
mod tests;

pub use access::Access;
pub use bind::Limits;
pub use element::Element;
pub use error::InputErrors;
pub use parse::{parse, read};
pub use plan::{
    ArgPlan, BufferPlan, DumpPlan, ExpectPlan, Expected, Init, LaunchPlan, Plan, Scalar,
};
pub use processes::{ProcessPlan, processes};
pub use program::{LaunchFile, LaunchProgram, is_source_code};
pub use warploom_fields::Number;
