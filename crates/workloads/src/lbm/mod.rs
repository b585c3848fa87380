//! `lbm`: lattice-Boltzmann flow in a lid-driven cavity.

mod fluid;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, DevicePtr, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, load};
use fluid::Lattice;

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "lbm",
    suite: Suite::Parboil,
    sentence: "A lattice-Boltzmann step with 19 velocities: twenty arrays streamed in and out.",
    source: "Parboil, lbm; LBM in GPUDuet, CRAT and Warped-Slicer",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "stream_collide",
        sentence: "Relaxes the distributions of a cell and scatters them to its neighbours.",
        entries: &ENTRIES,
        alone: true,
    }],
    variants: &[
        Variant {
            name: "cavity",
            sentence: "A lid-driven cavity; at size paper 120 x 120 x 150 cells, 18,000 blocks of 120.",
            launches: |request| vec![shape(request.size, steps(request.size))],
            program: |request| program(request, steps(request.size)),
        },
        Variant {
            name: "step",
            sentence: "The first of its steps, which are alike.",
            launches: |request| vec![shape(request.size, 1)],
            program: |request| program(request, 1),
        },
    ],
};

/// PTX entries by size, because the extents are constants of the code.
static ENTRIES: [&str; 3] = [
    "stream_collide_24x16x10",
    "stream_collide_56x48x40",
    "stream_collide_120x120x150",
];

fn extents(size: Size) -> [u32; 3] {
    size.pick([24, 16, 10], [56, 48, 40], [120, 120, 150])
}

fn steps(size: Size) -> u32 {
    size.pick(2, 2, 4)
}

fn shape(size: Size, steps: u32) -> LaunchShape {
    let [x, y, z] = extents(size);
    let [small, medium, large] = ENTRIES;
    let entry = size.pick(small, medium, large);
    LaunchShape {
        times: Times::Fixed(steps),
        ..LaunchShape::once(entry, Dim3::new(y, z, 1), Dim3::linear(x))
    }
}

fn program(request: &Request, steps: u32) -> Box<dyn HostProgram> {
    let Request { size, seed, .. } = *request;
    Sequence::boxed(move |device| plan(device, size, steps, seed))
}

/// The two buffers alternate; both start with the same distributions and flags.
fn plan(device: &mut Device, size: Size, steps: u32, seed: u64) -> Result<Plan, HostError> {
    let lattice = Lattice::generate(extents(size).map(|n| n as usize), seed);
    let module = load(device, &WORKLOAD)?;
    let mut buffers = [
        device.alloc_slice(&lattice.values)?,
        device.alloc_slice(&lattice.values)?,
    ];
    let (shape, margin) = (shape(size, steps), 4 * lattice.margin() as u64);
    let (mut launches, results) = (Vec::new(), buffers);
    for _ in 0..steps {
        let args = buffers.map(|buffer| Arg::Pointer(DevicePtr(buffer.0 + margin)));
        launches.push(shape.launch(module, args.to_vec()));
        buffers.reverse();
    }
    Ok(Plan::new(launches, move |device| {
        let steps = device.launches_of(steps);
        let actual = device.last_output(results[steps as usize % 2], lattice.values.len())?;
        let expected = lattice.after(steps);
        Ok(vec![equal("distributions", &actual, &expected)])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_18000_blocks_of_120() {
        let shape = shape(Size::Paper, 1);
        assert_eq!((shape.grid.count(), shape.block.count()), (18_000, 120));
    }

    #[test]
    fn entries_carry_their_extents() {
        for size in Size::ALL {
            let [x, y, z] = extents(size);
            assert!(shape(size, 1).entry.ends_with(&format!("_{x}x{y}x{z}")));
        }
    }
}
