//! `cutcp`: electrostatic potential of nearby charges on a lattice.

mod atoms;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, DevicePtr, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};
use atoms::{Box3, REGION, REGION_POINTS, SPACING};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "cutcp",
    suite: Suite::Parboil,
    sentence: "Potential on a lattice of charges within a cutoff, from bins in shared memory.",
    source: "Parboil, cutcp; CP in GPUDuet",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: ENTRY,
        sentence: "A cube of 8 x 8 x 8 lattice points a block, four points a thread.",
        entries: &[ENTRY],
        alone: true,
    }],
    variants: &[Variant {
        name: "water",
        sentence: "A box of water; at size paper 96,602 atoms, 26 launches of 676 blocks of 128.",
        launches: |request| vec![shape(&run(request.size))],
        program,
    }],
};

const ENTRY: &str = "cutoff_potential";
const BLOCK: Dim3 = Dim3::new(8, 2, 8);
/// Largest number of regions that are compared: all except at size paper.
const CHECKED: usize = 256;

/// A cube of water.
#[derive(Clone, Copy)]
struct Run {
    /// Regions along each side.
    regions: u32,
    atoms: u32,
    /// Cutoff distance in Angstrom.
    cutoff: f32,
}

/// Parameters by size. Densities are those of water.
fn run(size: Size) -> Run {
    let (regions, atoms, cutoff) = size.pick((2, 50, 4.0), (4, 396, 8.0), (26, 96_602, 12.0));
    Run {
        regions,
        atoms,
        cutoff,
    }
}

fn shape(run: &Run) -> LaunchShape {
    LaunchShape {
        times: Times::Fixed(run.regions),
        ..LaunchShape::once(ENTRY, Dim3::new(run.regions, run.regions, 1), BLOCK)
    }
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let (run, seed) = (run(request.size), request.seed);
    Sequence::boxed(move |device| plan(device, &run, seed))
}

/// Plans one launch for each layer of regions.
fn plan(device: &mut Device, run: &Run, seed: u64) -> Result<Plan, HostError> {
    let run = *run;
    let water = Box3::generate(run.regions, run.atoms, run.cutoff, seed);
    let module = load(device, &WORKLOAD)?;
    let neighbours = water.neighbours();
    let list = device.variable(module, "neighbours")?;
    device.write_slice(list, &neighbours.concat())?;
    let count = device.variable(module, "neighbour_count")?;
    device.write_slice(count, &[neighbours.len() as u32])?;
    let bins = device.alloc_slice(&water.bins)?;
    let points = run.regions.pow(3) as usize * REGION_POINTS;
    let potential = alloc_output::<f32>(device, points)?;
    let origin = DevicePtr(bins.0 + 4 * water.origin() as u64);
    let cutoff2 = run.cutoff * run.cutoff;
    let launches = (0..run.regions).map(|layer| {
        let args = vec![
            Arg::U32(water.bins_along),
            Arg::U32(water.bins_along),
            Arg::Pointer(origin),
            Arg::F32(SPACING),
            Arg::F32(cutoff2),
            Arg::F32(1.0 / cutoff2),
            Arg::Pointer(potential),
            Arg::U32(layer),
        ];
        shape(&run).launch(module, args)
    });
    let launches = launches.collect();
    Ok(Plan::new(launches, move |device| {
        let count = points.min(CHECKED * REGION_POINTS);
        let expected: Vec<f32> = (0..count)
            .map(|point| water.potential(place(point, run.regions as usize), &neighbours))
            .collect();
        Ok(vec![equal(
            "potential",
            &device.output(potential, count)?,
            &expected,
        )])
    }))
}

/// Coordinates in the lattice of a point; points are stored by regions.
fn place(point: usize, regions: usize) -> [u32; 3] {
    let (region, inside) = (point / REGION_POINTS, point % REGION_POINTS);
    let side = REGION as usize;
    let of =
        |number: usize, side: usize| [number % side, number / side % side, number / side / side];
    let (region, inside) = (of(region, regions), of(inside, side));
    std::array::from_fn(|axis| (region[axis] * side + inside[axis]) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_large_data_set_takes_26_launches_of_676_blocks() {
        let shape = shape(&run(Size::Paper));
        assert_eq!((shape.grid.count(), shape.times), (676, Times::Fixed(26)));
        assert_eq!(shape.block.count(), 128);
    }

    #[test]
    fn points_of_a_region_lie_together() {
        assert_eq!(place(0, 3), [0, 0, 0]);
        assert_eq!(place(9, 3), [1, 1, 0]);
        assert_eq!(place(REGION_POINTS, 3), [8, 0, 0]);
        assert_eq!(place(9 * REGION_POINTS + 511, 3), [7, 7, 15]);
    }
}
