//! `stencil`: a seven-point stencil over a volume.

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram, Launch};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::picture;
use crate::program::{Plan, Sequence, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "stencil",
    suite: Suite::Parboil,
    sentence: "A seven-point stencil over a volume, walking along z with a plane in shared memory.",
    source: "Parboil, stencil; ST in GPUDuet, STE in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: ENTRY,
        sentence: "A column of 64 x 4 cells a block, two cells a thread and plane.",
        entries: &[ENTRY],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "Pictures in layers; at size paper 512 x 512 x 64 cells, 1,024 blocks of 32 x 4.",
        launches: |request| vec![shape(&run(request.size))],
        program,
    }],
};

const ENTRY: &str = "block2d";
const BLOCK: Dim3 = Dim3::new(32, 4, 1);
/// The benchmark's weights of a cell and of its neighbours.
const CENTRE: f32 = 1.0 / 6.0;
const NEIGHBOUR: f32 = 1.0 / 6.0 / 6.0;

#[derive(Clone, Copy)]
struct Run {
    cells: [u32; 3],
    steps: u32,
}

/// The smaller sizes do not fill their last blocks.
fn run(size: Size) -> Run {
    let (cells, steps) = size.pick(([90, 30, 8], 2), ([200, 110, 24], 3), ([512, 512, 64], 2));
    Run { cells, steps }
}

fn shape(run: &Run) -> LaunchShape {
    let [nx, ny, _] = run.cells;
    let grid = Dim3::new(nx.div_ceil(2 * BLOCK.x), ny.div_ceil(BLOCK.y), 1);
    LaunchShape {
        times: Times::Fixed(run.steps),
        dynamic_shared_bytes: 2 * BLOCK.x * BLOCK.y * 4,
        ..LaunchShape::once(ENTRY, grid, BLOCK)
    }
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let (run, seed) = (run(request.size), request.seed);
    Sequence::boxed(move |device| plan(device, &run, seed))
}

fn plan(device: &mut Device, run: &Run, seed: u64) -> Result<Plan, HostError> {
    let run = *run;
    let volume = generate(&run, seed);
    let module = load(device, &WORKLOAD)?;
    // The border is never written: both buffers start with it.
    let mut buffers = [device.alloc_slice(&volume)?, device.alloc_slice(&volume)?];
    let results = buffers;
    let mut launches: Vec<Launch> = Vec::new();
    for _ in 0..run.steps {
        let mut args = vec![Arg::F32(CENTRE), Arg::F32(NEIGHBOUR)];
        args.extend(buffers.map(Arg::Pointer));
        args.extend(run.cells.map(Arg::U32));
        launches.push(shape(&run).launch(module, args));
        buffers.reverse();
    }
    Ok(Plan::new(launches, move |device| {
        let steps = device.launches_of(run.steps);
        let actual = device.last_output(results[steps as usize % 2], volume.len())?;
        let expected = (0..steps).fold(volume.clone(), |now, _| step(&now, run.cells));
        Ok(vec![equal("volume", &actual, &expected)])
    }))
}

/// A picture that is brighter in higher layers.
fn generate(run: &Run, seed: u64) -> Vec<f32> {
    let [nx, ny, nz] = run.cells.map(|n| n as usize);
    let picture = picture::plane(nx, ny, seed, 0);
    let layer = |z: usize| {
        let scale = 1.0 + z as f32 / nz as f32;
        picture.iter().map(move |value| scale * value)
    };
    (0..nz).flat_map(layer).collect()
}

/// A step over the whole volume, with the kernel's order of additions: along z, y and x.
fn step(now: &[f32], cells: [u32; 3]) -> Vec<f32> {
    let [nx, ny, nz] = cells.map(|n| n as usize);
    let mut next = now.to_vec();
    for z in 1..nz - 1 {
        for y in 1..ny - 1 {
            for x in 1..nx - 1 {
                let at = (z * ny + y) * nx + x;
                let layers = now[at + nx * ny] + now[at - nx * ny];
                let rows = layers + now[at + nx] + now[at - nx];
                let sum = rows + now[at + 1] + now[at - 1];
                next[at] = sum * NEIGHBOUR - now[at] * CENTRE;
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uniform_volume_vanishes_inside() {
        // Six neighbours of a sixth of a sixth make what the centre takes away.
        let next = step(&[1.0; 27], [3, 3, 3]);
        assert!(next[13].abs() < 1e-7);
        assert_eq!((next[0], next[12]), (1.0, 1.0));
    }

    #[test]
    fn the_paper_launches_1024_blocks_of_128() {
        let shape = shape(&run(Size::Paper));
        assert_eq!((shape.grid.count(), shape.block.count()), (1024, 128));
    }

    #[test]
    fn smaller_sizes_leave_threads_idle() {
        for size in [Size::Test, Size::Small] {
            let [nx, ny, _] = run(size).cells;
            assert!(!nx.is_multiple_of(2 * BLOCK.x) && !ny.is_multiple_of(BLOCK.y));
        }
    }
}
