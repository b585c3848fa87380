//! `montecarlo`: prices of European call options by Monte Carlo.

mod options;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::{Tolerance, close};
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};
use options::{CallOption, generate, inverse_normals};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "montecarlo",
    suite: Suite::CudaSdk,
    sentence: "Call options by Monte Carlo: normal samples once, then a block an option over them all.",
    source: "CUDA SDK, sample MonteCarlo; Monte-Carlo in Do et al. 2017",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: SAMPLES,
            sentence: "Normal samples by the inverse of the cumulative distribution.",
            entries: &[SAMPLES],
            alone: true,
        },
        KernelInfo {
            name: OPTIONS,
            sentence: "Sums an option's payoffs over all samples, then over the block.",
            entries: &[OPTIONS],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "At size paper 258 options and 262,144 samples: 193 blocks a launch on average.",
        launches: shapes,
        program,
    }],
};

const SAMPLES: &str = "inverse_normals";
const OPTIONS: &str = "option_per_block";
/// Threads of a block of the second kernel.
const THREADS: usize = 256;

/// Tolerance for the samples, derived in the notes.
const SAMPLES_TOLERANCE: Tolerance = Tolerance {
    relative: 2e-6,
    absolute: 2e-6,
};
/// Tolerance for the sums, derived in the notes.
const SUMS_TOLERANCE: Tolerance = Tolerance {
    relative: 1e-5,
    absolute: 1e-3,
};

/// Numbers of options and samples.
fn extents(size: Size) -> (u32, u32) {
    size.pick((20, 2_048), (64, 16_384), (258, 1 << 18))
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let (options, _) = extents(request.size);
    let all = [
        LaunchShape::once(SAMPLES, Dim3::linear(128), Dim3::linear(128)),
        LaunchShape::once(OPTIONS, Dim3::linear(options), Dim3::linear(THREADS as u32)),
    ];
    let wanted = |shape: &LaunchShape| request.wants(shape.entry);
    all.into_iter().filter(wanted).collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

/// When the second kernel runs alone, it takes the reference's samples.
fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let (option_count, sample_count) = extents(request.size);
    let options = generate(option_count as usize, request.seed);
    let module = load(device, &WORKLOAD)?;
    let table: Vec<f32> = options.iter().flat_map(CallOption::constants).collect();
    device.write_slice(device.variable(module, "options")?, &table)?;
    let samples_ptr = if request.wants(SAMPLES) {
        alloc_output::<f32>(device, sample_count as usize)?
    } else {
        let samples = inverse_normals(sample_count);
        device.alloc_slice(&samples.iter().map(|x| *x as f32).collect::<Vec<_>>())?
    };
    let sums_ptr = alloc_output::<f32>(device, 2 * option_count as usize)?;
    let launches = shapes(request).into_iter().map(|shape| {
        let pointers = match shape.entry {
            SAMPLES => vec![Arg::Pointer(samples_ptr)],
            _ => vec![Arg::Pointer(sums_ptr), Arg::Pointer(samples_ptr)],
        };
        let args = pointers.into_iter().chain([Arg::U32(sample_count)]);
        shape.launch(module, args.collect())
    });
    let request = *request;
    Ok(Plan::new(launches.collect(), move |device| {
        let mut checks = Vec::new();
        if request.wants(SAMPLES) {
            let samples = device.output(samples_ptr, sample_count as usize)?;
            let expected = inverse_normals(sample_count);
            checks.push(close("samples", &samples, &expected, SAMPLES_TOLERANCE));
        }
        if request.wants(OPTIONS) {
            let samples: Vec<f32> = device.read_vec(samples_ptr, sample_count as usize)?;
            let expected = options.iter().map(|option| option.sums(&samples));
            let expected: Vec<f64> = expected.flat_map(|(sum, squares)| [sum, squares]).collect();
            let sums = device.output(sums_ptr, expected.len())?;
            checks.push(close(
                "sums, of squares too",
                &sums,
                &expected,
                SUMS_TOLERANCE,
            ));
        }
        Ok(checks)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_193_blocks_on_average() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: None,
        };
        let blocks: Vec<_> = shapes(&request).iter().map(|s| s.grid.count()).collect();
        assert_eq!(blocks, [128, 258]);
        assert_eq!(blocks.iter().sum::<u64>() / 2, 193);
    }
}
