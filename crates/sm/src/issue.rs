//! Issue (docs/model/sm.md, Issue): each scheduler asks its policy for a warp among those whose
//! next instruction is decoded, passes the scoreboard and finds its pipe free. The instruction
//! executes functionally in this stage; all later stages model time only.

use crate::counters::{KernelCounters, SlotCause, SmCounters, count_lanes};
use crate::detail::{MAX_SCHEDULERS, MAX_SLOTS};
use crate::flight::{Flight, FlightId, MemId};
use crate::prepared_kernel::{EnergyFacts, Pipe, prepared_kernel};
use crate::scheduler::Scheduler;
use crate::sm::Sm;
use crate::stage::{Issued, StageRegisters, bit_of, pipe_of_bit};
use crate::warps::{CopyRole, WarpPipelineState};
use warploom_base::{BlockId, Cycle, KernelSlot, LaneMask, WarpSlot};
use warploom_config::ModelStyle;
use warploom_exec::{DeviceMemory, Effect, Fault, MemPort, StepOut, report_finding, step};
use warploom_policy::{Progress, WarpMask, WarpScheduler};

/// Mask of the first 64 warp slots.
pub(crate) const FIRST_64: WarpMask = u64::MAX as WarpMask;

/// Most findings of the checks that an SM keeps.
const MAX_FINDINGS: usize = 64;

/// A warp that issues, with its scheduler and the scheduler's sub-core.
#[derive(Clone, Copy)]
struct Issuer {
    slot: WarpSlot,
    scheduler: usize,
    sub_core: u8,
}

impl Sm {
    /// Runs all schedulers for one cycle.
    pub(crate) fn issue(&mut self, now: Cycle, memory: &DeviceMemory) -> Result<(), Fault> {
        if self.issues_plainly {
            self.issue_among::<true, true, false>(now, memory)
        } else if self.issues_singly {
            self.issue_watched(now, memory)
        } else if self.warps.slots() <= u64::BITS as usize {
            self.issue_among_few(now, memory)
        } else {
            self.issue_among_many(now, memory)
        }
    }

    /// Runs all schedulers of an SM that is plain but for policies that are told of every cycle.
    #[inline(never)]
    fn issue_watched(&mut self, now: Cycle, memory: &DeviceMemory) -> Result<(), Fault> {
        self.issue_among::<true, true, true>(now, memory)
    }

    /// Runs all schedulers of an SM that has at most 64 warp slots.
    #[inline(never)]
    fn issue_among_few(&mut self, now: Cycle, memory: &DeviceMemory) -> Result<(), Fault> {
        self.issue_among::<true, false, true>(now, memory)
    }

    /// Runs all schedulers of an SM that has more than 64 warp slots.
    #[inline(never)]
    fn issue_among_many(&mut self, now: Cycle, memory: &DeviceMemory) -> Result<(), Fault> {
        self.issue_among::<false, false, true>(now, memory)
    }

    /// Runs all schedulers. `FEW` says that the SM has at most 64 warp slots, so that the compiler
    /// knows the upper half of every mask to be empty. `PLAIN` says that a warp issues one
    /// instruction a cycle, and that all schedulers [issue singly](Scheduler::issues_singly): most
    /// machines spend no time on what only others have. `WATCHED` says that a policy may be told of
    /// every cycle.
    #[inline(always)]
    fn issue_among<const FEW: bool, const PLAIN: bool, const WATCHED: bool>(
        &mut self,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<(), Fault> {
        let n = self.schedulers.len();
        let mut s = self.first_scheduler();
        for _ in 0..n {
            let cause = self.schedule::<FEW, PLAIN, WATCHED>(s, now, memory)?;
            self.counters.slots[cause as usize] += 1;
            s = if s + 1 == n { 0 } else { s + 1 };
        }
        Ok(())
    }

    /// The scheduler that comes first in this cycle. GPGPU-Sim 4.2 begins with the next one in each
    /// cycle of an SM that holds a block.
    #[inline(always)]
    fn first_scheduler(&self) -> usize {
        if self.style != ModelStyle::V4 {
            return 0;
        }
        let n = self.schedulers.len();
        let cycles = self.counters.active_cycles.saturating_sub(1) as usize;
        // A division in every cycle of every SM would cost measurable time.
        if n.is_power_of_two() {
            cycles & (n - 1)
        } else {
            cycles % n
        }
    }

    /// The warp from which a scheduler issues, among the `ready` ones. `wrong` holds the warps
    /// whose buffered instructions are from the wrong path; most schedulers have none in a cycle.
    /// The policy is told that the warp issues.
    #[inline(always)]
    fn pick(&mut self, s: usize, ready: WarpMask, wrong: WarpMask) -> Option<WarpSlot> {
        if wrong != 0 {
            self.pick_past_flushes(s, ready, wrong)
        } else if ready != 0 {
            self.pick_to_issue(s, ready)
        } else {
            None
        }
    }

    /// As [`pick`](Self::pick), for a scheduler that has warps with a wrong path in their buffer.
    #[inline(never)]
    fn pick_past_flushes(
        &mut self,
        s: usize,
        ready: WarpMask,
        wrong: WarpMask,
    ) -> Option<WarpSlot> {
        let slot = self.search(s, ready, wrong)?;
        self.schedulers[s].policy.on_issue(slot);
        Some(slot)
    }

    /// The warp that the policy picks from `ready`. Whenever the policy picks a warp of `wrong`
    /// instead, that warp's buffer is emptied and the policy is asked again.
    pub(crate) fn search(
        &mut self,
        s: usize,
        ready: WarpMask,
        mut wrong: WarpMask,
    ) -> Option<WarpSlot> {
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

    /// The warp that the policy picks from a mask that is not empty, and that issues.
    #[inline(always)]
    fn pick_to_issue(&mut self, s: usize, among: WarpMask) -> Option<WarpSlot> {
        let Scheduler { own, policy, .. } = &mut self.schedulers[s];
        policy.pick_to_issue(|| self.warps.view(*own), among)
    }

    /// Sub-core of a scheduler; 0 where the SM is not split.
    #[inline]
    pub(crate) fn sub_core(&self, scheduler: usize) -> u8 {
        if self.sub_cores { scheduler as u8 } else { 0 }
    }

    /// The warps of `mask` whose next instruction finds a place in its pipe's input register. All
    /// of them belong to scheduler `s`. `FEW` says that the SM has at most 64 warp slots.
    #[inline]
    pub(crate) fn with_free_pipe<const FEW: bool>(&self, s: usize, mask: WarpMask) -> WarpMask {
        if mask == 0 {
            return 0;
        }
        let full = self.full_pipes(s);
        if full == 0 {
            return mask;
        }
        let mut closed = with_choice(full);
        let mut free = mask;
        // Every instruction uses one pipe, and few pipes are closed at a time.
        while closed != 0 {
            let waiting = self.warps.next_pipe[pipe_of_bit(closed)].mask();
            free &= !(waiting & if FEW { FIRST_64 } else { WarpMask::MAX });
            closed &= closed - 1;
        }
        free
    }

    /// The pipes that accept nothing from scheduler `s`, as a mask of their [`bit_of`].
    fn closed_pipes(&self, s: usize) -> u64 {
        with_choice(self.full_pipes(s))
    }

    /// `closed_pipes` without the choice of two pipes.
    #[inline]
    fn full_pipes(&self, s: usize) -> u64 {
        let full = self.collectors.input.full(self.sub_core(s));
        let records = if self.ldst.has_room() {
            0
        } else {
            bit_of(Pipe::Mem as usize)
        };
        full | records
    }

    /// Runs one scheduler for one cycle. Returns the cause to which the cycle is attributed.
    #[inline(always)]
    fn schedule<const FEW: bool, const PLAIN: bool, const WATCHED: bool>(
        &mut self,
        s: usize,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<SlotCause, Fault> {
        if !PLAIN && let Some(cause) = self.pass_taken_slot(s, now) {
            return Ok(cause);
        }
        let Scheduler {
            own: mut all,
            wants_cycles,
            memory_from,
            ..
        } = self.schedulers[s];
        if FEW {
            all &= FIRST_64;
        }
        let own = all & !self.warps.waiting();
        let wrong = own & self.warps.flush;
        let clear = own & self.warps.clear & !self.warps.flush;
        let mut ready = self.with_free_pipe::<FEW>(s, clear);
        if !PLAIN && now < memory_from {
            ready &= !self.warps.next_pipe[Pipe::Mem as usize];
        }
        let picked = if WATCHED && wants_cycles {
            if self.can_ask(now, s, ready, wrong) {
                self.ask::<FEW>(now, s, ready)
            } else if self.can_pass(ready, wrong) {
                self.schedulers[s].pass_unready::<FEW>(&self.warps);
                None
            } else {
                self.pick_watched::<FEW>(now, s, ready, wrong)
            }
        } else {
            self.pick(s, ready, wrong)
        };
        let Some(slot) = picked else {
            let valid = own & self.warps.buffered & !self.warps.flush;
            if ready == 0 {
                let cause = self.why_not(all, valid, clear);
                self.count_stalls((s, cause), (valid, clear), (now, 1));
                return Ok(cause);
            }
            self.note_held(s, ready, now);
            return Ok(SlotCause::Policy);
        };
        debug_assert!(ready >> slot.index() & 1 != 0, "{slot} is not ready");
        let issuer = Issuer {
            slot,
            scheduler: s,
            sub_core: self.sub_core(s),
        };
        let issued = if PLAIN {
            self.issue_one::<PLAIN>(issuer, now, memory)?;
            1
        } else {
            self.issue_from(issuer, now, memory)?
        };
        self.detail.issues[usize::from(issued > 1)][s % MAX_SCHEDULERS] += 1;
        Ok(SlotCause::Issued)
    }

    /// Tells the policy where a warp is that has issued `issued` instructions in this cycle.
    #[inline(never)]
    fn tell_progress(&mut self, issuer: Issuer, issued: u32) {
        let w = issuer.slot.index();
        let kernel = self.warps.track[w].kernel;
        let image = prepared_kernel(&self.kernels, kernel);
        let next = self.warps.exec[w].pc();
        let left = next.map_or(0, |pc| image.timed.len() - pc.index());
        let progress = Progress {
            kernel,
            issued,
            next,
            left: left as u32,
            lanes: self.warps.exec[w].active_mask(),
        };
        let policy = &mut self.schedulers[issuer.scheduler].policy;
        policy.on_progress(issuer.slot, &progress);
    }

    /// Issues from one ready warp, more than once where the machine allows it. Returns the number
    /// of instructions.
    #[inline(always)]
    fn issue_from(
        &mut self,
        issuer: Issuer,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<u32, Fault> {
        let next = self.warps.next_pipe_of(issuer.slot.index());
        let first = open_pipe(&self.collectors.input, issuer.sub_core, next);
        self.issue_one::<false>(issuer, now, memory)?;
        let issued = match self.max_issue_per_warp {
            1 => 1,
            _ => self.issue_further(issuer, first, now, memory)?,
        };
        if self.schedulers[issuer.scheduler].wants_progress {
            self.tell_progress(issuer, issued);
        }
        Ok(issued)
    }

    /// Issues further instructions from a warp whose first instruction of this cycle went to pipe
    /// `last`. Returns the number of instructions, the first included.
    #[inline(never)]
    fn issue_further(
        &mut self,
        issuer: Issuer,
        mut last: Pipe,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<u32, Fault> {
        let slot = issuer.slot;
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
            let next = self.warps.next_pipe_of(w);
            let pipe = open_pipe(&self.collectors.input, issuer.sub_core, next);
            let open = self.warps.buffered.has(w) && self.warps.clear.has(w);
            if !open || self.closed_pipes(issuer.scheduler) & bit_of(pipe as usize) != 0 {
                break;
            }
            if pipe == Pipe::Mem && now < self.schedulers[issuer.scheduler].memory_from {
                break;
            }
            if self.dual_issue_different && pipe == last {
                break;
            }
            if self.schedulers[issuer.scheduler].wants_cycles
                && self.holds_back(issuer.scheduler, slot)
            {
                break;
            }
            last = pipe;
            self.issue_one::<false>(issuer, now, memory)?;
            issued += 1;
        }
        Ok(issued)
    }

    /// Executes the next instruction of a warp and puts it into its pipe's input register.
    #[inline(always)]
    fn issue_one<const PLAIN: bool>(
        &mut self,
        issuer: Issuer,
        now: Cycle,
        memory: &DeviceMemory,
    ) -> Result<(), Fault> {
        let slot = issuer.slot;
        let w = slot.index();
        let WarpPipelineState { kernel, block, .. } = self.warps.track[w];
        (self.env.warp_slot, self.env.clock) = (slot.0, now);
        let prepared = prepared_kernel(&self.kernels, kernel);
        let mut port = MemPort {
            image: memory,
            log: &mut self.log,
            now,
        };
        let state = &mut self.blocks[block.index()].state;
        let warp = &mut self.warps.exec[w];
        let (env, out) = (&self.env, &mut self.out);
        step(&prepared.launch, state, warp, &mut port, env, out)?;
        let goes_on = warp.pc();
        self.detail.issued_by_slot[w.min(MAX_SLOTS - 1)] += 1;
        let (pc, inst) = (out.pc, prepared.at(out.pc));
        let pipe = open_pipe(&self.collectors.input, issuer.sub_core, inst.pipe);
        let own = &mut self.by_kernel[kernel.index()];
        own.pipe_cycles[pipe as usize] += u64::from(inst.interval);
        self.counters.pipe_cycles[pipe as usize] += u64::from(inst.interval);
        let energy = prepared.energy[pc.index()];
        count_issue(own, &mut self.counters, energy, out);
        if !PLAIN {
            let slots = (prepared.further_slots(pc), inst.latency);
            self.schedulers[issuer.scheduler].issues(now, pipe, slots);
        }
        self.warps.issued((slot, pc), inst, prepared, goes_on);
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
            product: None,
            latency: inst.latency,
            interval: inst.interval,
        };
        let order = self.counters.warp_instructions;
        let issued = Issued::new(FlightId(id), order, issuer.sub_core);
        self.collectors.input.push(pipe as usize, issued);
        let copies = inst.copies;
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
        let prepared = prepared_kernel(&self.kernels, self.warps.track[w].kernel);
        let block = &self.blocks[self.warps.track[w].block.index()].state;
        let warp = &self.warps.exec[w];
        let report = report_finding(&prepared.launch, block, warp, memory, &self.out);
        if let Some(report) = report
            && !self.findings.iter().any(|known| known.repeats(&report))
        {
            self.findings.push(report);
        }
    }

    /// Carries out the effects of an issued instruction beyond its registers. The instruction has
    /// the record `flight` and goes to `pipe`.
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
            Effect::Peers(effect) => {
                self.flights[flight.0].mem = Some(self.peers_record(slot, effect));
                return;
            }
            Effect::Bulk => {
                self.flights[flight.0].mem = Some(self.bulk_record(slot));
                self.post_accesses(slot);
                return;
            }
            Effect::Barrier(arrival) => self.arrive(slot, block, &arrival),
            Effect::Exit if self.warps.exec[slot.index()].is_done() => self.warp_done(slot, block),
            Effect::Stuck => self.warps.at_barrier.insert(slot.index()),
            // The exit of some lanes empties the warp's buffer at once.
            Effect::Exit => self.warps.drop_buffer(slot.index()),
            _ => {}
        }
        if pipe == Pipe::Mem {
            self.flights[flight.0].mem = self.record_without_access(slot, kernel);
        }
    }

    /// Notes the start, commit or wait of asynchronous operations by an issued instruction. The
    /// warp's next instruction may have to wait for these operations.
    #[cold]
    fn note_copy(
        &mut self,
        (slot, kernel): (WarpSlot, KernelSlot),
        role: CopyRole,
        flight: FlightId,
    ) {
        let w = slot.index();
        let groups = &mut self.warps.copies[w];
        let flight = &mut self.flights[flight.0];
        match (role, flight.mem) {
            (CopyRole::Start, Some(id)) => {
                self.ldst.insts[id.0].copy = Some(groups.copies.start());
            }
            (CopyRole::StartProduct, _) => flight.product = Some(groups.products.start()),
            (CopyRole::Commit, _) => groups.copies.commit(),
            (CopyRole::CommitOther(kind), _) => groups.of(kind).commit(),
            _ => {}
        }
        let prepared = prepared_kernel(&self.kernels, kernel);
        self.warps.refresh_arrived(w, prepared);
    }

    /// The record of an instruction of the memory pipe that accesses nothing: none for a fence, an
    /// empty one for an instruction whose guard is false in every lane.
    #[cold]
    fn record_without_access(&mut self, slot: WarpSlot, kernel: KernelSlot) -> Option<MemId> {
        let inst = prepared_kernel(&self.kernels, kernel).at(self.out.pc);
        (!inst.fence).then(|| self.empty_record(slot))
    }
}

/// The pipe that an instruction for `pipe` enters from a sub-core in this cycle: of two, SP as long
/// as its input register has a place.
#[inline]
fn open_pipe(inputs: &StageRegisters, sub_core: u8, pipe: Pipe) -> Pipe {
    if pipe != Pipe::SpOrSfu {
        pipe
    } else if inputs.is_full(Pipe::Sp as usize, sub_core) {
        Pipe::Sfu
    } else {
        Pipe::Sp
    }
}

/// Some closed pipes, with the choice of SP and SFU if both are among them.
#[inline]
pub(crate) const fn with_choice(closed: u64) -> u64 {
    const BOTH: u64 = bit_of(Pipe::Sp as usize) | bit_of(Pipe::Sfu as usize);
    if closed & BOTH == BOTH {
        closed | bit_of(Pipe::SpOrSfu as usize)
    } else {
        closed
    }
}

/// Counts an issued instruction for its kernel and for the SM.
#[inline]
fn count_issue(own: &mut KernelCounters, all: &mut SmCounters, energy: EnergyFacts, out: &StepOut) {
    let lanes = if out.active == LaneMask::MAX {
        all.issued_by_lanes[LaneMask::BITS as usize - 1] += 1;
        u64::from(LaneMask::BITS)
    } else {
        count_some_lanes(all, out)
    };
    own.warp_instructions += 1;
    own.thread_instructions += lanes;
    all.warp_instructions += 1;
    all.thread_instructions += lanes;
    all.register_writes += u64::from(energy.registers_written);
    all.other_operands += u64::from(energy.other_operands);
    if let Some(warps) = all.unit_warps.get_mut(usize::from(energy.unit)) {
        *warps += 1;
        all.unit_lanes[usize::from(energy.unit)] += lanes;
    }
}

/// Counts an instruction that does not take effect in all lanes. Returns the number of lanes in
/// which it does.
#[inline]
fn count_some_lanes(all: &mut SmCounters, out: &StepOut) -> u64 {
    let lanes = out.active.count_ones();
    all.issued_without_lanes += u64::from(lanes == 0);
    let on_stack = count_lanes(out.stack_active);
    all.issued_by_lanes[on_stack - 1] += 1;
    u64::from(lanes)
}
