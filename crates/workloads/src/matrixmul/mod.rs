//! `matrixmul`: the product of two dense matrices by tiles in shared memory.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "matrixmul",
    suite: Suite::CudaSdk,
    sentence: "Product of two dense matrices, tile by tile through shared memory.",
    source: "CUDA SDK, sample matrixMul; MMS in GPUDuet",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "matrixmul",
        sentence: "One tile of the product a block, one element a thread.",
        entries: &["matrixmul_32", "matrixmul_16"],
        alone: true,
    }],
    variants: &[
        Variant {
            name: "tile32",
            sentence: "Tiles and blocks of 32 x 32; at size paper GPUDuet's 1,024 x 1,024 matrices.",
            launches: |request| vec![shape(request.size, &TILE_32)],
            program: |request| program(request, &TILE_32),
        },
        Variant {
            name: "tile16",
            sentence: "Tiles and blocks of 16 x 16, the sample's choice for the oldest GPUs.",
            launches: |request| vec![shape(request.size, &TILE_16)],
            program: |request| program(request, &TILE_16),
        },
    ],
};

struct Tile {
    entry: &'static str,
    side: u32,
}

const TILE_32: Tile = Tile {
    entry: "matrixmul_32",
    side: 32,
};
const TILE_16: Tile = Tile {
    entry: "matrixmul_16",
    side: 16,
};

/// The extents of A (rows x inner) and B (inner x columns); multiples of 32.
#[derive(Clone, Copy)]
struct Extents {
    rows: u32,
    inner: u32,
    columns: u32,
}

fn extents(size: Size) -> Extents {
    let [rows, inner, columns] = size.pick([64, 96, 64], [256, 224, 288], [1024; 3]);
    Extents {
        rows,
        inner,
        columns,
    }
}

fn shape(size: Size, tile: &Tile) -> LaunchShape {
    let Extents { rows, columns, .. } = extents(size);
    let grid = Dim3::new(columns / tile.side, rows / tile.side, 1);
    LaunchShape::once(tile.entry, grid, Dim3::new(tile.side, tile.side, 1))
}

fn program(request: &Request, tile: &'static Tile) -> Box<dyn HostProgram> {
    let Request { size, seed, .. } = *request;
    Sequence::boxed(move |device| plan(device, size, seed, tile))
}

fn plan(device: &mut Device, size: Size, seed: u64, tile: &Tile) -> Result<Plan, HostError> {
    let extents = extents(size);
    let (a, b) = inputs(extents, seed);
    let module = load(device, &WORKLOAD)?;
    let [a_ptr, b_ptr] = [device.alloc_slice(&a)?, device.alloc_slice(&b)?];
    let count = (extents.rows * extents.columns) as usize;
    let c_ptr = alloc_output::<f32>(device, count)?;
    let args = vec![
        Arg::Pointer(c_ptr),
        Arg::Pointer(a_ptr),
        Arg::Pointer(b_ptr),
        Arg::U32(extents.inner),
        Arg::U32(extents.columns),
    ];
    let launch = shape(size, tile).launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        Ok(vec![equal(
            "c",
            &device.output(c_ptr, count)?,
            &reference(extents, &a, &b),
        )])
    }))
}

/// A and B, row major.
fn inputs(extents: Extents, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut rng = Rng::new(seed);
    let mut matrix = |count| (0..count).map(|_| 2.0 * rng.unit_f32() - 1.0).collect();
    (
        matrix(extents.rows * extents.inner),
        matrix(extents.inner * extents.columns),
    )
}

/// Reference product. Every element adds its products in the order of the inner index, each by a
/// fused multiply-add. The loop computes whole rows of C together, which does not change the order
/// of any element's sum.
fn reference(extents: Extents, a: &[f32], b: &[f32]) -> Vec<f32> {
    let (inner, columns) = (extents.inner as usize, extents.columns as usize);
    let mut c = vec![0.0_f32; extents.rows as usize * columns];
    for (a_row, c_row) in a.chunks_exact(inner).zip(c.chunks_exact_mut(columns)) {
        for (a, b_row) in a_row.iter().zip(b.chunks_exact(columns)) {
            c_row
                .iter_mut()
                .zip(b_row)
                .for_each(|(c, b)| *c = a.mul_add(*b, *c));
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_dot_products_in_double_precision() {
        let extents = Extents {
            rows: 5,
            inner: 40,
            columns: 7,
        };
        let (a, b) = inputs(extents, 3);
        let c = reference(extents, &a, &b);
        for row in 0..5 {
            for column in 0..7 {
                let term = |k: usize| f64::from(a[row * 40 + k]) * f64::from(b[k * 7 + column]);
                let exact: f64 = (0..40).map(term).sum();
                // The bound is 40 roundings of partial sums below 40 in magnitude.
                let bound = 40.0 * 40.0 * f64::from(f32::EPSILON);
                assert!((f64::from(c[row * 7 + column]) - exact).abs() < bound);
            }
        }
    }

    #[test]
    fn the_unit_matrix_changes_nothing() {
        let extents = Extents {
            rows: 4,
            inner: 4,
            columns: 4,
        };
        let (a, _) = inputs(extents, 4);
        let unit: Vec<f32> = (0..16).map(|i| f32::from(u8::from(i % 5 == 0))).collect();
        assert_eq!(reference(extents, &a, &unit), a);
        assert_eq!(reference(extents, &unit, &a), a);
    }

    #[test]
    fn tiles_cover_the_matrices_exactly() {
        for size in Size::ALL {
            let Extents {
                rows,
                inner,
                columns,
            } = extents(size);
            assert!([rows, inner, columns].iter().all(|extent| extent % 32 == 0));
        }
        assert_eq!(shape(Size::Paper, &TILE_32).grid, Dim3::new(32, 32, 1));
    }
}
