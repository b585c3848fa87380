//! The region of a branch: the blocks between the branch and the point where its sides rejoin.

use fixedbitset::FixedBitSet;
use warploom_ir::cfg::Cfg;

/// The blocks whose execution one branch determines, and the sides of the branch that contain them.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The block that ends with the branch.
    pub branch: usize,
    /// The block where the sides rejoin: the branch's immediate post-dominator, if there is one.
    pub meet: Option<usize>,
    /// The blocks reachable from each successor of the branch before the sides rejoin.
    sides: Vec<FixedBitSet>,
}

impl Region {
    /// Computes the region of the branch at the end of block `branch`, whose immediate
    /// post-dominator is `meet`.
    pub fn new(cfg: &Cfg, branch: usize, meet: Option<usize>) -> Self {
        let succs = &cfg.blocks[branch].succs;
        let sides = succs.iter().map(|&s| reach(cfg, s, meet)).collect();
        Self {
            branch,
            meet,
            sides,
        }
    }

    pub fn contains(&self, block: usize) -> bool {
        self.sides.iter().any(|side| side.contains(block))
    }

    /// Returns whether a block is on exactly one side of the branch.
    pub fn on_one_side(&self, block: usize) -> bool {
        self.sides.iter().filter(|s| s.contains(block)).count() == 1
    }

    /// Returns whether two blocks are in the region but on no common side.
    pub fn apart(&self, a: usize, b: usize) -> bool {
        self.contains(a)
            && self.contains(b)
            && !self.sides.iter().any(|s| s.contains(a) && s.contains(b))
    }
}

/// Returns the blocks reachable from `from`, including `from`, on paths that do not enter `stop`.
pub(crate) fn reach(cfg: &Cfg, from: usize, stop: Option<usize>) -> FixedBitSet {
    let mut found = FixedBitSet::with_capacity(cfg.blocks.len());
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if Some(block) != stop && !found.put(block) {
            work.extend(cfg.blocks[block].succs.iter().copied());
        }
    }
    found
}
