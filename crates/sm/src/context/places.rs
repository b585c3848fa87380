//! Where contexts lie: what a new block takes, and what changes hands when units leave and come in.
//!
//! Present registers begin at the bottom of the register file, a block's shared memory at that of
//! shared memory; what is out lies at the top. A register context may lie in shared memory or L1D,
//! a shared-memory context in the register file or L1D: in the memory of its own kind it would be
//! present (GPUDuet, section 6.6). The content of a slot lies beside it, or anywhere if only warp
//! slots limit the number of blocks.

use super::map::{Map, Region, Span};
use super::tables::{BlockEntry, State, WarpEntry};
use crate::blocks::warp_run;
use warploom_config::{ContextNeeds, ContextRules};
use warploom_policy::{WarpMask, warps_of};

/// What a transfer or a new block needs to know of its kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub needs: ContextNeeds,
    pub slot_units: u32,
    pub slots_anywhere: bool,
    /// L1D holds contexts.
    pub l1d: bool,
    /// Warps go alone.
    pub by_warp: bool,
    /// Registers leave.
    pub registers: bool,
    /// Shared memory leaves.
    pub shared: bool,
}

impl Terms {
    pub fn new(rules: &ContextRules, needs: ContextNeeds) -> Self {
        Self {
            needs,
            slot_units: rules.slot_units,
            slots_anywhere: rules.slots_anywhere,
            l1d: false,
            by_warp: rules.by_warp,
            registers: false,
            shared: false,
        }
    }
}

/// The SM's memory and slots, as far as they are taken, with a trial beside: either all of a change
/// has room, or nothing changes.
#[derive(Clone, Debug)]
pub(super) struct Places {
    map: Map,
    slots: WarpMask,
    trial: Map,
    trial_slots: WarpMask,
    all_slots: u32,
}

impl Places {
    pub fn new(map: Map, all_slots: u32) -> Self {
        Self {
            trial: map.clone(),
            map,
            slots: 0,
            trial_slots: 0,
            all_slots,
        }
    }

    /// Slots that are taken.
    pub fn slots(&self) -> WarpMask {
        self.slots
    }

    /// Units that are taken.
    pub fn taken(&self) -> u32 {
        self.map.taken()
    }

    pub fn give_slots(&mut self, slots: WarpMask) {
        debug_assert!(self.slots & slots == slots);
        self.slots &= !slots;
    }

    pub fn give(&mut self, span: Span) {
        self.map.give(span);
    }

    /// A trial from what is taken now.
    pub fn begin(&mut self) {
        self.trial.copy(&self.map);
        self.trial_slots = self.slots;
    }

    /// What was tried is so.
    pub fn commit(&mut self) {
        std::mem::swap(&mut self.map, &mut self.trial);
        self.slots = self.trial_slots;
    }

    pub fn try_give(&mut self, span: Span) {
        self.trial.give(span);
    }

    pub fn try_give_slot(&mut self, slot: u8) {
        self.trial_slots &= !(1 << slot);
    }

    /// A free slot, one of `wanted` if one of these is free.
    pub fn try_slot(&mut self, wanted: WarpMask) -> Option<u8> {
        let all = warp_run(0, self.all_slots);
        let free = all & !self.trial_slots;
        let from = if free & wanted != 0 {
            free & wanted
        } else {
            free
        };
        let slot = warps_of(from).next()?;
        self.trial_slots |= 1 << slot.index();
        Some(slot.0 as u8)
    }

    fn try_high(&mut self, regions: &[Region], units: u32) -> Option<Span> {
        let mut regions = regions.iter();
        regions.find_map(|region| self.trial.take_high(*region, units))
    }

    /// A present warp's registers.
    pub fn try_registers(&mut self, terms: &Terms) -> Option<Span> {
        self.trial
            .take_low(Region::Registers, terms.needs.registers)
    }

    /// A present block's shared memory.
    pub fn try_shared(&mut self, terms: &Terms) -> Option<Span> {
        self.trial.take_low(Region::Shared, terms.needs.shared)
    }

    /// What is kept of an absent warp's registers.
    pub fn try_kept(&mut self, terms: &Terms) -> Option<Span> {
        let regions = [Region::Shared, Region::L1d];
        let regions = &regions[..1 + usize::from(terms.l1d)];
        self.try_high(regions, terms.needs.kept)
    }

    /// An absent block's shared memory.
    pub fn try_shared_out(&mut self, terms: &Terms) -> Option<Span> {
        let regions = [Region::Registers, Region::L1d];
        let regions = &regions[..1 + usize::from(terms.l1d)];
        self.try_high(regions, terms.needs.shared)
    }

    /// The content of an absent warp's slot. It does not lie in memory of the kind that leaves:
    /// this limits the number of blocks (GPUDuet, section 6.6).
    pub fn try_meta(&mut self, terms: &Terms) -> Option<Span> {
        let regions = [
            (Region::Shared, !terms.shared),
            (Region::Registers, terms.slots_anywhere && !terms.registers),
            (Region::L1d, terms.slots_anywhere && terms.l1d),
        ];
        let mut regions = regions.into_iter().filter(|(_, may)| *may);
        regions.find_map(|(region, _)| self.trial.take_high(region, terms.slot_units))
    }

    /// Tries places for a new block: present in a row of slots if there is one; else, warps by
    /// warp, present as long as slots and registers are free, if warps go alone; the others are
    /// out.
    pub fn try_block(
        &mut self,
        terms: &Terms,
        run: Option<u32>,
        block: &mut BlockEntry,
        warps: &mut [WarpEntry],
    ) -> Option<()> {
        self.begin();
        if let Some(first) = run
            && self.try_present(terms, first, block, warps).is_some()
        {
            return Some(());
        }
        self.begin();
        block.slots = 0;
        block.moves = 0;
        block.shared_out = terms.shared;
        block.shared = match terms.shared {
            true => self.try_shared_out(terms)?,
            false => self.try_shared(terms)?,
        };
        for warp in warps {
            if terms.by_warp && self.try_alone(terms, block, warp).is_some() {
                continue;
            }
            self.try_out(terms, warp)?;
        }
        Some(())
    }

    fn try_present(
        &mut self,
        terms: &Terms,
        first: u32,
        block: &mut BlockEntry,
        warps: &mut [WarpEntry],
    ) -> Option<()> {
        block.shared = self.try_shared(terms)?;
        block.shared_out = false;
        block.slots = 0;
        for (i, warp) in warps.iter_mut().enumerate() {
            let slot = first + i as u32;
            *warp = WarpEntry {
                state: State::Assigned,
                registers: self.try_registers(terms)?,
                slot: slot as u8,
                ..WarpEntry::FREE
            };
            self.trial_slots |= 1 << slot;
            block.slots |= 1 << slot;
        }
        Some(())
    }

    /// One warp of a block in any slot.
    fn try_alone(
        &mut self,
        terms: &Terms,
        block: &mut BlockEntry,
        warp: &mut WarpEntry,
    ) -> Option<()> {
        if (!self.trial_slots).trailing_zeros() >= self.all_slots {
            return None;
        }
        let registers = self.try_registers(terms)?;
        let slot = self.try_slot(0)?;
        *warp = WarpEntry {
            state: State::Assigned,
            registers,
            slot,
            ..WarpEntry::FREE
        };
        block.slots |= 1 << slot;
        Some(())
    }

    /// A new warp without a slot: nothing of it has to move in but the slot's content.
    fn try_out(&mut self, terms: &Terms, warp: &mut WarpEntry) -> Option<()> {
        *warp = WarpEntry {
            state: State::Assigned,
            registers: match terms.registers {
                true => self.try_kept(terms)?,
                false => self.try_registers(terms)?,
            },
            kept: terms.registers,
            meta: self.try_meta(terms)?,
            slot: u8::MAX,
            ..WarpEntry::FREE
        };
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Places, Terms};
    use crate::context::map::{Map, Span};
    use crate::context::tables::{BlockEntry, State, WarpEntry};
    use warploom_config::{ContextNeeds, ContextStorage};

    /// Blocks of two warps of ten units of registers, six of which are kept of an absent one.
    const TERMS: Terms = Terms {
        needs: ContextNeeds {
            warps: 2,
            registers: 10,
            kept: 6,
            shared: 4,
            switches: true,
        },
        slot_units: 2,
        slots_anywhere: true,
        l1d: false,
        by_warp: true,
        registers: true,
        shared: false,
    };

    /// Registers are units 0 to 39, shared memory 40 to 59, L1D 60 to 69.
    fn places(slots: u32) -> Places {
        let map = Map::new(ContextStorage {
            registers: 40,
            shared: 20,
            l1d: 10,
        });
        Places::new(map, slots)
    }

    fn span(start: u32, units: u32) -> Span {
        Span { start, units }
    }

    #[test]
    fn there_are_no_slots_beyond_the_last() {
        for slots in [4, 64, 128] {
            let mut places = places(slots);
            places.begin();
            let all: Vec<_> = std::iter::from_fn(|| places.try_slot(0)).collect();
            assert_eq!(all, (0..slots as u8).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_trial_changes_nothing_before_it_is_committed() {
        let mut places = places(4);
        places.begin();
        assert_eq!(places.try_registers(&TERMS), Some(span(0, 10)));
        assert_eq!(places.try_slot(0b1000), Some(3), "the one that is wanted");
        assert_eq!((places.taken(), places.slots()), (0, 0));
        places.begin();
        assert_eq!(places.try_registers(&TERMS), Some(span(0, 10)));
        assert_eq!(places.try_slot(0), Some(0));
        places.commit();
        assert_eq!((places.taken(), places.slots()), (10, 1));
        places.give(span(0, 10));
        places.give_slots(1);
        assert_eq!((places.taken(), places.slots()), (0, 0));
    }

    /// A register context lies at the top of shared memory, or of L1D where that holds contexts; a
    /// shared-memory context at the top of the register file.
    #[test]
    fn contexts_lie_in_memory_of_another_kind() {
        let mut places = places(4);
        places.begin();
        assert_eq!(places.try_kept(&TERMS), Some(span(54, 6)));
        assert_eq!(places.try_kept(&TERMS), Some(span(48, 6)));
        assert_eq!(places.try_kept(&TERMS), Some(span(42, 6)));
        assert_eq!(places.try_kept(&TERMS), None, "two units are left");
        let with_l1d = Terms { l1d: true, ..TERMS };
        assert_eq!(places.try_kept(&with_l1d), Some(span(64, 6)));
        assert_eq!(places.try_shared_out(&TERMS), Some(span(36, 4)));
        // Registers leave, so that a slot's content lies in shared memory or L1D, not in registers.
        assert_eq!(places.try_meta(&TERMS), Some(span(40, 2)));
        assert_eq!(places.try_meta(&TERMS), None);
        assert_eq!(places.try_meta(&with_l1d), Some(span(62, 2)));
        let slots_leave = Terms {
            registers: false,
            ..TERMS
        };
        assert_eq!(places.try_meta(&slots_leave), Some(span(34, 2)));
        let shared_only = Terms {
            slots_anywhere: false,
            ..slots_leave
        };
        assert_eq!(places.try_meta(&shared_only), None);
        // Shared memory leaves: registers, although shared memory has room.
        let shared_leaves = Terms {
            shared: true,
            ..slots_leave
        };
        places.begin();
        assert_eq!(places.try_meta(&shared_leaves), Some(span(38, 2)));
    }

    /// With three slots the second block has one warp present and one out.
    #[test]
    fn a_new_block_is_present_as_far_as_there_is_room() {
        let mut places = places(3);
        let mut warps = [WarpEntry::FREE; 2];
        let mut block = BlockEntry::FREE;
        assert!(
            places
                .try_block(&TERMS, Some(0), &mut block, &mut warps)
                .is_some()
        );
        places.commit();
        assert_eq!((block.slots, block.shared), (0b11, span(40, 4)));
        assert!(
            warps
                .iter()
                .all(|warp| warp.state == State::Assigned && !warp.kept)
        );
        assert!(
            places
                .try_block(&TERMS, None, &mut block, &mut warps)
                .is_some()
        );
        places.commit();
        assert_eq!((block.slots, block.shared), (0b100, span(44, 4)));
        assert_eq!((warps[0].slot, warps[0].registers), (2, span(20, 10)));
        let out = &warps[1];
        assert_eq!(
            (out.kept, out.registers, out.meta),
            (true, span(54, 6), span(52, 2))
        );
        let all = Terms {
            by_warp: false,
            ..TERMS
        };
        let before = places.taken();
        assert!(
            places
                .try_block(&all, None, &mut block, &mut warps)
                .is_none()
        );
        assert_eq!(places.taken(), before, "what has no room leaves no trace");
    }
}
