//! Shared memory and barriers of clusters of several blocks, which may run on several SMs.
//!
//! An SM posts what its blocks do to other blocks of their clusters. The device passes it on
//! between steps: data at once, as stores to global memory become visible, and everything that a
//! block may wait for after half of `sm.cluster_latency_cycles` (docs/model/load-store.md,
//! Clusters).

use crate::flight::MemId;
use crate::ldst::Path;
use crate::prepared_kernel::prepared_kernel;
use crate::sm::Sm;
use warploom_base::{BlockId, Cycle, KernelSlot, Pc, WarpSlot};
use warploom_exec::{
    BlockState, ClusterSignal, Completion, DeviceMemory, MemEffect, MemKind, PeerAccesses,
};

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
    slot: WarpSlot,
    /// Slot of the block.
    block: BlockId,
    /// Program counter of the instruction.
    pc: Pc,
    /// Accesses to other blocks.
    pub accesses: PeerAccesses,
}

impl Sm {
    /// Creates the record of an instruction that accesses shared memory of other blocks, and posts
    /// its accesses.
    #[cold]
    pub(crate) fn peers_record(&mut self, slot: WarpSlot, effect: MemEffect) -> MemId {
        let all = self.out.peers.all().iter();
        let bytes: u32 = all.map(|access| access.size().max(1)).sum();
        let kind = match effect.kind {
            // Nothing waits for a reduction without a result.
            MemKind::Atomic if !effect.returns => MemKind::Store,
            kind => kind,
        };
        let id = self.memory_record(slot, MemEffect { kind, ..effect });
        let inst = &mut self.ldst.insts[id.0];
        inst.path = Path::Peers;
        inst.shared_cycles = inst.shared_cycles.max(bytes.div_ceil(self.peer_bytes));
        self.post_accesses(slot);
        id
    }

    /// Posts the accesses of the instruction that was just executed to other blocks, if it has any.
    #[cold]
    pub(crate) fn post_accesses(&mut self, slot: WarpSlot) {
        if self.out.peers.is_empty() {
            return;
        }
        let block = self.warps.track[slot.index()].block;
        let inst = PeerInst {
            slot,
            block,
            pc: self.out.pc,
            accesses: std::mem::take(&mut self.out.peers),
        };
        self.post(block, PeerRequest::Access(Box::new(inst)));
    }

    /// Posts what the other blocks of a cluster have to hear of a block about their barrier.
    #[cold]
    pub(crate) fn post_signal(&mut self, block: BlockId) {
        let barriers = &mut self.blocks[block.index()].state.barriers;
        if let Some(signal) = barriers.take_signal() {
            self.post(block, PeerRequest::Signal(signal));
        }
    }

    /// Posts a request of a block.
    pub(crate) fn post(&mut self, block: BlockId, what: PeerRequest) {
        let own = &self.blocks[block.index()];
        self.posts.push(PeerPost {
            at: self.counted_to,
            kernel: own.kernel,
            block: own.rank,
            what,
        });
    }

    /// Slot of a block that runs.
    fn running_block(&self, kernel: KernelSlot, rank: u64) -> Option<usize> {
        let is_it = |block: &crate::blocks::BlockSlot| {
            block.live_warps > 0 && block.kernel == kernel && block.rank == rank
        };
        self.blocks.iter().position(is_it)
    }

    /// State of a block that runs, for accesses of other blocks of its cluster.
    pub fn peer_block(&mut self, kernel: KernelSlot, rank: u64) -> Option<&mut BlockState> {
        let slot = self.running_block(kernel, rank)?;
        Some(&mut self.blocks[slot].state)
    }

    /// Writes what an instruction has read from other blocks to the registers of its warp.
    pub fn finish_access(&mut self, kernel: KernelSlot, inst: &PeerInst) {
        let launch = &prepared_kernel(&self.kernels, kernel).launch;
        let warp = &mut self.warps.exec[inst.slot.index()];
        inst.accesses.write_results(launch, warp, inst.pc);
    }

    /// Ends the run with the fault of access `nth` of an instruction of cycle `at`, whose block has
    /// ended, unless there was one before.
    #[cold]
    pub fn miss_block(
        &mut self,
        (at, kernel): (Cycle, KernelSlot),
        inst: &PeerInst,
        nth: usize,
        memory: &DeviceMemory,
    ) {
        if self.fault.is_some() {
            return;
        }
        let launch = &prepared_kernel(&self.kernels, kernel).launch;
        let block = &self.blocks[inst.block.index()].state;
        let place = (launch, block, &self.warps.exec[inst.slot.index()]);
        self.fault = Some((at, inst.accesses.fault(nth, place, memory, inst.pc)));
    }

    /// Notes in cycle `now`, before it runs, what a block hears of another one, given by its rank
    /// in the cluster, about the cluster's barrier. Returns whether warps go on.
    pub fn hear_peer(
        &mut self,
        now: Cycle,
        (kernel, rank): (KernelSlot, u64),
        from: u32,
        signal: ClusterSignal,
    ) -> bool {
        let Some(slot) = self.running_block(kernel, rank) else {
            return false;
        };
        // Cycles through which it slept were before the signal.
        self.count_to(now);
        let barriers = &mut self.blocks[slot].state.barriers;
        let Some(release) = barriers.hear(from, signal) else {
            return false;
        };
        self.at_rest = false;
        self.release_barrier(BlockId::new(slot), &release);
        true
    }
}
