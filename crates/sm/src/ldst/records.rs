//! What the load/store unit knows of an instruction on its way.

use warploom_base::{Cycle, KernelSlot, LaneMask, Pc, WarpSlot};
use warploom_exec::AtomicBatch;
use warploom_mem::{AccessKind, Reply};

/// Which way an instruction goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Path {
    /// Shared memory.
    Shared,
    /// Constant cache: `ld.const`, kernel parameters.
    Constant,
    /// Texture cache.
    Texture,
    /// Data cache.
    Data,
    /// Straight to the network.
    BypassL1,
}

/// One memory instruction.
#[derive(Clone, Copy, Debug)]
pub struct MemInst {
    /// Who issued it: its slot, where contexts are switched its context.
    pub warp: WarpSlot,
    /// A load from global memory that has left the unit, where contexts are switched.
    pub awaited: bool,
    /// Of which kernel.
    pub kernel: KernelSlot,
    /// Which instruction.
    pub pc: Pc,
    /// Which way it goes.
    pub path: Path,
    /// Something waits for its replies (loads, atomics, texture reads).
    pub replies: bool,
    /// Its warp waits until it took effect: an atomic, also one on shared memory.
    pub atomic: bool,
    /// Kind of its transactions.
    pub kind: AccessKind,
    /// Replies to come, for transactions not yet sent too.
    pub pending: u32,
    /// Cycles that shared memory needs.
    pub shared_cycles: u32,
    /// Its transactions.
    pub list: u16,
    /// Its group, of an asynchronous copy.
    pub copy: Option<u8>,
    /// What it brings is as it should be once all is [settled](crate::host::SettledUpTo) up to this
    /// cycle: that in which it issued, if what it loads is kept; the one behind that in which the
    /// last of its atomics that replies have come for acted; else 0.
    pub settles_at: Cycle,
}

impl MemInst {
    /// What a place holds that nothing has taken.
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
        list: 0,
        copy: None,
        settles_at: 0,
    };

    /// A reply has come in cycle `now`: of an atomic, it left L2 when that acted.
    #[inline]
    pub fn note_atomic(&mut self, now: Cycle, reply: &Reply) {
        if self.kind == AccessKind::GlobalAtomic {
            let acted_at = now - Cycle::from((now as u32).wrapping_sub(reply.returned_at));
            self.settles_at = self.settles_at.max(acted_at + 1);
        }
    }

    /// A load that may go to global memory, and not to shared memory's atomics.
    pub fn is_global_load(&self) -> bool {
        self.kind == AccessKind::GlobalRead && matches!(self.path, Path::Data | Path::BypassL1)
    }
}

/// An atomic instruction on its way: a warp has at most one.
#[derive(Clone, Debug)]
pub struct PendingAtomic {
    /// What to do in which lanes.
    pub batch: AtomicBatch,
    /// Lanes of each transaction, by the number in the request's token.
    pub lanes: [LaneMask; 33],
    /// Old values by lane, as far as they have arrived.
    pub results: [u64; 32],
}

impl PendingAtomic {
    /// That of a warp that has none.
    pub fn none() -> Self {
        Self {
            batch: AtomicBatch::default(),
            lanes: [0; 33],
            results: [0; 32],
        }
    }
}
