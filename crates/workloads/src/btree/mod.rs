//! `btree`: look-ups in a B+ tree.

mod tree;

use warploom_base::Dim3;
use warploom_run::{Arg, Device, HostError, HostProgram};

use crate::check::equal;
use crate::info::{KernelInfo, LaunchShape, Request, Size, Suite, Variant, WorkloadInfo};
use crate::program::{Plan, Sequence, alloc_zeroed, load};
use tree::{ABSENT, Tree};

pub(crate) const WORKLOAD: WorkloadInfo = WorkloadInfo {
    name: "btree",
    suite: Suite::Rodinia,
    sentence: "Look-ups in a B+ tree: a block compares all keys of a node at once.",
    source: "Rodinia, b+tree; BT in GPUDuet, B+T in CRAT",
    notes: include_str!("notes.md"),
    ptx: include_str!("kernel.ptx"),
    kernels: &[KernelInfo {
        name: "findK",
        sentence: "Descends from the root for one key a block.",
        entries: &["findK"],
        alone: true,
    }],
    variants: &[Variant {
        name: "default",
        sentence: "At size paper 1,000,000 keys and 10,000 look-ups, a block of 256 each.",
        launches: |request| vec![shape(request.size)],
        program,
    }],
};

/// Number of keys in the tree.
fn keys(size: Size) -> usize {
    size.pick(20_000, 200_000, 1_000_000)
}

/// Number of keys to look up.
fn queries(size: Size) -> u32 {
    size.pick(160, 4_000, 10_000)
}

fn shape(size: Size) -> LaunchShape {
    let (grid, block) = (
        Dim3::linear(queries(size)),
        Dim3::linear(tree::ORDER as u32),
    );
    LaunchShape::once("findK", grid, block)
}

fn program(request: &Request) -> Box<dyn HostProgram> {
    let (size, seed) = (request.size, request.seed);
    Sequence::boxed(move |device| plan(device, size, seed))
}

fn plan(device: &mut Device, size: Size, seed: u64) -> Result<Plan, HostError> {
    let tree = Tree::generate(keys(size), seed);
    let wanted = tree.queries(queries(size), seed);
    let module = load(device, &WORKLOAD)?;
    let answers = device.alloc_slice(&vec![ABSENT; wanted.len()])?;
    let args = vec![
        Arg::I64(tree.height),
        Arg::Pointer(device.alloc_slice(&tree.nodes)?),
        Arg::I64(tree.node_count() as i64),
        Arg::Pointer(device.alloc_slice(&tree.values)?),
        // Every look-up starts at the root, node 0.
        Arg::Pointer(alloc_zeroed::<i64>(device, wanted.len())?),
        Arg::Pointer(alloc_zeroed::<i64>(device, wanted.len())?),
        Arg::Pointer(device.alloc_slice(&wanted)?),
        Arg::Pointer(answers),
    ];
    Ok(Plan::new(
        vec![shape(size).launch(module, args)],
        move |device| {
            let actual = device.output(answers, wanted.len())?;
            let expected: Vec<_> = wanted.iter().map(|&key| tree.find(key)).collect();
            Ok(vec![equal("answers", &actual, &expected)])
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmarks_command_launches_10000_blocks_of_256() {
        let shape = shape(Size::Paper);
        assert_eq!((shape.grid.x, shape.block.x), (10_000, 256));
    }
}
