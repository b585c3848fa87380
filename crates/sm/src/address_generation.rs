//! Address generation: the load/store unit's record of a memory instruction that issues. It holds
//! the path that the instruction takes, the transactions that its lanes coalesce into, and the
//! cycles that its bank conflicts in shared memory cost.

use crate::access_class::{AccessClass, access_class};
use crate::counters::LaneSpace;
use crate::counters::count_lanes;
use crate::flight::MemId;
use crate::ldst::{MemInst, Path};
use crate::prepared_kernel::{PreparedKernels, prepared_kernel};
use crate::sm::Sm;
use warploom_base::{KernelSlot, WarpSlot};
use warploom_config::ModelStyle;
use warploom_exec::{AtomicAction, HalfWarp, MemEffect, MemKind};
use warploom_ir::{AtomOp, CacheOp, MemSpace};
use warploom_mem::AccessKind;
use warploom_mem::coalesce::{
    HalfWords, LocalMap, SharedRule, coalesce, coalesce_atomic, coalesce_halves, coalesce_lines,
    coalesce_local, distinct_addresses, further_lanes_of_a_word, halves_conflict_cycles,
    have_strides, in_parts, shared_conflict_cycles, shared_width_cycles,
};

/// First physical address of local memory, above everything that the device allocates.
const LOCAL_BASE: u64 = 1 << 40;

impl Sm {
    /// Creates the record of a memory instruction that takes effect in some lane. The instruction's
    /// addresses and active lanes are those of the functional step that was just made.
    #[inline(never)]
    pub(crate) fn memory_record(&mut self, slot: WarpSlot, effect: MemEffect) -> MemId {
        if effect.mixed {
            self.post_accesses(slot);
        }
        let (id, list) = self.take_record();
        let is_global = effect.space == MemSpace::Global || effect.mixed;
        let loads = matches!(effect.kind, MemKind::Load | MemKind::Texture) && is_global;
        let keeps = loads && self.replay.records(self.env.clock);
        if keeps {
            self.record_load(slot, self.env.clock);
        }
        let settles_at = if keeps { self.env.clock } else { 0 };
        let path = self.path_of(&effect);
        let replies = effect.kind != MemKind::Store;
        self.fill_list(slot, list, path, &effect);
        let transactions = self.ldst.lists[list].len();
        let w = slot.index();
        let (turns, shared_cycles) = if path == Path::Shared {
            let turns = self.turns(&effect);
            (turns, turns + self.bank_cycles(&effect))
        } else {
            (0, 0)
        };
        let AccessClass { kind, lanes } = access_class(&effect);
        let pending = if path == Path::Shared {
            1
        } else {
            transactions as u32
        };
        let owner = self.owner(w);
        self.ldst.insts[id] = MemInst {
            warp: WarpSlot(owner),
            kernel: self.warps.track[w].kernel,
            pc: self.out.pc,
            path,
            replies,
            atomic: effect.kind == MemKind::Atomic,
            kind,
            pending: if replies { pending } else { 0 },
            shared_cycles,
            late_cycles: turns * self.shared_atomic_cycles.saturating_sub(1),
            list,
            settles_at,
            ..MemInst::BLANK
        };
        if kind == AccessKind::GlobalAtomic {
            self.keep_atomic(w, list);
        }
        if effect.kind == MemKind::Atomic {
            self.warps.track[w].atomics += 1;
            self.warps.atomic.insert(w);
        }
        self.counters.store_instructions += u64::from(effect.kind == MemKind::Store);
        self.count_memory(path, &effect, lanes, transactions, shared_cycles);
        MemId(id)
    }

    /// Creates the record of a memory instruction that takes effect in no lane.
    pub(crate) fn empty_record(&mut self, slot: WarpSlot) -> MemId {
        let (id, list) = self.take_record();
        self.ldst.lists[list].clear();
        let owner = self.owner(slot.index());
        self.ldst.insts[id] = MemInst {
            warp: WarpSlot(owner),
            kernel: self.warps.track[slot.index()].kernel,
            pc: self.out.pc,
            path: Path::BypassL1,
            replies: true,
            list,
            ..MemInst::BLANK
        };
        MemId(id)
    }

    /// A free record and a free list of transactions. Issue has checked that both exist.
    #[inline]
    fn take_record(&mut self) -> (u16, u16) {
        let list = self.ldst.lists.take();
        let id = self.ldst.insts.take();
        (
            id.expect("issue checks for a free record"),
            list.expect("issue checks for a free list"),
        )
    }

    /// Path of a memory instruction through the load/store unit.
    fn path_of(&self, effect: &MemEffect) -> Path {
        match (effect.kind, effect.space) {
            (_, MemSpace::Shared) => Path::Shared,
            (MemKind::Texture, _) => Path::Texture,
            (_, MemSpace::Const | MemSpace::Param) => Path::Constant,
            (MemKind::Atomic, _) => Path::BypassL1,
            _ if !self.ldst.caches() || effect.cache_op == CacheOp::Cg => Path::BypassL1,
            (_, MemSpace::Local | MemSpace::FrameParam) => Path::Data,
            _ if self.global_skips_l1d && !self.keeps_to_l1(effect.cache_op) => Path::BypassL1,
            _ => Path::Data,
        }
    }

    /// True for a global access that uses L1D although `global_skips_l1d` is set. GPGPU-Sim treats
    /// `.ca` as an access without a cache operator, and its version 3.2.2 does not know `.nc`
    /// (`ldst_unit::memory_cycle`, `ptx_instruction::pre_decode`).
    fn keeps_to_l1(&self, op: CacheOp) -> bool {
        self.style == ModelStyle::V4 && op == CacheOp::NonCoherent
    }

    /// Coalesces the lanes' addresses into the transactions of `list`.
    fn fill_list(&mut self, slot: WarpSlot, list: u16, path: Path, effect: &MemEffect) {
        let out = &mut self.ldst.lists[list];
        let (addrs, mask, bytes) = (&self.out.addrs, self.out.active, u32::from(effect.bytes));
        let (rule, parts) = (self.coalescing, self.shared_parts);
        // GPGPU-Sim decides by the machine's treatment of global accesses and not by the path of
        // this access: local accesses and `.nc` follow the same rule (`memory_coalescing_arch`).
        let skips_l1 = self.global_skips_l1d || effect.cache_op == CacheOp::Cg;
        match path {
            Path::Shared => out.clear(),
            Path::Constant => {
                // Parameters lie from address 0 on, apart from `.const` variables, as in GPGPU-Sim:
                // in the channel and bank of the first instructions.
                coalesce_lines(self.constant_line, bytes, addrs, mask, out);
            }
            Path::Texture => coalesce_lines(self.texture_line, bytes, addrs, mask, out),
            _ if effect.kind == MemKind::Atomic => {
                in_parts(parts, mask, out, |lanes, out| {
                    coalesce_atomic(rule, true, bytes, addrs, lanes, out);
                });
            }
            _ if matches!(effect.space, MemSpace::Local | MemSpace::FrameParam) => {
                let w = slot.index();
                let block = self.warps.track[w].block;
                let map = local_map(&self.kernels, self.warps.track[w].kernel, self.env.n_sm);
                let first = self.warps.exec[w].warp_index() * 32;
                let place = (u32::from(self.id.0), u32::from(block.0), first);
                in_parts(parts, mask, out, |lanes, out| {
                    coalesce_local(rule, skips_l1, bytes, addrs, lanes, &map, place, out);
                });
            }
            _ if parts == 1
                && let Some(halves) = self.out.halves
                && coalesce_halves(rule, skips_l1, halves.map(half_words), out) => {}
            _ => in_parts(parts, mask, out, |lanes, out| {
                coalesce(rule, skips_l1, bytes, addrs, lanes, out);
            }),
        }
    }

    /// Turns of shared memory for lanes whose atomics are on a word of another lane.
    fn turns(&self, effect: &MemEffect) -> u32 {
        if effect.serial && self.shared_atomic_cycles > 0 {
            further_lanes_of_a_word(&self.out.addrs, self.out.active)
        } else {
            0
        }
    }

    /// Cycles of an access of shared memory in which each bank serves a word to all lanes that want
    /// it.
    fn bank_cycles(&self, effect: &MemEffect) -> u32 {
        if self.shared_parts == 1
            && self.shared_rule != SharedRule::OneBroadcast
            && let Some(halves) = self.out.halves
            && let Some(cycles) = halves_conflict_cycles(self.shared_banks, halves.map(half_words))
        {
            return cycles;
        }
        shared_conflict_cycles(
            self.shared_banks,
            self.shared_parts,
            self.shared_rule,
            effect.bytes.into(),
            &self.out.addrs,
            self.out.active,
        )
    }

    /// Stores an atomic's operation and the lanes of each of its transactions until its replies
    /// have come, and counts whether warps could combine its lanes.
    #[cold]
    fn keep_atomic(&mut self, w: usize, list: u16) {
        self.ldst.reserve_atomics();
        let atomic = &mut self.ldst.atomics[w];
        atomic.batch.clone_from(&self.out.atomic);
        for (i, t) in self.ldst.lists[list].as_slice().iter().enumerate() {
            atomic.lanes[i + 1] = t.lanes;
        }
        let batch = &self.out.atomic;
        let exchanges = matches!(
            batch.act,
            AtomicAction::Combine(AtomOp::Cas | AtomOp::Exch, _)
        );
        let words = distinct_addresses(&batch.addrs, batch.mask);
        self.counters.atomic_exchanges += u64::from(exchanges);
        self.counters.atomic_words += u64::from(words);
    }

    /// Counts a memory instruction by its path and kind, and its lanes by their space.
    fn count_memory(
        &mut self,
        path: Path,
        effect: &MemEffect,
        space: LaneSpace,
        transactions: usize,
        shared_cycles: u32,
    ) {
        let c = &mut self.counters;
        let lanes = count_lanes(self.out.active) as u64;
        c.memory_lanes[space as usize] += lanes;
        match path {
            Path::Shared => {
                c.shared_instructions += 1;
                let conflicts = u64::from(shared_cycles.saturating_sub(1));
                c.shared_conflict_cycles += conflicts;
                if effect.kind == MemKind::Atomic {
                    c.shared_atomics += 1;
                    c.shared_atomic_cycles += conflicts;
                } else if conflicts > 0 {
                    self.count_conflicts(effect, conflicts);
                }
            }
            Path::Constant => {
                let is_variable = u64::from(space == LaneSpace::Constant);
                c.constant_loads += is_variable;
                c.constant_lines += is_variable * transactions as u64;
            }
            _ => {
                c.memory_instructions += 1;
                c.memory_transactions += transactions as u64;
                let kind = effect.kind as usize;
                c.memory_accesses[kind] += 1;
                c.access_bytes[kind] += lanes * u64::from(effect.bytes);
                c.access_transactions[kind] += transactions as u64;
                c.local_accesses[kind] += u64::from(effect.space == MemSpace::Local);
            }
        }
    }

    /// Counts what makes an access of shared memory take `conflicts` cycles more than one.
    fn count_conflicts(&mut self, effect: &MemEffect, conflicts: u64) {
        let (addrs, mask) = (&self.out.addrs, self.out.active);
        let width = if effect.bytes > 4 || self.shared_parts > 1 {
            let (banks, parts) = (self.shared_banks, self.shared_parts);
            let bytes = effect.bytes.into();
            shared_width_cycles(banks, parts, self.shared_rule, bytes, addrs, mask) - 1
        } else {
            0
        };
        let width = u64::from(width).min(conflicts);
        self.counters.shared_width_cycles += width;
        if width < conflicts && !have_strides(addrs, mask) {
            self.counters.shared_scattered_cycles += conflicts - width;
        }
    }
}

/// Layout of a kernel's local memory on a GPU of `sms` SMs.
fn local_map(kernels: &PreparedKernels, kernel: KernelSlot, sms: u16) -> LocalMap {
    let prepared = prepared_kernel(kernels, kernel);
    LocalMap {
        base: LOCAL_BASE,
        padded_block_threads: prepared.block_warps * 32,
        blocks_per_sm: prepared.blocks_per_sm,
        sms: u32::from(sms),
    }
}

/// Addresses of half a warp as the coalescer takes them.
fn half_words(half: HalfWarp) -> HalfWords {
    HalfWords {
        first: half.first,
        row: half.row,
    }
}
