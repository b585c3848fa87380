//! `simplemultigpu`: the sum of a long vector by a small grid.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "simplemultigpu",
    suite: Suite::CudaSdk,
    sentence: "Sum of a long vector: 8,192 threads stride through it, and the host adds their sums.",
    source: "CUDA SDK, sample simpleMultiGPU; SimpleMultiGPU in Do et al. 2017",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "reduce",
        sentence: "Sums every 8,192nd element in each thread.",
        entries: &["reduce"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "Uniform values; at size paper the sample's 33,554,432, by 32 blocks of 256.",
        launches: |_| vec![SHAPE],
        program,
    }],
};

const SHAPE: LaunchShape = LaunchShape::once("reduce", Dim3::linear(32), Dim3::linear(256));

/// Number of threads of the grid.
const THREADS: usize = 32 * 256;

fn count(size: Size) -> usize {
    size.pick(131_071, (2 << 20) + 5, 32 << 20)
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let Request { size, seed, .. } = *request;
    Sequence::boxed(move |device| plan(device, count(size), seed))
}

fn plan(device: &mut Device, count: usize, seed: u64) -> Result<Plan, HostError> {
    let values = input(count, seed);
    let module = load(device, &WORKLOAD)?;
    let values_ptr = device.alloc_slice(&values)?;
    let sums_ptr = alloc_output::<f32>(device, THREADS)?;
    let args = vec![
        Arg::Pointer(sums_ptr),
        Arg::Pointer(values_ptr),
        Arg::U32(count as u32),
    ];
    let launch = SHAPE.launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        let sums = device.output(sums_ptr, THREADS)?;
        Ok(vec![equal("sums", &sums, &reference(&values))])
    }))
}

fn input(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| rng.unit_f32()).collect()
}

/// The threads' sums, with additions in the order in which a thread reads the vector.
fn reference(values: &[f32]) -> Vec<f32> {
    let mut sums = vec![0.0; THREADS];
    for row in values.chunks(THREADS) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_add_up_to_the_vectors() {
        let values = input(100_000, 1);
        let total: f64 = values.iter().copied().map(f64::from).sum();
        let sums: f64 = reference(&values).into_iter().map(f64::from).sum();
        // A thread makes at most 13 additions, each with an error of half a unit in the last place.
        assert!((sums - total).abs() <= 13.0 * total * f64::from(f32::EPSILON) / 2.0);
        assert!((total / 100_000.0 - 0.5).abs() < 0.01);
    }
}
