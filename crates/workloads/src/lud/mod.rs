//! `lud`: decomposition into triangular factors, by tiles.

mod matrix;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "lud",
    suite: Suite::Rodinia,
    sentence: "Triangular factors of a matrix by tiles of 16 x 16, three launches a tile.",
    source: "Rodinia, lud; LUD in CRAT and Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: "diagonal",
            sentence: "Decomposes a tile on the diagonal: one block, half a warp.",
            entries: &[DIAGONAL],
            alone: false,
        },
        KernelInfo {
            name: "perimeter",
            sentence: "Solves for the tiles beside and below it, two a block.",
            entries: &[PERIMETER],
            alone: false,
        },
        KernelInfo {
            name: "internal",
            sentence: "Updates the rest by products of tiles.",
            entries: &[INTERNAL],
            alone: false,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "At size paper 1,200 x 1,200: Chen 2016's 223 launches and 140,675 blocks.",
        launches: |request| shapes(tiles(request.size)),
        program,
    }],
};

const DIAGONAL: &str = "lud_diagonal";
const PERIMETER: &str = "lud_perimeter";
const INTERNAL: &str = "lud_internal";
/// Side of a tile.
const TILE: u32 = 16;

/// Number of tiles along the matrix's side.
fn tiles(size: Size) -> u32 {
    size.pick(4, 16, 75)
}

/// Three launches for each tile of the diagonal except the last.
fn shapes(tiles: u32) -> Vec<LaunchShape> {
    let (half_warp, warp) = (Dim3::linear(TILE), Dim3::linear(2 * TILE));
    let diagonal = LaunchShape::once(DIAGONAL, Dim3::linear(1), half_warp);
    let mut shapes = Vec::new();
    for left in (1..tiles).rev() {
        let (line, square) = (Dim3::linear(left), Dim3::new(left, left, 1));
        shapes.extend([
            diagonal,
            LaunchShape::once(PERIMETER, line, warp),
            LaunchShape::once(INTERNAL, square, Dim3::new(TILE, TILE, 1)),
        ]);
    }
    shapes.push(diagonal);
    shapes
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let (tiles, seed) = (tiles(request.size), request.seed);
    Sequence::boxed(move |device| plan(device, tiles, seed))
}

fn plan(device: &mut Device, tiles: u32, seed: u64) -> Result<Plan, HostError> {
    let side = tiles * TILE;
    let matrix = matrix::generate(side as usize, seed);
    let module = load(device, &WORKLOAD)?;
    let buffer = device.alloc_slice(&matrix)?;
    let args = |step: usize| {
        let offset = step as u32 * TILE;
        vec![Arg::Pointer(buffer), Arg::U32(side), Arg::U32(offset)]
    };
    let shapes = shapes(tiles).into_iter().enumerate();
    let launches = shapes.map(|(at, shape)| shape.launch(module, args(at / 3)));
    let launches: Vec<_> = launches.collect();
    let all = launches.len() as u32;
    Ok(Plan::new(launches, move |device| {
        let actual = device.last_output(buffer, matrix.len())?;
        let tiles = device.launches_of(all).div_ceil(3);
        let [side, tile, tiles] = [side, TILE, tiles].map(|count| count as usize);
        let expected = matrix::decomposed(matrix.clone(), side, tile, tiles);
        Ok(vec![equal("factors", &actual, &expected)])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_223_times_and_140675_blocks() {
        let shapes = shapes(tiles(Size::Paper));
        let blocks: u64 = shapes.iter().map(|shape| shape.grid.count()).sum();
        assert_eq!((shapes.len(), blocks), (223, 140_675));
    }
}
