//! Least fixed points of data-flow analyses over the blocks of a function, as sets of variables.

use crate::cfg::{Block, Cfg};
use fixedbitset::FixedBitSet;

/// Direction in which facts pass from block to block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// From a block to its successors.
    Forward,
    /// From a block to its predecessors.
    Backward,
}

/// For each block, the union of the sets that reach it: at its start in a forward analysis, at its
/// end in a backward one. Nothing reaches the entry or the exits of the function. `transfer`
/// changes the set that reaches a block into the set that leaves it, and must be monotonic. `size`
/// is the number of variables.
pub(crate) fn fixed_point(
    cfg: &Cfg,
    direction: Direction,
    size: usize,
    transfer: impl Fn(&Block, &mut FixedBitSet),
) -> Vec<FixedBitSet> {
    let count = cfg.blocks.len();
    let predecessors = match direction {
        Direction::Forward => Vec::new(),
        Direction::Backward => cfg.predecessors(),
    };
    let mut reaching = vec![FixedBitSet::with_capacity(size); count];
    let mut queued = FixedBitSet::with_capacity(count);
    queued.insert_range(..);
    let mut work: Vec<usize> = match direction {
        Direction::Forward => (0..count).rev().collect(),
        Direction::Backward => (0..count).collect(),
    };
    while let Some(index) = work.pop() {
        queued.remove(index);
        let block = &cfg.blocks[index];
        let mut leaving = reaching[index].clone();
        transfer(block, &mut leaving);
        let next: &[usize] = match direction {
            Direction::Forward => &block.succs,
            Direction::Backward => &predecessors[index],
        };
        for &next in next {
            let grows = !leaving.is_subset(&reaching[next]);
            reaching[next].union_with(&leaving);
            if grows && !queued.put(next) {
                work.push(next);
            }
        }
    }
    reaching
}
