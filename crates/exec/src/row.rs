//! Rows of instructions, which follow each other and concern no other warp, except through memory.
//! Without timing, rows and the branches between them are executed in one loop, which takes a
//! fraction of the time of as many calls of [`step`](crate::step()).

use crate::context::LaunchContext;
use crate::decode::Decoded;
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
        self.threads += match mask {
            LaneMask::MAX => WARP_SIZE as u64,
            some => u64::from(some.count_ones()),
        };
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
    fn accessed(&mut self, out: &StepOut) {
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

/// Executes rows and branches of a warp, at most `most` instructions, up to one that has to be
/// executed as a step, an access with a finding, or one to memory of other blocks.
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
        && let Some(next) = row.first().filter(|next| next.starts_row())
    {
        let left = (most - done.instructions).min(machine.warp.stack.before_reconvergence());
        let row = &row[..left.min(next.row.into()) as usize];
        machine.out.stack_active = lanes;
        let count = if row.is_empty() {
            machine.take_branch(next, (first, lanes), &mut done)?;
            1
        } else {
            machine.run(row, (first, lanes), &mut done, &mut watcher)?
        };
        watcher.passed(first, count);
        if machine.out.finding.is_some() || !machine.out.peers.is_empty() {
            break;
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
        let mut pc = first;
        for decoded in row {
            let mask = self.begin(decoded, (pc, lanes), done);
            pc.0 += 1;
            if mask == 0 {
                continue;
            }
            self.call_handler(decoded)?;
            if decoded.accesses_memory {
                watcher.accessed(self.out);
                if self.out.finding.is_some() || !self.out.peers.is_empty() {
                    break;
                }
            }
        }
        self.fall_through();
        Ok(pc.0 - first.0)
    }

    /// Executes a branch between rows.
    #[inline(always)]
    fn take_branch(
        &mut self,
        branch: &'a Decoded,
        at: (Pc, LaneMask),
        done: &mut Executed,
    ) -> Result<(), Fault> {
        self.begin(branch, at, done);
        self.polls = branch.polls;
        self.call_handler(branch)
    }

    /// Turns to the instruction at `pc` for lanes of the stack's top entry. Returns its active
    /// lanes.
    #[inline(always)]
    fn begin(
        &mut self,
        decoded: &'a Decoded,
        (pc, lanes): (Pc, LaneMask),
        done: &mut Executed,
    ) -> LaneMask {
        let mask = lanes & guard_mask(&decoded.inst, self.warp);
        (self.inst, self.pc, self.mask) = (&decoded.inst, pc, mask);
        done.add(mask);
        if decoded.reads_special {
            self.stage_sources();
        }
        if decoded.accesses_memory {
            (self.out.pc, self.out.active) = (pc, mask);
        }
        mask
    }
}
