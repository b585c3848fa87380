//! Control flow: branches, calls, returns, exits and block barriers.

use crate::fault::{FaultKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::ops::warp_sync::{SyncOutcome, SyncPart};
use crate::outcome::Effect;
use crate::state::barrier::{BarrierArrival, CLUSTER, PendingBarrier, ReductionTarget};
use crate::state::spin::JumpBack;
use crate::state::stack::{BranchOrder, Choice, Divergence, Returned};
use crate::state::warp::Pending;
use warploom_base::{LaneMask, Pc, WARP_SIZE, lanes_of};
use warploom_ir::{BarrierKind, Dst, Op, Src};

impl InstExec<'_, '_> {
    /// Program counter after the instruction.
    pub(crate) fn next(&self) -> Pc {
        Pc(self.pc.0 + 1)
    }

    /// Moves all lanes of the top entry past the instruction.
    #[inline(always)]
    pub fn fall_through(&mut self) {
        let next = self.next();
        if self.warp.stack.advance(next) {
            self.settle();
        }
    }

    /// Pops entries that have reached their reconvergence point. If the new top waits, another
    /// split runs.
    pub(crate) fn settle(&mut self) {
        self.settle_top();
        if self.warp.stack.top_waits() {
            self.resume();
        }
    }

    /// Pops entries that have reached their reconvergence point, and copies the results of calls
    /// that ended.
    pub(crate) fn settle_top(&mut self) {
        while let Some(returned) = self.warp.stack.settle() {
            let lanes = returned.lanes & !self.warp.exited;
            self.returned(returned, lanes);
        }
    }

    /// Copies the results of lanes that returned from a call.
    pub(crate) fn returned(&mut self, from: Returned, lanes: LaneMask) {
        let ctx = self.ctx;
        let inst = &ctx.program.insts[from.call.index()];
        let extra = ctx.program.extras.get(inst.extra.0 as usize);
        if let Some(callee) = extra.and_then(|e| e.callees.get(usize::from(from.callee))) {
            self.leave(callee, lanes);
        }
    }

    /// Executes a branch: the lanes of the guard go to `target`, the others to the next
    /// instruction.
    fn branch_to(&mut self, target: Pc) {
        let all = self.warp.active_mask();
        let (taken, next) = (self.mask, self.next());
        if taken == all || (taken != 0 && target == next) {
            self.jump(target);
        } else if taken == 0 {
            self.fall_through();
        } else {
            self.diverge(&mut [(next, all & !taken), (target, taken)]);
            if target <= self.pc {
                self.jumped_back(target);
            }
        }
    }

    /// Moves all lanes of the top entry to `target`.
    #[inline(always)]
    fn jump(&mut self, target: Pc) {
        if self.warp.stack.advance(target) {
            self.settle();
        }
        if target <= self.pc {
            self.jumped_back(target);
        }
    }

    /// Records a backward jump. If splits make progress independently and this split spins, another
    /// split runs.
    #[inline(always)]
    fn jumped_back(&mut self, target: Pc) {
        if self.warp.stack.count_jump() && self.env.divergence == Divergence::Independent {
            self.watch_loop(target);
        }
    }

    /// Checks whether the loop that ends at this instruction spins.
    #[inline(never)]
    fn watch_loop(&mut self, target: Pc) {
        let jump = JumpBack {
            start: target,
            end: self.pc,
            polls: self.polls,
        };
        if self.warp.is_spinning(jump) {
            self.yield_to_other_split();
        }
    }

    /// Lets another split run because the running one spins: some lanes are released from a
    /// reconvergence point, and the split that has not run for the longest time is chosen.
    #[cold]
    fn yield_to_other_split(&mut self) {
        let other = Choice::OldestBut(self.warp.active_mask());
        self.release(0);
        while !self.run_another(other) && self.release(0) {}
        if self.warp.stack.top_waits() {
            self.resume();
        }
    }

    /// Splits the lanes of the top entry into groups. With [`BranchOrder::TakenFirst`] the last
    /// group runs first. With the other order, the groups are sorted so that the one with the
    /// highest lane runs last.
    fn diverge(&mut self, groups: &mut [(Pc, LaneMask)]) {
        if self.ctx.branch_order == BranchOrder::HighestLaneLast {
            groups.sort_unstable_by_key(|&(_, lanes)| lanes.leading_zeros());
        }
        let reconverge = self.ctx.program.facts[self.pc.index()].reconverge;
        self.warp.stack.diverge(groups, reconverge);
        self.settle();
    }

    /// Executes the instruction `bra`.
    pub fn branch(&mut self) -> Exec {
        self.branch_to(Pc(self.inst.imm as u32));
        Ok(())
    }

    /// Executes the instruction `brx.idx`.
    pub fn branch_table(&mut self) -> Exec {
        let targets = &self.extra_operands()?.targets;
        let index = *self.src::<u32>(0);
        let beyond = lanes_of(self.mask).find(|&lane| index[lane] as usize >= targets.len());
        if let Some(lane) = beyond {
            return Err(RawFault::plain(FaultKind::BranchIndex, lane));
        }
        let mut groups = [(Pc(0), 0); WARP_SIZE + 1];
        let mut count = 0;
        let rest = self.warp.active_mask() & !self.mask;
        let mut add = |pc: Pc, lanes: LaneMask| match groups[..count]
            .iter_mut()
            .find(|group| group.0 == pc)
        {
            Some(group) => group.1 |= lanes,
            None => {
                groups[count] = (pc, lanes);
                count += 1;
            }
        };
        if rest != 0 {
            add(self.next(), rest);
        }
        for lane in (0..WARP_SIZE)
            .rev()
            .filter(|&lane| self.mask >> lane & 1 == 1)
        {
            add(targets[index[lane] as usize], 1 << lane);
        }
        if let [(pc, _)] = groups[..count] {
            self.jump(pc);
        } else {
            let first = groups[..count].iter().map(|group| group.0).min();
            self.diverge(&mut groups[..count]);
            if let Some(target) = first.filter(|target| *target <= self.pc) {
                self.jumped_back(target);
            }
        }
        Ok(())
    }

    /// Executes a direct call.
    pub fn call(&mut self) -> Exec {
        if self.mask == 0 {
            self.fall_through();
            return Ok(());
        }
        let ctx = self.ctx;
        let target = Pc(self.inst.imm as u32);
        let extra = ctx.program.extras.get(self.inst.extra.0 as usize);
        if let Some(callee) = extra.and_then(|e| e.callees.first()) {
            self.enter(callee, self.mask)?;
        }
        self.warp.stack.call(self.pc, target, 0, self.mask);
        Ok(())
    }

    /// Executes an indirect call. The lanes that call the same function as the lowest lane enter it
    /// first. The other lanes execute the instruction again afterwards.
    pub fn call_indirect(&mut self) -> Exec {
        if self.mask == 0 {
            self.fall_through();
            return Ok(());
        }
        let addresses = *self.src::<u64>(0);
        let first = self.lowest_lane();
        let alike = |lane: &usize| addresses[*lane] == addresses[first];
        let lanes = lanes_of(self.mask).filter(alike);
        let lanes = lanes.fold(0, |mask: LaneMask, lane| mask | 1 << lane);
        let mut callees = self.extra_operands()?.callees.iter().zip(0..);
        let Some((callee, nth)) = callees.find(|(c, _)| c.address == addresses[first]) else {
            return Err(RawFault::plain(FaultKind::BadCallee, first));
        };
        self.enter(callee, lanes)?;
        let (others, next) = (self.mask & !lanes, self.next());
        if others != 0 {
            let idle = self.warp.active_mask() & !self.mask;
            let groups = [(next, idle), (self.pc, others), (self.pc, lanes)];
            self.warp.stack.diverge(&groups, Some(next));
        }
        self.warp.stack.call(self.pc, callee.target, nth, lanes);
        Ok(())
    }

    /// Executes `ret`. In the kernel itself, lanes that return exit.
    pub fn ret(&mut self) -> Exec {
        if !self.warp.stack.is_called() {
            return self.exit();
        }
        self.branch_to(crate::state::stack::FUNCTION_END);
        Ok(())
    }

    /// Executes the instruction `exit`.
    pub fn exit(&mut self) -> Exec {
        let stays = self.warp.active_mask() & !self.mask != 0;
        if self.mask != 0 {
            self.warp.exited |= self.mask;
            self.warp.stack.exit(self.mask);
            self.wake();
            self.set_effect(Effect::Exit);
        }
        if stays {
            self.fall_through();
        } else {
            self.settle();
        }
        Ok(())
    }

    /// Executes a block barrier (`bar`, `barrier`).
    pub fn barrier(&mut self) -> Exec {
        let Op::Barrier(kind) = self.inst.op else {
            return Err(self.illegal());
        };
        if self.mask == 0 {
            self.fall_through();
            return Ok(());
        }
        if matches!(kind, BarrierKind::ClusterArrive | BarrierKind::ClusterWait) {
            return self.cluster_barrier(kind);
        }
        let lane = self.lowest_lane();
        let id = self.src::<u32>(0)[lane];
        let threads = match self.inst.src[1] {
            Src::None => None,
            _ => Some(self.src::<u32>(1)[lane]).filter(|&n| n != 0),
        };
        let whole = threads.is_none_or(|n| n % WARP_SIZE as u32 == 0);
        if id >= self.ctx.barriers || !whole {
            return Err(RawFault::plain(FaultKind::BadBarrier, lane));
        }
        let outcome = self.synchronize();
        let (lanes, votes) = match &outcome {
            SyncOutcome::Waiting => return Ok(()),
            SyncOutcome::Complete => (self.mask, self.src_pred(2) & self.mask),
            SyncOutcome::Joint(joint) => (joint.lanes(), self.votes(joint, 2)),
        };
        if kind != BarrierKind::Arrive {
            self.await_barrier(kind, id as u8, &outcome);
        }
        let arrival = BarrierArrival {
            kind,
            id: id as u8,
            threads,
            lanes,
            votes,
        };
        self.set_effect(Effect::Barrier(arrival));
        self.advance_synchronized(&outcome);
        Ok(())
    }

    /// Executes the usual barrier, for all lanes of the warp that have not exited: a `bar.sync` of
    /// all threads of the block. Returns false without any effect for other barriers.
    #[inline(always)]
    pub(crate) fn sync_block(&mut self) -> bool {
        const KIND: BarrierKind = BarrierKind::Sync;
        let (Op::Barrier(KIND), [Src::Const(id), Src::None, Src::None, _]) =
            (self.inst.op, self.inst.src)
        else {
            return false;
        };
        let id = self.ctx.consts32[usize::from(id)].0[0];
        if id >= self.ctx.barriers {
            return false;
        }
        let (id, lanes) = (id as u8, self.mask);
        let target = ReductionTarget {
            lanes,
            dst: Dst::None,
        };
        self.warp.pending = Some(Pending::Barrier(PendingBarrier {
            kind: KIND,
            id,
            target,
        }));
        self.warp.pending_at = self.pc;
        self.set_effect(Effect::Barrier(BarrierArrival {
            kind: KIND,
            id,
            threads: None,
            lanes,
            votes: 0,
        }));
        self.fall_through();
        true
    }

    /// Executes `barrier.cluster.arrive` and `.wait` in a cluster of one block.
    #[cold]
    fn cluster_barrier(&mut self, kind: BarrierKind) -> Exec {
        let outcome = self.synchronize();
        let lanes = match &outcome {
            SyncOutcome::Waiting => return Ok(()),
            SyncOutcome::Complete => self.mask,
            SyncOutcome::Joint(joint) => joint.lanes(),
        };
        let waits = kind == BarrierKind::ClusterWait;
        if !waits || !self.block.barriers.cluster_is_done(self.warp.warp_index) {
            if waits {
                self.await_barrier(kind, CLUSTER, &outcome);
            }
            self.set_effect(Effect::Barrier(BarrierArrival {
                kind,
                id: CLUSTER,
                threads: None,
                lanes,
                votes: 0,
            }));
        }
        self.advance_synchronized(&outcome);
        Ok(())
    }

    /// Makes the warp wait at a block barrier. The result of a reduction goes to the destination of
    /// each lane's own instruction.
    fn await_barrier(&mut self, kind: BarrierKind, id: u8, outcome: &SyncOutcome) {
        let target = ReductionTarget {
            lanes: self.mask,
            dst: self.inst.dst[0],
        };
        self.warp.pending = Some(Pending::Barrier(PendingBarrier { kind, id, target }));
        self.warp.pending_at = self.pc;
        if let SyncOutcome::Joint(joint) = outcome {
            let others = joint.parts[1..].iter();
            let of = |part: &SyncPart| ReductionTarget {
                lanes: part.lanes,
                dst: self.ctx.program.insts[part.pc.index()].dst[0],
            };
            self.warp.pending_parts.extend(others.map(of));
        }
    }
}
