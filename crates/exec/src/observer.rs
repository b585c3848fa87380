//! Observers of execution without timing.

use crate::context::LaunchContext;
use crate::outcome::StepOut;
use warploom_base::Pc;

/// Observer of a functional run, which is called between its steps.
pub trait Observer {
    /// Called before the first block of a grid starts.
    fn begin(&mut self, launch: &LaunchContext);

    /// Called after a warp executed an instruction. `block` is the rank of the block in the grid (x
    /// varies fastest), and `warp` the index of the warp in the block.
    fn stepped(&mut self, block: u64, warp: u32, out: &StepOut);

    /// True if [`stepped`](Self::stepped) has to be called for every instruction. Otherwise it is
    /// called only for those that access memory, but not for all loads of parameters, and for some
    /// others.
    fn follows_all(&self) -> bool {
        true
    }

    /// Called after a warp executed `count` instructions from `first` on, if the observer does not
    /// follow all. [`stepped`](Self::stepped) has been called for some of them.
    fn passed(&mut self, _first: Pc, _count: u32) {}

    /// Called when every warp of a block has exited.
    fn block_ended(&mut self, launch: &LaunchContext, block: u64);

    /// Called when all blocks of the grid have ended.
    fn end(&mut self, launch: &LaunchContext);
}
