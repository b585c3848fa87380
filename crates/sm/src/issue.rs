//! Issue (docs/model/sm.md, Issue): each scheduler asks its policy for a warp among those whose
//! next instruction is decoded, passes the scoreboard and finds its pipe free. The instruction
//! executes functionally here; everything after is time.

use crate::counters::{KernelCounters, LaneSpace, SlotCause, SmCounters};
use crate::detail::{MAX_SCHEDULERS, MAX_SLOTS};
use crate::flight::{Flight, FlightId, MemId};
use crate::image::{EnergyFacts, KernelImage, Pipe};
use crate::ldst::{MemInst, Path, image_of};
use crate::names::{Names, names};
use crate::sm::{Scheduler, Sm};
use crate::stage::{Issued, bit_of, pipe_of_bit};
use crate::warps::{CopyRole, Track};
use warploom_base::{BlockId, Cycle, KernelSlot, LaneMask, WarpSlot};
use warploom_config::ModelStyle;
use warploom_exec::{
    BarrierArrival, BarrierOutcome, BarrierRelease, DeviceMemory, Effect, Fault, HalfWarp,
    MemEffect, MemKind, MemPort, StepOut, report_finding, step,
};
use warploom_ir::{CacheOp, MemSpace};
use warploom_mem::AccessKind;
use warploom_mem::coalesce::{
    HalfWords, LocalMap, SharedRule, coalesce, coalesce_atomic, coalesce_halves, coalesce_lines,
    coalesce_local, halves_conflict_cycles, in_parts, shared_conflict_cycles,
};
use warploom_policy::{WarpMask, WarpScheduler, warps_of};

/// Findings that an SM keeps.
const MAX_FINDINGS: usize = 64;
/// Where local memory lies for the data cache and below: above what the device allocates.
const LOCAL_TIMING_BASE: u64 = 1 << 40;

impl Sm {
    /// One cycle of all schedulers.
    pub(crate) fn issue(&mut self, now: Cycle, memory: &DeviceMemory) -> Result<(), Fault> {
        if self.warps.slots() <= u64::BITS as usize {
            self.issue_among::<true>(now, memory)
        } else {
            self.issue_among_many(now, memory)
        }
    }

    #[inline(never)]
    fn issue_among_many(&mut self, now: Cycle, memory: &DeviceMemory) -> Result<(), Fault> {
        self.issue_among::<false>(now, memory)
    }

    /// The same; `FEW`: of at most 64 warps, so that half of every mask is known to be empty.
    #[inline(always)]
    fn issue_among<const FEW: bool>(
        &mut self,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<(), Fault> {
        let n = self.schedulers.len();
        // 4.2 begins with the next scheduler in each cycle of an SM that holds a block.
        let first = if self.style == ModelStyle::V4 {
            let cycles = self.counters.active_cycles.saturating_sub(1) as usize;
            // A division for every cycle of every SM would show.
            if n.is_power_of_two() {
                cycles & (n - 1)
            } else {
                cycles % n
            }
        } else {
            0
        };
        let mut s = first;
        for _ in 0..n {
            let cause = self.schedule::<FEW>(s, now, memory)?;
            self.counters.slots[cause as usize] += 1;
            s = if s + 1 == n { 0 } else { s + 1 };
        }
        Ok(())
    }

    /// The warp that a scheduler comes to first among `ready`, given its warps that are on the
    /// `wrong` path, which few schedulers have in a cycle. Its policy knows that this one issues.
    #[inline(always)]
    fn come_to(&mut self, s: usize, ready: WarpMask, wrong: WarpMask) -> Option<WarpSlot> {
        if wrong != 0 {
            self.come_past(s, ready, wrong)
        } else if ready != 0 {
            self.pick_to_issue(s, ready)
        } else {
            None
        }
    }

    /// The same for a scheduler that has some.
    #[inline(never)]
    fn come_past(&mut self, s: usize, ready: WarpMask, wrong: WarpMask) -> Option<WarpSlot> {
        let slot = self.search(s, ready, wrong)?;
        self.schedulers[s].policy.on_issue(slot);
        Some(slot)
    }

    /// The warp that a scheduler comes to among `ready`. When it comes to one on the `wrong` path
    /// it empties the warp's buffer and goes on.
    fn search(&mut self, s: usize, ready: WarpMask, mut wrong: WarpMask) -> Option<WarpSlot> {
        while ready | wrong != 0 {
            let Scheduler { own, policy, .. } = &mut self.schedulers[s];
            let slot = policy.pick_by(|| self.warps.view(*own), ready | wrong)?;
            if wrong >> slot.index() & 1 == 0 {
                return Some(slot);
            }
            self.warps.turn_back(slot.index());
            wrong &= !(1 << slot.index());
        }
        None
    }

    /// The warp that a scheduler's policy picks from a mask that is not empty, to issue.
    #[inline(always)]
    fn pick_to_issue(&mut self, s: usize, among: WarpMask) -> Option<WarpSlot> {
        let Scheduler { own, policy, .. } = &mut self.schedulers[s];
        policy.pick_to_issue(|| self.warps.view(*own), among)
    }

    /// The same for a policy that is told of every cycle.
    #[inline(never)]
    fn pick_watched(&mut self, s: usize, ready: WarpMask, wrong: WarpMask) -> Option<WarpSlot> {
        let own = self.schedulers[s].own;
        // Before the pick: it may empty buffers, and those were in the way in this cycle.
        let stalled = own & self.warps.buffered & !self.warps.waiting() & !ready;
        self.schedulers[s].policy.begin_cycle(&self.warps.view(own));
        let picked = self.search(s, ready, wrong);
        let view = self.warps.view(own);
        let policy = &mut self.schedulers[s].policy;
        policy.end_cycles(&view, stalled, picked, 1);
        if let Some(slot) = picked {
            policy.on_issue(slot);
        }
        picked
    }

    /// Sub-core of a scheduler; 0 where the SM is not split.
    #[inline]
    fn sub_core(&self, scheduler: usize) -> u8 {
        if self.sub_cores { scheduler as u8 } else { 0 }
    }

    /// Warps of scheduler `s` in a mask whose next instruction finds a place in its pipe's input
    /// register.
    #[inline]
    pub(crate) fn with_free_pipe(&self, s: usize, mask: WarpMask) -> WarpMask {
        if mask == 0 {
            return 0;
        }
        let mut closed = self.closed_pipes(s);
        let mut free = mask;
        // Every instruction goes to one pipe, and few pipes are closed.
        while closed != 0 {
            free &= !self.warps.next_pipe[pipe_of_bit(closed)];
            closed &= closed - 1;
        }
        free
    }

    /// The [`bit_of`] each pipe that takes nothing from scheduler `s`.
    #[inline]
    fn closed_pipes(&self, s: usize) -> u64 {
        let full = self.collectors.input.full(self.sub_core(s));
        let records = if self.ldst.has_room() {
            0
        } else {
            bit_of(Pipe::Mem as usize)
        };
        full | records
    }

    #[inline(always)]
    fn schedule<const FEW: bool>(
        &mut self,
        s: usize,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<SlotCause, Fault> {
        let Scheduler {
            own: mut all,
            wants_cycles,
            ..
        } = self.schedulers[s];
        if FEW {
            all &= WarpMask::from(u64::MAX);
        }
        let own = all & !self.warps.waiting();
        let wrong = own & self.warps.flush;
        let clear = own & self.warps.clear & !self.warps.flush;
        let ready = self.with_free_pipe(s, clear);
        let picked = if wants_cycles {
            self.pick_watched(s, ready, wrong)
        } else {
            self.come_to(s, ready, wrong)
        };
        let Some(slot) = picked else {
            let valid = own & self.warps.buffered & !self.warps.flush;
            return Ok(match ready {
                0 => self.why_not(all, valid, clear),
                _ => SlotCause::Policy,
            });
        };
        debug_assert!(ready >> slot.index() & 1 != 0, "{slot} is not ready");
        let issued = self.issue_from(s, slot, now, memory)?;
        self.detail.issues[usize::from(issued > 1)][s % MAX_SCHEDULERS] += 1;
        Ok(SlotCause::Issued)
    }

    /// Issues from one warp that is ready, more than once where the machine allows it. Returns how
    /// often.
    #[inline(always)]
    fn issue_from(
        &mut self,
        s: usize,
        slot: WarpSlot,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<u32, Fault> {
        let sub = self.sub_core(s);
        let first = self.warps.next_pipe_of(slot.index());
        self.issue_one(slot, sub, now, memory)?;
        if self.max_issue_per_warp == 1 {
            return Ok(1);
        }
        self.issue_further((s, sub), slot, first, now, memory)
    }

    /// The same after its first instruction, which went into pipe `last`.
    #[inline(never)]
    fn issue_further(
        &mut self,
        (s, sub): (usize, u8),
        slot: WarpSlot,
        mut last: Pipe,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<u32, Fault> {
        let w = slot.index();
        let mut issued = 1;
        for _ in 1..self.max_issue_per_warp {
            if self.warps.waits(w) {
                break;
            }
            if self.warps.flush.has(w) {
                self.warps.turn_back(w);
                break;
            }
            let pipe = self.warps.next_pipe_of(w);
            let open = self.warps.buffered.has(w) && self.warps.clear.has(w);
            if !open || self.closed_pipes(s) & bit_of(pipe as usize) != 0 {
                break;
            }
            if self.dual_issue_different && pipe == last {
                break;
            }
            last = pipe;
            self.issue_one(slot, sub, now, memory)?;
            issued += 1;
        }
        Ok(issued)
    }

    /// Why nothing issued.
    #[inline]
    pub(crate) fn why_not(&self, own: WarpMask, valid: WarpMask, clear: WarpMask) -> SlotCause {
        let w = &self.warps;
        if clear != 0 {
            let memory = clear & w.next_pipe[Pipe::Mem as usize] != 0;
            if memory {
                SlotCause::MemoryPipe
            } else {
                SlotCause::ExecutionPipe
            }
        } else if valid != 0 {
            let long = valid & w.long_wait != 0;
            if long {
                SlotCause::MemoryDependence
            } else {
                SlotCause::ExecutionDependence
            }
        } else if own & w.running() == 0 {
            SlotCause::NoWarp
        } else if own & w.running() & !w.waiting() == 0 {
            SlotCause::Barrier
        } else {
            SlotCause::InstructionBuffer
        }
    }

    /// Executes the next instruction of a warp, in sub-core `sub`, and sends it on its way.
    #[inline(always)]
    fn issue_one(
        &mut self,
        slot: WarpSlot,
        sub: u8,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<(), Fault> {
        let w = slot.index();
        let Track { kernel, block, .. } = self.warps.track[w];
        (self.env.warp_slot, self.env.clock) = (slot.0, now);
        let image = image_of(&self.kernels, kernel);
        let mut port = MemPort {
            image: memory,
            log: &mut self.log,
            now,
        };
        let state = &mut self.blocks[block.index()].state;
        let warp = &mut self.warps.exec[w];
        let (env, out) = (&self.env, &mut self.out);
        step(&image.launch, state, warp, &mut port, env, out)?;
        let goes_on = warp.pc();
        self.detail.issued_by_slot[w.min(MAX_SLOTS - 1)] += 1;
        let (pc, inst) = (out.pc, image.at(out.pc));
        let own = &mut self.by_kernel[kernel.index()];
        own.pipe_cycles[inst.pipe as usize] += u64::from(inst.interval);
        let energy = image.energy[pc.index()];
        count_issue(own, &mut self.counters, inst.bank_writes.len, energy, out);
        self.warps.issued((slot, pc), inst, image, goes_on);
        let id = self
            .flights
            .take()
            .expect("flight records outnumber the stages that hold them");
        self.flights[id] = Flight {
            warp: slot,
            kernel,
            pc,
            mem: None,
            banks: self.collectors.banks_of(inst.banks, slot.0),
            reads: inst.bank_reads.len as u8,
            shares_banks: inst.shares_banks,
            latency: inst.latency,
            interval: inst.interval,
        };
        let issued = Issued::new(FlightId(id), self.counters.warp_instructions, sub);
        self.collectors.input.push(inst.pipe as usize, issued);
        let (pipe, copies) = (inst.pipe, inst.copies);
        self.act_on_effect((slot, block, kernel), FlightId(id), pipe);
        if copies != CopyRole::None {
            self.note_copy((slot, kernel), copies, FlightId(id));
        }
        if self.out.finding.is_some() {
            self.keep_finding(w, memory);
        }
        Ok(())
    }

    /// Keeps the first finding of each kind at each instruction, up to a limit.
    #[cold]
    fn keep_finding(&mut self, w: usize, memory: &DeviceMemory) {
        if self.findings.len() >= MAX_FINDINGS {
            return;
        }
        let image = image_of(&self.kernels, self.warps.track[w].kernel);
        let block = &self.blocks[self.warps.track[w].block.index()].state;
        let warp = &self.warps.exec[w];
        let report = report_finding(&image.launch, block, warp, memory, &self.out);
        if let Some(report) = report
            && !self.findings.iter().any(|known| known.repeats(&report))
        {
            self.findings.push(report);
        }
    }

    /// What an instruction does besides changing registers, which has issued as `flight` into a
    /// pipe.
    #[inline(always)]
    fn act_on_effect(
        &mut self,
        (slot, block, kernel): (WarpSlot, BlockId, KernelSlot),
        flight: FlightId,
        pipe: Pipe,
    ) {
        match self.out.effect {
            Effect::Memory(effect) => {
                self.flights[flight.0].mem = Some(self.memory_record(slot, effect));
                return;
            }
            Effect::None => {}
            Effect::Barrier(arrival) => self.arrive(slot, block, &arrival),
            Effect::Exit if self.warps.exec[slot.index()].is_done() => self.warp_done(slot, block),
            Effect::Stuck => self.warps.at_barrier.insert(slot.index()),
            // Lanes that end empty their warp's buffer at once.
            Effect::Exit => self.warps.drop_buffer(slot.index()),
            _ => {}
        }
        if pipe == Pipe::Mem {
            self.flights[flight.0].mem = self.record_of_nothing(slot, kernel);
        }
    }

    /// What an instruction has to do with its warp's asynchronous copies, for which the next may
    /// wait.
    #[cold]
    fn note_copy(
        &mut self,
        (slot, kernel): (WarpSlot, KernelSlot),
        role: CopyRole,
        flight: FlightId,
    ) {
        let w = slot.index();
        let copies = &mut self.warps.copies[w];
        match (role, self.flights[flight.0].mem) {
            (CopyRole::Start, Some(id)) => self.ldst.insts[id.0].copy = Some(copies.start()),
            (CopyRole::Commit, _) => copies.commit(),
            _ => {}
        }
        let image = image_of(&self.kernels, kernel);
        self.warps.refresh_arrived(w, image);
    }

    /// The record of an instruction of the memory pipe that sends nothing: a fence has none, one
    /// whose guard is false everywhere has an empty one.
    #[cold]
    fn record_of_nothing(&mut self, slot: WarpSlot, kernel: KernelSlot) -> Option<MemId> {
        let inst = image_of(&self.kernels, kernel).at(self.out.pc);
        (!inst.fence).then(|| self.empty_record(slot))
    }

    #[cold]
    fn arrive(&mut self, slot: WarpSlot, block: BlockId, arrival: &BarrierArrival) {
        self.counters.barriers += 1;
        let index = self.warps.exec[slot.index()].warp_index();
        let b = &mut self.blocks[block.index()];
        match b.state.barriers.arrive(index, arrival) {
            BarrierOutcome::Wait => self.warps.at_barrier.insert(slot.index()),
            BarrierOutcome::Continue => {}
            BarrierOutcome::Release(release) => self.release_barrier(block, &release),
        }
    }

    #[cold]
    fn release_barrier(&mut self, block: BlockId, release: &BarrierRelease) {
        if self.context.is_some() {
            return self.release_contexts(block, release);
        }
        let first = self.blocks[block.index()].first_warp;
        let released = WarpMask::from(release.warps) << first;
        self.warps.at_barrier &= !released;
        for slot in warps_of(released) {
            self.warps.exec[slot.index()].finish_barrier(release);
        }
    }

    /// All lanes of a warp have exited.
    #[cold]
    fn warp_done(&mut self, slot: WarpSlot, block: BlockId) {
        self.end_warp(slot);
        let index = self.warps.exec[slot.index()].warp_index();
        let b = &mut self.blocks[block.index()];
        let mut releases = std::mem::take(&mut self.releases);
        b.state
            .barriers
            .warp_exited(index, |release| releases.push(release));
        for release in releases.drain(..) {
            self.release_barrier(block, &release);
        }
        self.releases = releases;
    }

    /// A warp issues nothing more.
    pub(crate) fn end_warp(&mut self, slot: WarpSlot) {
        let w = slot.index();
        self.at_rest = false;
        self.warps.done.insert(w);
        self.warps.touched.insert(w);
        self.warps.drop_buffer(w);
        let scheduler = w % self.schedulers.len();
        self.schedulers[scheduler].policy.on_exit(slot);
    }

    /// A fence ends when the warp's scoreboard is empty. In 4.2 it then empties the data cache too,
    /// where that is emptied between kernels.
    #[inline(always)]
    pub(crate) fn release_fence(&mut self, w: usize) {
        if self.warps.fenced.has(w) && !self.warps.has_pending(w) {
            self.end_fence(w);
        }
    }

    #[cold]
    fn end_fence(&mut self, w: usize) {
        self.warps.fenced.remove(w);
        if self.fences_flush_l1 {
            self.flush_l1();
        }
    }

    /// Makes the load/store unit's record of a memory instruction: its transactions and its way.
    #[inline(never)]
    fn memory_record(&mut self, slot: WarpSlot, effect: MemEffect) -> MemId {
        let list = self
            .ldst
            .lists
            .take()
            .expect("issue checks for a free list");
        let id = self
            .ldst
            .insts
            .take()
            .expect("issue checks for a free record");
        let is_global = effect.space == MemSpace::Global || effect.mixed;
        let loads = effect.kind == MemKind::Load && is_global;
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
        let shared_cycles = if path == Path::Shared {
            self.shared_cycles(&effect)
        } else {
            0
        };
        let Names { kind, lanes } = names(&effect);
        let pending = if path == Path::Shared {
            1
        } else {
            transactions as u32
        };
        let owner = self.owner(w);
        self.ldst.insts[id] = MemInst {
            warp: WarpSlot(owner),
            awaited: false,
            kernel: self.warps.track[w].kernel,
            pc: self.out.pc,
            path,
            replies,
            atomic: effect.kind == MemKind::Atomic,
            kind,
            pending: if replies { pending } else { 0 },
            shared_cycles,
            list,
            copy: None,
            settles_at,
        };
        if kind == AccessKind::GlobalAtomic {
            self.keep_atomic(w, list);
        }
        if effect.kind == MemKind::Atomic {
            self.warps.track[w].atomics += 1;
            self.warps.atomic.insert(w);
        }
        self.counters.store_instructions += u64::from(effect.kind == MemKind::Store);
        self.count_memory(path, lanes, transactions, shared_cycles);
        MemId(id)
    }

    /// The record of a memory instruction that takes effect in no lane.
    fn empty_record(&mut self, slot: WarpSlot) -> MemId {
        let list = self
            .ldst
            .lists
            .take()
            .expect("issue checks for a free list");
        let id = self
            .ldst
            .insts
            .take()
            .expect("issue checks for a free record");
        self.ldst.lists[list].clear();
        let owner = self.owner(slot.index());
        self.ldst.insts[id] = MemInst {
            warp: WarpSlot(owner),
            awaited: false,
            kernel: self.warps.track[slot.index()].kernel,
            pc: self.out.pc,
            path: Path::Around,
            replies: true,
            atomic: false,
            kind: AccessKind::GlobalRead,
            pending: 0,
            shared_cycles: 0,
            list,
            copy: None,
            settles_at: 0,
        };
        MemId(id)
    }

    fn path_of(&self, effect: &MemEffect) -> Path {
        match (effect.kind, effect.space) {
            (_, MemSpace::Shared) => Path::Shared,
            (MemKind::Texture, _) => Path::Texture,
            (_, MemSpace::Const | MemSpace::Param) => Path::Constant,
            (MemKind::Atomic, _) => Path::Around,
            _ if !self.ldst.caches() || effect.cache_op == CacheOp::Cg => Path::Around,
            (_, MemSpace::Local | MemSpace::FrameParam) => Path::Data,
            _ if self.global_skips_l1d && !self.keeps_to_l1(effect.cache_op) => Path::Around,
            _ => Path::Data,
        }
    }

    /// Goes through L1D although global accesses skip it. To GPGPU-Sim `.ca` is a load without a
    /// mark, and 3.2.2 knows no `.nc` (`ldst_unit::memory_cycle`, `ptx_instruction::pre_decode`).
    fn keeps_to_l1(&self, op: CacheOp) -> bool {
        self.style == ModelStyle::V4 && op == CacheOp::NonCoherent
    }

    fn fill_list(&mut self, slot: WarpSlot, list: u16, path: Path, effect: &MemEffect) {
        let w = slot.index();
        let block = self.warps.track[w].block;
        let image: &KernelImage = image_of(&self.kernels, self.warps.track[w].kernel);
        let out = &mut self.ldst.lists[list];
        let (addrs, mask, bytes) = (&self.out.addrs, self.out.active, u32::from(effect.bytes));
        let (rule, parts) = (self.coalescing, self.shared_parts);
        // By what the machine does with global accesses, not by where this one goes: it is the
        // same for local ones and for `.nc` (`memory_coalescing_arch`).
        let skips_l1 = self.global_skips_l1d || effect.cache_op == CacheOp::Cg;
        match path {
            Path::Shared => out.clear(),
            Path::Constant => {
                // Parameters lie at address 0 and up, apart from `.const` variables, as
                // GPGPU-Sim's do: in the channel and bank of the first instructions.
                coalesce_lines(self.constant_line, bytes, addrs, mask, out);
            }
            Path::Texture => coalesce_lines(self.texture_line, bytes, addrs, mask, out),
            _ if effect.kind == MemKind::Atomic => {
                in_parts(parts, mask, out, |lanes, out| {
                    coalesce_atomic(rule, true, bytes, addrs, lanes, out);
                });
            }
            _ if matches!(effect.space, MemSpace::Local | MemSpace::FrameParam) => {
                let map = LocalMap {
                    base: LOCAL_TIMING_BASE,
                    padded_block_threads: image.block_warps * 32,
                    blocks_per_sm: image.blocks_per_sm,
                    sms: u32::from(self.env.n_sm),
                };
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

    fn shared_cycles(&self, effect: &MemEffect) -> u32 {
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

    #[cold]
    fn keep_atomic(&mut self, w: usize, list: u16) {
        let atomic = &mut self.ldst.atomics[w];
        atomic.batch.clone_from(&self.out.atomic);
        for (i, t) in self.ldst.lists[list].as_slice().iter().enumerate() {
            atomic.lanes[i + 1] = t.lanes;
        }
    }

    fn count_memory(
        &mut self,
        path: Path,
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
                c.shared_conflict_cycles += u64::from(shared_cycles.saturating_sub(1));
            }
            Path::Constant => {}
            _ => {
                c.memory_instructions += 1;
                c.memory_transactions += transactions as u64;
            }
        }
    }
}

/// Counts an instruction that issues, of its kernel and of all.
#[inline]
fn count_issue(
    own: &mut KernelCounters,
    all: &mut SmCounters,
    registers_written: u16,
    energy: EnergyFacts,
    out: &StepOut,
) {
    let lanes = count_lanes(out.active);
    own.warp_instructions += 1;
    own.thread_instructions += lanes as u64;
    all.warp_instructions += 1;
    all.thread_instructions += lanes as u64;
    all.issued_without_lanes += u64::from(lanes == 0);
    all.register_writes += u64::from(registers_written);
    all.other_operands += energy.other_operands();
    if let Some(unit) = energy.unit() {
        all.unit_warps[unit] += 1;
        all.unit_lanes[unit] += lanes as u64;
    }
    let on_stack = if out.stack_active == out.active {
        lanes
    } else {
        count_lanes(out.stack_active)
    };
    all.issued_by_lanes[on_stack - 1] += 1;
}

/// Lanes in a mask: mostly all, and hosts may have no instruction that counts.
#[inline]
fn count_lanes(mask: LaneMask) -> usize {
    if mask == LaneMask::MAX {
        LaneMask::BITS as usize
    } else {
        mask.count_ones() as usize
    }
}

fn half_words(half: HalfWarp) -> HalfWords {
    HalfWords {
        first: half.first,
        row: half.row,
    }
}
