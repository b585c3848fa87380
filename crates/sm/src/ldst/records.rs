//! Records of memory instructions on their way through the load/store unit.

use super::parked::NO_PLACE;
use crate::flight::MemId;
use warploom_base::{Cycle, KernelSlot, LaneMask, Pc, WarpSlot};
use warploom_exec::AtomicBatch;
use warploom_mem::{AccessKind, Reply};
use warploom_state::Value;

/// Most memory instructions between issue and their last reply.
pub const MEM_RECORDS: usize = 4096;

/// Record of the memory instruction that a request's token names.
#[inline]
pub fn mem_of(token: u32) -> MemId {
    MemId(token as u16)
}

/// Path of an instruction through the load/store unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub enum Path {
    /// To the block's shared memory.
    Shared,
    /// To shared memory of other blocks of the cluster.
    Peers,
    /// Through the constant cache: `ld.const` and kernel parameters.
    Constant,
    /// Through the texture cache.
    Texture,
    /// Through the data cache.
    Data,
    /// Past the caches to the network.
    BypassL1,
    /// To the unit that makes bulk copies.
    Bulk,
}

/// Record of a memory instruction.
#[derive(Clone, Copy, Debug, Value)]
pub struct MemInst {
    /// Warp slot that issued the instruction or, where contexts are switched, its context.
    pub warp: WarpSlot,
    /// True for a load from global memory that has left the unit, where contexts are switched.
    pub awaited: bool,
    /// Kernel of the warp.
    pub kernel: KernelSlot,
    /// Program counter of the instruction.
    pub pc: Pc,
    /// Path of the instruction.
    pub path: Path,
    /// True if replies are waited for (loads, atomics, texture reads).
    pub replies: bool,
    /// True if the warp waits until the instruction took effect: for atomics, also on shared
    /// memory.
    pub atomic: bool,
    /// Kind of the transactions.
    pub kind: AccessKind,
    /// Number of replies to come, also of transactions that are not sent yet.
    pub pending: u32,
    /// Cycles that shared memory needs.
    pub shared_cycles: u32,
    /// Cycles by which the result of shared memory comes later than others.
    pub late_cycles: u32,
    /// Index of the list of transactions.
    pub list: u16,
    /// Group of an asynchronous copy. On path [`Path::Bulk`] a group of bulk copies.
    pub copy: Option<u8>,
    /// Place of a parked load; [`NO_PLACE`] for all others.
    pub parked_at: u8,
    /// Cycle up to which memory must be [settled](crate::host::SettledUpTo) before its result is
    /// read: the cycle of its issue, if the load is recorded; the cycle after the one in which its
    /// last answered atomic acted; else 0.
    pub settles_at: Cycle,
}

impl MemInst {
    /// Content of a record that is free.
    pub const BLANK: Self = Self {
        warp: WarpSlot(0),
        awaited: false,
        kernel: KernelSlot(0),
        pc: Pc(0),
        path: Path::Shared,
        replies: false,
        atomic: false,
        kind: AccessKind::GlobalRead,
        pending: 0,
        shared_cycles: 0,
        late_cycles: 0,
        list: 0,
        copy: None,
        parked_at: NO_PLACE,
        settles_at: 0,
    };

    /// Notes a reply that has come in cycle `now`. The reply to an atomic left L2 when the atomic
    /// acted.
    #[inline]
    pub fn note_atomic(&mut self, now: Cycle, reply: &Reply) {
        if self.kind == AccessKind::GlobalAtomic {
            let acted_at = now - Cycle::from((now as u32).wrapping_sub(reply.returned_at));
            self.settles_at = self.settles_at.max(acted_at + 1);
        }
    }

    /// True for a load that may access global memory.
    pub fn is_global_load(&self) -> bool {
        self.kind == AccessKind::GlobalRead && matches!(self.path, Path::Data | Path::BypassL1)
    }
}

/// Outstanding atomic instruction of a warp, which has at most one.
#[derive(Clone, Debug, Value)]
pub struct PendingAtomic {
    /// Operations and addresses of the lanes.
    pub batch: AtomicBatch,
    /// Lanes of each transaction, by the number in the request's token.
    pub lanes: [LaneMask; 33],
    /// Old values by lane, as far as they have arrived.
    pub results: [u64; 32],
}

impl PendingAtomic {
    /// State of a warp without an atomic.
    pub fn none() -> Self {
        Self {
            batch: AtomicBatch::default(),
            lanes: [0; 33],
            results: [0; 32],
        }
    }
}
