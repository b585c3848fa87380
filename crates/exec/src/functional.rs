//! Running a grid without timing: what the outputs are, and whether the program ends.
//!
//! Blocks start in order, a few at a time; warps take turns. Everything is visible at once.

use crate::context::LaunchContext;
use crate::fault::{Fault, FindingReport};
use crate::memory::atomic::{AtomicMode, apply_atomic};
use crate::memory::device::DeviceMemory;
use crate::memory::write_log::{MemPort, WriteLog};
use crate::outcome::{Effect, Env, StepOut};
use crate::state::barrier::{BarrierOutcome, BarrierRelease};
use crate::state::block::BlockState;
use crate::state::stack::Divergence;
use crate::state::warp::WarpState;
use crate::step::{report_finding, step};
use std::collections::VecDeque;
use std::fmt;
use warploom_base::{Dim3, lanes_of};

/// How to run a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionalOptions {
    /// First block that runs, by rank in the grid.
    pub first_block: u64,
    /// The block after the last that runs, if the grid has so many.
    pub end_block: u64,
    /// Blocks in flight. Programs whose blocks wait for later ones need as many as those.
    pub resident_blocks: usize,
    /// Instructions of one warp before the next takes its turn.
    pub quantum: u32,
    /// Warp instructions after which the run is given up.
    pub budget: u64,
    /// Warp instructions after which no further block starts; those that have started end.
    pub enough: u64,
    /// Turns of a warp without a barrier or an exit after which its state is watched for
    /// repetition.
    pub patience: u32,
    /// Most findings kept; further ones only count.
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
            enough: u64::MAX,
            patience: 1024,
            max_findings: 64,
        }
    }
}

/// What a functional run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionalStats {
    /// Blocks completed.
    pub blocks: u64,
    /// Warp instructions.
    pub warp_instructions: u64,
    /// Instructions times lanes in which they took effect.
    pub thread_instructions: u64,
    /// Findings of the launch's checks, one per instruction and kind.
    pub findings: Vec<FindingReport>,
    /// Findings left out.
    pub findings_dropped: u64,
}

/// What each unfinished warp waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckReport {
    /// Kernel.
    pub kernel: String,
    /// One entry per block: its place and what its warps wait for.
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

/// Why a functional run did not end well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A fault of the program.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// Every unfinished warp waits at a barrier, or each of its lanes for another one.
    #[error("deadlock: {0}")]
    Deadlock(Box<StuckReport>),
    /// Every unfinished warp waits at a barrier or repeats itself: it spins on something that
    /// nobody left can change.
    #[error(
        "livelock: warps spin and nobody can end it (blocks that wait for blocks not started, or a \
         loop that nothing ends): {0}"
    )]
    Livelock(Box<StuckReport>),
    /// The budget is used up.
    #[error("not finished after {budget} warp instructions: {report}")]
    OutOfBudget {
        /// The budget.
        budget: u64,
        /// Where the warps are.
        report: Box<StuckReport>,
    },
}

/// Watches one warp for states that come back (Brent's cycle detection over its turns).
#[derive(Clone, Copy, Default)]
struct Watch {
    /// Turns since the last barrier or exit.
    turns: u32,
    saved: u64,
    /// Turn at which `saved` is replaced next.
    renew: u32,
    repeats: bool,
}

impl Watch {
    fn turn(&mut self, warp: &WarpState, patience: u32) {
        self.turns = self.turns.saturating_add(1);
        if self.turns <= patience {
            return;
        }
        let state = warp.fingerprint();
        self.repeats |= self.renew > 0 && state == self.saved;
        if self.turns >= self.renew {
            (self.saved, self.renew) = (state, self.turns.saturating_mul(2));
            self.repeats = false;
        }
    }
}

/// Watches a functional run, between its steps.
pub trait Observer {
    /// A grid begins.
    fn begin(&mut self, launch: &LaunchContext);

    /// A warp of the block of this rank (x fastest) executed an instruction.
    fn stepped(&mut self, block: u64, warp: u32, out: &StepOut);

    /// Every warp of the block has ended.
    fn block_ended(&mut self, launch: &LaunchContext, block: u64);

    /// All blocks have ended.
    fn end(&mut self, launch: &LaunchContext);
}

struct Resident {
    rank: u64,
    block: BlockState,
    warps: Vec<WarpState>,
    watches: Vec<Watch>,
    /// Warps not done.
    left: usize,
}

impl Resident {
    /// Every unfinished warp waits or repeats itself.
    fn is_stuck(&self) -> bool {
        let mut pairs = self.warps.iter().zip(&self.watches);
        self.left > 0
            && pairs.all(|(warp, watch)| warp.is_done() || warp.is_pending() || watch.repeats)
    }

    /// Something happened that may end others' waiting: watch anew.
    fn wake(&mut self) {
        self.watches.fill(Watch::default());
    }
}

struct Driver<'a> {
    ctx: &'a LaunchContext,
    memory: &'a mut DeviceMemory,
    options: FunctionalOptions,
    observer: Option<&'a mut dyn Observer>,
    log: WriteLog,
    out: StepOut,
    stats: FunctionalStats,
}

/// Runs a grid, as much of it as the options say. Memory holds its results, also when it fails.
pub fn run_grid(
    ctx: &LaunchContext,
    memory: &mut DeviceMemory,
    options: FunctionalOptions,
) -> Result<FunctionalStats, RunError> {
    run(ctx, memory, options, None)
}

/// The same, watched.
pub fn run_grid_observed(
    ctx: &LaunchContext,
    memory: &mut DeviceMemory,
    options: FunctionalOptions,
    observer: &mut dyn Observer,
) -> Result<FunctionalStats, RunError> {
    observer.begin(ctx);
    let stats = run(ctx, memory, options, Some(observer))?;
    observer.end(ctx);
    Ok(stats)
}

fn run<'a>(
    ctx: &'a LaunchContext,
    memory: &'a mut DeviceMemory,
    options: FunctionalOptions,
    observer: Option<&'a mut dyn Observer>,
) -> Result<FunctionalStats, RunError> {
    let (log, out, stats) = Default::default();
    let mut driver = Driver {
        ctx,
        memory,
        options,
        observer,
        log,
        out,
        stats,
    };
    driver.run()?;
    Ok(driver.stats)
}

impl Driver<'_> {
    fn run(&mut self) -> Result<(), RunError> {
        let total = self.ctx.grid().count().min(self.options.end_block);
        let (mut next, mut idle) = (self.options.first_block, Vec::new());
        let mut resident: VecDeque<Resident> = VecDeque::new();
        loop {
            while next < total && self.has_room(resident.len()) {
                resident.push_back(self.start(next, idle.pop()));
                next += 1;
            }
            if resident.is_empty() {
                return Ok(());
            }
            for block in &mut resident {
                self.turn(block)?;
            }
            if resident.iter().all(Resident::is_stuck) {
                let spins = |r: &Resident| r.watches.iter().any(|watch| watch.repeats);
                let report = Box::new(self.stuck(&resident));
                let livelock = resident.iter().any(spins);
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

    fn has_room(&self, resident: usize) -> bool {
        resident < self.options.resident_blocks.max(1)
            && self.stats.warp_instructions < self.options.enough
    }

    fn start(&self, rank: u64, reuse: Option<Resident>) -> Resident {
        let count = self.ctx.warps_per_block();
        let mut resident = reuse.unwrap_or_else(|| Resident {
            rank,
            block: BlockState::new(),
            warps: vec![WarpState::new(); count as usize],
            watches: Vec::new(),
            left: 0,
        });
        resident.rank = rank;
        resident.block.reset(self.ctx, self.ctx.grid().point(rank));
        for (warp, index) in resident.warps.iter_mut().zip(0..) {
            warp.reset(self.ctx, &resident.block, index);
        }
        resident.watches.clear();
        resident.watches.resize(count as usize, Watch::default());
        resident.left = count as usize;
        resident
    }

    /// Every warp of a block runs for a while.
    fn turn(&mut self, resident: &mut Resident) -> Result<(), RunError> {
        for index in 0..resident.warps.len() {
            for _ in 0..self.options.quantum {
                let warp = &resident.warps[index];
                if warp.is_done() || warp.is_pending() {
                    break;
                }
                self.step(resident, index)?;
            }
            self.log.commit(self.memory);
            resident.watches[index].turn(&resident.warps[index], self.options.patience);
        }
        Ok(())
    }

    fn step(&mut self, resident: &mut Resident, index: usize) -> Result<(), RunError> {
        let now = self.stats.warp_instructions;
        let env = Env {
            n_sm: 1,
            n_warps: resident.warps.len() as u16,
            warp_slot: index as u16,
            clock: now,
            clock_khz: 0,
            atomics: AtomicMode::Immediate,
            divergence: Divergence::Independent,
            sm: 0,
        };
        let Resident {
            rank,
            block,
            warps,
            left,
            ..
        } = resident;
        let warp = &mut warps[index];
        let mut port = MemPort {
            image: self.memory,
            log: &mut self.log,
            now,
        };
        let result = step(self.ctx, block, warp, &mut port, &env, &mut self.out);
        if let Err(fault) = result {
            self.log.commit(self.memory);
            return Err(fault.into());
        }
        if self.out.atomic.mask != 0 {
            // What is the memory owner's in every mode.
            let batch = &self.out.atomic;
            let old = apply_atomic(self.memory, batch, batch.mask);
            if let Some(dst) = batch.dst {
                warp.write_atomic_result(dst, batch.mask, &old);
            }
        }
        self.stats.warp_instructions += 1;
        self.stats.thread_instructions += u64::from(self.out.active.count_ones());
        if let Some(observer) = &mut self.observer {
            observer.stepped(*rank, index as u32, &self.out);
        }
        self.keep_finding(block, &warps[index]);
        match self.out.effect {
            Effect::Barrier(arrival) => {
                if let BarrierOutcome::Release(release) =
                    block.barriers.arrive(index as u32, &arrival)
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
            _ => return Ok(()),
        }
        resident.wake();
        Ok(())
    }

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

fn release_warps(warps: &mut [WarpState], release: &BarrierRelease) {
    for half in 0..2 {
        for bit in lanes_of((release.warps >> (32 * half)) as u32) {
            if let Some(warp) = warps.get_mut(bit + 32 * half) {
                warp.finish_barrier(release);
            }
        }
    }
}

fn describe_block(ctx: &LaunchContext, resident: &Resident) -> Vec<String> {
    let unfinished = resident.warps.iter().filter(|warp| !warp.is_done());
    let barriers = &resident.block.barriers;
    unfinished
        .map(|warp| {
            let wait = warp.describe_wait(ctx, barriers);
            format!("warp {}: {wait}", warp.warp_index())
        })
        .collect()
}
