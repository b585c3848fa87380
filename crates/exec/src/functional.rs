//! Execution of a grid without timing, which yields its outputs and shows whether the program
//! terminates.
//!
//! Blocks start in order, a limited number at a time, and their warps take turns. Stores are
//! visible to all threads at once.

mod resident;

use crate::context::LaunchContext;
use crate::fault::{Fault, FindingReport};
use crate::fold::folded;
use crate::memory::atomic::{AtomicMode, apply_atomic};
use crate::memory::device::DeviceMemory;
use crate::memory::write_log::{MemPort, WriteLog};
use crate::observer::Observer;
use crate::outcome::{Effect, Env, StepOut};
use crate::row::{Watcher, execute_rows};
use crate::state::barrier::BarrierOutcome;
use crate::state::block::BlockState;
use crate::state::cluster::ClusterSignal;
use crate::state::stack::Divergence;
use crate::state::warp::WarpState;
use crate::step::{report_finding, step};
use resident::{Resident, describe_block, release_warps};
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use warploom_base::{Dim3, LaneMask, WARP_SIZE};

/// Options of a functional run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionalOptions {
    /// Rank in the grid of the first block that runs.
    pub first_block: u64,
    /// Rank in the grid after the last block that runs. A value beyond the grid stands for its end.
    pub end_block: u64,
    /// Number of blocks that run at the same time. A program whose blocks wait for later blocks
    /// needs a number that includes those.
    pub resident_blocks: usize,
    /// Number of instructions that a warp executes in one turn.
    pub quantum: u32,
    /// Number of warp instructions after which the run is aborted.
    pub budget: u64,
    /// Number of warp instructions after which no further block starts. Blocks that have started
    /// run to their end.
    pub start_budget: u64,
    /// Number of turns of a warp without a barrier or an exit after which its state is watched for
    /// repetition.
    pub watch_after: u32,
    /// Maximum number of findings that are kept. Further findings are only counted.
    pub max_findings: usize,
}

impl Default for FunctionalOptions {
    fn default() -> Self {
        Self {
            first_block: 0,
            end_block: u64::MAX,
            resident_blocks: 1,
            quantum: 256,
            budget: u64::MAX,
            start_budget: u64::MAX,
            watch_after: 1024,
            max_findings: 64,
        }
    }
}

impl FunctionalOptions {
    /// Number of blocks of a launch that run.
    fn blocks(&self, ctx: &LaunchContext) -> u64 {
        let end = ctx.grid().count().min(self.end_block);
        end.saturating_sub(self.first_block)
    }
}

/// Statistics and findings of a functional run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionalStats {
    /// Number of completed blocks.
    pub blocks: u64,
    /// Number of executed warp instructions.
    pub warp_instructions: u64,
    /// Number of thread instructions: the active lanes of each warp instruction, summed.
    pub thread_instructions: u64,
    /// Findings of the launch's checks, one for each instruction and kind.
    pub findings: Vec<FindingReport>,
    /// Number of findings that were not kept.
    pub findings_dropped: u64,
}

/// Description of the unfinished warps of a run that cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckReport {
    /// Name of the kernel.
    pub kernel: String,
    /// Index of each unfinished block in the grid, with a description of what each of its
    /// unfinished warps waits for.
    pub blocks: Vec<(Dim3, Vec<String>)>,
}

impl fmt::Display for StuckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`", self.kernel)?;
        for (ctaid, warps) in &self.blocks {
            write!(f, "\nblock {ctaid}:")?;
            for warp in warps {
                write!(f, "\n  {}", warp.replace('\n', "\n  "))?;
            }
        }
        Ok(())
    }
}

/// Reason for which a functional run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The simulated program caused a fault.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// Every unfinished warp waits at a barrier, or each of its lanes waits for another lane.
    #[error("deadlock: {0}")]
    Deadlock(Box<StuckReport>),
    /// Every unfinished warp waits at a barrier or repeats its states. It spins on a condition that
    /// no remaining thread can change.
    #[error(
        "livelock: warps spin and nobody can end it (blocks that wait for blocks not started, or a \
         loop that nothing ends): {0}"
    )]
    Livelock(Box<StuckReport>),
    /// The run exceeded its budget of instructions.
    #[error("not finished after {budget} warp instructions: {report}")]
    OutOfBudget {
        /// Budget in warp instructions.
        budget: u64,
        /// Positions of the unfinished warps.
        report: Box<StuckReport>,
    },
    /// The caller ended the run.
    #[error("interrupted after {blocks} blocks")]
    Interrupted {
        /// Number of blocks that had ended.
        blocks: u64,
    },
}

/// Function that receives the statistics of a functional run so far, after each turn of all warps.
/// `Break` ends the run.
pub type Poll<'a> = &'a mut dyn FnMut(&FunctionalStats) -> ControlFlow<()>;

/// State of a functional run.
struct Driver<'a, O: ?Sized> {
    ctx: &'a LaunchContext,
    /// True if registers have to be zero when a warp begins.
    clears: bool,
    memory: &'a mut DeviceMemory,
    options: FunctionalOptions,
    observer: Option<&'a mut O>,
    /// True if the observer has to see every instruction.
    follows_all: bool,
    poll: Poll<'a>,
    log: WriteLog,
    out: StepOut,
    stats: FunctionalStats,
}

/// Runs a grid, or the part of it that the options select. Memory holds the results, also after a
/// failure.
///
/// # Errors
/// Returns a [`RunError`] if the program faults, cannot continue or exceeds its budget.
pub fn run_grid(
    ctx: &LaunchContext,
    memory: &mut DeviceMemory,
    options: FunctionalOptions,
) -> Result<FunctionalStats, RunError> {
    let none: Option<&mut dyn Observer> = None;
    run_grid_polled(ctx, memory, options, none, &mut |_| {
        ControlFlow::Continue(())
    })
}

/// Runs a grid like [`run_grid`], calls an observer after each step, if there is one, and `poll`
/// from time to time. An observer whose type is known takes less time than a `dyn Observer`.
///
/// # Errors
/// Returns the errors of [`run_grid`], and [`RunError::Interrupted`] if `poll` ends the run.
pub fn run_grid_polled<'a, O: Observer + ?Sized>(
    ctx: &'a LaunchContext,
    memory: &'a mut DeviceMemory,
    options: FunctionalOptions,
    mut observer: Option<&'a mut O>,
    poll: Poll<'a>,
) -> Result<FunctionalStats, RunError> {
    if let Some(observer) = &mut observer {
        observer.begin(ctx);
    }
    let follows_all = (observer.as_ref()).is_some_and(|observer| observer.follows_all());
    let folded = match follows_all {
        true => None,
        false => folded(ctx, options.blocks(ctx)),
    };
    let (log, out, stats) = Default::default();
    let mut driver = Driver {
        ctx: folded.as_ref().map_or(ctx, |folded| &folded.ctx),
        clears: !folded.as_ref().is_some_and(|folded| folded.writes_first),
        memory,
        options,
        follows_all,
        observer,
        poll,
        log,
        out,
        stats,
    };
    driver.run()?;
    if let Some(observer) = &mut driver.observer {
        observer.end(ctx);
    }
    Ok(driver.stats)
}

impl<O: Observer + ?Sized> Driver<'_, O> {
    fn run(&mut self) -> Result<(), RunError> {
        let total = self.ctx.grid().count().min(self.options.end_block);
        let (mut next, mut idle) = (self.options.first_block, Vec::new());
        let mut resident: VecDeque<Resident> = VecDeque::new();
        loop {
            while next < total && self.has_room(resident.len()) {
                let whole = u64::from(self.ctx.cluster().blocks());
                for rank in next..(next + whole).min(total) {
                    resident.push_back(self.start(rank, idle.pop()));
                }
                next += whole;
            }
            if resident.is_empty() {
                return Ok(());
            }
            for nth in 0..resident.len() {
                self.turn(&mut resident, nth)?;
            }
            if resident.iter().all(Resident::is_stuck) {
                let report = Box::new(self.stuck(&resident));
                let livelock = resident.iter().any(Resident::spins);
                return Err(if livelock {
                    RunError::Livelock
                } else {
                    RunError::Deadlock
                }(report));
            }
            if self.stats.warp_instructions >= self.options.budget {
                let (budget, report) = (self.options.budget, Box::new(self.stuck(&resident)));
                return Err(RunError::OutOfBudget { budget, report });
            }
            if (self.poll)(&self.stats).is_break() {
                let blocks = self.stats.blocks;
                return Err(RunError::Interrupted { blocks });
            }
            for _ in 0..resident.len() {
                match resident.pop_front() {
                    Some(block) if block.left == 0 => {
                        self.stats.blocks += 1;
                        if let Some(observer) = &mut self.observer {
                            observer.block_ended(self.ctx, block.rank);
                        }
                        idle.push(block);
                    }
                    Some(block) => resident.push_back(block),
                    None => {}
                }
            }
        }
    }

    /// True if another cluster of blocks may start.
    fn has_room(&self, resident: usize) -> bool {
        let blocks = self.ctx.cluster().blocks() as usize;
        resident + blocks <= self.options.resident_blocks.max(blocks)
            && self.stats.warp_instructions < self.options.start_budget
    }

    /// Starts the block of the given rank in the grid, and reuses the memory of a finished block if
    /// there is one.
    fn start(&self, rank: u64, reuse: Option<Resident>) -> Resident {
        let count = self.ctx.warps_per_block();
        let mut resident = reuse.unwrap_or_else(|| Resident::with_room(count as usize));
        resident.start(self.ctx, rank);
        resident
    }

    /// Lets every warp of block `nth` execute one turn. If the block before has ended, the states
    /// of its warps are used again, because the host's cache has them.
    fn turn(&mut self, all: &mut VecDeque<Resident>, nth: usize) -> Result<(), RunError> {
        if all[nth].begun == 0
            && let Some(before) = nth.checked_sub(1)
            && all[before].left == 0
        {
            let warps = std::mem::take(&mut all[before].warps);
            all[before].warps = std::mem::replace(&mut all[nth].warps, warps);
        }
        for index in 0..all[nth].warps.len() {
            if index == all[nth].begun {
                all[nth].begin_warp(self.ctx, self.clears);
            }
            let mut left = self.options.quantum;
            while left > 0 && all[nth].warps[index].can_step() {
                self.steps(&mut all[nth], index, &mut left)?;
                if !self.out.peers.is_empty() {
                    self.reach_peers(all, nth, index)?;
                }
                if let Some(signal) = all[nth].block.barriers.take_signal() {
                    self.tell_peers(all, nth, signal);
                }
            }
            self.log.commit(self.memory);
            all[nth].turned(index, self.options.watch_after);
        }
        Ok(())
    }

    /// Rank in the grid of the block of a rank in the cluster of another block.
    fn peer(&self, of: u64, rank: u32) -> u64 {
        let blocks = u64::from(self.ctx.cluster().blocks());
        of / blocks * blocks + u64::from(rank)
    }

    /// Applies what an instruction of block `nth` does to shared memory of other blocks.
    fn reach_peers(
        &mut self,
        all: &mut VecDeque<Resident>,
        nth: usize,
        index: usize,
    ) -> Result<(), RunError> {
        let mut accesses = std::mem::take(&mut self.out.peers);
        for at in 0..accesses.all().len() {
            let rank = self.peer(all[nth].rank, accesses.all()[at].rank);
            match all
                .iter_mut()
                .find(|block| block.rank == rank && block.left > 0)
            {
                Some(peer) => {
                    accesses.apply(at, &mut peer.block);
                    peer.wake();
                }
                None => {
                    self.log.commit(self.memory);
                    let own = &all[nth];
                    let place = (self.ctx, &own.block, &own.warps[index]);
                    let fault = accesses.fault(at, place, self.memory, self.out.pc);
                    return Err(fault.into());
                }
            }
        }
        accesses.write_results(self.ctx, &mut all[nth].warps[index], self.out.pc);
        accesses.clear();
        self.out.peers = accesses;
        Ok(())
    }

    /// Tells the other blocks of a cluster of an arrival of block `nth` at the cluster's barrier.
    fn tell_peers(&self, all: &mut VecDeque<Resident>, nth: usize, signal: ClusterSignal) {
        let blocks = self.ctx.cluster().blocks();
        let (own, of) = (all[nth].rank % u64::from(blocks), all[nth].rank);
        for rank in (0..blocks).filter(|rank| u64::from(*rank) != own) {
            let rank = self.peer(of, rank);
            let Some(peer) = all.iter_mut().find(|block| block.rank == rank) else {
                continue;
            };
            if let Some(release) = peer.block.barriers.hear(own as u32, signal) {
                release_warps(&mut peer.warps, &release);
                peer.wake();
            }
        }
    }

    /// Executes at most `left` instructions of a warp, up to one that may concern other warps.
    fn steps(
        &mut self,
        resident: &mut Resident,
        index: usize,
        left: &mut u32,
    ) -> Result<(), RunError> {
        let mut env = Env {
            n_sm: 1,
            n_warps: resident.warps.len() as u16,
            warp_slot: index as u16,
            clock: 0,
            clock_khz: 0,
            atomics: AtomicMode::Immediate,
            divergence: Divergence::Independent,
            sm: 0,
        };
        let Resident {
            rank, block, warps, ..
        } = resident;
        let warp = &mut warps[index];
        while *left > 0 && warp.can_step() {
            let place = (*rank, index as u32);
            env.clock = self.stats.warp_instructions;
            *left -= match self.rows(place, (block, warp), &env, *left)? {
                0 => self.step(place, (block, warp), &env)?,
                count => count,
            };
            if self.out.finding.is_some() {
                self.keep_finding(block, warp);
            }
            if let Effect::Barrier(_) | Effect::Exit = self.out.effect {
                self.tell_warps(resident, index);
                return Ok(());
            }
            if !self.out.peers.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Executes rows of a warp, at most `most` instructions, and returns their number: 0 if the
    /// next instruction is in no row, or if an observer follows each one.
    #[inline(always)]
    fn rows(
        &mut self,
        (block_rank, index): (u64, u32),
        (block, warp): (&mut BlockState, &mut WarpState),
        env: &Env,
        most: u32,
    ) -> Result<u32, RunError> {
        if self.follows_all {
            return Ok(0);
        }
        let mut port = MemPort {
            image: self.memory,
            log: &mut self.log,
            now: env.clock,
        };
        let watcher = Watcher {
            observer: self.observer.as_deref_mut(),
            block: block_rank,
            warp: index,
        };
        let out = (&mut self.out, most);
        let executed = execute_rows(self.ctx, (block, warp), &mut port, env, out, watcher);
        let executed = executed.inspect_err(|_| self.log.commit(self.memory))?;
        self.stats.warp_instructions += u64::from(executed.instructions);
        self.stats.thread_instructions += executed.threads;
        Ok(executed.instructions)
    }

    /// Executes one instruction of a warp, and returns 1.
    #[inline(always)]
    fn step(
        &mut self,
        (block_rank, index): (u64, u32),
        (block, warp): (&mut BlockState, &mut WarpState),
        env: &Env,
    ) -> Result<u32, RunError> {
        let mut port = MemPort {
            image: self.memory,
            log: &mut self.log,
            now: env.clock,
        };
        let result = step(self.ctx, block, warp, &mut port, env, &mut self.out);
        if let Err(fault) = result {
            self.log.commit(self.memory);
            return Err(fault.into());
        }
        if self.out.atomic.mask != 0 {
            // Atomic operations of the heap are left to the owner of the memory in every mode.
            let batch = &self.out.atomic;
            let old = apply_atomic(self.memory, batch, batch.mask);
            if let Some(dst) = batch.dst {
                warp.write_atomic_result(dst, batch.mask, &old);
            }
        }
        self.stats.warp_instructions += 1;
        self.stats.thread_instructions += match self.out.active {
            LaneMask::MAX => WARP_SIZE as u64,
            some => u64::from(some.count_ones()),
        };
        if let Some(observer) = &mut self.observer {
            observer.stepped(block_rank, index, &self.out);
            if !self.follows_all {
                observer.passed(self.out.pc, 1);
            }
        }
        Ok(1)
    }

    /// Handles an arrival at a barrier or an exit, which other warps of the block may wait for.
    fn tell_warps(&mut self, resident: &mut Resident, index: usize) {
        let Resident {
            block, warps, left, ..
        } = resident;
        match self.out.effect {
            Effect::Barrier(arrival) => {
                if let BarrierOutcome::Release(release) =
                    block.barriers.arrive_quickly(index as u32, &arrival)
                {
                    release_warps(warps, &release);
                }
            }
            Effect::Exit if warps[index].is_done() => {
                *left -= 1;
                block
                    .barriers
                    .warp_exited(index as u32, |release| release_warps(warps, &release));
            }
            _ => return,
        }
        resident.wake();
    }

    /// Keeps the finding of the last step unless it was reported before.
    fn keep_finding(&mut self, block: &BlockState, warp: &WarpState) {
        let Some(finding) = self.out.finding else {
            return;
        };
        let known = |report: &FindingReport| {
            report.place.pc == self.out.pc
                && std::mem::discriminant(&report.kind) == std::mem::discriminant(&finding.kind)
        };
        if self.stats.findings.iter().any(known) {
            return;
        }
        if self.stats.findings.len() >= self.options.max_findings {
            self.stats.findings_dropped += 1;
            return;
        }
        let report = report_finding(self.ctx, block, warp, self.memory, &self.out);
        self.stats.findings.extend(report);
    }

    /// Describes the unfinished blocks of a run that cannot continue.
    fn stuck(&self, resident: &VecDeque<Resident>) -> StuckReport {
        let blocks = resident
            .iter()
            .map(|r| (r.block.ctaid(), describe_block(self.ctx, r)));
        StuckReport {
            kernel: self.ctx.program().name.clone(),
            blocks: blocks.collect(),
        }
    }
}
