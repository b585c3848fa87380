//! `ref-matmul-naive`: a matrix product straight from global memory.

use super::SOURCE;
use super::matrices::Product;
use crate::info::{KernelInfo, Suite, Variant, WorkloadInfo};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "ref-matmul-naive",
    suite: Suite::Reference,
    sentence: "Product of two square matrices, every operand from global memory.",
    source: SOURCE,
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "matmul_naive",
        sentence: "One element of the product a thread.",
        entries: &["matmul_naive"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "Small integers, whatever the seed; at size paper the recorded 256 x 256.",
        launches: |request| vec![PRODUCT.shape(request.size)],
        program: |request| PRODUCT.program(request),
    }],
};

/// GPGPU-Sim held 5 blocks of 256 threads in 32,768 registers. If registers are allocated in units
/// of four, only 24 per thread agree with this.
static PRODUCT: Product = Product {
    workload: &WORKLOAD,
    entry: "matmul_naive",
    registers: 24,
};
