//! `bfs`: a breadth-first search, level by level.

mod graph;

use warploom_base::Dim3;
use warploom_run::{
    Arg, Check, Device, DevicePtr, HostAction, HostError, HostProgram, Launch, ModuleId,
};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Times, Variant, WorkloadInfo};
use crate::program::{alloc_zeroed, load};
use graph::{Graph, UNREACHED};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "bfs",
    suite: Suite::Rodinia,
    sentence: "Breadth-first search over a graph: irregular loads, two launches a level.",
    source: "Rodinia, bfs; BFS in GPUDuet, CRAT and Warped-Slicer",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[
        KernelInfo {
            name: EXPAND,
            sentence: "Opens the neighbours of the frontier's nodes.",
            entries: &[EXPAND],
            alone: false,
        },
        KernelInfo {
            name: ADVANCE,
            sentence: "Makes opened nodes the next frontier and raises the flag to go on.",
            entries: &[ADVANCE],
            alone: false,
        },
    ],
    variants: &[
        Variant {
            name: "power-law",
            sentence: "Few nodes with very many neighbours; 1,000,000 nodes and 1,954 blocks at size paper.",
            launches: |request| POWER_LAW.shapes(request.size),
            program: |request| POWER_LAW.program(request),
        },
        Variant {
            name: "uniform",
            sentence: "Random neighbours, 6 on average, as Rodinia's generator makes them; 1,000,000 nodes.",
            launches: |request| UNIFORM.shapes(request.size),
            program: |request| UNIFORM.program(request),
        },
        Variant {
            name: "uniform-16m",
            sentence: "The same with the 16 million nodes of GPUDuet at size paper.",
            launches: |request| UNIFORM_16M.shapes(request.size),
            program: |request| UNIFORM_16M.program(request),
        },
        Variant {
            name: "road",
            sentence: "A road map: at most 4 neighbours, small frontiers, very many levels.",
            launches: |request| ROAD.shapes(request.size),
            program: |request| ROAD.program(request),
        },
    ],
};

const EXPAND: &str = "kernel";
const ADVANCE: &str = "kernel2";
const BLOCK: u32 = 512;
/// Number of launches for each level.
const LAUNCHES_A_LEVEL: u64 = 2;
/// Node at which the search starts.
const SOURCE: usize = 0;

/// A family of graphs.
#[derive(Clone, Copy)]
struct Family {
    /// Number of nodes by size.
    nodes: fn(Size) -> u32,
    generate: fn(u32, u64) -> Graph,
}

const POWER_LAW: Family = Family {
    nodes: |size| size.pick(4_000, 65_536, 1_000_000),
    generate: Graph::power_law,
};

const UNIFORM: Family = Family {
    generate: Graph::uniform,
    ..POWER_LAW
};

const UNIFORM_16M: Family = Family {
    nodes: |size| size.pick(4_000, 65_536, 1 << 24),
    generate: Graph::uniform,
};

const ROAD: Family = Family {
    nodes: |size| size.pick(32 * 32, 96 * 96, 256 * 256),
    generate: Graph::road,
};

impl Family {
    fn shape(self, entry: &'static str, size: Size) -> LaunchShape {
        let grid = Dim3::linear((self.nodes)(size).div_ceil(BLOCK));
        LaunchShape {
            times: Times::UntilDone,
            ..LaunchShape::once(entry, grid, Dim3::linear(BLOCK))
        }
    }

    fn shapes(self, size: Size) -> Vec<LaunchShape> {
        vec![self.shape(EXPAND, size), self.shape(ADVANCE, size)]
    }

    fn program(self, request: &Request) -> Box<dyn HostProgram> {
        let Request { size, seed, .. } = *request;
        Box::new(Program {
            family: self,
            size,
            seed,
            stage: Stage::Expand,
            run: None,
        })
    }
}

/// Next action of the program.
#[derive(Clone, Copy)]
enum Stage {
    Expand,
    Advance,
    Test,
}

/// The host program. It launches both kernels for every level until the second does not set the
/// flag.
struct Program {
    family: Family,
    size: Size,
    seed: u64,
    stage: Stage,
    run: Option<Run>,
}

impl HostProgram for Program {
    fn next(&mut self, device: &mut Device) -> Result<HostAction, HostError> {
        let run = match self.run.take() {
            Some(run) => run,
            None => Run::new(
                device,
                (self.family.generate)((self.family.nodes)(self.size), self.seed),
            )?,
        };
        let run = self.run.insert(run);
        if matches!(self.stage, Stage::Test) {
            if !run.take_flag(device)? {
                return Ok(HostAction::Done);
            }
            self.stage = Stage::Expand;
        }
        let launch = match self.stage {
            Stage::Expand => {
                self.stage = Stage::Advance;
                run.expand(&self.family.shape(EXPAND, self.size))
            }
            Stage::Advance | Stage::Test => {
                self.stage = Stage::Test;
                run.advance(&self.family.shape(ADVANCE, self.size))
            }
        };
        Ok(HostAction::Launch(launch))
    }

    /// The launch with the largest frontier: that of the distance with the most nodes.
    fn analysis_start(&self) -> u64 {
        let graph = (self.family.generate)((self.family.nodes)(self.size), self.seed);
        LAUNCHES_A_LEVEL * widest(&graph.distances(SOURCE))
    }

    fn checks(&mut self, device: &Device) -> Result<Vec<Check>, HostError> {
        self.run
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), |run| run.checks(device))
    }
}

/// The level with the most nodes, the first if there are several.
fn widest(distances: &[i32]) -> u64 {
    let mut sizes = Vec::new();
    for level in distances.iter().filter_map(|d| usize::try_from(*d).ok()) {
        sizes.resize(sizes.len().max(level + 1), 0_u32);
        sizes[level] += 1;
    }
    let most = sizes.iter().max().copied().unwrap_or(0);
    sizes.iter().position(|size| *size == most).unwrap_or(0) as u64
}

/// A graph with the search's state on the device.
struct Run {
    graph: Graph,
    module: ModuleId,
    nodes: DevicePtr,
    targets: DevicePtr,
    frontier: DevicePtr,
    opened: DevicePtr,
    visited: DevicePtr,
    cost: DevicePtr,
    again: DevicePtr,
}

impl Run {
    fn new(device: &mut Device, graph: Graph) -> Result<Self, HostError> {
        let count = graph.nodes();
        let run = Self {
            module: load(device, &WORKLOAD)?,
            nodes: device.alloc_slice(&graph.extents())?,
            targets: device.alloc_slice(&graph.targets)?,
            frontier: alloc_zeroed::<u8>(device, count)?,
            opened: alloc_zeroed::<u8>(device, count)?,
            visited: alloc_zeroed::<u8>(device, count)?,
            cost: device.alloc_slice(&vec![UNREACHED; count])?,
            again: alloc_zeroed::<u8>(device, 1)?,
            graph,
        };
        let at = SOURCE as u64;
        device.write_slice(run.frontier.offset(at), &[1_u8])?;
        device.write_slice(run.visited.offset(at), &[1_u8])?;
        device.write_slice(run.cost.offset(4 * at), &[0_i32])?;
        Ok(run)
    }

    fn expand(&self, shape: &LaunchShape) -> Launch {
        let pointers = [
            self.nodes,
            self.targets,
            self.frontier,
            self.opened,
            self.visited,
            self.cost,
        ];
        self.launch(shape, &pointers)
    }

    fn advance(&self, shape: &LaunchShape) -> Launch {
        self.launch(
            shape,
            &[self.frontier, self.opened, self.visited, self.again],
        )
    }

    /// A launch of either kernel with pointers, followed by the number of nodes.
    fn launch(&self, shape: &LaunchShape, pointers: &[DevicePtr]) -> Launch {
        let mut args: Vec<_> = pointers.iter().copied().map(Arg::Pointer).collect();
        args.push(Arg::U32(self.graph.nodes() as u32));
        shape.launch(self.module, args)
    }

    /// Reads the flag and clears it for the next level.
    fn take_flag(&self, device: &mut Device) -> Result<bool, HostError> {
        let raised = device.read_vec::<u8>(self.again, 1)? != [0];
        device.write_slice(self.again, &[0_u8])?;
        Ok(raised)
    }

    fn checks(&self, device: &Device) -> Result<Vec<Check>, HostError> {
        let expected = self.graph.distances(SOURCE);
        let actual = device.output::<i32>(self.cost, expected.len())?;
        Ok(vec![equal("cost", &actual, &expected)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn analysis_starts_where_the_frontier_is_largest() {
        // Level 0 has one node, 1 two, 2 three, and 3 two; one node is never reached.
        assert_eq!(widest(&[0, 1, 2, UNREACHED, 2, 1, 2, 3, 3]), 2);
        assert_eq!(widest(&[0, 1]), 0, "the first of several");
        let request = Request {
            size: Size::Test,
            seed: 1,
            only: None,
        };
        let start = UNIFORM.program(&request).analysis_start();
        assert!(
            start > 0 && start.is_multiple_of(LAUNCHES_A_LEVEL),
            "{start}"
        );
    }

    #[test]
    fn the_papers_grids_have_1954_and_32768_blocks() {
        assert_eq!(UNIFORM.shape(EXPAND, Size::Paper).grid, Dim3::linear(1954));
        assert_eq!(
            UNIFORM_16M.shape(EXPAND, Size::Paper).grid,
            Dim3::linear(32_768)
        );
    }
}
