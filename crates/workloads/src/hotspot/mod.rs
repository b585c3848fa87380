//! `hotspot`: temperatures of a chip over time.

mod input;
mod reference;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, DevicePtr, HostError, HostProgram, Launch, ModuleId};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};
use input::{Chip, Conductance};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "hotspot",
    suite: Suite::Rodinia,
    sentence: "Heat on a chip: a five-point stencil that takes two steps a launch in shared memory.",
    source: "Rodinia, hotspot; HS in GPUDuet and Chen 2016, HST in CRAT, HOT in Warped-Slicer",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "calculate_temp",
        sentence: "Up to two time steps of one tile with its halo.",
        entries: &["calculate_temp"],
        alone: true,
    }],
    variants: &[
        Variant {
            name: "grid1024",
            sentence: "A floor plan of units; at size paper 1,024 x 1,024 cells, 7,396 blocks, one launch.",
            launches: |request| vec![shape(&run(request.size, PAPER_1024))],
            program: |request| program(request, PAPER_1024),
        },
        Variant {
            name: "grid512",
            sentence: "The same with 512 x 512 cells at size paper, as in GPUDuet.",
            launches: |request| vec![shape(&run(request.size, PAPER_512))],
            program: |request| program(request, PAPER_512),
        },
    ],
};

/// Side of a block, including the halo.
const BLOCK: u32 = 16;
/// Number of steps in one launch, and width of the halo on every side.
const PYRAMID: u32 = 2;
/// Side of the square of cells that a block computes.
const ADVANCE: u32 = BLOCK - 2 * PYRAMID;

const PAPER_1024: Run = Run {
    columns: 1024,
    rows: 1024,
    steps: PYRAMID,
};
const PAPER_512: Run = Run {
    columns: 512,
    rows: 512,
    steps: PYRAMID,
};

#[derive(Clone, Copy)]
struct Run {
    columns: u32,
    rows: u32,
    steps: u32,
}

/// The smaller sizes end with a launch of a single step and are not multiples of a block.
fn run(size: Size, paper: Run) -> Run {
    let test = Run {
        columns: 60,
        rows: 46,
        steps: 3,
    };
    let small = Run {
        columns: 256,
        rows: 250,
        steps: 5,
    };
    size.pick(test, small, paper)
}

fn shape(run: &Run) -> LaunchShape {
    let grid = Dim3::new(run.columns.div_ceil(ADVANCE), run.rows.div_ceil(ADVANCE), 1);
    let once = LaunchShape::once("calculate_temp", grid, Dim3::new(BLOCK, BLOCK, 1));
    LaunchShape {
        times: Times::Fixed(run.steps.div_ceil(PYRAMID)),
        ..once
    }
}

fn program(request: &Request, paper: Run) -> Box<dyn HostProgram> {
    let (run, seed) = (run(request.size, paper), request.seed);
    Sequence::boxed(move |device| plan(device, &run, seed))
}

fn plan(device: &mut Device, run: &Run, seed: u64) -> Result<Plan, HostError> {
    let chip = Chip::generate(run.columns, run.rows, seed);
    let buffers = Buffers::new(device, &chip)?;
    let (run, results) = (*run, buffers.temperatures);
    let launches = buffers.launches(&run);
    let all = launches.len() as u32;
    Ok(Plan::new(launches, move |device| {
        let made = device.launches_of(all);
        let expected = reference::temperatures(&chip, run.steps.min(PYRAMID * made));
        let actual = device.last_output(results[made as usize % 2], expected.len())?;
        Ok(vec![equal("temperature", &actual, &expected)])
    }))
}

struct Buffers {
    module: ModuleId,
    conductance: Conductance,
    power: DevicePtr,
    temperatures: [DevicePtr; 2],
}

impl Buffers {
    fn new(device: &mut Device, chip: &Chip) -> Result<Self, HostError> {
        let module = load(device, &WORKLOAD)?;
        let power = device.alloc_slice(&chip.power)?;
        let first = device.alloc_slice(&chip.temperature)?;
        let second = alloc_output::<f32>(device, chip.temperature.len())?;
        let conductance = chip.conductance();
        Ok(Self {
            module,
            conductance,
            power,
            temperatures: [first, second],
        })
    }

    /// The launches, which use the two temperature buffers alternately.
    fn launches(mut self, run: &Run) -> Vec<Launch> {
        let mut launches = Vec::new();
        for done in (0..run.steps).step_by(PYRAMID as usize) {
            let steps = PYRAMID.min(run.steps - done);
            launches.push(shape(run).launch(self.module, self.args(run, steps)));
            self.temperatures.reverse();
        }
        launches
    }

    fn args(&self, run: &Run, steps: u32) -> Vec<Arg> {
        let Conductance {
            capacity,
            rx,
            ry,
            rz,
            step,
        } = self.conductance;
        vec![
            Arg::U32(steps),
            Arg::Pointer(self.power),
            Arg::Pointer(self.temperatures[0]),
            Arg::Pointer(self.temperatures[1]),
            Arg::U32(run.columns),
            Arg::U32(run.rows),
            Arg::F32(capacity),
            Arg::F32(rx),
            Arg::F32(ry),
            Arg::F32(rz),
            Arg::F32(step),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_grids_have_7396_and_1849_blocks() {
        assert_eq!(shape(&PAPER_1024).grid.count(), 7396);
        assert_eq!(shape(&PAPER_512).grid.count(), 1849);
        assert_eq!(shape(&PAPER_1024).times, Times::Fixed(1));
    }

    #[test]
    fn smaller_sizes_end_with_a_clipped_launch() {
        for size in [Size::Test, Size::Small] {
            let run = run(size, PAPER_512);
            assert_eq!(run.steps % PYRAMID, 1);
            assert_eq!(shape(&run).times, Times::Fixed(run.steps.div_ceil(PYRAMID)));
        }
    }
}
