//! Rows of instructions, which follow each other and concern no other warp, except through memory.
//! Without timing, rows and the branches, barriers and exits between them are executed in one loop,
//! which takes a fraction of the time of as many calls of [`step`](crate::step()).

use crate::context::LaunchContext;
use crate::decode::{Between, Decoded};
use crate::fault::Fault;
use crate::inst::InstExec;
use crate::memory::write_log::MemPort;
use crate::observer::Observer;
use crate::outcome::{Effect, Env, StepOut};
use crate::state::block::BlockState;
use crate::state::warp::WarpState;
use crate::step::guard_mask;
use warploom_base::{LaneMask, Pc, WARP_SIZE};

/// Number of instructions that were executed, and their active lanes, summed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Executed {
    pub instructions: u32,
    pub threads: u64,
}

impl Executed {
    #[inline(always)]
    fn add(&mut self, mask: LaneMask) {
        self.instructions += 1;
        self.threads += lane_count(mask);
    }
}

/// Number of lanes of a mask. Most masks are full or empty.
#[inline(always)]
fn lane_count(mask: LaneMask) -> u64 {
    match mask {
        LaneMask::MAX => WARP_SIZE as u64,
        0 => 0,
        some => u64::from(some.count_ones()),
    }
}

/// Observer of the instructions of one warp, if there is one.
pub(crate) struct Watcher<'a, O: ?Sized> {
    pub observer: Option<&'a mut O>,
    /// Rank of the warp's block in the grid.
    pub block: u64,
    /// Index of the warp in the block.
    pub warp: u32,
}

impl<O: Observer + ?Sized> Watcher<'_, O> {
    #[inline(always)]
    fn stepped(&mut self, out: &StepOut) {
        if let Some(observer) = &mut self.observer {
            observer.stepped(self.block, self.warp, out);
        }
    }

    #[inline(always)]
    fn passed(&mut self, first: Pc, count: u32) {
        if let Some(observer) = &mut self.observer {
            observer.passed(first, count);
        }
    }
}

/// Executes rows of a warp and the instructions between them, at most `most`, up to one that has to
/// be executed as a step, a barrier, an exit, an access with a finding, or one to memory of other
/// blocks.
///
/// # Errors
/// Returns a [`Fault`] if the simulated program cannot continue.
#[inline(always)]
pub(crate) fn execute_rows<O: Observer + ?Sized>(
    ctx: &LaunchContext,
    (block, warp): (&mut BlockState, &mut WarpState),
    port: &mut MemPort<'_>,
    env: &Env,
    (out, most): (&mut StepOut, u32),
    mut watcher: Watcher<'_, O>,
) -> Result<Executed, Fault> {
    let mut done = Executed::default();
    let code = &ctx.code[..];
    let Some(next) = warp.stack.top().and_then(|(pc, _)| code.get(pc.index())) else {
        return Ok(done);
    };
    if !next.starts_row() {
        return Ok(done);
    }
    out.effect = Effect::None;
    out.finding = None;
    out.atomic.mask = 0;
    let mut machine = InstExec {
        ctx,
        block,
        warp,
        port,
        env,
        out,
        inst: &next.inst,
        pc: Pc(0),
        polls: false,
        mask: 0,
    };
    while done.instructions < most
        && machine.warp.pending.is_none()
        && let Some((first, lanes)) = machine.warp.stack.top()
        && let Some(row) = code.get(first.index()..)
        && let Some(next) = row.first()
    {
        let place = (first, lanes);
        machine.out.stack_active = lanes;
        if next.row > 0 {
            let left = (most - done.instructions).min(machine.warp.stack.before_reconvergence());
            let row = &row[..left.min(next.row.into()) as usize];
            let count = machine.run(row, place, &mut done, &mut watcher)?;
            watcher.passed(first, count);
            if machine.out.finding.is_some() || !machine.out.peers.is_empty() {
                break;
            }
            continue;
        }
        match next.between {
            Some(Between::Branch) => {
                machine.take_branch(next, place, &mut done)?;
                watcher.passed(first, 1);
            }
            Some(Between::Barrier) if !machine.is_whole(lanes) => break,
            Some(Between::Barrier | Between::Exit) => {
                let tells_others = machine.take_step(next, place, &mut done)?;
                watcher.passed(first, 1);
                if tells_others {
                    break;
                }
            }
            None => break,
        }
    }
    Ok(done)
}

impl<'a> InstExec<'a, '_> {
    /// Executes instructions of a row from `first` on, for the lanes of the stack's top entry.
    /// Returns their number.
    #[inline(always)]
    fn run<O: Observer + ?Sized>(
        &mut self,
        row: &'a [Decoded],
        (first, lanes): (Pc, LaneMask),
        done: &mut Executed,
        watcher: &mut Watcher<'_, O>,
    ) -> Result<u32, Fault> {
        let (mut at, mut idle) = (first, 0);
        for decoded in row {
            (self.inst, self.pc, self.mask) = (&decoded.inst, at, lanes);
            at.0 += 1;
            if decoded.is_plain {
                self.call_handler(decoded)?;
                continue;
            }
            self.prepare(decoded);
            idle += lane_count(lanes ^ self.mask);
            if self.mask == 0 {
                continue;
            }
            self.call_handler(decoded)?;
            if decoded.accesses_memory {
                watcher.stepped(self.out);
                if self.out.finding.is_some() || !self.out.peers.is_empty() {
                    break;
                }
            }
        }
        self.fall_through();
        let count = at.0 - first.0;
        done.instructions += count;
        done.threads += u64::from(count) * lane_count(lanes) - idle;
        Ok(count)
    }

    /// Executes a branch between rows.
    #[inline(always)]
    fn take_branch(
        &mut self,
        branch: &'a Decoded,
        (pc, lanes): (Pc, LaneMask),
        done: &mut Executed,
    ) -> Result<(), Fault> {
        (self.inst, self.pc, self.mask) = (&branch.inst, pc, lanes);
        self.mask &= guard_mask(&branch.inst, self.warp);
        done.add(self.mask);
        self.polls = branch.polls;
        self.call_handler(branch)
    }

    /// Executes a barrier or an exit between rows. Returns true if other warps may be concerned.
    #[inline(always)]
    fn take_step(
        &mut self,
        decoded: &'a Decoded,
        (pc, lanes): (Pc, LaneMask),
        done: &mut Executed,
    ) -> Result<bool, Fault> {
        (self.inst, self.pc, self.mask) = (&decoded.inst, pc, lanes);
        self.mask &= guard_mask(&decoded.inst, self.warp);
        done.add(self.mask);
        self.out.effect = Effect::None;
        (self.out.pc, self.out.active) = (pc, self.mask);
        if self.sync_block() {
            return Ok(true);
        }
        self.call_handler(decoded)?;
        Ok(matches!(self.out.effect, Effect::Barrier(_) | Effect::Exit))
    }

    /// Prepares an instruction that is more than its handler: the lanes for which its guard holds,
    /// special registers that it reads, and the report of an access.
    #[inline(always)]
    fn prepare(&mut self, decoded: &Decoded) {
        self.mask &= guard_mask(&decoded.inst, self.warp);
        if decoded.reads_special {
            self.stage_sources();
        }
        if decoded.accesses_memory {
            (self.out.pc, self.out.active) = (self.pc, self.mask);
        }
    }
}
