//! `2dconv`: a 3 x 3 convolution.

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::picture;
use crate::program::{Plan, Sequence, alloc_zeroed, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "2dconv",
    suite: Suite::PolyBench,
    sentence: "A 3 x 3 convolution of an image, straight from global memory.",
    source: "PolyBench/GPU, 2DCONV; CONV in GPUDuet",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: ENTRY,
        sentence: "One output element a thread.",
        entries: &[ENTRY],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "A picture; at size paper 4,096 x 4,096 elements, 65,536 blocks of 32 x 8.",
        launches: |request| vec![shape(request.size)],
        program,
    }],
};

const ENTRY: &str = "convolution2d";
const BLOCK: Dim3 = Dim3::new(32, 8, 1);

/// Numbers of rows and columns.
fn extents(size: Size) -> (u32, u32) {
    size.pick((46, 60), (300, 500), (4096, 4096))
}

fn shape(size: Size) -> LaunchShape {
    let (rows, columns) = extents(size);
    let grid = Dim3::new(columns.div_ceil(BLOCK.x), rows.div_ceil(BLOCK.y), 1);
    LaunchShape::once(ENTRY, grid, BLOCK)
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let Request { size, seed, .. } = *request;
    Sequence::boxed(move |device| plan(device, size, seed))
}

fn plan(device: &mut Device, size: Size, seed: u64) -> Result<Plan, HostError> {
    let (rows, columns) = extents(size);
    let a = picture::plane(columns as usize, rows as usize, seed, 0);
    let module = load(device, &WORKLOAD)?;
    let input = device.alloc_slice(&a)?;
    let output = alloc_zeroed::<f32>(device, a.len())?;
    let args = vec![
        Arg::U32(rows),
        Arg::U32(columns),
        Arg::Pointer(input),
        Arg::Pointer(output),
    ];
    let launch = shape(size).launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        let actual = device.output(output, a.len())?;
        Ok(vec![equal("b", &actual, &reference(&a, columns as usize))])
    }))
}

/// Weights by rows, in the order in which the kernel adds: above, in the same row, below.
const WEIGHTS: [[f32; 3]; 3] = [[0.2, 0.5, -0.8], [-0.3, 0.6, -0.9], [0.4, 0.7, 0.1]];

/// The border stays zero. The kernel fuses the first of the first two products.
fn reference(a: &[f32], columns: usize) -> Vec<f32> {
    let rows = a.len() / columns;
    let mut b = vec![0.0; a.len()];
    for i in 1..rows - 1 {
        for j in 1..columns - 1 {
            let at = |y: usize, x: usize| a[(i + y - 1) * columns + j + x - 1];
            let mut sum = at(0, 0).mul_add(WEIGHTS[0][0], at(0, 1) * WEIGHTS[0][1]);
            for tap in 2..9 {
                let (y, x) = (tap / 3, tap % 3);
                sum = at(y, x).mul_add(WEIGHTS[y][x], sum);
            }
            b[i * columns + j] = sum;
        }
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impulse_gives_the_weights_turned_round() {
        let mut a = vec![0.0; 25];
        a[12] = 1.0;
        let b = reference(&a, 5);
        for y in 0..3 {
            for x in 0..3 {
                assert_eq!(b[(3 - y) * 5 + 3 - x], WEIGHTS[y][x]);
            }
        }
        assert_eq!((b[0], b[4]), (0.0, 0.0));
    }

    #[test]
    fn the_paper_launches_65536_blocks_of_256() {
        let shape = shape(Size::Paper);
        assert_eq!((shape.grid.count(), shape.block.count()), (65_536, 256));
    }
}
