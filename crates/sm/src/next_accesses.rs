//! Accesses to memory by the next instructions of warps, for gates of warp schedulers.

use crate::warps::Slots;
use warploom_base::WarpSlot;
use warploom_policy::{MemoryAccess, ReadyWarps, WarpMask, warps_of};
use warploom_state::Value;

/// Accesses to memory that the next instructions of a scheduler's warps make, as far as a gate has
/// asked for them.
#[derive(Clone, Copy, Default, Debug, Value)]
pub(crate) struct NextAccesses {
    /// Warps whose next instruction has been looked up since they issued last.
    known: Slots,
    accesses: WarpMask,
    loads: WarpMask,
}

impl NextAccesses {
    /// Forgets the next instruction of a warp that issues or starts.
    #[inline]
    pub(crate) fn forget(&mut self, slot: WarpSlot) {
        self.known.remove(slot.index());
    }

    /// The warps of `ready` by their next instructions. Those of `memory` go to the memory pipe;
    /// `access` looks up one of them.
    pub(crate) fn sort(
        &mut self,
        ready: WarpMask,
        memory: WarpMask,
        access: impl Fn(WarpSlot) -> Option<MemoryAccess>,
    ) -> ReadyWarps {
        for slot in warps_of(memory & !self.known) {
            self.note(slot, access(slot));
        }
        ReadyWarps {
            all: ready,
            accesses: memory & self.accesses,
            loads: memory & self.loads,
        }
    }

    fn note(&mut self, slot: WarpSlot, access: Option<MemoryAccess>) {
        let bit: WarpMask = 1 << slot.index();
        let put = |mask: &mut WarpMask, on: bool| *mask = *mask & !bit | if on { bit } else { 0 };
        self.known.insert(slot.index());
        put(
            &mut self.accesses,
            access.is_some_and(MemoryAccess::may_go_to_memory),
        );
        put(
            &mut self.loads,
            access.is_some_and(MemoryAccess::may_load_from_l1d),
        );
    }
}
