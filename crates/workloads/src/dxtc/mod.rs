//! `dxtc`: DXT1 compression of a picture.

mod blocks;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::picture;
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "dxtc",
    suite: Suite::CudaSdk,
    sentence: "DXT1 compression: end colours and indices of 4 x 4 pixels by trying all clusterings.",
    source: "CUDA SDK, sample dxtc; DTC in CRAT, DXT in Warped-Slicer",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "compress",
        sentence: "Compresses 4 x 4 pixels a block.",
        entries: &["compress"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "A picture; at size paper the first launch of 512 x 512 pixels, 10,752 blocks of 64.",
        launches: |request| shapes(request.size),
        program,
    }],
};

/// Numbers of pixel blocks in x and y; at size paper the part of the picture that one launch
/// processes.
fn extents(size: Size) -> (u32, u32) {
    size.pick((4, 2), (20, 12), (128, 84))
}

/// Largest number of blocks in a launch: at size paper 768 for each of 14 SMs.
fn most_blocks(size: Size) -> u32 {
    size.pick(5, 168, 768 * 14)
}

fn shapes(size: Size) -> Vec<LaunchShape> {
    let (across, down) = extents(size);
    let (blocks, most) = (across * down, most_blocks(size));
    let starts = (0..blocks).step_by(most as usize);
    let shape = |start| {
        let grid = Dim3::linear(most.min(blocks - start));
        LaunchShape::once("compress", grid, Dim3::linear(64))
    };
    starts.map(shape).collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let Request { size, seed, .. } = *request;
    Sequence::boxed(move |device| plan(device, size, seed))
}

fn plan(device: &mut Device, size: Size, seed: u64) -> Result<Plan, HostError> {
    let (across, down) = extents(size);
    let width = 4 * across as usize;
    let image = blocks::by_blocks(&picture::colours(width, 4 * down as usize, seed), width);
    let module = load(device, &WORKLOAD)?;
    let clusterings = device.alloc_slice(&blocks::clusterings())?;
    let input = device.alloc_slice(&image)?;
    let words = 2 * (across * down) as usize;
    let result = alloc_output::<u32>(device, words)?;
    let mut first = 0;
    let launches = shapes(size).into_iter().map(|shape| {
        let mut args = [clusterings, input, result].map(Arg::Pointer).to_vec();
        args.push(Arg::U32(first));
        first += shape.grid.x;
        shape.launch(module, args)
    });
    let launches = launches.collect();
    Ok(Plan::new(launches, move |device| {
        let actual = device.output::<u32>(result, words)?;
        // Trying all clusterings takes long, so it is done only for computed blocks.
        let compressed = |(block, pixels)| {
            if actual.has_computed(2 * block..2 * block + 2) {
                blocks::compressed(pixels)
            } else {
                [0; 2]
            }
        };
        let blocks = image.chunks_exact(16).enumerate();
        let expected: Vec<u32> = blocks.flat_map(compressed).collect();
        Ok(vec![equal("blocks", &actual, &expected)])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_10752_blocks() {
        let grids = shapes(Size::Paper).into_iter().map(|shape| shape.grid.x);
        assert_eq!(grids.collect::<Vec<_>>(), [10_752]);
        assert_eq!(shapes(Size::Small).len(), 2);
    }
}
