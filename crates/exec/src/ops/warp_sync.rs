//! Instructions at which the lanes of a warp wait for each other: operations with a member mask
//! (such as `shfl.sync`), matrix products and block barriers.
//!
//! A lane waits until every unexited lane named by its mask executes the same operation. The other
//! lane may execute it at another instruction if it has the same mask or names the waiting lane.
//! (The PTX ISA asks for "the same qualifiers and same membermask value" and leaves other masks
//! undefined, but programs rely on each lane's own mask.) Lanes that arrive together execute the
//! operation together. A block barrier first waits for all lanes of the warp and then counts the
//! warp as arrived (PTX ISA, `barrier`).

use crate::fault::FindingKind;
use crate::inst::{InstExec, lowest_lane};
use crate::outcome::Effect;
use crate::state::member_mask::{WaitSet, mask_operand, named_by, wait_set};
use crate::state::stack::{Choice, Released};
use crate::state::warp::Pending;
use smallvec::SmallVec;
use warploom_base::{LaneMask, Pc, WARP_SIZE, lanes_of};
use warploom_ir::{Inst, MemSpace, Src};

/// Lanes that execute an operation at one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SyncPart {
    pub pc: Pc,
    pub lanes: LaneMask,
}

/// Lanes that execute an operation together. The part of the running split is the first one; the
/// parts of splits that waited follow.
pub(crate) type SyncParts = SmallVec<[SyncPart; 4]>;

/// Lanes of several splits that execute an operation together.
#[derive(Clone, Debug)]
pub(crate) struct JointGroup {
    /// Executing parts, that of the running split first.
    pub parts: SyncParts,
    /// Lanes of the running split that keep waiting.
    stays: LaneMask,
}

impl JointGroup {
    /// Lanes of all executing parts.
    pub fn lanes(&self) -> LaneMask {
        self.parts.iter().fold(0, |lanes, part| lanes | part.lanes)
    }
}

/// Outcome of synchronising the lanes of an instruction.
#[derive(Clone, Debug)]
pub(crate) enum SyncOutcome {
    /// All lanes are present in the running split and execute the instruction under its guard.
    Complete,
    /// Some lanes are in other splits or at other instructions, or some lanes of the split keep
    /// waiting.
    Joint(JointGroup),
    /// The lanes wait, and nothing is executed.
    Waiting,
}

/// Lanes at instructions that synchronise with each other, and the lanes for which each waits.
struct SyncCandidates {
    parts: SyncParts,
    lanes: LaneMask,
    /// For each of `lanes`, the lanes for which it waits.
    masks: [LaneMask; WARP_SIZE],
    /// For each of `lanes`, the index of its part.
    part: [u8; WARP_SIZE],
}

impl SyncCandidates {
    /// True if a lane can execute the operation together with the lane `named` by its mask.
    fn agree(&self, lane: usize, named: usize) -> bool {
        let pc = |lane: usize| self.parts[usize::from(self.part[lane])].pc;
        let mask = self.masks[named];
        pc(lane) == pc(named) || mask == self.masks[lane] || mask >> lane & 1 == 1
    }

    /// Returns the lanes that must execute the operation together with `lane`, and those among them
    /// that have not arrived. If `tied`, the group also includes lanes of the same split that name
    /// a lane of the group.
    fn group(&self, lane: usize, tied: bool) -> (LaneMask, LaneMask) {
        let (mut group, mut missing): (LaneMask, LaneMask) = (1 << lane, 0);
        loop {
            let mut grown = group;
            for member in lanes_of(group) {
                for named in lanes_of(self.masks[member] & !group) {
                    let here = self.lanes >> named & 1 == 1 && self.agree(member, named);
                    *(if here { &mut grown } else { &mut missing }) |= 1 << named;
                }
                let names = |&other: &usize| {
                    self.part[other] == self.part[member] && self.masks[other] & group != 0
                };
                let others = if tied { self.lanes & !group } else { 0 };
                lanes_of(others)
                    .filter(names)
                    .for_each(|other| grown |= 1 << other);
            }
            if grown == group {
                return (group, missing);
            }
            group = grown;
        }
    }

    /// Returns the lanes of `lanes` whose groups are complete, together with the other lanes of
    /// these groups, and the lanes that the remaining groups lack.
    fn complete(&self, lanes: LaneMask) -> (LaneMask, LaneMask) {
        let absent = self.masks[lowest_lane(lanes)] & !self.lanes;
        if absent != 0 && self.is_uniform(lanes) {
            return (0, absent);
        }
        let (mut ready, mut missing, mut left) = (0, 0, lanes);
        while left != 0 {
            let lane = lowest_lane(left);
            let (group, absent) = self.group(lane, true);
            let done = match absent {
                0 => group,
                _ => self.own_group(lane),
            };
            if done == 0 {
                missing |= absent;
            }
            ready |= done;
            left &= !(done | 1 << lane);
        }
        (ready, missing)
    }

    /// True if all of the given lanes have the same mask.
    fn is_uniform(&self, lanes: LaneMask) -> bool {
        let mask = self.masks[lowest_lane(lanes)];
        lanes_of(lanes).all(|lane| self.masks[lane] == mask)
    }

    /// Returns a lane's group without the lanes that merely name it, if all of the group has
    /// arrived, and 0 otherwise. Such a group can execute, whichever other lanes name it.
    fn own_group(&self, lane: usize) -> LaneMask {
        let (group, absent) = self.group(lane, false);
        if absent == 0 { group } else { 0 }
    }

    /// SyncParts restricted to the given lanes.
    fn parts_of(&self, lanes: LaneMask) -> SyncParts {
        let of = |part: &SyncPart| SyncPart {
            lanes: part.lanes & lanes,
            ..*part
        };
        let parts = self.parts.iter().map(of);
        parts.filter(|part| part.lanes != 0).collect()
    }
}

impl InstExec<'_, '_> {
    /// Synchronises the lanes of the instruction with those for which they wait. If only some of
    /// the lanes can execute, the mask is reduced to them. After [`SyncOutcome::Waiting`] another
    /// split is already at the top. Otherwise the caller executes the instruction and then calls
    /// [`Self::advance_synchronized`].
    #[inline(always)]
    pub fn synchronize(&mut self) -> SyncOutcome {
        if self.is_whole(self.mask) {
            return SyncOutcome::Complete;
        }
        self.synchronize_diverged()
    }

    /// True if these lanes are all that have not exited, so that they wait for no others of the
    /// warp.
    #[inline(always)]
    pub(crate) fn is_whole(&self, lanes: LaneMask) -> bool {
        lanes == self.warp.unexited() && !self.checks_lanes()
    }

    /// True if the launch checks how lanes reach barriers and warp-wide operations.
    fn checks_lanes(&self) -> bool {
        self.ctx.checks.barrier_divergence
    }

    /// Synchronises the lanes of a diverged warp.
    #[inline(never)]
    fn synchronize_diverged(&mut self) -> SyncOutcome {
        if mask_operand(self.inst.op).is_some_and(|k| self.inst.src[k] == Src::None) {
            return SyncOutcome::Complete;
        }
        if !self.checks_lanes() && self.has_all_named() {
            return SyncOutcome::Complete;
        }
        let gathering = self.sync_candidates();
        self.check_masks(&gathering);
        let (ready, missing) = gathering.complete(self.mask);
        if ready & self.mask == 0 {
            return self.wait_for(missing);
        }
        let parts = gathering.parts_of(ready);
        if parts.len() == 1 && ready == self.mask {
            return SyncOutcome::Complete;
        }
        let stays = self.mask & !ready;
        self.mask &= ready;
        self.out.active = ready;
        SyncOutcome::Joint(JointGroup { parts, stays })
    }

    /// True if all lanes that the masks name are in the running split.
    fn has_all_named(&self) -> bool {
        let named = named_by(&self.warp.regs, self.ctx, self.inst, self.mask);
        named & self.warp.unexited() & !self.mask == 0
    }

    /// Called after lanes exited. Lets splits check again whether they can continue if some lane of
    /// theirs no longer misses any lane.
    pub(crate) fn wake(&mut self) {
        if self.warp.stack.any_waits() {
            self.wake_complete();
        }
    }

    /// Wakes the splits with a lane whose named lanes all wait somewhere.
    #[cold]
    fn wake_complete(&mut self) {
        let waiting = self.warp.stack.waiting();
        let waiting = waiting.fold(0, |all: LaneMask, (_, lanes)| all | lanes);
        let absent = self.warp.unexited() & !waiting;
        let complete = |&(pc, lanes): &(Pc, LaneMask)| {
            let how = wait_set(&self.ctx.program.insts[pc.index()]);
            lanes_of(lanes).any(|lane| self.named(how, pc, lane) & absent == 0)
        };
        let complete = self.warp.stack.waiting().filter(complete);
        let lanes = complete.fold(0, |all: LaneMask, (_, lanes)| all | lanes);
        self.warp.stack.wake(lanes);
    }

    /// Moves lanes past an instruction that they executed together. Lanes of the split that could
    /// not execute it keep waiting.
    #[inline(always)]
    pub fn advance_synchronized(&mut self, outcome: &SyncOutcome) {
        match outcome {
            SyncOutcome::Complete => self.fall_through(),
            SyncOutcome::Joint(joint) => self.advance_joint(joint),
            SyncOutcome::Waiting => {}
        }
    }

    #[cold]
    fn advance_joint(&mut self, joint: &JointGroup) {
        for part in &joint.parts[1..] {
            self.warp.stack.advance_waiting(part.pc, part.lanes);
        }
        if joint.stays == 0 {
            self.warp.stack.advance(self.next());
        } else {
            self.warp.stack.split_off_rest(joint.stays, self.next());
            self.warp.stack.wait();
        }
        self.warp.stack.merge_splits();
        self.settle();
    }

    /// Collects the lanes at instructions that synchronise with this one, and the lanes for which
    /// they wait.
    fn sync_candidates(&self) -> SyncCandidates {
        let own = SyncPart {
            pc: self.pc,
            lanes: self.mask,
        };
        let how = wait_set(self.inst);
        let waiting = self.warp.stack.waiting();
        let waiting = waiting.map(|(pc, lanes)| SyncPart { pc, lanes });
        let parts: SyncParts = [own]
            .into_iter()
            .chain(waiting.filter(|part| self.synchronizes_with(how, part)))
            .collect();
        let mut gathering = SyncCandidates {
            lanes: 0,
            masks: [0; WARP_SIZE],
            part: [0; WARP_SIZE],
            parts,
        };
        for (part, nth) in gathering.parts.iter().zip(0..) {
            gathering.lanes |= part.lanes;
            for lane in lanes_of(part.lanes) {
                gathering.masks[lane] = self.named(how, part.pc, lane) & self.warp.unexited();
                gathering.part[lane] = nth;
            }
        }
        gathering
    }

    /// True if lanes waiting at another instruction can execute the operation of this one.
    fn synchronizes_with(&self, how: WaitSet, part: &SyncPart) -> bool {
        let other = &self.ctx.program.insts[part.pc.index()];
        match how {
            WaitSet::Aligned => part.pc == self.pc,
            WaitSet::Named(_) => other.op == self.inst.op,
            WaitSet::Block => {
                let barrier = |inst: &Inst, lanes: LaneMask| {
                    let of = |k: usize| self.lane_value(inst.src[k], lowest_lane(lanes));
                    (inst.op, of(0), of(1))
                };
                barrier(other, part.lanes) == barrier(self.inst, self.mask)
            }
        }
    }

    /// Lanes for which a lane waits at the instruction `pc`.
    fn named(&self, how: WaitSet, pc: Pc, lane: usize) -> LaneMask {
        match how {
            WaitSet::Named(k) => {
                let inst = &self.ctx.program.insts[pc.index()];
                self.lane_value(inst.src[k], lane) as LaneMask
            }
            WaitSet::Aligned | WaitSet::Block => LaneMask::MAX,
        }
    }

    /// Lets the lanes wait for the `missing` ones while another split runs. If no split can run,
    /// lanes are released from reconvergence points. If there are none either, the warp can never
    /// continue.
    #[cold]
    fn wait_for(&mut self, missing: LaneMask) -> SyncOutcome {
        if self.checks_lanes() {
            let kind = match wait_set(self.inst) {
                WaitSet::Block => FindingKind::BarrierDivergence,
                _ => FindingKind::LateLanes,
            };
            self.record_finding(kind, self.lowest_lane(), MemSpace::Shared, 0);
        }
        self.out.active = 0;
        self.warp.stack.split_off_rest(self.mask, self.next());
        self.warp.stack.wait();
        while !self.run_another(Choice::Youngest) {
            if !self.release(missing) {
                self.warp.pending = Some(Pending::Stuck);
                self.set_effect(Effect::Stuck);
                break;
            }
        }
        SyncOutcome::Waiting
    }

    /// Releases lanes from a reconvergence point, preferably some of `wanted`. Returns false if no
    /// lanes can be released.
    pub(crate) fn release(&mut self, wanted: LaneMask) -> bool {
        match self.warp.stack.release(wanted) {
            None => false,
            Some(Released::Split) => true,
            Some(Released::Returned(returned)) => {
                self.returned(returned, returned.lanes & !self.warp.exited);
                true
            }
        }
    }

    /// Moves a split that can run to the top. Returns false if there is none.
    pub(crate) fn run_another(&mut self, choice: Choice) -> bool {
        while self.warp.stack.choose(choice) {
            self.settle_top();
            if !self.warp.stack.top_waits() {
                return true;
            }
        }
        false
    }

    /// Handles a waiting top entry: another split runs, or a waiting split checks again whether it
    /// can continue.
    #[cold]
    pub(crate) fn resume(&mut self) {
        if !self.run_another(Choice::Youngest) {
            self.warp.stack.retry();
        }
    }

    /// Records member masks whose behaviour the ISA leaves undefined, if the launch asks for this
    /// check.
    fn check_masks(&mut self, gathering: &SyncCandidates) {
        if !self.checks_lanes() || mask_operand(self.inst.op).is_none() {
            return;
        }
        let masks = &gathering.masks;
        let without = |&lane: &usize| masks[lane] >> lane & 1 == 0;
        if let Some(lane) = lanes_of(self.mask).find(without) {
            self.record_finding(FindingKind::LaneNotInMask, lane, MemSpace::Shared, 0);
        }
        let differs = |&lane: &usize| {
            lanes_of(self.mask & masks[lane]).any(|other| masks[other] != masks[lane])
        };
        if let Some(lane) = lanes_of(self.mask).find(differs) {
            self.record_finding(FindingKind::MasksDiffer, lane, MemSpace::Shared, 0);
        }
    }
}
