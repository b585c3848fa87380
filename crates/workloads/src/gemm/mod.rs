//! `gemm`: a matrix product whose sums go to global memory.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "gemm",
    suite: Suite::PolyBench,
    sentence: "C = beta C + alpha A B, every partial sum stored to global memory.",
    source: "PolyBench/GPU, GEMM; GEMM in GPUDuet",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "gemm",
        sentence: "One element a thread.",
        entries: &["gemm"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "Uniform values; at size paper 512 x 512 matrices, 1,024 blocks of 32 x 8.",
        launches: |request| vec![shape(request.size)],
        program,
    }],
};

const BLOCK: Dim3 = Dim3::new(32, 8, 1);
const ALPHA: f32 = 32_412.0;
const BETA: f32 = 2_123.0;

/// Numbers of rows of A, columns of B, and columns of A.
fn extents(size: Size) -> [u32; 3] {
    size.pick([28, 50, 37], [128, 144, 96], [512, 512, 512])
}

fn shape(size: Size) -> LaunchShape {
    let [ni, nj, _] = extents(size);
    let grid = Dim3::new(nj.div_ceil(BLOCK.x), ni.div_ceil(BLOCK.y), 1);
    LaunchShape::once("gemm", grid, BLOCK)
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let Request { size, seed, .. } = *request;
    Sequence::boxed(move |device| plan(device, size, seed))
}

fn plan(device: &mut Device, size: Size, seed: u64) -> Result<Plan, HostError> {
    let [ni, nj, nk] = extents(size);
    let mut rng = Rng::new(seed);
    let mut matrix = |count: u32| -> Vec<f32> { (0..count).map(|_| rng.unit_f32()).collect() };
    let (a, b, c) = (matrix(ni * nk), matrix(nk * nj), matrix(ni * nj));
    let module = load(device, &WORKLOAD)?;
    let [a_ptr, b_ptr, c_ptr] = [
        device.alloc_slice(&a)?,
        device.alloc_slice(&b)?,
        device.alloc_slice(&c)?,
    ];
    let mut args = vec![Arg::U32(ni), Arg::U32(nj), Arg::U32(nk)];
    args.extend([Arg::F32(ALPHA), Arg::F32(BETA)]);
    args.extend([a_ptr, b_ptr, c_ptr].map(Arg::Pointer));
    let launch = shape(size).launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        let actual = device.output(c_ptr, c.len())?;
        let mut expected = c.iter().map(|value| value * BETA).collect::<Vec<_>>();
        let scaled: Vec<f32> = a.iter().map(|value| value * ALPHA).collect();
        accumulate(&mut expected, &scaled, &b, nk as usize);
        Ok(vec![equal("c", &actual, &expected)])
    }))
}

/// Adds the product of `a` (rows of `nk`) and `b` to `c`, terms in order, each by one `fma`.
pub(crate) fn accumulate(c: &mut [f32], a: &[f32], b: &[f32], nk: usize) {
    let columns = b.len() / nk;
    for (row, terms) in c.chunks_exact_mut(columns).zip(a.chunks_exact(nk)) {
        for (a, b) in terms.iter().zip(b.chunks_exact(columns)) {
            for (sum, b) in row.iter_mut().zip(b) {
                *sum = a.mul_add(*b, *sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_small_integers_is_exact() {
        let (a, b) = (
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            [1.0, 0.0, 2.0, 1.0, 0.0, 3.0],
        );
        let mut c = [10.0; 4];
        accumulate(&mut c, &a, &b, 3);
        assert_eq!(c, [15.0, 21.0, 24.0, 33.0]);
    }

    #[test]
    fn the_paper_launches_1024_blocks() {
        assert_eq!(shape(Size::Paper).grid.count(), 1024);
    }
}
