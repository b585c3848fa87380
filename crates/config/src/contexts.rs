//! Context switching on a machine: what the systems of `sm.context` may move, and how many blocks
//! of a kernel an SM can hold if some of their contexts are out (GPUDuet, sections 6.4 and 6.6).

mod rules;

pub use rules::{ContextRules, ExtraBlocks};

use crate::occupancy::{BlockNeeds, OccupancyLimit};
use crate::policies::L1dStore;
use crate::spec::GpuSpec;
use warploom_state::Value;

/// Size in bytes of a unit of storage: one register of a warp.
pub const CONTEXT_UNIT_BYTES: u32 = 128;

/// Units of memory of an SM that can store contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextStorage {
    /// Units of the register file for present warps.
    pub registers: u32,
    /// Units of shared memory.
    pub shared: u32,
    /// Units of L1D's memory.
    pub l1d: u32,
    /// Units of the register file for absent warps, if the file is divided.
    pub pending: u32,
}

impl ContextStorage {
    /// Storage of an SM of a machine.
    pub fn of(spec: &GpuSpec) -> Self {
        let l1d = &spec.l1d;
        let l1d_bytes = match l1d.enabled {
            true => l1d.sets * l1d.ways * l1d.line_bytes,
            false => 0,
        };
        let file = spec.sm.registers * 4 / CONTEXT_UNIT_BYTES;
        let rules = spec.sm.context.rules();
        let percent = rules.map_or(100, |rules| u64::from(rules.active_percent));
        let registers = (u64::from(file) * percent / 100) as u32;
        Self {
            registers,
            shared: spec.sm.shared_bytes / CONTEXT_UNIT_BYTES,
            l1d: l1d_bytes / CONTEXT_UNIT_BYTES,
            pending: file - registers,
        }
    }

    /// Number of units with an address: the bits of the allocation map. Units for absent warps in a
    /// divided register file are chained and have none.
    pub fn units(&self) -> u32 {
        self.registers + self.shared + self.l1d
    }

    /// True if a part of the register file stores the registers of absent warps.
    pub fn divides_registers(&self) -> bool {
        self.pending > 0
    }
}

/// Storage that the contexts of a kernel need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct ContextNeeds {
    /// Number of warps of a block.
    pub warps: u32,
    /// Units of the registers of a warp while it runs.
    pub registers: u32,
    /// Units of the registers of a warp while it is out: the most at any of its switch points, or
    /// the fewest where the register file is divided.
    pub kept: u32,
    /// Units of the shared memory of a block.
    pub shared: u32,
    /// True if the kernel has points at which a warp can be switched out.
    pub switches: bool,
}

impl ContextNeeds {
    /// Computes the needs of a kernel from those of its blocks. `kept` is the number of registers
    /// of an absent warp; `None` stands for all.
    pub fn new(needs: &BlockNeeds, kept: Option<u32>, switches: bool) -> Self {
        let registers = needs.registers / needs.threads.max(1);
        Self {
            warps: needs.threads / 32,
            registers,
            kept: kept.map_or(registers, |kept| kept.min(registers)),
            shared: needs.shared_bytes.div_ceil(CONTEXT_UNIT_BYTES),
            switches,
        }
    }
}

/// Reason why a kernel has no extra blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub enum ContextRefusal {
    /// The grid or a cap of the user leaves no more blocks for an SM.
    NoMoreBlocks,
    /// Block slots are the limit, and every block needs one.
    BlockSlots,
    /// Both registers and shared memory would have to leave for one more block.
    BothLimit,
    /// The limiting resource may not be moved out (`virtual-thread`: registers, shared memory).
    Capacity,
    /// The tables are full, or there is no storage for the context of one more block.
    NoRoom,
    /// The kernel waits for no load from global memory and at no barrier.
    NoSwitchPoint,
    /// The settings of the system ask for no extra block.
    NoneAsked,
    /// The divided register file would hold no more blocks than the whole one.
    NoGain,
}

/// Number of blocks of a kernel on an SM if contexts are switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Value)]
pub struct ContextPlan {
    /// Number of blocks that an SM holds at once (MC).
    pub native: u32,
    /// Largest number of extra blocks (the bound of ME).
    pub bound: u32,
    /// True if single warps are switched.
    pub by_warp: bool,
    /// True if L1D must hold contexts.
    pub l1d: bool,
    /// Reason why `bound` is 0, if it is.
    pub refusal: Option<ContextRefusal>,
}

/// Units of storage that are left.
#[derive(Clone, Copy)]
struct Left {
    registers: u32,
    shared: u32,
    l1d: u32,
    pending: u32,
}

fn take(from: &mut u32, units: u32) -> bool {
    let fits = *from >= units;
    *from -= if fits { units } else { 0 };
    fits
}

impl ContextPlan {
    /// Plans a kernel of which an SM holds `whole` blocks at once, limited by `limit`.
    pub fn new(
        rules: &ContextRules,
        needs: &ContextNeeds,
        (whole, limit): (u32, OccupancyLimit),
        spec: &GpuSpec,
    ) -> Self {
        let native = whole.min(active_blocks(needs, spec));
        let by_warp = rules.by_warp && !moves(needs, native + 1, spec).1;
        let mut plan = Self {
            native,
            bound: 0,
            by_warp,
            l1d: rules.l1d == L1dStore::Always,
            refusal: None,
        };
        let refused = match limit {
            OccupancyLimit::Grid | OccupancyLimit::Cap => Err(ContextRefusal::NoMoreBlocks),
            _ if !needs.switches => Err(ContextRefusal::NoSwitchPoint),
            _ if native == 0 => Err(ContextRefusal::NoRoom),
            _ => plan.try_extra(rules, needs, 1, plan.l1d, spec),
        };
        let most = |l1d: bool| {
            let fits = |extra: &u32| plan.try_extra(rules, needs, *extra, l1d, spec).is_ok();
            (1..=rules.blocks).take_while(fits).last().unwrap_or(0)
        };
        (plan.bound, plan.l1d, plan.refusal) = match refused {
            Ok(()) => (most(plan.l1d), plan.l1d, None),
            Err(ContextRefusal::NoRoom) if rules.l1d == L1dStore::Auto && most(true) > 0 => {
                (most(true), true, None)
            }
            Err(why) => (0, false, Some(why)),
        };
        if let ExtraBlocks::Fixed(extra) = rules.extra {
            plan.bound = plan.bound.min(extra);
            if extra == 0 {
                plan.refusal = plan.refusal.or(Some(ContextRefusal::NoneAsked));
            }
        }
        if native < whole && (plan.bound == 0 || native + plan.bound <= whole) {
            // The register file stays whole.
            plan.native = whole;
            plan.bound = 0;
            plan.refusal = plan.refusal.or(Some(ContextRefusal::NoGain));
        }
        plan
    }

    /// Name of the unit of switching.
    pub const fn level(&self) -> &'static str {
        match self.by_warp {
            true => "warp",
            false => "block",
        }
    }

    /// True if `extra` blocks require that registers are moved out.
    pub fn moves_registers(&self, needs: &ContextNeeds, extra: u32, spec: &GpuSpec) -> bool {
        moves(needs, self.native + extra, spec).0
    }

    /// True if `extra` blocks require that shared memory is moved out.
    pub fn moves_shared(&self, needs: &ContextNeeds, extra: u32, spec: &GpuSpec) -> bool {
        moves(needs, self.native + extra, spec).1
    }

    /// Checks that there is storage for the contexts of `extra` blocks.
    fn try_extra(
        &self,
        rules: &ContextRules,
        needs: &ContextNeeds,
        extra: u32,
        l1d: bool,
        spec: &GpuSpec,
    ) -> Result<(), ContextRefusal> {
        use ContextRefusal as Why;
        let blocks = self.native + extra;
        let (registers, shared) = moves(needs, blocks, spec);
        if registers && shared && !ContextStorage::of(spec).divides_registers() {
            return Err(Why::BothLimit);
        }
        if registers && !rules.registers || shared && (!rules.shared || self.by_warp) {
            return Err(Why::Capacity);
        }
        if self.by_warp && blocks > spec.sm.max_blocks {
            return Err(Why::BlockSlots);
        }
        if blocks > rules.blocks || blocks * needs.warps > rules.warps {
            return Err(Why::NoRoom);
        }
        // Blocks that are out and ready need an entry of the queue each.
        if !self.by_warp && extra > rules.block_queue {
            return Err(Why::NoRoom);
        }
        self.store(rules, needs, extra, l1d, spec)
            .then_some(())
            .ok_or(Why::NoRoom)
    }

    /// Assigns storage of the SM to the blocks, and to the contexts of the extra ones while these
    /// are out.
    fn store(
        &self,
        rules: &ContextRules,
        needs: &ContextNeeds,
        extra: u32,
        l1d: bool,
        spec: &GpuSpec,
    ) -> bool {
        let all = ContextStorage::of(spec);
        let mut left = Left {
            registers: all.registers,
            shared: all.shared,
            l1d: if l1d { all.l1d } else { 0 },
            pending: all.pending,
        };
        let (registers, shared) = moves(needs, self.native + extra, spec);
        let with_registers = self.native + if registers { 0 } else { extra };
        let with_shared = self.native + if shared { 0 } else { extra };
        let present = take(
            &mut left.registers,
            with_registers * needs.warps * needs.registers,
        ) && take(&mut left.shared, with_shared * needs.shared);
        let mut slots = spec.sm.max_threads / 32 - self.native * needs.warps;
        present
            && (0..extra).all(|_| {
                let block = !shared
                    || take(&mut left.registers, needs.shared)
                    || take(&mut left.l1d, needs.shared);
                block
                    && (0..needs.warps).all(|_| {
                        let whole = if registers { needs.registers } else { 0 };
                        let alone = self.by_warp && slots > 0;
                        if alone && take(&mut left.registers, whole) {
                            slots -= 1;
                            return true;
                        }
                        let kept = !registers
                            || match all.divides_registers() {
                                true => take(&mut left.pending, needs.kept),
                                false => {
                                    take(&mut left.shared, needs.kept)
                                        || take(&mut left.l1d, needs.kept)
                                }
                            };
                        let slot = |left: &mut u32, may: bool| may && take(left, rules.slot_units);
                        let anywhere = rules.slots_anywhere;
                        kept && (slot(&mut left.shared, !shared)
                            || slot(&mut left.registers, anywhere && !registers)
                            || slot(&mut left.l1d, anywhere))
                    })
            })
    }
}

/// Number of blocks for whose registers the part of the register file for present warps has room.
fn active_blocks(needs: &ContextNeeds, spec: &GpuSpec) -> u32 {
    let all = ContextStorage::of(spec);
    match all.divides_registers() {
        true => all.registers.checked_div(needs.warps * needs.registers),
        false => None,
    }
    .unwrap_or(u32::MAX)
}

/// Returns whether `blocks` blocks have to move registers, and shared memory: they need more than
/// an SM has. In a divided register file, the registers of an absent block are always in its part.
fn moves(needs: &ContextNeeds, blocks: u32, spec: &GpuSpec) -> (bool, bool) {
    let all = ContextStorage::of(spec);
    (
        all.divides_registers() || blocks * needs.warps * needs.registers > all.registers,
        blocks * needs.shared > all.shared,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Base, preset, resolve};

    fn machine(sets: &[&str]) -> GpuSpec {
        let sets: Vec<_> = sets.iter().map(|s| (*s).to_owned()).collect();
        resolve(&Base::Preset("maxwell-duet".to_owned()), &sets)
            .unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn plan(sets: &[&str], warps: u32, registers: u32, kept: u32, shared: u32) -> ContextPlan {
        let spec = machine(sets);
        let needs = ContextNeeds {
            warps,
            registers,
            kept,
            shared: shared.div_ceil(128),
            switches: true,
        };
        let block = BlockNeeds::new(32 * warps, registers, shared, &spec.sm);
        let fit = block.blocks_per_sm(1 << 20, &spec.sm, &spec.gpu);
        let rules = spec.sm.context.rules().expect("a system");
        ContextPlan::new(&rules, &needs, fit, &spec)
    }

    const DUET: &[&str] = &["sm.context=duet"];

    /// Section 6.6: 384 KB in units of 128 bytes, 3072 of them, registers up to 0x7ff, shared
    /// memory up to 0xaff, L1D up to 0xbff.
    #[test]
    fn the_address_space_is_the_papers() {
        let spec = preset("maxwell-duet").expect("a preset");
        let all = ContextStorage::of(&spec);
        let ends = [all.registers, all.registers + all.shared, all.units()];
        assert_eq!(ends, [0x800, 0xb00, 0xc00]);
        assert_eq!(spec.sm.context.rules(), None);
    }

    /// As DWT_2 in section 7.2: nothing but L1D is spare. 16 blocks of 4 warps with 32 registers
    /// take all 2048 units and all slots. One more block's 42 units of shared memory leave 768 -
    /// 17 x 42 = 54, enough for three contexts of 16 + 2 and not for four: L1D it is. There a
    /// second block's fit too; a third would need shared memory as well (19 x 42 > 768).
    #[test]
    fn registers_limit_and_l1d_holds_two_blocks() {
        let plan = plan(DUET, 4, 32, 16, 42 * 128);
        assert_eq!((plan.native, plan.bound, plan.l1d), (16, 2, true));
        assert!(plan.by_warp);
        let never = ["sm.context=duet", "duet.l1d=never"];
        let never = self::plan(&never, 4, 32, 16, 42 * 128);
        assert_eq!(never.refusal, Some(ContextRefusal::NoRoom));
    }

    /// Warp slots limit: 8 blocks of 8 warps; 24 registers leave 512 units of the register file, 2
    /// blocks' worth, and 768 of shared memory. Up to 2 extra blocks only slots move. With more,
    /// their registers do: 16 warps of 8 + 2 units each a block... the table of 128 warps ends it
    /// at 8.
    #[test]
    fn warp_slots_limit_and_the_table_ends_it() {
        let limited = plan(DUET, 8, 24, 8, 0);
        assert_eq!((limited.native, limited.bound, limited.l1d), (8, 8, false));
        let spec = machine(DUET);
        let needs = ContextNeeds {
            warps: 8,
            registers: 24,
            kept: 8,
            shared: 0,
            switches: true,
        };
        let moves = |extra| limited.moves_registers(&needs, extra, &spec);
        assert_eq!((moves(2), moves(3)), (false, true));
    }

    /// Virtual Thread lends slots only: the same kernel has registers for two more blocks. What
    /// registers limit it leaves alone.
    #[test]
    fn virtual_thread_stops_where_registers_do() {
        const VT: &[&str] = &["sm.context=virtual-thread"];
        assert_eq!(plan(VT, 8, 24, 8, 0).bound, 2);
        let limited = plan(VT, 6, 32, 16, 0);
        assert_eq!(limited.refusal, Some(ContextRefusal::Capacity));
    }

    const FINEREG: &[&str] = &["sm.context=finereg"];

    /// Half of the 2048 units of registers are for blocks that run: four blocks of 8 warps with 32
    /// registers, where the whole file holds eight. Each block that waits keeps at least 8 x 6 units
    /// of the other half, which suffices for 21, and 16 units of shared memory. The table of 128
    /// warps ends it at 16 blocks.
    #[test]
    fn blocks_that_wait_keep_live_registers_only() {
        let plan = plan(FINEREG, 8, 32, 6, 0);
        assert_eq!((plan.native, plan.bound, plan.refusal), (4, 12, None));
        assert!(!plan.by_warp);
        // A part of 2048 - 1433 units holds 12 blocks that wait, beside 5 that run.
        let sets = ["sm.context=finereg", "finereg.active_percent=70"];
        let plan = self::plan(&sets, 8, 32, 6, 0);
        assert_eq!((plan.native, plan.bound), (5, 11));
    }

    /// With 30 live registers four blocks wait beside four that run: no more than the whole file
    /// holds. It stays whole, also if not one block can wait, or if one alone does not fit in its
    /// part.
    #[test]
    fn a_register_file_that_gains_nothing_stays_whole() {
        use ContextRefusal::{NoGain, NoRoom};
        let kept = |sets: &[&str], kept: u32| {
            let plan = plan(sets, 8, 32, kept, 0);
            (plan.native, plan.bound, plan.refusal)
        };
        assert_eq!(kept(FINEREG, 30), (8, 0, Some(NoGain)));
        let small = |percent| ["sm.context=finereg", percent];
        let (most, least) = ("finereg.active_percent=99", "finereg.active_percent=12");
        assert_eq!(kept(&small(most), 6), (8, 0, Some(NoRoom)));
        assert_eq!(kept(&small(least), 6), (8, 0, Some(NoRoom)));
    }

    /// Shared memory does not move: six blocks of 16 KB fill it.
    #[test]
    fn what_shared_memory_limits_is_left_alone() {
        let plan = plan(FINEREG, 4, 16, 6, 16 * 1024);
        assert_eq!(plan.refusal, Some(ContextRefusal::Capacity));
        assert_eq!((plan.native, plan.bound), (6, 0));
    }

    /// Shared memory limits: 6 blocks of 16 KB. Registers: 6 x 4 x 16 = 384 of 2048 units; each
    /// extra block has its 64 units of registers, and its shared memory's 128 units with 4 slots
    /// of 2 lie in spare ones: 200 each, 8 of 1664.
    #[test]
    fn shared_memory_limits_and_blocks_go_as_wholes() {
        let plan = plan(DUET, 4, 16, 8, 16 * 1024);
        assert_eq!((plan.native, plan.bound, plan.by_warp), (6, 8, false));
    }

    /// Registers limit: six blocks of 8 warps with 40 registers leave 128 units of the register
    /// file, enough for three warps of a seventh block and four slots more. The contexts of its
    /// other five warps, 24 + 2 units each, do not fit in the 124 units of shared memory that seven
    /// blocks leave. Section 6.6 stores them in shared memory or L1D, so that the slots may not lie
    /// in the register file: L1D it is.
    #[test]
    fn slots_do_not_lie_in_the_memory_that_limits() {
        let plan = plan(DUET, 8, 40, 24, 92 * 128);
        assert_eq!((plan.native, plan.bound, plan.l1d), (6, 1, true));
    }

    /// Both registers and shared memory are needed by one more block.
    #[test]
    fn both_limits_are_left_alone() {
        let plan = plan(DUET, 8, 64, 8, 24 * 1024);
        assert_eq!(plan.native, 4);
        assert_eq!(plan.refusal, Some(ContextRefusal::BothLimit));
        assert_eq!(plan.bound, 0);
    }

    /// Table 4: a queue of blocks has eight entries, so that no more than eight blocks wait outside
    /// as wholes, whatever storage has room for. As HG in section 7.2: eight more blocks. The queue
    /// of warps limits no number of blocks.
    #[test]
    fn the_queue_of_blocks_limits_the_extra_ones() {
        let queued = |system: &'static str, queue: &str| {
            let sets = [system, queue];
            [plan(&sets, 2, 16, 8, 8 * 1024), plan(&sets, 8, 24, 8, 0)].map(|plan| plan.bound)
        };
        let duet = |queue| queued("sm.context=duet", queue);
        assert_eq!(duet("duet.block_queue=8"), [8, 8]);
        assert_eq!(duet("duet.block_queue=5"), [5, 8]);
        // Storage has room for 16: 32 units of registers, 64 of shared memory and two slots of two
        // each, of the 1664 units that twelve blocks of 32 leave.
        assert_eq!(duet("duet.block_queue=32"), [16, 8]);
        assert_eq!(duet("duet.warp_queue=2"), [8, 8]);
        let blocks = queued("sm.context=duet-tb", "duet-tb.block_queue=3");
        assert_eq!(blocks, [3, 3]);
    }

    #[test]
    fn fixed_numbers_end_at_the_bound() {
        let fixed = |extra: &str| {
            let extra = format!("duet.extra_blocks={extra}");
            plan(&["sm.context=duet", &extra], 4, 16, 8, 16 * 1024).bound
        };
        assert_eq!([fixed("0"), fixed("3"), fixed("20")], [0, 3, 8]);
        let refusal = |extra: &str, blocks: u32| {
            let extra = format!("duet.extra_blocks={extra}");
            plan(&["sm.context=duet", &extra], 4, 16, blocks, 16 * 1024).refusal
        };
        assert_eq!(refusal("0", 8), Some(ContextRefusal::NoneAsked));
        assert_eq!(refusal("1", 8), None);
    }
}
