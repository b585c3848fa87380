//! Instructions at which lanes of a warp wait for each other: operations with a member mask
//! (`shfl.sync` and its kin), products of matrices, block barriers.
//!
//! A lane waits until every lane that its mask names, and that has not ended, executes the same
//! operation: at the same instruction, or at another one where the other lane has the same mask or
//! names it, too. (The PTX ISA asks for "the same qualifiers and same membermask value" and leaves
//! other masks undefined; programs rely on each lane's own mask.) Lanes that come together execute
//! the operation together. A block barrier waits for all lanes of the warp and then counts the warp
//! as arrived (PTX ISA, `barrier`).

use crate::fault::FindingKind;
use crate::inst::{InstExec, lowest_lane};
use crate::outcome::Effect;
use crate::state::member_mask::{WaitsFor, mask_operand, named_by, waits_for};
use crate::state::stack::{Choice, Released};
use crate::state::warp::Pending;
use smallvec::SmallVec;
use warploom_base::{LaneMask, Pc, WARP_SIZE, lanes_of};
use warploom_ir::{Inst, MemSpace, Src};

/// Lanes at one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub pc: Pc,
    pub lanes: LaneMask,
}

/// Lanes that execute an instruction together: those of the running split first, then those of
/// splits that waited.
pub(crate) type Parts = SmallVec<[Part; 4]>;

/// Lanes of several splits execute an operation.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    /// The parts that execute, the running split first.
    pub parts: Parts,
    /// Lanes of the running split that wait on.
    stays: LaneMask,
}

impl Joint {
    /// All lanes that execute.
    pub fn lanes(&self) -> LaneMask {
        self.parts.iter().fold(0, |lanes, part| lanes | part.lanes)
    }
}

/// What becomes of an instruction that waits for lanes.
#[derive(Clone, Debug)]
pub(crate) enum Meeting {
    /// All lanes are there: those that the instruction's guard lets execute.
    Here,
    /// Some are there in other splits or at other instructions, or some of the split stay.
    Joint(Joint),
    /// The lanes wait: nothing is executed.
    Waits,
}

/// Lanes at instructions that meet, and whom they wait for.
struct Gathering {
    parts: Parts,
    lanes: LaneMask,
    /// By lane of `lanes`: the lanes that it waits for.
    masks: [LaneMask; WARP_SIZE],
    /// By lane of `lanes`: its part.
    part: [u8; WARP_SIZE],
}

impl Gathering {
    /// A lane that names another one can execute the operation together with it.
    fn agree(&self, lane: usize, named: usize) -> bool {
        let pc = |lane: usize| self.parts[usize::from(self.part[lane])].pc;
        let mask = self.masks[named];
        pc(lane) == pc(named) || mask == self.masks[lane] || mask >> lane & 1 == 1
    }

    /// The lanes that have to execute the operation together with one, and those of them that are
    /// not there. `tied`: a lane takes along also lanes of its split that name it, or another lane
    /// of the group.
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

    /// Those of `lanes` whose groups are complete, with the groups' other lanes; and the lanes that
    /// the others wait for.
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

    /// Lanes have the same mask.
    fn is_uniform(&self, lanes: LaneMask) -> bool {
        let mask = self.masks[lowest_lane(lanes)];
        lanes_of(lanes).all(|lane| self.masks[lane] == mask)
    }

    /// The lanes that a lane names, and those that these name, if all are there: they need no
    /// others, whoever else names them.
    fn own_group(&self, lane: usize) -> LaneMask {
        let (group, absent) = self.group(lane, false);
        if absent == 0 { group } else { 0 }
    }

    /// The parts as far as they consist of `lanes`.
    fn parts_of(&self, lanes: LaneMask) -> Parts {
        let of = |part: &Part| Part {
            lanes: part.lanes & lanes,
            ..*part
        };
        let parts = self.parts.iter().map(of);
        parts.filter(|part| part.lanes != 0).collect()
    }
}

impl InstExec<'_, '_> {
    /// Brings the lanes of the instruction together with those for which they wait. Where some of
    /// them can execute it and others not, the mask becomes that of the former. After
    /// [`Meeting::Waits`] the warp is elsewhere already; else the caller executes and calls
    /// [`Self::go_on`].
    #[inline(always)]
    pub fn meet(&mut self) -> Meeting {
        if self.mask == self.warp.unexited() && !self.checks_lanes() {
            return Meeting::Here;
        }
        self.meet_apart()
    }

    fn checks_lanes(&self) -> bool {
        self.ctx.checks.barrier_divergence
    }

    #[inline(never)]
    fn meet_apart(&mut self) -> Meeting {
        if mask_operand(self.inst.op).is_some_and(|k| self.inst.src[k] == Src::None) {
            return Meeting::Here;
        }
        if !self.checks_lanes() && self.has_all_named() {
            return Meeting::Here;
        }
        let gathering = self.gather_lanes();
        self.note_masks(&gathering);
        let (ready, missing) = gathering.complete(self.mask);
        if ready & self.mask == 0 {
            return self.wait_for(missing);
        }
        let parts = gathering.parts_of(ready);
        if parts.len() == 1 && ready == self.mask {
            return Meeting::Here;
        }
        let stays = self.mask & !ready;
        self.mask &= ready;
        self.out.active = ready;
        Meeting::Joint(Joint { parts, stays })
    }

    /// All lanes that the masks name are in this split.
    fn has_all_named(&self) -> bool {
        let named = named_by(self.warp, self.ctx, self.inst, self.mask);
        named & self.warp.unexited() & !self.mask == 0
    }

    /// Lanes have ended: splits look again that have a lane all of whose named lanes wait
    /// somewhere.
    pub(crate) fn wake(&mut self) {
        if self.warp.stack.any_waits() {
            self.wake_complete();
        }
    }

    #[cold]
    fn wake_complete(&mut self) {
        let waiting = self.warp.stack.waiting();
        let waiting = waiting.fold(0, |all: LaneMask, (_, lanes)| all | lanes);
        let absent = self.warp.unexited() & !waiting;
        let complete = |&(pc, lanes): &(Pc, LaneMask)| {
            let how = waits_for(&self.ctx.program.insts[pc.index()]);
            lanes_of(lanes).any(|lane| self.named(how, pc, lane) & absent == 0)
        };
        let complete = self.warp.stack.waiting().filter(complete);
        let lanes = complete.fold(0, |all: LaneMask, (_, lanes)| all | lanes);
        self.warp.stack.wake(lanes);
    }

    /// Lanes go on behind an instruction that they have executed together. Those of its split that
    /// had to stay wait.
    #[inline(always)]
    pub fn go_on(&mut self, meeting: &Meeting) {
        match meeting {
            Meeting::Here => self.fall_through(),
            Meeting::Joint(joint) => self.go_on_jointly(joint),
            Meeting::Waits => {}
        }
    }

    #[cold]
    fn go_on_jointly(&mut self, joint: &Joint) {
        for part in &joint.parts[1..] {
            self.warp.stack.pass(part.pc, part.lanes);
        }
        if joint.stays == 0 {
            self.warp.stack.advance(self.next());
        } else {
            self.warp.stack.stay(joint.stays, self.next());
            self.warp.stack.wait();
        }
        self.warp.stack.unite();
        self.settle();
    }

    /// Lanes that stand at instructions which meet with this one, and whom they wait for.
    fn gather_lanes(&self) -> Gathering {
        let own = Part {
            pc: self.pc,
            lanes: self.mask,
        };
        let how = waits_for(self.inst);
        let waiting = self.warp.stack.waiting();
        let waiting = waiting.map(|(pc, lanes)| Part { pc, lanes });
        let parts: Parts = [own]
            .into_iter()
            .chain(waiting.filter(|part| self.meets_with(how, part)))
            .collect();
        let mut gathering = Gathering {
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

    fn meets_with(&self, how: WaitsFor, part: &Part) -> bool {
        let other = &self.ctx.program.insts[part.pc.index()];
        match how {
            WaitsFor::Aligned => part.pc == self.pc,
            WaitsFor::Named(_) => other.op == self.inst.op,
            WaitsFor::Block => {
                let barrier = |inst: &Inst, lanes: LaneMask| {
                    let of = |k: usize| self.lane_value(inst.src[k], lowest_lane(lanes));
                    (inst.op, of(0), of(1))
                };
                barrier(other, part.lanes) == barrier(self.inst, self.mask)
            }
        }
    }

    /// The lanes that a lane at `pc` waits for.
    fn named(&self, how: WaitsFor, pc: Pc, lane: usize) -> LaneMask {
        match how {
            WaitsFor::Named(k) => {
                let inst = &self.ctx.program.insts[pc.index()];
                self.lane_value(inst.src[k], lane) as LaneMask
            }
            WaitsFor::Aligned | WaitsFor::Block => LaneMask::MAX,
        }
    }

    /// The lanes wait for `missing` ones, while another split runs. If none can, lanes that wait to
    /// meet others leave; if there are none, the warp never goes on.
    #[cold]
    fn wait_for(&mut self, missing: LaneMask) -> Meeting {
        if self.checks_lanes() {
            let kind = match waits_for(self.inst) {
                WaitsFor::Block => FindingKind::BarrierDivergence,
                _ => FindingKind::LanesApart,
            };
            self.note(kind, self.lowest_lane(), MemSpace::Shared, 0);
        }
        self.out.active = 0;
        self.warp.stack.stay(self.mask, self.next());
        self.warp.stack.wait();
        while !self.run_another(Choice::Youngest) {
            if !self.release(missing) {
                self.warp.pending = Some(Pending::Stuck);
                self.effect(Effect::Stuck);
                break;
            }
        }
        Meeting::Waits
    }

    /// Lets lanes leave a meeting place, those of `wanted` rather than others.
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

    /// Another split than the top runs, if one can.
    pub(crate) fn run_another(&mut self, choice: Choice) -> bool {
        while self.warp.stack.choose(choice) {
            self.settle_top();
            if !self.warp.stack.top_waits() {
                return true;
            }
        }
        false
    }

    /// The top waits: another split runs, or one that waits looks again.
    #[cold]
    pub(crate) fn resume(&mut self) {
        if !self.run_another(Choice::Youngest) {
            self.warp.stack.retry();
        }
    }

    /// Notes masks that the ISA leaves undefined, where that is asked for.
    fn note_masks(&mut self, gathering: &Gathering) {
        if !self.checks_lanes() || mask_operand(self.inst.op).is_none() {
            return;
        }
        let masks = &gathering.masks;
        let without = |&lane: &usize| masks[lane] >> lane & 1 == 0;
        if let Some(lane) = lanes_of(self.mask).find(without) {
            self.note(FindingKind::MaskWithoutLane, lane, MemSpace::Shared, 0);
        }
        let differs = |&lane: &usize| {
            lanes_of(self.mask & masks[lane]).any(|other| masks[other] != masks[lane])
        };
        if let Some(lane) = lanes_of(self.mask).find(differs) {
            self.note(FindingKind::MasksDiffer, lane, MemSpace::Shared, 0);
        }
    }
}
