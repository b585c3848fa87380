//! `fdtd3d`: a finite-difference scheme of radius 4 in a volume.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, DevicePtr, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "fdtd3d",
    suite: Suite::CudaSdk,
    sentence: "A 25-point stencil over a volume, planes in registers and in shared memory.",
    source: "CUDA SDK, sample FDTD3d; FDTD in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: ENTRY,
        sentence: "A column of 32 x 16 cells a block, walking along z.",
        entries: &[ENTRY],
        alone: true,
    }],
    variants: &[
        Variant {
            name: "default",
            sentence: "Uniform values; at size paper 376 x 376 x 376 cells, 288 blocks of 32 x 16.",
            launches: |request| vec![shape(&run(request.size))],
            program: |request| program(run(request.size), request.seed),
        },
        Variant {
            name: "step",
            sentence: "The first of its steps, which are alike.",
            launches: |request| vec![shape(&first_step(request.size))],
            program: |request| program(first_step(request.size), request.seed),
        },
    ],
};

const ENTRY: &str = "finite_differences";
const BLOCK: Dim3 = Dim3::new(32, 16, 1);
const RADIUS: usize = 4;
/// Elements before the volume, so that its inner rows start at a line.
const PADDING: usize = 32 - RADIUS;
/// Weights of the cell and of the cells at each distance.
const WEIGHTS: [f32; RADIUS + 1] = [0.1, 0.09, 0.08, 0.07, 0.06];

/// Numbers of inner cells along each axis, without the border of four.
#[derive(Clone, Copy)]
struct Run {
    cells: [u32; 3],
    steps: u32,
}

/// Parameters by size. The smaller sizes do not fill their last blocks.
fn run(size: Size) -> Run {
    let (cells, steps) = size.pick(([44, 20, 9], 2), ([90, 70, 24], 2), ([376, 376, 376], 5));
    Run { cells, steps }
}

fn first_step(size: Size) -> Run {
    Run {
        steps: 1,
        ..run(size)
    }
}

fn shape(run: &Run) -> LaunchShape {
    let [x, y, _] = run.cells;
    let grid = Dim3::new(x.div_ceil(BLOCK.x), y.div_ceil(BLOCK.y), 1);
    LaunchShape {
        times: Times::Fixed(run.steps),
        ..LaunchShape::once(ENTRY, grid, BLOCK)
    }
}

fn program(run: Run, seed: u64) -> Box<dyn HostProgram> {
    Sequence::boxed(move |device| plan(device, &run, seed))
}

/// The two buffers alternate. Both start with the input, for its border.
fn plan(device: &mut Device, run: &Run, seed: u64) -> Result<Plan, HostError> {
    let run = *run;
    let volume = Volume::generate(&run, seed);
    let module = load(device, &WORKLOAD)?;
    let weights = device.variable(module, "stencil")?;
    device.write_slice(weights, &WEIGHTS)?;
    let mut buffers = [0; 2].map(|_| DevicePtr(0));
    for buffer in &mut buffers {
        let bytes = 4 * (PADDING + volume.values.len()) as u64;
        *buffer = DevicePtr(device.alloc(bytes)?.0 + 4 * PADDING as u64);
        device.write_slice(*buffer, &volume.values)?;
    }
    let (mut launches, results) = (Vec::new(), buffers);
    for _ in 0..run.steps {
        let [from, to] = buffers;
        let mut args = vec![Arg::Pointer(to), Arg::Pointer(from)];
        args.extend(run.cells.map(Arg::U32));
        launches.push(shape(&run).launch(module, args));
        buffers.reverse();
    }
    Ok(Plan::new(launches, move |device| {
        let steps = device.launches_of(run.steps);
        let actual = device.last_output(results[steps as usize % 2], volume.values.len())?;
        let expected = volume.after(steps);
        Ok(vec![equal("volume", &actual, &expected)])
    }))
}

/// A volume with its border.
struct Volume {
    /// Numbers of inner cells.
    cells: [usize; 3],
    values: Vec<f32>,
}

impl Volume {
    fn generate(run: &Run, seed: u64) -> Self {
        let cells = run.cells.map(|n| n as usize);
        let mut rng = Rng::new(seed);
        let count = cells.map(|n| n + 2 * RADIUS).iter().product();
        let values = (0..count).map(|_| rng.unit_f32()).collect();
        Self { cells, values }
    }

    fn after(&self, steps: u32) -> Vec<f32> {
        let (mut from, mut to) = (self.values.clone(), self.values.clone());
        for _ in 0..steps {
            self.step(&from, &mut to);
            std::mem::swap(&mut from, &mut to);
        }
        from
    }

    /// Computes one step with the PTX's operations: the cell's own product is fused into the first
    /// sum's.
    fn step(&self, from: &[f32], to: &mut [f32]) {
        let [nx, ny, nz] = self.cells;
        let row = nx + 2 * RADIUS;
        let plane = row * (ny + 2 * RADIUS);
        for z in 0..nz {
            for y in 0..ny {
                let start = (z + RADIUS) * plane + (y + RADIUS) * row + RADIUS;
                for at in start..start + nx {
                    let sum = |d: usize| {
                        let along_z = from[at + d * plane] + from[at - d * plane];
                        let along_y = along_z + from[at - d * row] + from[at + d * row];
                        along_y + from[at - d] + from[at + d]
                    };
                    let first = from[at].mul_add(WEIGHTS[0], WEIGHTS[1] * sum(1));
                    to[at] = (2..=RADIUS).fold(first, |value, d| WEIGHTS[d].mul_add(sum(d), value));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impulse_spreads_by_the_weights() {
        let run = Run {
            cells: [9, 9, 9],
            steps: 1,
        };
        let mut volume = Volume::generate(&run, 0);
        volume.values.fill(0.0);
        let (row, plane) = (17, 17 * 17);
        let centre = 8 * plane + 8 * row + 8;
        volume.values[centre] = 1.0;
        let after = volume.after(1);
        for distance in 0..=RADIUS {
            for step in [1, row, plane] {
                assert_eq!(after[centre + distance * step], WEIGHTS[distance]);
                assert_eq!(after[centre - distance * step], WEIGHTS[distance]);
            }
        }
        assert_eq!(after[centre + row + 1], 0.0);
    }

    #[test]
    fn the_sample_launches_288_blocks_of_512() {
        let shape = shape(&run(Size::Paper));
        assert_eq!((shape.grid.count(), shape.block.count()), (288, 512));
    }
}
