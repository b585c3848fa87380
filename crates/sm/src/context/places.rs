//! Allocation of storage and slots, for new blocks and for units that are switched out and in.
//!
//! Registers of present warps are allocated from the low end of the register file, and shared
//! memory of present blocks from the low end of shared memory. Stored contexts are allocated from
//! the high end. Registers can be stored in shared memory or L1D, and shared memory in the register
//! file or L1D (GPUDuet, section 6.6). The content of a warp slot can be stored in memory whose own
//! contents do not move: shared memory, and also the register file and L1D if the rules allow that.
//!
//! A divided register file has its own part for the registers of absent warps (FineReg). There a
//! context takes as many units as the warp has live registers when it leaves.

use super::map::{Map, Region, Span};
use super::tables::{BlockEntry, State, WarpEntry};
use crate::blocks::warp_run;
use warploom_config::{ContextNeeds, ContextRules};
use warploom_policy::{WarpMask, warps_of};
use warploom_state::Value;

/// Facts about a kernel for its transfers and its new blocks.
#[derive(Clone, Copy, Debug, Value)]
pub(super) struct Terms {
    pub needs: ContextNeeds,
    /// Units that store the content of a warp slot.
    pub slot_units: u32,
    /// True if the content of a slot may be stored in the register file and in L1D.
    pub slots_anywhere: bool,
    /// True if L1D stores contexts.
    pub l1d: bool,
    /// True if a unit is a warp, not a block.
    pub by_warp: bool,
    /// True if registers are part of a context.
    pub registers: bool,
    /// True if shared memory is part of a context.
    pub shared: bool,
    /// True if registers are stored in a part of the register file, as many units as are live.
    pub divided: bool,
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
            divided: rules.active_percent < 100,
        }
    }
}

/// Storage and slots of the SM that are in use, and a trial copy: a change is made in the copy, and
/// committed only if all of it has room.
#[derive(Clone, Debug, warploom_state::State)]
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

    /// Slots that are in use.
    pub fn slots(&self) -> WarpMask {
        self.slots
    }

    /// Number of units in use.
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

    /// Begins a trial with the current state.
    pub fn begin(&mut self) {
        self.trial.copy(&self.map);
        self.trial_slots = self.slots;
    }

    /// Makes the trial the current state.
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

    /// Takes a free slot, preferably one of `wanted`.
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

    /// Takes units for the registers of a present warp.
    pub fn try_registers(&mut self, terms: &Terms) -> Option<Span> {
        self.trial
            .take_low(Region::Registers, terms.needs.registers)
    }

    /// Takes units for the shared memory of a present block.
    pub fn try_shared(&mut self, terms: &Terms) -> Option<Span> {
        self.trial.take_low(Region::Shared, terms.needs.shared)
    }

    /// Takes units for the registers of an absent warp, `live` of which are live.
    pub fn try_kept(&mut self, terms: &Terms, live: u32) -> Option<Span> {
        if terms.divided {
            return self.trial.take_chain(live);
        }
        let regions = [Region::Shared, Region::L1d];
        let regions = &regions[..1 + usize::from(terms.l1d)];
        self.try_high(regions, terms.needs.kept)
    }

    /// Takes units for the shared memory of an absent block.
    pub fn try_shared_out(&mut self, terms: &Terms) -> Option<Span> {
        let regions = [Region::Registers, Region::L1d];
        let regions = &regions[..1 + usize::from(terms.l1d)];
        self.try_high(regions, terms.needs.shared)
    }

    /// Takes units for the content of an absent warp's slot. They are not in the memory whose
    /// contents move, because that memory limits the number of blocks (GPUDuet, section 6.6).
    pub fn try_meta(&mut self, terms: &Terms) -> Option<Span> {
        let regions = [
            (Region::Shared, !terms.shared),
            (Region::Registers, terms.slots_anywhere && !terms.registers),
            (Region::L1d, terms.slots_anywhere && terms.l1d),
        ];
        let mut regions = regions.into_iter().filter(|(_, may)| *may);
        regions.find_map(|(region, _)| self.trial.take_high(region, terms.slot_units))
    }

    /// Tries to take storage and slots for a new block. All its warps are present if there are
    /// consecutive slots, beginning with `run`. Otherwise, if units are warps, each warp is present
    /// for which a slot and registers are free. The other warps begin out.
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

    /// Takes any slot, and registers, for one warp of a block.
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

    /// Takes storage for a new warp that begins out. Only the content of its slot moves when it is
    /// switched in for the first time.
    fn try_out(&mut self, terms: &Terms, warp: &mut WarpEntry) -> Option<()> {
        *warp = WarpEntry {
            state: State::Assigned,
            registers: match terms.registers {
                true => self.try_kept(terms, 0)?,
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

    /// Blocks of two warps with ten units of registers each; an absent warp needs six of them.
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
        divided: false,
    };

    /// Storage with registers in units 0 to 39, shared memory in 40 to 59 and L1D in 60 to 69.
    fn places(slots: u32) -> Places {
        let map = Map::new(ContextStorage {
            registers: 40,
            shared: 20,
            l1d: 10,
            pending: 0,
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

    /// Registers are stored at the high end of shared memory, or of L1D if that stores contexts.
    /// Shared memory is stored at the high end of the register file.
    #[test]
    fn contexts_lie_in_memory_of_another_kind() {
        let mut places = places(4);
        places.begin();
        assert_eq!(places.try_kept(&TERMS, 1), Some(span(54, 6)));
        assert_eq!(places.try_kept(&TERMS, 1), Some(span(48, 6)));
        assert_eq!(places.try_kept(&TERMS, 1), Some(span(42, 6)));
        assert_eq!(places.try_kept(&TERMS, 1), None, "two units are left");
        let with_l1d = Terms { l1d: true, ..TERMS };
        assert_eq!(places.try_kept(&with_l1d, 1), Some(span(64, 6)));
        assert_eq!(places.try_shared_out(&TERMS), Some(span(36, 4)));
        // Registers move, so the content of a slot is stored in shared memory or L1D.
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
        // Shared memory moves, so the content of a slot is stored in the register file.
        let shared_leaves = Terms {
            shared: true,
            ..slots_leave
        };
        places.begin();
        assert_eq!(places.try_meta(&shared_leaves), Some(span(38, 2)));
    }

    /// With three slots, one warp of the second block is present and the other one is out.
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
        assert_eq!(places.taken(), before, "a failed trial changes nothing");
    }
}
