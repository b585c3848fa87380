//! Admission of blocks to an SM: room for them, and the resources that they take and give back.
//!
//! Invariant: a block takes its resources when it is assigned, before it starts, and gives them
//! back when the device has seen its end.

use crate::blocks::{BlockSlot, free_run, warp_run};
use crate::sm::{Sm, Start};
use warploom_base::{BlockId, Cycle, KernelSlot};
use warploom_config::BlockNeeds;
use warploom_policy::WarpRange;

impl Sm {
    /// True if a block of a kernel with these needs fits beside the blocks that run or are about to
    /// start. `alone`: no other kernel has or may start blocks here, so that this kernel's contexts
    /// may be switched.
    pub fn has_room(&mut self, kernel: KernelSlot, needs: &BlockNeeds, alone: bool) -> bool {
        if let Some(room) = self.switched_room(kernel, 1, alone) {
            return room > 0;
        }
        self.resources.fits(needs) && self.free_warps(needs).is_some()
    }

    /// True if a block with these needs has no room only because the free room is not in one piece.
    pub fn is_fragmented(&mut self, kernel: KernelSlot, needs: &BlockNeeds) -> bool {
        self.context.is_none() && self.resources.has(needs) && !self.has_room(kernel, needs, true)
    }

    /// Number of blocks with these needs that fit at once, up to `most`; `alone` as for `has_room`.
    pub fn room(&mut self, kernel: KernelSlot, needs: &BlockNeeds, most: u32, alone: bool) -> u32 {
        if let Some(room) = self.switched_room(kernel, most, alone) {
            return room;
        }
        let (mut resources, mut taken) = (self.resources, self.taken_warps);
        for fit in 0..most {
            let run = free_run(taken, needs.threads / 32, self.max_threads / 32);
            let Some(first) = run.filter(|_| resources.fits(needs)) else {
                return fit;
            };
            resources.take(needs);
            taken |= warp_run(first, needs.threads / 32);
        }
        most
    }

    /// Tells the warp schedulers which memory the warps of an assigned block access.
    pub fn set_ranges(&mut self, first_warp: u32, ranges: &[WarpRange]) {
        for (owner, range) in (first_warp..).zip(ranges) {
            let place = self.place(owner as u16);
            self.warps.set_range(place, *range);
        }
    }

    fn free_warps(&self, needs: &BlockNeeds) -> Option<u32> {
        free_run(self.taken_warps, needs.threads / 32, self.max_threads / 32)
    }

    /// Assigns a block that starts in cycle `at`. Requires `has_room` with the same `alone`, and
    /// calls in the order of `at`. Returns the slot of its first warp or, where contexts are
    /// switched, its first context.
    pub fn assign(
        &mut self,
        at: Cycle,
        kernel: KernelSlot,
        rank: u64,
        needs: &BlockNeeds,
        alone: bool,
    ) -> u32 {
        self.furnish();
        let slot = BlockId::new((!self.taken_blocks).trailing_zeros() as usize);
        self.taken_blocks |= 1 << slot.index();
        let first_warp = match self.assign_switched(kernel, slot, alone) {
            Some(first) => first,
            None => self.assign_resident(slot, needs),
        };
        self.starts.push_back(Start {
            at,
            kernel,
            rank,
            slot,
            first_warp,
        });
        first_warp
    }

    /// Allocates the memory that only an SM with blocks needs, before its first block: most small
    /// programs leave most SMs empty.
    pub(crate) fn furnish(&mut self) {
        self.blocks.resize_with(self.places.len(), BlockSlot::free);
        self.warps.furnish();
        self.units.furnish();
        self.ldst.furnish();
        self.front.l1i.furnish();
    }

    /// Takes the resources of a block that keeps them to its end.
    fn assign_resident(&mut self, slot: BlockId, needs: &BlockNeeds) -> u32 {
        let first_warp = self.free_warps(needs).expect("the caller asked for room");
        let slots = warp_run(first_warp, needs.threads / 32);
        self.places[slot.index()] = self.resources.take(needs);
        if let Some(victims) = &mut self.ldst.victims {
            victims.assign(slot, needs.registers);
        }
        self.taken_warps |= slots;
        if let Some(context) = &mut self.context {
            context.identify(slots);
            self.give_back_l1d();
        }
        first_warp
    }

    /// Gives back the resources of an ended block, once the device has seen its end.
    pub fn release(&mut self, slot: BlockId, needs: &BlockNeeds) {
        self.taken_blocks &= !(1 << slot.index());
        if self.release_switched(slot) {
            return;
        }
        self.resources.give(needs, self.places[slot.index()]);
        let first_warp = self.blocks[slot.index()].first_warp;
        self.taken_warps &= !warp_run(first_warp, needs.threads / 32);
    }
}

#[cfg(test)]
mod tests {
    use crate::Sm;
    use warploom_base::{BlockId, KernelSlot, SmId};
    use warploom_config::{BlockNeeds, preset};
    use warploom_policy::CustomPolicies;

    const KERNEL: KernelSlot = KernelSlot(0);

    /// 32,768 registers hold six blocks of 256 threads with 20 registers each, as 1,536 threads do.
    #[test]
    fn blocks_take_their_resources_when_they_are_assigned() {
        let spec = preset("gtx480").unwrap_or_else(|errors| panic!("{errors}"));
        let mut sm = Sm::new(&spec, SmId(0), &CustomPolicies::default());
        let needs = BlockNeeds::new(256, 20, 0, &spec.sm);
        assert_eq!(
            sm.room(KERNEL, &needs, 4, true),
            4,
            "no more than asked for"
        );
        for rank in 0..6 {
            assert_eq!(sm.room(KERNEL, &needs, 8, true), 6 - rank as u32);
            let first_warp = sm.assign(0, KERNEL, rank, &needs, true);
            assert_eq!(first_warp, 8 * rank as u32, "the lowest free slots");
        }
        assert!(!sm.has_room(KERNEL, &needs, true));
        assert!(
            !sm.is_fragmented(KERNEL, &needs),
            "there is too little of all"
        );
        sm.release(BlockId(0), &needs);
        assert_eq!(sm.room(KERNEL, &needs, 8, true), 1);
        assert_eq!(sm.assign(0, KERNEL, 6, &needs, true), 0);
    }

    /// Most small programs leave most SMs without blocks.
    #[test]
    fn an_sm_without_blocks_holds_no_states_of_warps_and_blocks() {
        let spec = preset("qv100-volta").unwrap_or_else(|errors| panic!("{errors}"));
        let mut sm = Sm::new(&spec, SmId(0), &CustomPolicies::default());
        assert!(sm.warps.exec.is_empty() && sm.blocks.is_empty());
        sm.assign(0, KERNEL, 0, &BlockNeeds::new(32, 16, 0, &spec.sm), true);
        assert_eq!((sm.warps.exec.len(), sm.blocks.len()), (64, 32));
    }
}
