//! `nw`: global alignment of two sequences.

mod sequences;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, DevicePtr, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_zeroed, load};
use sequences::Pair;

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "nw",
    suite: Suite::Rodinia,
    sentence: "Alignment of two sequences over anti-diagonals of tiles; blocks of half a warp.",
    source: "Rodinia, nw; NEED in CRAT, NW in Chen 2016",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: UPPER,
            sentence: "Tiles of one anti-diagonal, up to the longest.",
            entries: &[UPPER],
            alone: false,
        },
        KernelInfo {
            name: LOWER,
            sentence: "Tiles of one anti-diagonal after the longest.",
            entries: &[LOWER],
            alone: false,
        },
    ],
    variants: &[Variant {
        name: "default",
        sentence: "At size paper sequences of 4,096: Chen 2016's 511 launches and 65,536 blocks.",
        launches: |request| shapes(tiles(request.size)),
        program,
    }],
};

const UPPER: &str = "needle_1";
const LOWER: &str = "needle_2";
/// Side of a tile.
const TILE: u32 = 16;
/// Cost of a gap.
const PENALTY: i32 = 10;

/// Number of tiles along the matrix's side.
fn tiles(size: Size) -> u32 {
    size.pick(8, 40, 256)
}

fn shapes(side: u32) -> Vec<LaunchShape> {
    let shape = |entry, tiles| LaunchShape::once(entry, Dim3::linear(tiles), Dim3::linear(TILE));
    let growing = (1..=side).map(|tiles| shape(UPPER, tiles));
    let shrinking = (1..side).rev().map(|tiles| shape(LOWER, tiles));
    growing.chain(shrinking).collect()
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let (side, seed) = (tiles(request.size), request.seed);
    Sequence::boxed(move |device| plan(device, side, seed))
}

fn plan(device: &mut Device, side: u32, seed: u64) -> Result<Plan, HostError> {
    let pair = Pair::generate((side * TILE) as usize, seed);
    let module = load(device, &WORKLOAD)?;
    let reference = device.alloc_slice(&pair.matches())?;
    let matrix = scores(device, pair.columns())?;
    let columns = pair.columns() as u32;
    let launches = shapes(side).into_iter().map(|shape| {
        let mut args = vec![
            Arg::Pointer(reference),
            Arg::Pointer(matrix),
            Arg::U32(columns),
            Arg::I32(PENALTY),
            Arg::U32(shape.grid.x),
        ];
        if shape.entry == LOWER {
            args.push(Arg::U32(side));
        }
        shape.launch(module, args)
    });
    Ok(Plan::new(launches.collect(), move |device| {
        let expected = pair.scores(PENALTY);
        let actual = device.output(matrix, expected.len())?;
        Ok(vec![equal("scores", &actual, &expected)])
    }))
}

/// Creates the matrix. Its first row and column contain the scores of gaps alone.
fn scores(device: &mut Device, columns: usize) -> Result<DevicePtr, HostError> {
    let matrix = alloc_zeroed::<i32>(device, columns * columns)?;
    let gaps: Vec<i32> = (0..columns as i32).map(|gap| -gap * PENALTY).collect();
    device.write_slice(matrix, &gaps)?;
    for (row, gap) in gaps.iter().enumerate() {
        device.write_slice(matrix.offset((4 * row * columns) as u64), &[*gap])?;
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_launches_511_times_and_65536_blocks() {
        let shapes = shapes(tiles(Size::Paper));
        let blocks: u64 = shapes.iter().map(|shape| shape.grid.count()).sum();
        assert_eq!((shapes.len(), blocks), (511, 65_536));
    }
}
