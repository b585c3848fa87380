//! State of one warp: registers, predicates, carry flags, SIMT stack and local memory.

use crate::launch::KernelLaunch;
use crate::memory::atomic::AtomicDst;
use crate::state::barrier::{BarrierRelease, BarrierTable, PendingBarrier, ReductionTarget};
use crate::state::block::BlockState;
use crate::state::call_stack::CallStacks;
use crate::state::member_mask::named_by;
use crate::state::registers::{Lanes32, RegFile, blend, map_lanes};
use crate::state::spin::{JumpBack, SpinWatch};
use crate::state::stack::{SimtStack, Spin, StackEntry};
use std::fmt::Write as _;
use warploom_base::{Digest, Dim3, LaneMask, Pc, WARP_SIZE, fetch_ahead, lanes_of};
use warploom_ir::{BarrierKind, Dst};
use warploom_state::Value;

/// A warp in execution.
///
/// The fields that every instruction reads come first and fill two cache lines of the host. With
/// hundreds of warps they are rarely in the nearest cache.
#[derive(Clone, Debug, Value)]
#[repr(C, align(128))]
pub struct WarpState {
    pub(crate) stack: SimtStack,
    pub(crate) regs: RegFile,
    pub(crate) pending: Option<Pending>,
    /// Carry flag of the condition code, one bit per lane.
    pub(crate) carry: LaneMask,
    pub(crate) exited: LaneMask,
    /// Lanes that have a thread. All 32, except in the last warp of a block.
    pub(crate) present: LaneMask,
    /// Local memory: word `w` of all lanes is `local[w]`. Grows up to the size of the program's
    /// frame.
    pub(crate) local: Vec<Lanes32>,
    /// Lanes that have written each byte of local memory. Empty unless uninitialised loads are
    /// checked.
    pub(crate) local_written: Vec<LaneMask>,
    pub(crate) tid: [Lanes32; 3],
    pub(crate) warp_index: u32,
    pub(crate) stacks: CallStacks,
    /// Program counter of the barrier at which the warp waits.
    pub(crate) pending_at: Pc,
    /// Lanes that arrived at the pending barrier through other instructions, with the destination
    /// of the reduction's result in each.
    pub(crate) pending_parts: Vec<ReductionTarget>,
    pub(crate) spins: SpinWatch,
}

/// Reason for which a warp cannot execute anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Value)]
pub(crate) enum Pending {
    /// The warp waits at a block barrier.
    Barrier(PendingBarrier),
    /// Each lane waits for another lane.
    Stuck,
}

const _: () = assert!(std::mem::offset_of!(WarpState, exited) <= 128);

impl Default for WarpState {
    fn default() -> Self {
        Self {
            regs: RegFile::default(),
            carry: 0,
            stack: SimtStack::default(),
            exited: 0,
            present: 0,
            local: Vec::new(),
            local_written: Vec::new(),
            tid: [Lanes32::ZERO; 3],
            warp_index: 0,
            pending: None,
            stacks: CallStacks::EMPTY,
            pending_at: Pc(0),
            pending_parts: Vec::new(),
            spins: SpinWatch::default(),
        }
    }
}

impl WarpState {
    /// Creates a finished warp. Call [`Self::reset`] before use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Turns the state into that of warp `warp_index` of a block at its start. Registers and local
    /// memory become zero.
    pub fn reset(&mut self, ctx: &KernelLaunch, _block: &BlockState, warp_index: u32) {
        self.begin(ctx, warp_index, true);
    }

    /// Resets the state, but leaves any contents in registers unless it `clears`.
    pub fn begin(&mut self, ctx: &KernelLaunch, warp_index: u32, clears: bool) {
        // One slot more than the code uses, so that a 64-bit view of any slot stays inside.
        let slots = ctx.program.reg_slots as usize + 1;
        let preds = ctx.program.preds as usize;
        if clears || !self.regs.has(slots, preds) {
            self.regs.reset(slots, preds);
        }
        self.carry = 0;
        self.exited = 0;
        self.pending = None;
        self.pending_parts.clear();
        self.spins.reset();
        self.stacks.reset(ctx.program.stack_base());
        self.local.clear();
        self.local_written.clear();
        self.warp_index = warp_index;
        let first = warp_index * WARP_SIZE as u32;
        let threads = ctx
            .block_threads
            .saturating_sub(first)
            .min(WARP_SIZE as u32);
        self.present = if threads == 32 {
            LaneMask::MAX
        } else {
            (1 << threads) - 1
        };
        self.stack.reset(self.present);
        self.set_threads(ctx.block, ctx.block.point(first.into()));
    }

    /// Assigns the threads of a block to the lanes in order, starting with `first`.
    fn set_threads(&mut self, block: Dim3, first: Dim3) {
        let [x, y, z] = &mut self.tid;
        if first.x + WARP_SIZE as u32 <= block.x {
            // The usual case: all lanes are in one row of the block.
            for lane in 0..WARP_SIZE {
                x.0[lane] = first.x + lane as u32;
            }
            (*y, *z) = (Lanes32([first.y; WARP_SIZE]), Lanes32([first.z; WARP_SIZE]));
            return;
        }
        let mut thread = first;
        for lane in 0..WARP_SIZE {
            (x.0[lane], y.0[lane], z.0[lane]) = (thread.x, thread.y, thread.z);
            thread = block.after(thread);
        }
    }

    /// Turns the state into that of a warp with the given threads, at most 32, assigned to lanes
    /// from 0 on. The threads need not exist in the block. Used to ask what a thread would do.
    pub fn reset_to(&mut self, ctx: &KernelLaunch, block: &BlockState, threads: &[Dim3]) {
        self.reset(ctx, block, 0);
        self.present = ((1_u64 << threads.len().min(WARP_SIZE)) - 1) as LaneMask;
        self.stack.reset(self.present);
        for (lane, thread) in threads.iter().take(WARP_SIZE).enumerate() {
            self.tid[0].0[lane] = thread.x;
            self.tid[1].0[lane] = thread.y;
            self.tid[2].0[lane] = thread.z;
        }
    }

    /// Prefetches the two cache lines of the host that every instruction reads. Called before the
    /// warp executes.
    #[inline(always)]
    pub fn fetch_ahead(&self) {
        fetch_ahead(&self.stack);
        fetch_ahead(&self.pending);
    }

    /// Program counter of the next instruction. `None` if every lane has exited.
    #[inline(always)]
    pub fn pc(&self) -> Option<Pc> {
        self.stack.top().map(|(pc, _)| pc)
    }

    /// Lanes that execute the next instruction, before its guard predicate is applied.
    #[inline(always)]
    pub fn active_mask(&self) -> LaneMask {
        self.stack.top().map_or(0, |(_, lanes)| lanes)
    }

    /// True if every lane has exited.
    #[inline(always)]
    pub fn is_done(&self) -> bool {
        self.stack.top().is_none()
    }

    /// True if the warp has not finished and waits for nothing.
    #[inline(always)]
    pub fn can_step(&self) -> bool {
        !self.is_done() && !self.is_pending()
    }

    /// Lanes that have a thread which has not exited.
    pub fn unexited(&self) -> LaneMask {
        self.present & !self.exited
    }

    /// Index of the warp in its block.
    pub fn warp_index(&self) -> u32 {
        self.warp_index
    }

    /// Index in the block of the thread that a lane runs.
    pub fn thread(&self, lane: usize) -> Dim3 {
        Dim3::new(
            self.tid[0].0[lane],
            self.tid[1].0[lane],
            self.tid[2].0[lane],
        )
    }

    /// Writes the old values that a deferred atomic operation returned to its destination register,
    /// in the lanes of `mask`.
    pub fn write_atomic_result(&mut self, dst: AtomicDst, mask: LaneMask, old: &[u64; WARP_SIZE]) {
        let slot = dst.reg.0 as usize;
        if dst.wide {
            blend(self.regs.r64_mut(slot), old, mask);
        } else {
            blend(self.regs.r32_mut(slot), &map_lanes(old, |v| v as u32), mask);
        }
    }

    /// True if each lane that has not exited waits for another of these lanes, so that the warp can
    /// never continue.
    pub fn is_stuck(&self) -> bool {
        self.pending == Some(Pending::Stuck)
    }

    /// True if the warp cannot execute anything now although it has not finished.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Releases the warp from the barrier at which it waits and writes the result of a barrier
    /// reduction. Does nothing if the warp waits at another barrier.
    pub fn finish_barrier(&mut self, release: &BarrierRelease) {
        let Some(Pending::Barrier(barrier)) = self.pending else {
            return;
        };
        if barrier.id != release.id {
            return;
        }
        self.pending = None;
        if barrier.target.dst == Dst::None && self.pending_parts.is_empty() {
            return;
        }
        self.write_reduction(barrier.kind, barrier.target, release);
        while let Some(part) = self.pending_parts.pop() {
            self.write_reduction(barrier.kind, part, release);
        }
    }

    /// Writes the result of a barrier reduction to one destination.
    fn write_reduction(
        &mut self,
        kind: BarrierKind,
        target: ReductionTarget,
        release: &BarrierRelease,
    ) {
        let ReductionTarget { lanes, dst } = target;
        let truth = |yes: bool| if yes { LaneMask::MAX } else { 0 };
        match (kind, dst) {
            (BarrierKind::RedPopc, Dst::Reg(reg)) => {
                let count = [release.count; WARP_SIZE];
                blend(self.regs.r32_mut(reg.0 as usize), &count, lanes);
            }
            (BarrierKind::RedAnd, Dst::Pred(p)) => {
                self.regs.set_pred(p.0 as usize, lanes, truth(release.all));
            }
            (BarrierKind::RedOr, Dst::Pred(p)) => {
                self.regs.set_pred(p.0 as usize, lanes, truth(release.any));
            }
            _ => {}
        }
    }

    /// Records a backward jump of the running split. Returns true if the split spins.
    pub(crate) fn is_spinning(&mut self, jump: JumpBack) -> bool {
        let mut watch = std::mem::take(&mut self.spins);
        if self.stack.take_reconverged() {
            watch.restart();
        }
        let spins = watch.jumped(jump, || self.state());
        self.spins = watch;
        spins
    }

    /// Extends local memory to at least `rows` words per lane. New words are zero.
    pub(crate) fn grow_local(&mut self, rows: usize) {
        if self.local.len() < rows {
            self.local.resize(rows, Lanes32::ZERO);
        }
    }

    /// Byte of a lane's local memory. Bytes that were never written are zero.
    pub(crate) fn local_byte(&self, lane: usize, at: usize) -> u8 {
        let row = self.local.get(at / 4);
        row.map_or(0, |row| row.0[lane].to_le_bytes()[at % 4])
    }

    /// Writes a byte of a lane's local memory.
    pub(crate) fn set_local_byte(&mut self, lane: usize, at: usize, byte: u8) {
        self.grow_local(at / 4 + 1);
        let word = &mut self.local[at / 4].0[lane];
        let mut bytes = word.to_le_bytes();
        bytes[at % 4] = byte;
        *word = u32::from_le_bytes(bytes);
    }

    /// Records that a lane has written bytes of its local memory.
    pub(crate) fn mark_local(&mut self, lane: usize, at: usize, bytes: usize) {
        if self.local_written.len() < at + bytes {
            self.local_written.resize(at + bytes, 0);
        }
        self.local_written[at..at + bytes]
            .iter_mut()
            .for_each(|lanes| *lanes |= 1 << lane);
    }

    /// True if a lane has written all of the given bytes of its local memory.
    pub(crate) fn local_is_written(&self, lane: usize, at: usize, bytes: usize) -> bool {
        let written = |at| {
            self.local_written
                .get(at)
                .is_some_and(|&lanes| lanes >> lane & 1 == 1)
        };
        (at..at + bytes).all(written)
    }

    /// Entries of the SIMT stack, from bottom to top.
    pub fn stack(&self) -> Vec<StackEntry> {
        self.stack.entries().collect()
    }

    /// Number of entries of the SIMT stack.
    pub fn stack_depth(&self) -> usize {
        self.stack.len()
    }

    /// Lanes that repeatedly jump backward while other lanes of the warp wait for them. After very
    /// many jumps a spin lock within the warp is likely, which a stack without independent progress
    /// cannot execute.
    pub fn spin(&self) -> Option<Spin> {
        self.stack.spin()
    }

    /// Hash of the warp's state, including how long its splits have spun. Equal states have equal
    /// hashes. A warp that returns to a state while nothing else changes repeats it forever.
    pub fn fingerprint(&self) -> u64 {
        let mut digest = Digest::new();
        digest.u64(self.state());
        self.spins.digest(&mut digest);
        digest.finish()
    }

    /// Hash of the warp's state, without how long its splits have spun.
    fn state(&self) -> u64 {
        let mut digest = Digest::new();
        self.regs.digest(&mut digest);
        digest.u64(self.carry.into());
        for entry in self.stack.entries() {
            digest.u64(entry.lanes.into());
            digest.u64(entry.pc.map_or(u64::MAX, |pc| pc.0.into()));
            digest.u64(entry.waits.into());
        }
        digest.bytes(bytemuck::cast_slice(&self.stacks.end.0));
        digest.bytes(bytemuck::cast_slice(&self.local));
        digest.finish()
    }

    /// Describes the reason for which the warp waits: the barrier of its block, or the text of
    /// [`Self::describe`].
    pub fn describe_wait(&self, ctx: &KernelLaunch, barriers: &BarrierTable) -> String {
        match self.pending {
            Some(Pending::Barrier(at)) => format!(
                "lanes {} wait at the barrier in line {}; {}",
                lane_list(
                    self.pending_parts
                        .iter()
                        .fold(at.target.lanes, |all, part| all | part.lanes)
                ),
                ctx.line(self.pending_at),
                barriers.describe(at.id)
            ),
            _ => self.describe(ctx),
        }
    }

    /// Describes the position of the warp with PTX lines: the lanes that run, and the lanes that
    /// wait for them.
    pub fn describe(&self, ctx: &KernelLaunch) -> String {
        let mut text = String::new();
        let mut inner: LaneMask = 0;
        for entry in self.stack.entries().rev() {
            let place = match entry.pc {
                Some(pc) => format!("line {}", ctx.line(pc)),
                None => "the end of the function".to_owned(),
            };
            let own = entry.lanes & !inner;
            let (before, lanes) = (if inner == 0 { "" } else { "; " }, lane_list(own));
            let runs = inner == 0 && !self.is_stuck();
            let _ = match (runs, own) {
                (_, 0) => Ok(()),
                (true, _) => {
                    let verb = if self.spin().is_some() { "spin" } else { "are" };
                    write!(text, "{before}lanes {lanes} {verb} at {place}")
                }
                _ if entry.waits || self.is_stuck() => {
                    let whom = self.waited_for(ctx, entry.pc, own);
                    write!(text, "{before}lanes {lanes} wait at {place} {whom}")
                }
                _ => write!(text, "{before}lanes {lanes} wait at {place} for them"),
            };
            inner |= entry.lanes;
        }
        if self.is_done() {
            text.push_str("done");
        }
        text
    }

    /// Describes for which lanes the lanes waiting at `pc` wait.
    fn waited_for(&self, ctx: &KernelLaunch, pc: Option<Pc>, lanes: LaneMask) -> String {
        let inst = pc.and_then(|pc| ctx.program.insts.get(pc.index()));
        let missing = inst.map_or(0, |inst| named_by(&self.regs, ctx, inst, lanes)) & !lanes;
        match missing & self.unexited() {
            0 => "for the others".to_owned(),
            missing => format!("for lanes {}", lane_list(missing)),
        }
    }
}

/// Formats the lanes of a mask as ranges, such as `0-7, 12`.
fn lane_list(mask: LaneMask) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for lane in lanes_of(mask) {
        match ranges.last_mut() {
            Some(range) if range.1 + 1 == lane => range.1 = lane,
            _ => ranges.push((lane, lane)),
        }
    }
    let text = |&(first, last): &(usize, usize)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::WarpState;
    use warploom_base::{Dim3, WARP_SIZE};

    /// Each lane runs the thread that follows the thread of the previous lane, also past the end of
    /// the block.
    #[test]
    fn lanes_run_threads_in_order() {
        for block in [
            (256, 1, 1),
            (64, 2, 3),
            (16, 16, 1),
            (48, 4, 1),
            (33, 3, 2),
            (7, 1, 1),
        ] {
            let block = Dim3::new(block.0, block.1, block.2);
            for first in (0..block.count()).step_by(WARP_SIZE) {
                let mut warp = WarpState::new();
                let mut thread = block.point(first);
                warp.set_threads(block, thread);
                for lane in 0..WARP_SIZE {
                    assert_eq!(warp.thread(lane), thread, "{block}, lane {lane}");
                    thread = block.after(thread);
                }
            }
        }
    }
}
