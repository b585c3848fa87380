//! Control flow: branches, calls, returns, ends, barriers.

use crate::fault::{FaultKind, RawFault};
use crate::inst::{Exec, InstExec};
use crate::ops::warp_sync::{Meeting, Part};
use crate::outcome::Effect;
use crate::state::barrier::{BarrierArrival, PendingBarrier};
use crate::state::spin::JumpBack;
use crate::state::stack::{BranchOrder, Choice, Divergence, Returned};
use crate::state::warp::Pending;
use warploom_base::{LaneMask, Pc, WARP_SIZE, lanes_of};
use warploom_ir::{BarrierKind, Op, Src};

impl InstExec<'_, '_> {
    pub(crate) fn next(&self) -> Pc {
        Pc(self.pc.0 + 1)
    }

    /// Lets the top entry go on behind the instruction, all lanes alike.
    #[inline(always)]
    pub fn fall_through(&mut self) {
        let next = self.next();
        if self.warp.stack.advance(next) {
            self.settle();
        }
    }

    /// Drops finished entries of the stack; where that leaves a split that waits, another one runs.
    pub(crate) fn settle(&mut self) {
        self.settle_top();
        if self.warp.stack.top_waits() {
            self.resume();
        }
    }

    /// Drops finished entries of the stack; ended calls copy their results.
    pub(crate) fn settle_top(&mut self) {
        while let Some(returned) = self.warp.stack.settle() {
            let lanes = returned.lanes & !self.warp.exited;
            self.returned(returned, lanes);
        }
    }

    pub(crate) fn returned(&mut self, from: Returned, lanes: LaneMask) {
        let ctx = self.ctx;
        let inst = &ctx.program.insts[from.call.index()];
        let extra = ctx.program.extras.get(inst.extra.0 as usize);
        if let Some(callee) = extra.and_then(|e| e.callees.get(usize::from(from.callee))) {
            self.leave(callee, lanes);
        }
    }

    /// Where an instruction's lanes go: those of its guard to `target`, the others onwards.
    fn part(&mut self, target: Pc) {
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

    /// All lanes of the top entry jump.
    #[inline(always)]
    fn jump(&mut self, target: Pc) {
        if self.warp.stack.advance(target) {
            self.settle();
        }
        if target <= self.pc {
            self.jumped_back(target);
        }
    }

    /// Lanes have jumped back. Where the machine lets every lane make progress and these are a part
    /// of the warp that spins, other lanes run.
    #[inline(always)]
    fn jumped_back(&mut self, target: Pc) {
        if self.warp.stack.count_jump() && self.env.divergence == Divergence::Independent {
            self.watch_loop(target);
        }
    }

    #[inline(never)]
    fn watch_loop(&mut self, target: Pc) {
        let jump = JumpBack {
            start: target,
            end: self.pc,
            polls: self.polls,
        };
        if self.warp.is_spinning(jump) {
            self.give_way();
        }
    }

    /// The running split spins: some lanes leave a place where they wait to meet others, and the
    /// split runs that has not run for longest.
    #[cold]
    fn give_way(&mut self) {
        let other = Choice::OldestBut(self.warp.active_mask());
        self.release(0);
        while !self.run_another(other) && self.release(0) {}
        if self.warp.stack.top_waits() {
            self.resume();
        }
    }

    /// Parts the top entry's lanes into groups. For [`BranchOrder::TakenFirst`] the last group runs
    /// first; for the other order they are sorted by their highest lane, which runs last.
    fn diverge(&mut self, groups: &mut [(Pc, LaneMask)]) {
        if self.ctx.branch_order == BranchOrder::HighestLaneLast {
            groups.sort_unstable_by_key(|&(_, lanes)| lanes.leading_zeros());
        }
        let reconverge = self.ctx.program.facts[self.pc.index()].reconverge;
        self.warp.stack.diverge(groups, reconverge);
        self.settle();
    }

    pub fn branch(&mut self) -> Exec {
        self.part(Pc(self.inst.imm as u32));
        Ok(())
    }

    pub fn branch_table(&mut self) -> Exec {
        let targets = &self.extra()?.targets;
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

    /// Lanes that call other functions than the lowest one call them afterwards, by the same
    /// instruction.
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
        let mut callees = self.extra()?.callees.iter().zip(0..);
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

    pub fn ret(&mut self) -> Exec {
        if !self.warp.stack.is_called() {
            return self.exit();
        }
        self.part(crate::state::stack::FUNCTION_END);
        Ok(())
    }

    pub fn exit(&mut self) -> Exec {
        let stays = self.warp.active_mask() & !self.mask != 0;
        if self.mask != 0 {
            self.warp.exited |= self.mask;
            self.warp.stack.exit(self.mask);
            self.wake();
            self.effect(Effect::Exit);
        }
        if stays {
            self.fall_through();
        } else {
            self.settle();
        }
        Ok(())
    }

    pub fn barrier(&mut self) -> Exec {
        let Op::Barrier(kind) = self.inst.op else {
            return Err(self.illegal());
        };
        if self.mask == 0 {
            self.fall_through();
            return Ok(());
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
        let meeting = self.meet();
        let (lanes, votes) = match &meeting {
            Meeting::Waits => return Ok(()),
            Meeting::Here => (self.mask, self.src_pred(2) & self.mask),
            Meeting::Joint(joint) => (joint.lanes(), self.votes(joint, 2)),
        };
        if kind != BarrierKind::Arrive {
            self.await_barrier(kind, id as u8, &meeting);
        }
        let arrival = BarrierArrival {
            kind,
            id: id as u8,
            threads,
            lanes,
            votes,
        };
        self.effect(Effect::Barrier(arrival));
        self.go_on(&meeting);
        Ok(())
    }

    /// The warp waits for a block barrier, whose result goes where each lane's instruction says.
    fn await_barrier(&mut self, kind: BarrierKind, id: u8, meeting: &Meeting) {
        let (lanes, dst) = (self.mask, self.inst.dst[0]);
        self.warp.pending = Some(Pending::Barrier(PendingBarrier {
            kind,
            id,
            lanes,
            dst,
        }));
        self.warp.pending_at = self.pc;
        if let Meeting::Joint(joint) = meeting {
            let others = joint.parts[1..].iter();
            let of = |part: &Part| (part.lanes, self.ctx.program.insts[part.pc.index()].dst[0]);
            self.warp.pending_parts.extend(others.map(of));
        }
    }
}
