//! The workload `ref-transpose-naive`: a transposition with stores along columns.

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use super::SOURCE;
use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "ref-transpose-naive",
    suite: Suite::Reference,
    sentence: "Transposition of a square matrix with uncoalesced stores.",
    source: SOURCE,
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "transpose_naive",
        sentence: "Four elements a thread, tiles of 32 x 32 a block.",
        entries: &["transpose_naive"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "A ramp, whatever the seed; at size paper the recorded 512 x 512.",
        launches: |request| vec![shape(request.size)],
        program,
    }],
};

const TILE: u32 = 32;
const ROWS: u32 = 8;

/// Number of rows and columns.
fn extent(size: Size) -> u32 {
    size.pick(128, 256, 512)
}

fn shape(size: Size) -> LaunchShape {
    let tiles = extent(size) / TILE;
    let (grid, block) = (Dim3::new(tiles, tiles, 1), Dim3::new(TILE, ROWS, 1));
    LaunchShape::once("transpose_naive", grid, block)
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let size = request.size;
    Sequence::boxed(move |device| plan(device, size))
}

fn plan(device: &mut Device, size: Size) -> Result<Plan, HostError> {
    let n = extent(size);
    // Values are below 2^24, so that all elements are exact and different.
    let input: Vec<_> = (0..n * n).map(|i| i as f32).collect();
    let module = load(device, &WORKLOAD)?;
    let input_ptr = device.alloc_slice(&input)?;
    let output_ptr = alloc_output::<f32>(device, input.len())?;
    let pointers = [input_ptr, output_ptr].map(Arg::Pointer);
    let args = pointers.into_iter().chain([Arg::U32(n)]).collect();
    let launch = shape(size).launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        let output = device.output(output_ptr, input.len())?;
        Ok(vec![equal("out", &output, &transposed(n, &input))])
    }))
}

fn transposed(n: u32, input: &[f32]) -> Vec<f32> {
    let n = n as usize;
    (0..n * n).map(|at| input[at % n * n + at / n]).collect()
}

#[cfg(test)]
mod tests {
    use super::transposed;

    #[test]
    fn rows_become_columns() {
        assert_eq!(transposed(2, &[0., 1., 2., 3.]), [0., 2., 1., 3.]);
    }
}
