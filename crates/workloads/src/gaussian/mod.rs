//! `gaussian`: Gaussian elimination, two launches a pivot.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, DevicePtr, HostError, HostProgram, Launch, ModuleId};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_zeroed, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "gaussian",
    suite: Suite::Rodinia,
    sentence: "Gaussian elimination, two launches a pivot; threads walk down columns.",
    source: "Rodinia, gaussian; GAU in CRAT, GAUSSIAN in Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: FAN1,
            sentence: "Divides the pivot's column by the pivot.",
            entries: &[FAN1],
            alone: false,
        },
        KernelInfo {
            name: FAN2,
            sentence: "Subtracts multiples of the pivot's row from those below it.",
            entries: &[FAN2],
            alone: false,
        },
    ],
    variants: &[
        Variant {
            name: "square16",
            sentence: "Blocks of 128 and of 16 x 16; at size paper Chen 2016's 1,022 launches and \
                       525,308 blocks.",
            launches: |request| SQUARE_16.shapes(request.size),
            program: |request| SQUARE_16.program(request),
        },
        Variant {
            name: "square4",
            sentence: "The public benchmark's own blocks of 512 and of 4 x 4.",
            launches: |request| SQUARE_4.shapes(request.size),
            program: |request| SQUARE_4.program(request),
        },
    ],
};

const FAN1: &str = "Fan1";
const FAN2: &str = "Fan2";

/// Block shapes: threads of `Fan1`, side of `Fan2`.
#[derive(Clone, Copy)]
struct Geometry {
    linear: u32,
    side: u32,
}

const SQUARE_16: Geometry = Geometry {
    linear: 128,
    side: 16,
};
const SQUARE_4: Geometry = Geometry {
    linear: 512,
    side: 4,
};

/// Number of unknowns by size.
fn unknowns(size: Size) -> u32 {
    size.pick(40, 96, 512)
}

impl Geometry {
    /// Launches of both kernels. The grid stays while the remaining matrix shrinks.
    fn shapes(self, size: Size) -> Vec<LaunchShape> {
        let n = unknowns(size);
        let columns = Dim3::linear(n.div_ceil(self.linear));
        let square = Dim3::new(n.div_ceil(self.side), n.div_ceil(self.side), 1);
        let times = Times::Fixed(n - 1);
        vec![
            LaunchShape {
                times,
                ..LaunchShape::once(FAN1, columns, Dim3::linear(self.linear))
            },
            LaunchShape {
                times,
                ..LaunchShape::once(FAN2, square, Dim3::new(self.side, self.side, 1))
            },
        ]
    }

    fn program(self, request: &Request) -> Box<dyn HostProgram> {
        let (size, seed) = (request.size, request.seed);
        Sequence::boxed(move |device| plan(device, &self.shapes(size), unknowns(size), seed))
    }
}

fn plan(device: &mut Device, shapes: &[LaunchShape], n: u32, seed: u64) -> Result<Plan, HostError> {
    let system = System::generate(n as usize, seed);
    let buffers = Buffers::new(device, &system)?;
    let steps = 0..n - 1;
    let launches = steps.flat_map(|step| buffers.launches(shapes, n, step));
    Ok(Plan::new(launches.collect(), move |device| {
        let steps = device.launches_of(2 * (n - 1)) / 2;
        let expected = system.eliminated(steps as usize);
        let matrix = device.last_output(buffers.matrix, expected.matrix.len())?;
        let right = device.last_output(buffers.right, expected.right.len())?;
        Ok(vec![
            equal("matrix", &matrix, &expected.matrix),
            equal("right side", &right, &expected.right),
        ])
    }))
}

struct Buffers {
    module: ModuleId,
    multipliers: DevicePtr,
    matrix: DevicePtr,
    right: DevicePtr,
}

impl Buffers {
    fn new(device: &mut Device, system: &System) -> Result<Self, HostError> {
        Ok(Self {
            module: load(device, &WORKLOAD)?,
            multipliers: alloc_zeroed::<f32>(device, system.matrix.len())?,
            matrix: device.alloc_slice(&system.matrix)?,
            right: device.alloc_slice(&system.right)?,
        })
    }

    fn launches(&self, shapes: &[LaunchShape], n: u32, step: u32) -> [Launch; 2] {
        let first = [self.multipliers, self.matrix];
        let second = [self.multipliers, self.matrix, self.right];
        [(&shapes[0], &first[..]), (&shapes[1], &second[..])].map(|(shape, pointers)| {
            let mut args: Vec<_> = pointers.iter().copied().map(Arg::Pointer).collect();
            args.extend([Arg::U32(n), Arg::U32(step)]);
            shape.launch(self.module, args)
        })
    }
}

/// A system of linear equations, row major.
#[derive(Clone)]
struct System {
    matrix: Vec<f32>,
    right: Vec<f32>,
}

impl System {
    /// A random system. Coefficients decrease with the distance from the diagonal, by a hundredth
    /// each. This makes the matrix positive definite, so that pivots stay far from zero. The
    /// diagonal varies.
    fn generate(n: usize, seed: u64) -> Self {
        const DECAY: f32 = 0.99;
        let mut rng = Rng::new(seed);
        let falling: Vec<f32> = std::iter::successors(Some(10.0_f32), |value| Some(value * DECAY))
            .take(n)
            .collect();
        let mut matrix = Vec::with_capacity(n * n);
        for row in 0..n {
            matrix.extend((0..n).map(|column| falling[row.abs_diff(column)]));
            matrix[row * n + row] += rng.unit_f32();
        }
        let right = (0..n).map(|_| 0.5 + rng.unit_f32()).collect();
        Self { matrix, right }
    }

    /// The system after elimination by `pivots` pivots, with the kernels' operations.
    fn eliminated(&self, pivots: usize) -> Self {
        let mut after = self.clone();
        let (n, matrix) = (self.right.len(), &mut after.matrix);
        for step in 0..pivots {
            let (above, below) = matrix.split_at_mut((step + 1) * n);
            let pivot_row = &above[step * n + step..];
            for (i, row) in below.chunks_exact_mut(n).enumerate() {
                let multiplier = row[step] / pivot_row[0];
                for (value, pivot) in row[step..].iter_mut().zip(pivot_row) {
                    *value = (-multiplier).mul_add(*pivot, *value);
                }
                let at = step + 1 + i;
                after.right[at] = (-multiplier).mul_add(after.right[step], after.right[at]);
            }
        }
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_1022_times_and_525308_blocks() {
        let shapes = SQUARE_16.shapes(Size::Paper);
        assert!(shapes.iter().all(|shape| shape.times == Times::Fixed(511)));
        let blocks: u64 = shapes.iter().map(|shape| 511 * shape.grid.count()).sum();
        assert_eq!(blocks, 525_308);
    }

    #[test]
    fn elimination_solves_the_system() {
        let system = System::generate(30, 2);
        let after = system.eliminated(29);
        let mut x = vec![0.0_f64; 30];
        for row in (0..30).rev() {
            let known: f64 = (row + 1..30)
                .map(|column| f64::from(after.matrix[row * 30 + column]) * x[column])
                .sum();
            x[row] = (f64::from(after.right[row]) - known) / f64::from(after.matrix[row * 31]);
        }
        for row in 0..30 {
            let terms =
                (0..30).map(|column| f64::from(system.matrix[row * 30 + column]) * x[column]);
            let error = terms.sum::<f64>() - f64::from(system.right[row]);
            assert!(error.abs() < 1e-3, "row {row}: {error}");
        }
    }
}
