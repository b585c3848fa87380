//! State shared by the warps of a block.

use crate::launch::KernelLaunch;
use crate::state::barrier::{ALL_BARRIERS, BarrierTable};
use crate::state::barrier_object::BarrierObject;
use crate::state::race::RaceTable;
use warploom_base::Dim3;
use warploom_ir::MbarrierOp;
use warploom_state::Value;

/// A block in execution: its index in the grid, its shared memory and its barriers.
#[derive(Clone, Debug, Default, Value)]
pub struct BlockState {
    pub(crate) ctaid: Dim3,
    pub(crate) shared: Vec<u8>,
    /// Bit mask of the bytes of shared memory that were written. Empty unless uninitialised loads
    /// are checked.
    pub(crate) shared_written: Vec<u64>,
    /// Barriers of the block. The caller of [`step`](crate::step()) reports arrivals and exits to
    /// this table.
    pub barriers: BarrierTable,
}

impl BlockState {
    /// Creates a block that does not run. Call [`Self::reset`] before use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns the state into that of block `ctaid` of a launch at its start. Shared memory becomes
    /// zero.
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
        self.barriers.reset(warps, ctx.cluster.place(ctaid));
        let races = ctx
            .checks
            .shared_races
            .then(|| Box::new(RaceTable::new(bytes, warps, ALL_BARRIERS)));
        self.barriers.races = races;
    }

    /// Index of the block in the grid (`%ctaid`).
    pub fn ctaid(&self) -> Dim3 {
        self.ctaid
    }

    /// Contents of the block's shared memory.
    pub fn shared(&self) -> &[u8] {
        &self.shared
    }

    /// Completes transactions of the barrier object at an address of shared memory, which the
    /// instruction that started them has checked.
    pub fn complete_transactions(&mut self, address: u32, count: u32) {
        self.operate(address, MbarrierOp::CompleteTx, count.into());
    }

    /// Applies an operation with its operand to the barrier object at a checked address of shared
    /// memory.
    pub fn operate(&mut self, address: u32, op: MbarrierOp, operand: u64) {
        let object = self.shared.get_mut(address as usize..);
        let Some(bytes) = object.and_then(|bytes| bytes.first_chunk_mut::<8>()) else {
            return;
        };
        let mut barrier = BarrierObject::new(u64::from_le_bytes(*bytes));
        barrier.change(op, operand);
        *bytes = barrier.bits().to_le_bytes();
        self.mark_written(address as usize, 8);
    }

    /// Records that bytes of shared memory were written.
    pub(crate) fn mark_written(&mut self, at: usize, bytes: usize) {
        if !self.shared_written.is_empty() {
            (at..at + bytes).for_each(|b| self.shared_written[b / 64] |= 1 << (b % 64));
        }
    }

    /// True if all of the given bytes of shared memory were written.
    pub(crate) fn is_written(&self, at: usize, bytes: usize) -> bool {
        (at..at + bytes).all(|b| self.shared_written[b / 64] >> (b % 64) & 1 == 1)
    }
}
