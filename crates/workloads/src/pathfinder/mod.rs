//! `pathfinder`: the cheapest way through a grid.

use warploom_base::{Dim3, Rng};
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "pathfinder",
    suite: Suite::Rodinia,
    sentence: "Cheapest way down a grid: many rows a launch in shared memory, with a wide halo.",
    source: "Rodinia, pathfinder; PATH in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "dynproc",
        sentence: "Up to a pyramid's height of rows of one strip.",
        entries: &["dynproc"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "At size paper 100,000 columns and 100 rows, 20 a launch: 463 blocks, 5 launches.",
        launches: |request| vec![run(request.size).shape()],
        program,
    }],
};

const BLOCK: u32 = 256;

#[derive(Clone, Copy)]
struct Run {
    columns: u32,
    rows: u32,
    /// Number of rows per launch.
    pyramid: u32,
}

/// The last launch has fewer rows than the others at all sizes.
fn run(size: Size) -> Run {
    let pick = |columns, rows, pyramid| Run {
        columns,
        rows,
        pyramid,
    };
    size.pick(
        pick(1_000, 25, 10),
        pick(20_000, 50, 20),
        pick(100_000, 100, 20),
    )
}

impl Run {
    fn shape(self) -> LaunchShape {
        let grid = Dim3::linear(self.columns.div_ceil(BLOCK - 2 * self.pyramid));
        LaunchShape {
            times: Times::Fixed((self.rows - 1).div_ceil(self.pyramid)),
            ..LaunchShape::once("dynproc", grid, Dim3::linear(BLOCK))
        }
    }
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let (run, seed) = (run(request.size), request.seed);
    Sequence::boxed(move |device| plan(device, run, seed))
}

fn plan(device: &mut Device, run: Run, seed: u64) -> Result<Plan, HostError> {
    let columns = run.columns as usize;
    let wall = wall(run, seed);
    let module = load(device, &WORKLOAD)?;
    let rest = device.alloc_slice(&wall[columns..])?;
    let mut costs = [
        device.alloc_slice(&wall[..columns])?,
        alloc_output::<i32>(device, columns)?,
    ];
    let (mut launches, results) = (Vec::new(), costs);
    for first in (0..run.rows - 1).step_by(run.pyramid as usize) {
        let args = vec![
            Arg::U32(run.pyramid.min(run.rows - 1 - first)),
            Arg::Pointer(rest),
            Arg::Pointer(costs[0]),
            Arg::Pointer(costs[1]),
            Arg::U32(run.columns),
            Arg::U32(first),
            Arg::U32(run.pyramid),
        ];
        launches.push(run.shape().launch(module, args));
        costs.reverse();
    }
    let all = launches.len() as u32;
    Ok(Plan::new(launches, move |device| {
        let made = device.launches_of(all);
        let actual = device.last_output(results[made as usize % 2], columns)?;
        let rows = run.rows.min(1 + run.pyramid * made) as usize;
        let expected = cheapest(&wall[..rows * columns], columns);
        Ok(vec![equal("costs", &actual, &expected)])
    }))
}

/// Costs from 0 to 9 in row-major order.
fn wall(run: Run, seed: u64) -> Vec<i32> {
    let mut rng = Rng::new(seed);
    let cells = run.rows * run.columns;
    (0..cells).map(|_| rng.below(10) as i32).collect()
}

/// Cost of the cheapest way to each cell of the last row.
fn cheapest(wall: &[i32], columns: usize) -> Vec<i32> {
    let mut rows = wall.chunks_exact(columns);
    let mut above: Vec<i32> = rows.next().map_or_else(Vec::new, <[i32]>::to_vec);
    for row in rows {
        let least = |column: usize| {
            let near = column.saturating_sub(1)..(column + 2).min(columns);
            above[near].iter().min().copied().unwrap_or_default()
        };
        let cells = row.iter().enumerate();
        above = cells.map(|(column, cost)| least(column) + cost).collect();
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_command_launches_463_blocks_five_times() {
        let shape = run(Size::Paper).shape();
        assert_eq!((shape.grid.x, shape.times), (463, Times::Fixed(5)));
    }

    #[test]
    fn ways_go_straight_down_or_one_aside() {
        let wall = [1, 9, 9, 9, 0, 9, 0, 9, 9];
        assert_eq!(cheapest(&wall, 3), [1, 10, 10]);
    }
}
