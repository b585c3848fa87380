//! The kernels that GPGPU-Sim 4.2's own figures were recorded for: what `cargo xtask fidelity`
//! compares with.
//!
//! Unlike the other workloads' their PTX must stay as it is: clang 14 made it (-O3, sm_50), and
//! GPGPU-Sim ran that text. They lie a folder deeper so that `cargo xtask ptx` leaves them alone.
//! Size `paper` is the recorded one, inputs are formulas that no seed changes, and buffers are
//! allocated in the order of the parameters, which gives them the addresses of the recording.

pub(crate) mod gather;
pub(crate) mod matmul_naive;
pub(crate) mod matmul_tiled;
mod matrices;
pub(crate) mod transpose_naive;
pub(crate) mod vecadd;

/// Where the kernels and their launch shapes are from.
const SOURCE: &str = "GPGPU-Sim 4.2's figures for it in docs/fidelity.md";
