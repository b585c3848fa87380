//! `fdtd2d`: electric and magnetic fields in a plane over time.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "fdtd2d",
    suite: Suite::PolyBench,
    sentence: "Finite-difference time-domain method in a plane: three stencils a time step.",
    source: "PolyBench/GPU, FDTD-2D; FDTD_1 and FDTD_2 in GPUDuet",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: STEPS[0],
            sentence: "The electric field's y component, from differences between rows.",
            entries: &[STEPS[0]],
            alone: true,
        },
        KernelInfo {
            name: STEPS[1],
            sentence: "The electric field's x component, from differences within rows.",
            entries: &[STEPS[1]],
            alone: true,
        },
        KernelInfo {
            name: STEPS[2],
            sentence: "The magnetic field, from both.",
            entries: &[STEPS[2]],
            alone: true,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "Smooth fields with noise; at size paper 2,048 x 2,048 cells, 16,384 blocks of 32 x 8.",
        launches: shapes,
        program,
    }],
};

const STEPS: [&str; 3] = ["fdtd_step1", "fdtd_step2", "fdtd_step3"];
const BLOCK: Dim3 = Dim3::new(32, 8, 1);

#[derive(Clone, Copy)]
struct Run {
    nx: u32,
    ny: u32,
    times: u32,
}

fn run(size: Size) -> Run {
    let (nx, ny, times) = size.pick((45, 70, 3), (250, 260, 4), (2048, 2048, 8));
    Run { nx, ny, times }
}

fn wanted(request: &Request) -> impl Iterator<Item = &'static str> {
    let request = *request;
    STEPS.into_iter().filter(move |step| request.wants(step))
}

fn shape(entry: &'static str, run: &Run) -> LaunchShape {
    let grid = Dim3::new(run.ny.div_ceil(BLOCK.x), run.nx.div_ceil(BLOCK.y), 1);
    LaunchShape {
        times: Times::Fixed(run.times),
        ..LaunchShape::once(entry, grid, BLOCK)
    }
}

fn shapes(request: &Request) -> Vec<LaunchShape> {
    let run = run(request.size);
    wanted(request).map(|entry| shape(entry, &run)).collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let request = *request;
    Sequence::boxed(move |device| plan(device, &request))
}

fn plan(device: &mut Device, request: &Request) -> Result<Plan, HostError> {
    let (run, request) = (run(request.size), *request);
    let fields = Fields::generate(&run, request.seed);
    let module = load(device, &WORKLOAD)?;
    let source = device.alloc_slice(&fields.source)?;
    let [ex, ey, hz] = [
        device.alloc_slice(&fields.ex)?,
        device.alloc_slice(&fields.ey)?,
        device.alloc_slice(&fields.hz)?,
    ];
    let mut launches = Vec::new();
    for time in 0..run.times {
        for entry in wanted(&request) {
            let pointers = match entry {
                "fdtd_step1" => vec![source, ey, hz],
                "fdtd_step2" => vec![ex, hz],
                _ => vec![ex, ey, hz],
            };
            let mut args = vec![Arg::U32(run.nx), Arg::U32(run.ny)];
            args.extend(pointers.into_iter().map(Arg::Pointer));
            if entry == STEPS[0] {
                args.push(Arg::U32(time));
            }
            launches.push(shape(entry, &run).launch(module, args));
        }
    }
    let all = launches.len() as u32;
    Ok(Plan::new(launches, move |device| {
        let count = fields.ex.len();
        let after = fields.after(device.launches_of(all), &request);
        Ok(vec![
            equal("ex", &device.last_output(ex, count)?, &after.ex),
            equal("ey", &device.last_output(ey, count)?, &after.ey),
            equal("hz", &device.last_output(hz, count)?, &after.hz),
        ])
    }))
}

/// Fields by rows of `ny` cells, and the value that enters at row 0 at every time step.
#[derive(Clone)]
struct Fields {
    ny: usize,
    source: Vec<f32>,
    ex: Vec<f32>,
    ey: Vec<f32>,
    hz: Vec<f32>,
}

impl Fields {
    /// Plane waves with noise, in different directions.
    fn generate(run: &Run, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let ny = run.ny as usize;
        let mut field = |by_row: f32, by_column: f32| -> Vec<f32> {
            let cell = |at: usize| {
                let (i, j) = (at / ny, at % ny);
                by_row * i as f32 + by_column * j as f32 + 0.1 * rng.unit_f32()
            };
            (0..run.nx as usize * ny).map(cell).collect()
        };
        let (x, y) = (1.0 / run.nx as f32, 1.0 / run.ny as f32);
        let (ex, ey, hz) = (field(x, y), field(x, -y), field(-x, y));
        let source = (0..run.times).map(|time| time as f32).collect();
        Self {
            ny,
            source,
            ex,
            ey,
            hz,
        }
    }

    /// The fields after `launches` launches of the requested kernels, which alternate.
    fn after(&self, launches: u32, request: &Request) -> Self {
        let mut fields = self.clone();
        let times = (0..).flat_map(|time| wanted(request).map(move |step| (time, step)));
        for (time, step) in times.take(launches as usize) {
            match step {
                "fdtd_step1" => fields.step1(time),
                "fdtd_step2" => fields.step2(),
                _ => fields.step3(),
            }
        }
        fields
    }

    fn step1(&mut self, time: usize) {
        let ny = self.ny;
        for at in 0..self.ey.len() {
            self.ey[at] = if at < ny {
                self.source[time]
            } else {
                (self.hz[at] - self.hz[at - ny]).mul_add(-0.5, self.ey[at])
            };
        }
    }

    fn step2(&mut self) {
        for at in (0..self.ex.len()).filter(|at| !at.is_multiple_of(self.ny)) {
            self.ex[at] = (self.hz[at] - self.hz[at - 1]).mul_add(-0.5, self.ex[at]);
        }
    }

    fn step3(&mut self) {
        let ny = self.ny;
        for at in (0..self.hz.len() - ny).filter(|at| at % ny < ny - 1) {
            let curl = self.ex[at + 1] - self.ex[at] + self.ey[at + ny] - self.ey[at];
            self.hz[at] = curl.mul_add(-0.7, self.hz[at]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_fields_change_at_the_source_alone() {
        let run = Run {
            nx: 6,
            ny: 5,
            times: 1,
        };
        let mut fields = Fields::generate(&run, 1);
        for field in [&mut fields.ex, &mut fields.ey, &mut fields.hz] {
            field.fill(0.0);
        }
        fields.source = vec![1.0];
        let request = Request {
            size: Size::Test,
            seed: 0,
            only: None,
        };
        let after = fields.after(3, &request);
        // The source enters row 0 of ey, and the curl there drives row 0 of hz.
        assert_eq!((after.ey[0], after.ey[5]), (1.0, 0.0));
        assert_eq!((after.hz[0], after.hz[4], after.hz[5]), (0.7, 0.0, 0.0));
        assert!(after.ex.iter().all(|&x| x == 0.0));
    }

    #[test]
    fn the_paper_has_16384_blocks_a_launch() {
        let request = Request {
            size: Size::Paper,
            seed: 0,
            only: Some(STEPS[1]),
        };
        let shapes = shapes(&request);
        assert_eq!((shapes.len(), shapes[0].grid.count()), (1, 16_384));
    }
}
