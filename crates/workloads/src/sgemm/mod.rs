//! `sgemm`: a matrix product with tiles in registers.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "sgemm",
    suite: Suite::Parboil,
    sentence: "C = alpha A B^T + beta C, sixteen sums a thread in registers.",
    source: "Parboil, sgemm; MM in Warped-Slicer, SGM in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: ENTRY,
        sentence: "A tile of 128 x 16 elements a block.",
        entries: &[ENTRY],
        alone: true,
    }],
    variants: &[Variant {
        name: "medium",
        sentence: "Uniform values; at size paper 1,024 x 1,056 elements of 992 terms, 528 blocks of 128.",
        launches: |request| vec![shape(request.size)],
        program,
    }],
};

const ENTRY: &str = "sgemm_nt";
const BLOCK: Dim3 = Dim3::new(16, 8, 1);
/// Rows and columns of a block's tile.
const TILE: (u32, u32) = (128, 16);
const ALPHA: f32 = 1.0;
const BETA: f32 = 0.5;

/// Numbers of rows of C, columns of C, and terms: multiples of the tile and of 8.
fn extents(size: Size) -> [u32; 3] {
    size.pick([128, 48, 24], [256, 160, 96], [1024, 1056, 992])
}

fn shape(size: Size) -> LaunchShape {
    let [m, n, _] = extents(size);
    LaunchShape::once(ENTRY, Dim3::new(m / TILE.0, n / TILE.1, 1), BLOCK)
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let Request { size, seed, .. } = *request;
    Sequence::boxed(move |device| plan(device, size, seed))
}

/// All matrices are column major, and B is transposed.
fn plan(device: &mut Device, size: Size, seed: u64) -> Result<Plan, HostError> {
    let [m, n, k] = extents(size);
    let mut rng = Rng::new(seed);
    let mut matrix = |count: u32| -> Vec<f32> { (0..count).map(|_| rng.unit_f32()).collect() };
    let (a, b, c) = (matrix(m * k), matrix(n * k), matrix(m * n));
    let module = load(device, &WORKLOAD)?;
    let [a_ptr, b_ptr, c_ptr] = [
        device.alloc_slice(&a)?,
        device.alloc_slice(&b)?,
        device.alloc_slice(&c)?,
    ];
    let args = vec![
        Arg::Pointer(a_ptr),
        Arg::U32(m),
        Arg::Pointer(b_ptr),
        Arg::U32(n),
        Arg::Pointer(c_ptr),
        Arg::U32(m),
        Arg::U32(k),
        Arg::F32(ALPHA),
        Arg::F32(BETA),
    ];
    let launch = shape(size).launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        let actual = device.output(c_ptr, c.len())?;
        let expected = reference(&a, &b, &c, m as usize, n as usize);
        Ok(vec![equal("c", &actual, &expected)])
    }))
}

/// Sums in order of terms by `fma`. Of the two final products, the product with beta is fused.
fn reference(a: &[f32], b: &[f32], c: &[f32], m: usize, n: usize) -> Vec<f32> {
    let mut result = Vec::with_capacity(c.len());
    for (column, old) in c.chunks_exact(m).enumerate() {
        let mut sums = vec![0.0f32; m];
        for (a, b) in a.chunks_exact(m).zip(b.chunks_exact(n)) {
            for (sum, a) in sums.iter_mut().zip(a) {
                *sum = a.mul_add(b[column], *sum);
            }
        }
        result.extend(
            old.iter()
                .zip(sums)
                .map(|(old, sum)| old.mul_add(BETA, ALPHA * sum)),
        );
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_small_integers_is_exact() {
        // A has the columns (1, 2) and (3, 4); B^T has the columns (5, 6) and (7, 8).
        let c = reference(
            &[1.0, 2.0, 3.0, 4.0],
            &[5.0, 6.0, 7.0, 8.0],
            &[2.0; 4],
            2,
            2,
        );
        assert_eq!(c, [27.0, 39.0, 31.0, 45.0]);
    }

    #[test]
    fn the_paper_launches_528_blocks_of_128() {
        let shape = shape(Size::Paper);
        assert_eq!((shape.grid.count(), shape.block.count()), (528, 128));
    }

    #[test]
    fn extents_are_multiples_of_tiles() {
        for size in Size::ALL {
            let [m, n, k] = extents(size);
            assert!(m.is_multiple_of(TILE.0) && n.is_multiple_of(TILE.1) && k.is_multiple_of(8));
        }
    }
}
