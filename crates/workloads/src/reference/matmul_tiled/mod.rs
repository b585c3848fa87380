//! `ref-matmul-tiled`: a matrix product by tiles in shared memory.

use super::SOURCE;
use super::matrices::Product;
use crate::info::{KernelInfo, Suite, Variant, WorkloadInfo};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "ref-matmul-tiled",
    suite: Suite::Reference,
    sentence: "Product of two square matrices by tiles of 16 x 16 in shared memory.",
    source: SOURCE,
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "matmul_tiled",
        sentence: "One tile of the product a block, one element a thread.",
        entries: &["matmul_tiled"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "Small integers, whatever the seed; at size paper the recorded 256 x 256.",
        launches: |request| vec![PRODUCT.shape(request.size)],
        program: |request| PRODUCT.program(request),
    }],
};

/// GPGPU-Sim held 4 blocks of 256 threads in 32,768 registers and 8 in 65,536, both limited by
/// registers. If registers are allocated in units of four, only 32 per thread agree with this.
static PRODUCT: Product = Product {
    workload: &WORKLOAD,
    entry: "matmul_tiled",
    registers: 32,
};
