//! What a branch decides: the blocks between it and the place where its sides meet again.

use fixedbitset::FixedBitSet;
use warploom_ir::cfg::Cfg;

/// Blocks that run or not as one branch decides, and on which of its sides they lie.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The block that ends with the branch.
    pub branch: usize,
    /// Where the sides meet: the branch's immediate post-dominator, if there is one.
    pub meet: Option<usize>,
    /// For each successor of the branch the blocks that can be reached from it before the meeting.
    sides: Vec<FixedBitSet>,
}

impl Region {
    /// `meet`: the immediate post-dominator of `branch`.
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

    /// The block lies on one side only.
    pub fn on_one_side(&self, block: usize) -> bool {
        self.sides.iter().filter(|s| s.contains(block)).count() == 1
    }

    /// Both blocks are inside, on different sides.
    pub fn apart(&self, a: usize, b: usize) -> bool {
        self.contains(a)
            && self.contains(b)
            && !self.sides.iter().any(|s| s.contains(a) && s.contains(b))
    }
}

/// Blocks that can be reached from `from`, itself included, without entering `stop`.
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
