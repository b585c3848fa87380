//! `ref-vecadd`: the sum of two vectors.

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use super::SOURCE;
use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "ref-vecadd",
    suite: Suite::Reference,
    sentence: "Sum of two vectors: coalesced streaming that fills DRAM's bus.",
    source: SOURCE,
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "vecadd",
        sentence: "Adds one element a thread.",
        entries: &["vecadd"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "Ramps, whatever the seed; at size paper the recorded 2^20 elements.",
        launches: |request| vec![shape(request.size)],
        program,
    }],
};

const BLOCK: u32 = 256;

fn count(size: Size) -> u32 {
    size.pick(10_000, 1 << 18, 1 << 20)
}

fn shape(size: Size) -> LaunchShape {
    let blocks = count(size).div_ceil(BLOCK);
    LaunchShape::once("vecadd", Dim3::linear(blocks), Dim3::linear(BLOCK))
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let size = request.size;
    Sequence::boxed(move |device| plan(device, size))
}

fn plan(device: &mut Device, size: Size) -> Result<Plan, HostError> {
    let n = count(size);
    let (a, b) = inputs(n);
    let module = load(device, &WORKLOAD)?;
    let [a_ptr, b_ptr] = [device.alloc_slice(&a)?, device.alloc_slice(&b)?];
    let c_ptr = alloc_output::<f32>(device, a.len())?;
    let pointers = [a_ptr, b_ptr, c_ptr].map(Arg::Pointer);
    let args = pointers.into_iter().chain([Arg::U32(n)]).collect();
    let launch = shape(size).launch(module, args);
    Ok(Plan::new(vec![launch], move |device| {
        let c = device.output(c_ptr, a.len())?;
        Ok(vec![equal("c", &c, &reference(&a, &b))])
    }))
}

/// Inputs: `a[i] = 0.5 i` and `b[i] = n - i`.
fn inputs(n: u32) -> (Vec<f32>, Vec<f32>) {
    let a = (0..n).map(|i| i as f32 * 0.5).collect();
    let b = (0..n).map(|i| (n - i) as f32).collect();
    (a, b)
}

fn reference(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

#[cfg(test)]
mod tests {
    use super::{inputs, reference};

    #[test]
    fn sums_fall_by_halves() {
        let (a, b) = inputs(4);
        assert_eq!(reference(&a, &b), [4.0, 3.5, 3.0, 2.5]);
    }
}
