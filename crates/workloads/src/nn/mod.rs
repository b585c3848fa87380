//! `nn`: distances of places to a given one.

mod storms;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "nn",
    suite: Suite::Rodinia,
    sentence: "Distance of every storm's place to a given one: three loads and stores, a root.",
    source: "Rodinia, nn; KNN in Warped-Slicer, NN in Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "euclid",
        sentence: "One place a thread.",
        entries: &["euclid"],
        alone: true,
    }],
    variants: &[
        Variant {
            name: "block256",
            sentence: "Blocks of 256; at size paper 2,673 of them, as in Warped-Slicer.",
            launches: |request| vec![BLOCK_256.shape(request.size)],
            program: |request| BLOCK_256.program(request),
        },
        Variant {
            name: "block32",
            sentence: "Blocks of one warp; at size paper 5,120 of them, as in Chen 2016.",
            launches: |request| vec![BLOCK_32.shape(request.size)],
            program: |request| BLOCK_32.program(request),
        },
    ],
};

const LATITUDE: f32 = 30.0;
const LONGITUDE: f32 = 90.0;

/// A block shape, and the number of records in the paper that uses it.
#[derive(Clone, Copy)]
struct Geometry {
    block: u32,
    paper_places: u32,
}

/// Rodinia's list of four files with 42,764 records, repeated four times.
const BLOCK_256: Geometry = Geometry {
    block: 256,
    paper_places: 16 * 42_764,
};

const BLOCK_32: Geometry = Geometry {
    block: 32,
    paper_places: 5120 * 32,
};

impl Geometry {
    fn places(self, size: Size) -> u32 {
        size.pick(2_500, 42_764, self.paper_places)
    }

    fn shape(self, size: Size) -> LaunchShape {
        let grid = Dim3::linear(self.places(size).div_ceil(self.block));
        LaunchShape::once("euclid", grid, Dim3::linear(self.block))
    }

    fn program(self, request: &Request) -> Box<dyn HostProgram> {
        let (count, seed) = (self.places(request.size), request.seed);
        let shape = self.shape(request.size);
        Sequence::boxed(move |device| plan(device, &shape, count, seed))
    }
}

fn plan(
    device: &mut Device,
    shape: &LaunchShape,
    count: u32,
    seed: u64,
) -> Result<Plan, HostError> {
    let module = load(device, &WORKLOAD)?;
    let places = storms::places(count as usize, seed);
    let distances = alloc_output::<f32>(device, count as usize)?;
    let args = vec![
        Arg::Pointer(device.alloc_slice(&places)?),
        Arg::Pointer(distances),
        Arg::U32(count),
        Arg::F32(LATITUDE),
        Arg::F32(LONGITUDE),
    ];
    Ok(Plan::new(vec![shape.launch(module, args)], move |device| {
        let actual = device.output(distances, count as usize)?;
        Ok(vec![equal("distances", &actual, &reference(&places))])
    }))
}

/// Distances with the PTX's operations.
fn reference(places: &[f32]) -> Vec<f32> {
    let distance = |place: &[f32]| {
        let (across, along) = (LATITUDE - place[0], LONGITUDE - place[1]);
        along.mul_add(along, across * across).sqrt()
    };
    places.chunks_exact(2).map(distance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_grids_have_2673_and_5120_blocks() {
        assert_eq!(BLOCK_256.shape(Size::Paper).grid, Dim3::linear(2673));
        assert_eq!(BLOCK_32.shape(Size::Paper).grid, Dim3::linear(5120));
    }

    #[test]
    fn distances_are_those_of_a_plane() {
        assert_eq!(reference(&[30.0, 90.0, 33.0, 94.0]), [0.0, 5.0]);
    }
}
