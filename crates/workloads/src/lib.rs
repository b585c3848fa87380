//! The kernels of the papers, ready to run. A workload consists of its own CUDA C++, the PTX that
//! NVRTC generated from it, inputs generated from a seed, the host program, and a reference on the
//! CPU that the outputs must equal. In addition there are the kernels for which GPGPU-Sim's own
//! figures were recorded ([`Suite::Reference`]).
//!
//! A workload is one folder (`kernel.cu`, `kernel.ptx`, `notes.md`, and in Rust its inputs, its
//! reference and its host program) and one row in [`all`]. [`Target::resolve`] parses the names
//! that users type. A
//! [`Target`] creates [`HostProgram`](warploom_run::HostProgram)s.
//!
//! Invariants: inputs depend only on [`warploom_base::Rng`] and a size, so that they are the same
//! on every machine and in every version. References use the PTX's own operations in its order
//! (`mul_add` where it has `fma`), so that outputs must be equal bit by bit. References use the
//! inputs, never the layout of the kernel's data.

mod alias;
mod character;
mod check;
mod facts;
mod info;
mod picture;
mod program;
mod ptxas;
mod target;

mod atax;
mod backprop;
mod bfs;
mod blackscholes;
mod btree;
mod cfd;
mod conv2d;
mod convolutionseparable;
mod cutcp;
mod dwt2d;
mod dxtc;
mod estimatepi;
mod fdtd2d;
mod fdtd3d;
mod gabor;
mod gaussian;
mod gemm;
mod histogram;
mod hotspot;
mod hybridsort;
mod imagedenoising;
mod kmeans;
mod lbm;
mod lud;
mod matrixmul;
mod mergesort;
mod mm2;
mod montecarlo;
mod mummergpu;
mod mvt;
mod neuralnet;
mod nn;
mod nw;
mod particlefilter;
mod pathfinder;
mod reference;
mod sad;
mod sgemm;
mod sift;
mod simplemultigpu;
mod spmv;
mod srad;
mod stencil;
mod storegpu;
mod streamcluster;
mod transpose;
mod vectoradd;

pub use alias::{Alias, aliases, preset_of_paper};
pub use character::{COLUMNS, Character, characters};
pub use facts::{Facts, Registers, facts, papers_of};
pub use info::{
    KernelInfo, LaunchShape, Request, Size, Suite, Times, UnknownSize, Variant, WorkloadInfo,
};
pub use ptxas::{Assembled, architecture, assembled, assembler};
pub use target::{Target, UnknownTarget};

/// All workloads, in order of name.
pub fn all() -> &'static [WorkloadInfo] {
    &[
        conv2d::WORKLOAD,
        mm2::WORKLOAD,
        atax::WORKLOAD,
        backprop::WORKLOAD,
        bfs::WORKLOAD,
        blackscholes::WORKLOAD,
        btree::WORKLOAD,
        cfd::WORKLOAD,
        convolutionseparable::WORKLOAD,
        cutcp::WORKLOAD,
        dwt2d::WORKLOAD,
        dxtc::WORKLOAD,
        estimatepi::WORKLOAD,
        fdtd2d::WORKLOAD,
        fdtd3d::WORKLOAD,
        gabor::WORKLOAD,
        gaussian::WORKLOAD,
        gemm::WORKLOAD,
        histogram::WORKLOAD,
        hotspot::WORKLOAD,
        hybridsort::WORKLOAD,
        imagedenoising::WORKLOAD,
        kmeans::WORKLOAD,
        lbm::WORKLOAD,
        lud::WORKLOAD,
        matrixmul::WORKLOAD,
        mergesort::WORKLOAD,
        montecarlo::WORKLOAD,
        mummergpu::WORKLOAD,
        mvt::WORKLOAD,
        neuralnet::WORKLOAD,
        nn::WORKLOAD,
        nw::WORKLOAD,
        particlefilter::WORKLOAD,
        pathfinder::WORKLOAD,
        reference::gather::WORKLOAD,
        reference::matmul_naive::WORKLOAD,
        reference::matmul_tiled::WORKLOAD,
        reference::transpose_naive::WORKLOAD,
        reference::vecadd::WORKLOAD,
        sad::WORKLOAD,
        sgemm::WORKLOAD,
        sift::WORKLOAD,
        simplemultigpu::WORKLOAD,
        spmv::WORKLOAD,
        srad::WORKLOAD,
        stencil::WORKLOAD,
        storegpu::WORKLOAD,
        streamcluster::WORKLOAD,
        transpose::WORKLOAD,
        vectoradd::WORKLOAD,
    ]
}

#[cfg(test)]
mod tests;
