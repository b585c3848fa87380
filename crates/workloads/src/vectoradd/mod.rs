//! `vectoradd`: the sum of two vectors.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "vectoradd",
    suite: Suite::CudaSdk,
    sentence: "Sum of two vectors: one thread an element, nothing but streaming.",
    source: "CUDA SDK, sample vectorAdd; VectorAddition in Do et al. 2017",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "vector_add",
        sentence: "Adds one element a thread.",
        entries: &["vector_add"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "Uniform values; at size paper the sample's 50,000 elements, 196 blocks of 256.",
        launches: |request| vec![shape(request.size)],
        program,
    }],
};

const BLOCK: u32 = 256;

fn count(size: Size) -> u32 {
    size.pick(10_000, 999_999, 50_000)
}

fn shape(size: Size) -> LaunchShape {
    let blocks = count(size).div_ceil(BLOCK);
    LaunchShape::once("vector_add", Dim3::linear(blocks), Dim3::linear(BLOCK))
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let Request { size, seed, .. } = *request;
    Sequence::boxed(move |device| plan(device, size, seed))
}

fn plan(device: &mut Device, size: Size, seed: u64) -> Result<Plan, HostError> {
    let count = count(size);
    let (a, b) = inputs(count, seed);
    let module = load(device, &WORKLOAD)?;
    let [a_ptr, b_ptr] = [device.alloc_slice(&a)?, device.alloc_slice(&b)?];
    let c_ptr = alloc_output::<f32>(device, a.len())?;
    let args = vec![
        Arg::Pointer(a_ptr),
        Arg::Pointer(b_ptr),
        Arg::Pointer(c_ptr),
        Arg::U32(count),
    ];
    let launch = shape(size).launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        Ok(vec![equal(
            "c",
            &device.output(c_ptr, a.len())?,
            &reference(&a, &b),
        )])
    }))
}

fn inputs(count: u32, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let mut rng = Rng::new(seed);
    let mut vector = || (0..count).map(|_| rng.unit_f32()).collect();
    (vector(), vector())
}

fn reference(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_exact_arithmetic_rounded_once() {
        let (a, b) = inputs(1000, 1);
        for (i, sum) in reference(&a, &b).into_iter().enumerate() {
            // The sum of two f32 below 1 is exact in f64.
            assert_eq!(sum, (f64::from(a[i]) + f64::from(b[i])) as f32);
        }
        assert_ne!(a, b);
        assert_ne!(a, inputs(1000, 2).0, "the seed matters");
    }

    #[test]
    fn the_paper_launches_196_blocks_with_a_guarded_tail() {
        assert_eq!(shape(Size::Paper).grid, Dim3::linear(196));
        assert!(
            Size::ALL
                .iter()
                .all(|&size| !count(size).is_multiple_of(BLOCK))
        );
    }
}
