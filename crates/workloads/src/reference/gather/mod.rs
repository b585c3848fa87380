//! `ref-gather`: one step of a frontier's expansion over a random graph.

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use super::SOURCE;
use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_output, load};

mod graph;

use graph::Graph;

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "ref-gather",
    suite: Suite::Reference,
    sentence: "Visits the neighbours of a random half of a graph's nodes.",
    source: SOURCE,
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "gather",
        sentence: "One node a thread, a loop over its neighbours.",
        entries: &["gather"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "The recording's graph, whatever the seed; at size paper 65,536 nodes.",
        launches: |request| vec![shape(request.size)],
        program,
    }],
};

const BLOCK: u32 = 256;
/// The level whose nodes are active.
const CURRENT: u32 = 3;

fn nodes(size: Size) -> u32 {
    size.pick(1 << 11, 1 << 14, 1 << 16)
}

fn shape(size: Size) -> LaunchShape {
    let blocks = nodes(size) / BLOCK;
    LaunchShape::once("gather", Dim3::linear(blocks), Dim3::linear(BLOCK))
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let size = request.size;
    Sequence::boxed(move |device| plan(device, size))
}

fn plan(device: &mut Device, size: Size) -> Result<Plan, HostError> {
    let graph = Graph::generate(nodes(size), CURRENT as i32);
    let count = graph.levels.len();
    let module = load(device, &WORKLOAD)?;
    let inputs = [&graph.rows, &graph.columns, &graph.levels, &vec![0; count]];
    let mut pointers = Vec::new();
    for input in inputs {
        pointers.push(device.alloc_slice(input)?);
    }
    let (next, sums) = (pointers[3], alloc_output::<i32>(device, count)?);
    pointers.push(sums);
    let pointers = pointers.into_iter().map(Arg::Pointer);
    let numbers = [nodes(size), CURRENT].map(Arg::U32);
    let launch = shape(size).launch(module, pointers.chain(numbers).collect());
    Ok(Plan::new(vec![launch], move |device| {
        let (next_want, sums_want) = graph.expand(CURRENT as i32);
        Ok(vec![
            equal("next", &device.output(next, count)?, &next_want),
            equal("sum", &device.output(sums, count)?, &sums_want),
        ])
    }))
}
