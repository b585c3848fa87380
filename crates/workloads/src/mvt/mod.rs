//! The workload `mvt`: products of a matrix and of its transpose with vectors.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "mvt",
    suite: Suite::PolyBench,
    sentence: "A matrix and its transposition times vectors: scattered rows, then streamed ones.",
    source: "PolyBench/GPU, MVT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: FIRST,
            sentence: "x1 += A y1, one row a thread.",
            entries: &[FIRST],
            alone: true,
        },
        KernelInfo {
            name: SECOND,
            sentence: "x2 += A^T y2, one column a thread.",
            entries: &[SECOND],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "Uniform values; at size paper a matrix of 4,096 x 4,096, 16 blocks of 256.",
        launches: shapes,
        program,
    }],
};

const FIRST: &str = "mvt_kernel1";
const SECOND: &str = "mvt_kernel2";
const BLOCK: u32 = 256;

/// Number of rows and columns.
fn extent(size: Size) -> u32 {
    size.pick(200, 500, 4096)
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let grid = Dim3::linear(extent(request.size).div_ceil(BLOCK));
    let both = [FIRST, SECOND].map(|entry| LaunchShape::once(entry, grid, Dim3::linear(BLOCK)));
    let wanted = both.into_iter().filter(|shape| request.wants(shape.entry));
    wanted.collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let request = *request;
    let n = extent(request.size) as usize;
    let mut rng = Rng::new(request.seed);
    let mut uniform = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.unit_f32()).collect() };
    let a = uniform(n * n);
    let [x1, y1, x2, y2] = [0; 4].map(|_| uniform(n));
    let module = load(device, &WORKLOAD)?;
    let a_ptr = device.alloc_slice(&a)?;
    let [x1_ptr, y1_ptr] = [device.alloc_slice(&x1)?, device.alloc_slice(&y1)?];
    let [x2_ptr, y2_ptr] = [device.alloc_slice(&x2)?, device.alloc_slice(&y2)?];
    let launches = shapes(&request).into_iter().map(|shape| {
        let pointers = match shape.entry {
            FIRST => [a_ptr, x1_ptr, y1_ptr],
            _ => [a_ptr, x2_ptr, y2_ptr],
        };
        let args = [Arg::U32(n as u32)].into_iter();
        shape.launch(module, args.chain(pointers.map(Arg::Pointer)).collect())
    });
    let launches = launches.collect();
    Ok(Plan::new(launches, move |device| {
        let (mut rows, mut columns) = (x1.clone(), x2.clone());
        if request.wants(FIRST) {
            add_rows(&mut rows, &a, &y1);
        }
        if request.wants(SECOND) {
            add_columns(&mut columns, &a, &y2);
        }
        Ok(vec![
            equal("x1", &device.output(x1_ptr, n)?, &rows),
            equal("x2", &device.output(x2_ptr, n)?, &columns),
        ])
    }))
}

/// Adds a matrix times `y` to `x`, with terms in order and one `fma` each.
pub(crate) fn add_rows(x: &mut [f32], a: &[f32], y: &[f32]) {
    for (x, row) in x.iter_mut().zip(a.chunks_exact(y.len())) {
        *x = row.iter().zip(y).fold(*x, |sum, (a, y)| a.mul_add(*y, sum));
    }
}

/// Adds a transposed matrix times `y` to `x`, with terms in order and one `fma` each.
pub(crate) fn add_columns(x: &mut [f32], a: &[f32], y: &[f32]) {
    for (row, y) in a.chunks_exact(x.len()).zip(y) {
        for (x, a) in x.iter_mut().zip(row) {
            *x = a.mul_add(*y, *x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_small_integers_are_exact() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let mut rows = [1.0, 1.0];
        add_rows(&mut rows, &a, &[1.0, 0.0, 2.0]);
        assert_eq!(rows, [8.0, 17.0]);
        let mut columns = [0.0; 3];
        add_columns(&mut columns, &a, &[2.0, 1.0]);
        assert_eq!(columns, [6.0, 9.0, 12.0]);
    }

    #[test]
    fn the_benchmark_launches_16_blocks() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        assert!(
            shapes(&request)
                .iter()
                .all(|shape| shape.grid.count() == 16)
        );
    }
}
