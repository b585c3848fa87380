//! The state that a block's warps share.

use crate::launch::KernelLaunch;
use crate::state::barrier::BarrierTable;
use crate::state::race::RaceTable;
use warploom_base::Dim3;

/// A block in execution: its place in the grid, shared memory, barriers.
#[derive(Clone, Debug, Default)]
pub struct BlockState {
    pub(crate) ctaid: Dim3,
    pub(crate) shared: Vec<u8>,
    /// One bit per shared byte that was written, when that is checked.
    pub(crate) shared_written: Vec<u64>,
    /// Barriers; the caller reports arrivals and exits to it.
    pub barriers: BarrierTable,
}

impl BlockState {
    /// A block that is not running; `reset` it before use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Becomes block `ctaid` of a launch at its start. Shared memory is zero.
    pub fn reset(&mut self, ctx: &KernelLaunch, ctaid: Dim3) {
        self.ctaid = ctaid;
        let bytes = ctx.shared_bytes as usize;
        self.shared.clear();
        self.shared.resize(bytes, 0);
        self.shared_written.clear();
        if ctx.checks.uninitialised {
            self.shared_written.resize(bytes.div_ceil(64), 0);
        }
        let warps = ctx.warps_per_block();
        self.barriers.reset(warps);
        let races = ctx
            .checks
            .shared_races
            .then(|| Box::new(RaceTable::new(bytes, warps)));
        self.barriers.races = races;
    }

    /// Place in the grid.
    pub fn ctaid(&self) -> Dim3 {
        self.ctaid
    }

    /// Shared memory.
    pub fn shared(&self) -> &[u8] {
        &self.shared
    }

    pub(crate) fn mark_written(&mut self, at: usize, bytes: usize) {
        if !self.shared_written.is_empty() {
            (at..at + bytes).for_each(|b| self.shared_written[b / 64] |= 1 << (b % 64));
        }
    }

    pub(crate) fn is_written(&self, at: usize, bytes: usize) -> bool {
        (at..at + bytes).all(|b| self.shared_written[b / 64] >> (b % 64) & 1 == 1)
    }
}
