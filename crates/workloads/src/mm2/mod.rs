//! The workload `2mm`: two matrix products, one after the other.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::gemm::accumulate;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_zeroed, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "2mm",
    suite: Suite::PolyBench,
    sentence: "Two matrix products in a row, every partial sum stored to global memory.",
    source: "PolyBench/GPU, 2MM; MM in GPUDuet",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: FIRST,
            sentence: "C = A B, one element a thread.",
            entries: &[FIRST],
            alone: true,
        },
        KernelInfo {
            name: SECOND,
            sentence: "E = C D, one element a thread.",
            entries: &[SECOND],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "Uniform values; at size paper 2,048 x 2,048 matrices, 16,384 blocks of 32 x 8.",
        launches: shapes,
        program,
    }],
};

const FIRST: &str = "mm2_kernel1";
const SECOND: &str = "mm2_kernel2";
const BLOCK: Dim3 = Dim3::new(32, 8, 1);

/// Numbers of rows of A, columns of B, columns of A, and columns of D.
fn extents(size: Size) -> [u32; 4] {
    size.pick([28, 50, 37, 33], [112, 96, 80, 128], [2048; 4])
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let [ni, nj, _, nl] = extents(request.size);
    let shape = |entry: &'static str, columns: u32| {
        let grid = Dim3::new(columns.div_ceil(BLOCK.x), ni.div_ceil(BLOCK.y), 1);
        LaunchShape::once(entry, grid, BLOCK)
    };
    let both = [shape(FIRST, nj), shape(SECOND, nl)];
    let wanted = both.into_iter().filter(|shape| request.wants(shape.entry));
    wanted.collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

/// Without the first kernel, C is random and not a product.
fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let [ni, nj, nk, nl] = extents(request.size);
    let mut rng = Rng::new(request.seed);
    let mut matrix = |count: u32| -> Vec<f32> { (0..count).map(|_| rng.unit_f32()).collect() };
    let (a, b, d) = (matrix(ni * nk), matrix(nk * nj), matrix(nj * nl));
    let first = request.wants(FIRST);
    let c = if first {
        vec![0.0; (ni * nj) as usize]
    } else {
        matrix(ni * nj)
    };
    let module = load(device, &WORKLOAD)?;
    let [a_ptr, b_ptr, c_ptr, d_ptr] = [
        device.alloc_slice(&a)?,
        device.alloc_slice(&b)?,
        device.alloc_slice(&c)?,
        device.alloc_slice(&d)?,
    ];
    let e_ptr = alloc_zeroed::<f32>(device, (ni * nl) as usize)?;
    let launches = shapes(request).into_iter().map(|shape| {
        let (extents, pointers) = match shape.entry {
            FIRST => ([ni, nj, nk], [a_ptr, b_ptr, c_ptr]),
            _ => ([ni, nj, nl], [c_ptr, d_ptr, e_ptr]),
        };
        let args = extents.map(Arg::U32).into_iter();
        shape.launch(module, args.chain(pointers.map(Arg::Pointer)).collect())
    });
    let (launches, second) = (launches.collect(), request.wants(SECOND));
    Ok(Plan::new(launches, move |device| {
        let (mut product, mut result) = (c.clone(), vec![0.0; (ni * nl) as usize]);
        let after_first = device.output(c_ptr, product.len())?;
        let after_second = device.output(e_ptr, result.len())?;
        // A row of either product depends on no other row, so only computed rows are compared.
        for row in 0..ni as usize {
            let of = |columns: u32| row * columns as usize..(row + 1) * columns as usize;
            let (in_a, in_c, in_e) = (of(nk), of(nj), of(nl));
            let in_second = after_second.has_computed(in_e.clone());
            if first && (in_second || after_first.has_computed(in_c.clone())) {
                accumulate(&mut product[in_c.clone()], &a[in_a], &b, nk as usize);
            }
            if second && in_second {
                accumulate(&mut result[in_e], &product[in_c], &d, nj as usize);
            }
        }
        Ok(vec![
            equal("c", &after_first, &product),
            equal("e", &after_second, &result),
        ])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_16384_blocks_a_kernel() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let blocks = shapes(&request).into_iter().map(|shape| shape.grid.count());
        assert_eq!(blocks.collect::<Vec<_>>(), [16_384, 16_384]);
    }
}
