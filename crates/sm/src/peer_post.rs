//! Requests of the blocks of a cluster to each other across SMs.

use warploom_base::{BlockId, Cycle, KernelSlot, Pc, WarpSlot};
use warploom_exec::{ClusterSignal, Completion, PeerAccesses};

/// Request of a block to other blocks of its cluster, with its place and time.
#[derive(Debug)]
pub struct PeerPost {
    /// Cycle in which it is made.
    pub at: Cycle,
    /// Kernel of the block.
    pub kernel: KernelSlot,
    /// Rank of the block in the grid.
    pub block: u64,
    /// Content of the request.
    pub what: PeerRequest,
}

/// Request of a block to other blocks of its cluster.
#[derive(Debug)]
pub enum PeerRequest {
    /// An instruction accesses their shared memory.
    Access(Box<PeerInst>),
    /// All of them are to hear of the block's arrival at the cluster's barrier.
    Signal(ClusterSignal),
    /// Bulk copies to the shared memory of one of them have ended.
    Complete(Completion),
}

/// An instruction that accesses shared memory of other blocks.
#[derive(Debug)]
pub struct PeerInst {
    /// Slot of the warp.
    pub(crate) slot: WarpSlot,
    /// Slot of the block.
    pub(crate) block: BlockId,
    /// Program counter of the instruction.
    pub(crate) pc: Pc,
    /// Accesses to other blocks.
    pub accesses: PeerAccesses,
}
