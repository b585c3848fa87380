//! The kernels of the papers, ready to run: own CUDA C++ and the PTX that NVRTC made of it, inputs
//! generated from a seed, the host side, and a reference on the CPU that the outputs must equal.
//! Beside them stand those that GPGPU-Sim's own figures were recorded for ([`Suite::Reference`]).
//!
//! A workload is one folder (`kernel.cu`, `kernel.ptx`, `notes.md`, and in Rust its inputs, its
//! reference and its host program) and one row in [`all`]. [`Target::resolve`] reads the names that
//! users type; a [`Target`] makes [`HostProgram`](warploom_run::HostProgram)s.
//!
//! Invariants: inputs come from [`warploom_base::Rng`] and a size alone, so that they are the same
//! on every machine and in every version; references use the PTX's own operations in its order
//! (`mul_add` where it has `fma`), so that outputs must be equal bit by bit; references work from
//! the inputs, never from the layout that the kernel uses.

mod alias;
mod check;
mod facts;
mod info;
mod program;
mod target;

mod backprop;
mod bfs;
mod blackscholes;
mod histogram;
mod hotspot;
mod matrixmul;
mod mergesort;
mod montecarlo;
mod mummergpu;
mod neuralnet;
mod reference;
mod simplemultigpu;
mod spmv;
mod storegpu;
mod transpose;
mod vectoradd;

pub use alias::{Alias, aliases};
pub use facts::{Facts, Registers, facts, papers_of};
pub use info::{
    KernelInfo, LaunchShape, Request, Size, Suite, Times, UnknownSize, Variant, WorkloadInfo,
};
pub use target::{Target, UnknownTarget};

/// Every workload, in order of name.
pub fn all() -> &'static [WorkloadInfo] {
    &[
        backprop::WORKLOAD,
        bfs::WORKLOAD,
        blackscholes::WORKLOAD,
        histogram::WORKLOAD,
        hotspot::WORKLOAD,
        matrixmul::WORKLOAD,
        mergesort::WORKLOAD,
        montecarlo::WORKLOAD,
        mummergpu::WORKLOAD,
        neuralnet::WORKLOAD,
        reference::gather::WORKLOAD,
        reference::matmul_naive::WORKLOAD,
        reference::matmul_tiled::WORKLOAD,
        reference::transpose_naive::WORKLOAD,
        reference::vecadd::WORKLOAD,
        simplemultigpu::WORKLOAD,
        spmv::WORKLOAD,
        storegpu::WORKLOAD,
        transpose::WORKLOAD,
        vectoradd::WORKLOAD,
    ]
}

#[cfg(test)]
mod tests;
