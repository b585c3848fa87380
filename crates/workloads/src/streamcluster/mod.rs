//! `streamcluster`: savings from opening a centre.

mod points;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, DevicePtr, HostError, HostProgram, ModuleId};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_zeroed, load};
use points::{CENTRES, Points};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "streamcluster",
    suite: Suite::Rodinia,
    sentence: "Distance of all points to a candidate centre: long coalesced streams, scattered sums.",
    source: "Rodinia, streamcluster; STM in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "compute_cost",
        sentence: "One point a thread: its cost at the candidate, and what a switch would save.",
        entries: &["compute_cost"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "Three candidates; at size paper 65,536 points of 256 dimensions, 128 blocks of 512.",
        launches: |request| vec![run(request.size).shape()],
        program,
    }],
};

const BLOCK: u32 = 512;
/// Number of points that are tried as centres, with one launch each.
const CANDIDATES: u32 = 3;

#[derive(Clone, Copy)]
struct Run {
    points: u32,
    dimensions: u32,
}

fn run(size: Size) -> Run {
    let pick = |points, dimensions| Run { points, dimensions };
    size.pick(pick(1_100, 32), pick(16_384, 64), pick(65_536, 256))
}

impl Run {
    fn shape(self) -> LaunchShape {
        let grid = Dim3::linear(self.points.div_ceil(BLOCK));
        LaunchShape {
            times: Times::Fixed(CANDIDATES),
            ..LaunchShape::once("compute_cost", grid, Dim3::linear(BLOCK))
        }
    }

    /// Candidates spread over all points.
    fn candidates(self) -> impl Iterator<Item = usize> {
        let apart = (self.points / CANDIDATES) as usize;
        (0..CANDIDATES as usize).map(move |i| i * apart + 7)
    }
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let (run, seed) = (run(request.size), request.seed);
    Sequence::boxed(move |device| plan(device, run, seed))
}

fn plan(device: &mut Device, run: Run, seed: u64) -> Result<Plan, HostError> {
    let points = Points::generate(run.points as usize, run.dimensions as usize, seed);
    let module = load(device, &WORKLOAD)?;
    let inputs = Inputs {
        module,
        points: device.alloc_slice(&points.records())?,
        coordinates: device.alloc_slice(&points.coordinates)?,
        centre_of: device.alloc_slice(&points.centre_of())?,
    };
    let mut outputs = Vec::new();
    for candidate in run.candidates() {
        outputs.push(Output {
            candidate,
            savings: alloc_zeroed::<f32>(device, points.count * (CENTRES + 1))?,
            switches: alloc_zeroed::<u8>(device, points.count)?,
        });
    }
    let launches = outputs.iter().map(|output| {
        let args = inputs.args(run, output);
        run.shape().launch(inputs.module, args)
    });
    Ok(Plan::new(launches.collect(), move |device| {
        let mut checks = Vec::new();
        for output in &outputs {
            let expected = points.opening(output.candidate);
            let savings = device.output(output.savings, expected.savings.len())?;
            let switches = device.output::<u8>(output.switches, points.count)?;
            checks.push(equal("savings", &savings, &expected.savings));
            checks.push(equal("switches", &switches, &expected.switches));
        }
        Ok(checks)
    }))
}

struct Inputs {
    module: ModuleId,
    points: DevicePtr,
    coordinates: DevicePtr,
    centre_of: DevicePtr,
}

struct Output {
    candidate: usize,
    savings: DevicePtr,
    switches: DevicePtr,
}

impl Inputs {
    fn args(&self, run: Run, output: &Output) -> Vec<Arg> {
        vec![
            Arg::U32(run.points),
            Arg::U32(run.dimensions),
            Arg::I64(output.candidate as i64),
            Arg::Pointer(self.points),
            Arg::U32(CENTRES as u32),
            Arg::U32(CENTRES as u32 + 1),
            Arg::Pointer(self.coordinates),
            Arg::Pointer(output.savings),
            Arg::Pointer(self.centre_of),
            Arg::Pointer(output.switches),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_command_launches_128_blocks_of_512() {
        let shape = run(Size::Paper).shape();
        assert_eq!((shape.grid.x, shape.block.x), (128, 512));
    }
}
