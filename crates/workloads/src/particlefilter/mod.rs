//! The workload `particlefilter`: tracks an object through a video.

mod filter;

use warploom_base::Dim3;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{alloc_output, load};
use filter::{Filter, Marks, Video};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "particlefilter",
    suite: Suite::Rodinia,
    sentence: "Resampling of a particle filter: a sequential search a thread, in double precision.",
    source: "Rodinia, particlefilter (naive); PTF in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: KERNEL,
        sentence: "Finds each mark among the cumulative weights, from their start.",
        entries: &[KERNEL],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "At size paper 1,000 particles over 10 frames: 9 launches of 8 blocks.",
        launches: |request| vec![run(request.size).shape()],
        program,
    }],
};

const KERNEL: &str = "kernel";
const BLOCK: u32 = 128;
/// Side of a frame.
const SIDE: usize = 128;

#[derive(Clone, Copy)]
struct Run {
    particles: u32,
    frames: u32,
}

fn run(size: Size) -> Run {
    let pick = |particles, frames| Run { particles, frames };
    size.pick(pick(200, 4), pick(1_000, 4), pick(1_000, 10))
}

impl Run {
    fn shape(self) -> LaunchShape {
        let grid = Dim3::linear(self.particles.div_ceil(BLOCK));
        LaunchShape {
            times: Times::Fixed(self.frames - 1),
            ..LaunchShape::once(KERNEL, grid, Dim3::linear(BLOCK))
        }
    }
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    Box::new(Program {
        run: run(request.size),
        seed: request.seed,
        frame: 1,
        state: None,
    })
}

/// The host program, which moves and weights the particles for each frame; the device resamples
/// them.
struct Program {
    run: Run,
    seed: u64,
    /// Number of the next frame.
    frame: u32,
    state: Option<State>,
}

struct State {
    video: Video,
    filter: Filter,
    buffers: Buffers,
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let state = match self.state.take() {
            Some(state) => state,
            None => State {
                video: Video::generate(SIDE, self.run.frames as usize, self.seed),
                filter: Filter::new(SIDE, self.run.particles as usize, self.seed),
                buffers: Buffers::new(device, self.run.particles as usize)?,
            },
        };
        let State {
            video,
            filter,
            buffers,
        } = self.state.insert(state);
        if self.frame > 1 {
            buffers.read(device, filter)?;
        }
        if self.frame == self.run.frames {
            return Ok(HostAction::Done);
        }
        let marks = filter.advance(video, self.frame as usize);
        self.frame += 1;
        let launch = buffers.launch(device, self.run, filter, &marks)?;
        Ok(HostAction::Launch(launch))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        let Some(State { video, buffers, .. }) = &self.state else {
            return Ok(Vec::new());
        };
        let mut expected = Filter::new(SIDE, self.run.particles as usize, self.seed);
        for frame in 1..=device.launches_of(self.run.frames - 1) as usize {
            let marks = expected.advance(video, frame);
            expected.resample(&marks);
        }
        let [.., x, y] = buffers.pointers;
        Ok(vec![
            equal("x", &device.last_output(x, expected.x.len())?, &expected.x),
            equal("y", &device.last_output(y, expected.y.len())?, &expected.y),
        ])
    }
}

struct Buffers {
    module: ModuleId,
    /// Places, cumulative weights, marks, and places after resampling.
    pointers: [DevicePtr; 6],
}

impl Buffers {
    fn new(device: &mut Device, particles: usize) -> Result<Self, HostError> {
        let module = load(device, &WORKLOAD)?;
        let mut pointers = [DevicePtr(0); 6];
        for pointer in &mut pointers {
            *pointer = alloc_output::<f64>(device, particles)?;
        }
        Ok(Self { module, pointers })
    }

    fn launch(
        &self,
        device: &mut Device,
        run: Run,
        filter: &Filter,
        marks: &Marks,
    ) -> Result<Launch, HostError> {
        let inputs = [&filter.x, &filter.y, &marks.cumulative, &marks.marks];
        for (pointer, values) in self.pointers.iter().zip(inputs) {
            device.write_slice(*pointer, values)?;
        }
        let mut args = self.pointers.map(Arg::Pointer).to_vec();
        args.push(Arg::U32(run.particles));
        Ok(run.shape().launch(self.module, args))
    }

    /// Reads the places that the device chose.
    fn read(&self, device: &Device, filter: &mut Filter) -> Result<(), HostError> {
        filter.x = device.read_vec(self.pointers[4], filter.x.len())?;
        filter.y = device.read_vec(self.pointers[5], filter.y.len())?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_command_launches_8_blocks_nine_times() {
        let shape = run(Size::Paper).shape();
        assert_eq!((shape.grid.x, shape.times), (8, Times::Fixed(9)));
    }
}
