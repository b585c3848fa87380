//! `atax`: a matrix and then its transposition times a vector.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::mvt::{add_columns, add_rows};
use crate::program::{Plan, Sequence, alloc_zeroed, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "atax",
    suite: Suite::PolyBench,
    sentence: "y = A^T (A x): scattered rows, then streamed ones.",
    source: "PolyBench/GPU, ATAX",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: FIRST,
            sentence: "The product with A, one row a thread.",
            entries: &[FIRST],
            alone: true,
        },
        KernelInfo {
            name: SECOND,
            sentence: "The product with its transposition, one column a thread.",
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

const FIRST: &str = "atax_kernel1";
const SECOND: &str = "atax_kernel2";
const BLOCK: u32 = 256;

/// Numbers of rows and columns.
fn extents(size: Size) -> (u32, u32) {
    size.pick((150, 200), (500, 400), (4096, 4096))
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let (nx, ny) = extents(request.size);
    let both = [(FIRST, nx), (SECOND, ny)].map(|(entry, threads)| {
        let grid = Dim3::linear(threads.div_ceil(BLOCK));
        LaunchShape::once(entry, grid, Dim3::linear(BLOCK))
    });
    let wanted = both.into_iter().filter(|shape| request.wants(shape.entry));
    wanted.collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

/// Without the first kernel, the host computes its product.
fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let request = *request;
    let (nx, ny) = extents(request.size);
    let mut rng = Rng::new(request.seed);
    let mut uniform = |count: u32| -> Vec<f32> { (0..count).map(|_| rng.unit_f32()).collect() };
    let (a, x) = (uniform(nx * ny), uniform(ny));
    let module = load(device, &WORKLOAD)?;
    let [a_ptr, x_ptr] = [device.alloc_slice(&a)?, device.alloc_slice(&x)?];
    let product_ptr = alloc_zeroed::<f32>(device, nx as usize)?;
    let y_ptr = alloc_zeroed::<f32>(device, ny as usize)?;
    if !request.wants(FIRST) {
        device.write_slice(product_ptr, &product(&a, &x))?;
    }
    let launches = shapes(&request).into_iter().map(|shape| {
        let pointers = match shape.entry {
            FIRST => [a_ptr, x_ptr, product_ptr],
            _ => [a_ptr, y_ptr, product_ptr],
        };
        let args = [Arg::U32(nx), Arg::U32(ny)].into_iter();
        shape.launch(module, args.chain(pointers.map(Arg::Pointer)).collect())
    });
    let launches = launches.collect();
    Ok(Plan::new(launches, move |device| {
        let product = product(&a, &x);
        let mut y = vec![0.0; ny as usize];
        if request.wants(SECOND) {
            add_columns(&mut y, &a, &product);
        }
        Ok(vec![
            equal(
                "product",
                &device.output(product_ptr, nx as usize)?,
                &product,
            ),
            equal("y", &device.output(y_ptr, ny as usize)?, &y),
        ])
    }))
}

fn product(a: &[f32], x: &[f32]) -> Vec<f32> {
    let mut product = vec![0.0; a.len() / x.len()];
    add_rows(&mut product, a, x);
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmark_launches_16_blocks_a_kernel() {
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

    #[test]
    fn a_product_has_an_element_a_row() {
        assert_eq!(product(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0]), [5.0, 11.0]);
    }
}
