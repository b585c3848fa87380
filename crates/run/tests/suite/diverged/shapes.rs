//! Shapes of control flow in which lanes of a scope execute their plan.

use crate::diverged::code::{Bin, Cmp, Form, Ins, Op, Opd, WarpOp, reg};
use crate::diverged::draw::{BRANCH, Draw, GUARD, HASH, LANE, NEVER, Scope, TID, VOTE, WARP};
use crate::diverged::items::{Group, Item};
use std::collections::BTreeSet;

/// Largest depth of nested scopes.
const DEPTH: u32 = 4;
/// Largest depth of nested loops with scopes.
const LOOPS: usize = 2;

impl Draw {
    /// Writes the code of a scope: its plan, and other code.
    pub fn block(&mut self, scope: &Scope, plan: &[Item]) {
        let mut rest = plan;
        loop {
            self.fuel -= 1;
            if self.fuel <= 0 {
                rest.iter().for_each(|item| self.emit(item, None));
                return;
            }
            if rest.is_empty() && self.chance(3) {
                return;
            }
            match self.below(24) {
                0..=2 => self.filler(),
                3..=4 => self.mess(scope),
                5..=7 => self.wild(),
                8 => self.leave(),
                9..=10 => self.local(scope),
                11 => self.repeat(scope),
                12 => self.shrinking(scope),
                13 => self.some(scope),
                14 => self.exchange(scope),
                15..=18 => {
                    if let Some((first, others)) = rest.split_first() {
                        self.emit(first, None);
                        rest = others;
                    }
                }
                _ => {
                    let now = self.below(rest.len().min(4) as u32 + 1) as usize;
                    self.split(scope, &rest[..now]);
                    rest = &rest[now..];
                }
            }
        }
    }

    /// Writes code without special purpose.
    pub fn filler(&mut self) {
        for _ in 0..1 + self.below(3) {
            let (d, a) = (self.data(), Opd::R(self.data()));
            let value = Opd::I(self.below(1 << 10));
            match self.below(6) {
                0 => self.put(Op::Input(d, a)),
                1 => self.fold(a),
                2 => self.bin(Bin::Xor, d, HASH, a),
                3 => {
                    let word = self.below(8) as u8;
                    self.put(Op::GlobalTotal(word, a));
                }
                _ => {
                    let op =
                        self.one_of(&[Bin::Add, Bin::Sub, Bin::Mul, Bin::Xor, Bin::Shr, Bin::Min]);
                    let value = if op == Bin::Shr { Opd::I(2) } else { value };
                    self.bin(op, d, a, value);
                }
            }
        }
    }

    /// Writes forward jumps among a few pieces of code, perhaps in a loop, from which lanes emerge
    /// one after the other.
    fn mess(&mut self, scope: &Scope) {
        let counter = reg::COUNTERS.get(scope.counters).copied();
        let head = self.label();
        if let Some(counter) = counter {
            self.bin(Bin::Add, counter, Opd::I(0), Opd::I(0));
        }
        self.place(head);
        let labels: Vec<u16> = (0..2 + self.below(4)).map(|_| self.label()).collect();
        for at in 0..labels.len() {
            let to = labels[at + self.below((labels.len() - at) as u32) as usize];
            if self.chance(5) {
                self.rare(BRANCH)
            } else {
                self.often(BRANCH)
            }
            let value = self.chance(2);
            self.put_if(BRANCH, value, Op::Bra(to));
            self.filler();
            self.place(labels[at]);
        }
        let Some(counter) = counter.filter(|_| self.chance(2)) else {
            return;
        };
        self.bin(Bin::Add, counter, Opd::R(counter), Opd::I(1));
        self.bin(Bin::And, reg::TEMP[0], LANE, Opd::I(3));
        self.compare(Cmp::Lt, BRANCH, Opd::R(counter), Opd::R(reg::TEMP[0]));
        self.put_if(BRANCH, true, Op::Bra(head));
    }

    /// Generates a further plan and executes it.
    fn local(&mut self, scope: &Scope) {
        let plan = self.plan(scope);
        self.block(scope, &plan);
    }

    /// Writes a loop that all lanes leave at once, except for those that exit.
    fn repeat(&mut self, scope: &Scope) {
        let Some(&counter) = reg::COUNTERS.get(scope.counters) else {
            return;
        };
        let inner = Scope {
            counters: scope.counters + 1,
            depth: scope.depth + 1,
            ..scope.clone()
        };
        if inner.depth > DEPTH || inner.counters > LOOPS {
            return;
        }
        let plan = self.plan(&inner);
        let (head, out, times) = (self.label(), self.label(), 1 + self.below(3));
        self.bin(Bin::Add, counter, Opd::I(0), Opd::I(0));
        self.place(head);
        let is_checked_first = self.chance(2);
        if is_checked_first {
            self.compare(Cmp::Ge, BRANCH, Opd::R(counter), Opd::I(times));
            self.put_if(BRANCH, true, Op::Bra(out));
        }
        self.block(&inner, &plan);
        if self.chance(3) {
            self.never(NEVER);
            let to = self.one_of(&[out, head]);
            self.put_if(NEVER, true, Op::Bra(to));
        }
        self.bin(Bin::Add, counter, Opd::R(counter), Opd::I(1));
        if is_checked_first {
            self.put(Op::Bra(head));
        } else {
            self.compare(Cmp::Lt, BRANCH, Opd::R(counter), Opd::I(times));
            self.put_if(BRANCH, true, Op::Bra(head));
        }
        self.place(out);
    }

    fn ballot(&mut self, d: u8, p: u8, mask: Opd) {
        self.used.insert(Form::Ballot);
        self.put(Op::Warp(WarpOp {
            form: Form::Ballot,
            d,
            p: VOTE,
            a: HASH,
            q: (p, false),
            b: Opd::I(0),
            c: 31,
            mask,
        }));
    }

    fn may_vote(&self) -> bool {
        self.may_use(&BTreeSet::from([Form::Ballot]))
    }

    /// Writes a loop that lanes leave one after the other. The remaining lanes vote on who they
    /// are.
    fn shrinking(&mut self, scope: &Scope) {
        let counter = reg::COUNTERS.get(scope.counters).copied();
        let mask = reg::MASKS.get(scope.masks).copied();
        let (Some(counter), Some(mask)) = (counter, mask) else {
            return;
        };
        if !self.may_vote() || scope.depth >= DEPTH || scope.counters >= LOOPS {
            return;
        }
        let inner = Scope {
            mask: Opd::R(mask),
            fixed: None,
            is_block: false,
            masks: scope.masks + 1,
            counters: scope.counters + 1,
            depth: scope.depth + 1,
        };
        let (head, out) = (self.label(), self.label());
        let trips = self.one_of(&[LANE, Opd::R(reg::DATA[0]), Opd::R(reg::DATA[2])]);
        self.bin(Bin::Add, counter, Opd::I(0), Opd::I(0));
        self.bin(Bin::Or, mask, scope.mask, Opd::I(0));
        self.place(head);
        self.bin(Bin::And, reg::TEMP[0], trips, Opd::I(3));
        self.compare(Cmp::Lt, BRANCH, Opd::R(counter), Opd::R(reg::TEMP[0]));
        self.ballot(mask, BRANCH, Opd::R(mask));
        self.put_if(BRANCH, false, Op::Bra(out));
        self.bin(Bin::Add, counter, Opd::R(counter), Opd::I(1));
        // The number of iterations may change inside of the loop; this is its upper limit.
        self.compare(Cmp::Ge, BRANCH, Opd::R(counter), Opd::I(4));
        self.put_if(BRANCH, true, Op::Bra(out));
        let plan = self.plan(&inner);
        self.block(&inner, &plan);
        self.put(Op::Bra(head));
        self.place(out);
    }

    /// Writes an operation that a part of the lanes executes, by a guard.
    fn some(&mut self, scope: &Scope) {
        let Some((inner, _)) = self.parts(scope) else {
            return;
        };
        let item = self.item(&inner);
        if let Some(
            item @ Item::Warp {
                group: Group::All, ..
            },
        ) = item
        {
            self.emit(&item, Some((BRANCH, true)));
        }
    }

    /// Writes an exchange of words through shared memory.
    fn exchange(&mut self, scope: &Scope) {
        if self.is_function || !self.may_use(&BTreeSet::from([Form::WarpSync])) {
            return;
        }
        let sync = Item::Warp {
            form: Form::WarpSync,
            group: Group::All,
            mask: scope.mask,
        };
        let (region, data) = (self.region(), self.data());
        self.put(Op::Store(region, Opd::R(data)));
        self.emit(&sync, None);
        let other = 1 + self.below(31);
        self.bin(Bin::Xor, reg::TEMP[0], TID, Opd::I(other));
        self.put(Op::Fetch(reg::TEMP[3], region, Opd::R(reg::TEMP[0])));
        self.fold(Opd::R(reg::TEMP[3]));
        self.emit(&sync, None);
    }

    /// A random set of lanes.
    fn lanes(&mut self) -> u32 {
        let half = self.one_of(&[
            0x0000_ffff,
            0x5555_5555,
            0x00ff_00ff,
            0x0f0f_0f0f,
            0x3333_3333,
        ]);
        match self.below(4) {
            0 => half,
            1 => !half,
            2 => 1 << self.below(32),
            _ => self.rng.next_u32(),
        }
    }

    /// Sets the branch's predicate and returns the scopes of the lanes with and without it, in each
    /// of which all lanes know the lane mask.
    fn parts(&mut self, scope: &Scope) -> Option<(Scope, Scope)> {
        let part = |mask: Opd, fixed: Option<u32>, masks: usize| Scope {
            mask,
            fixed,
            is_block: false,
            masks,
            counters: scope.counters,
            depth: scope.depth + 1,
        };
        let (free, masks) = (
            reg::MASKS.get(scope.masks..scope.masks + 2),
            scope.masks + 2,
        );
        if self.chance(2) {
            let lanes = self.lanes();
            if let Some(all) = scope.fixed {
                self.lane_in(lanes);
                let (yes, no) = (all & lanes, all & !lanes);
                return Some((
                    part(Opd::I(yes), Some(yes), scope.masks),
                    part(Opd::I(no), Some(no), scope.masks),
                ));
            }
            let free = free?;
            self.bin(Bin::And, free[0], scope.mask, Opd::I(lanes));
            self.bin(Bin::And, free[1], scope.mask, Opd::I(!lanes));
            self.lane_in(lanes);
            return Some((
                part(Opd::R(free[0]), None, masks),
                part(Opd::R(free[1]), None, masks),
            ));
        }
        let free = free?;
        if !self.may_vote() {
            return None;
        }
        if self.chance(3) {
            self.rare(BRANCH)
        } else {
            self.often(BRANCH)
        }
        self.ballot(free[0], BRANCH, scope.mask);
        self.bin(Bin::Xor, free[1], Opd::R(free[0]), scope.mask);
        Some((
            part(Opd::R(free[0]), None, masks),
            part(Opd::R(free[1]), None, masks),
        ))
    }

    /// Sets the branch's predicate in these lanes.
    fn lane_in(&mut self, lanes: u32) {
        self.bin(Bin::Shr, reg::TEMP[0], Opd::I(lanes), LANE);
        self.bin(Bin::And, reg::TEMP[0], Opd::R(reg::TEMP[0]), Opd::I(1));
        self.compare(Cmp::Ne, BRANCH, Opd::R(reg::TEMP[0]), Opd::I(0));
    }

    /// Lets lanes of a scope take different paths, on each of which they execute the plan.
    fn split(&mut self, scope: &Scope, plan: &[Item]) {
        let before = self.reserved.len();
        if scope.depth >= DEPTH {
            return plan.iter().for_each(|item| self.emit(item, None));
        }
        let is_alike = plan.len() > 1 && plan.iter().all(|item| *item == plan[0]);
        match self.below(10) {
            0..=1 if is_alike => self.drain(scope, plan),
            2 if plan.len() == 1 => self.both_guards(&plan[0]),
            3 => self.switch(scope, plan),
            4..=5 => self.same(scope, plan),
            _ => {
                let Some((yes, no)) = self.parts(scope) else {
                    return self.same(scope, plan);
                };
                let forms = plan.iter().flat_map(Item::forms);
                self.reserved.extend(forms);
                self.arms(&yes, &no, plan);
            }
        }
        self.reserved.truncate(before);
    }

    /// Writes a branch whose arms execute the same plan in different ways.
    fn arms(&mut self, yes: &Scope, no: &Scope, plan: &[Item]) {
        let (then, join) = (self.label(), self.label());
        match self.below(4) {
            // The arm is placed after the end.
            0 => {
                self.put_if(BRANCH, true, Op::Bra(then));
                self.block(no, plan);
                self.place(join);
                let code = std::mem::take(&mut self.code);
                self.place(then);
                self.block(yes, plan);
                self.put(Op::Bra(join));
                let arm: Vec<Ins> = std::mem::replace(&mut self.code, code);
                self.cold.extend(arm);
            }
            1 => {
                self.put_if(BRANCH, false, Op::Bra(then));
                self.block(yes, plan);
                self.put(Op::Bra(join));
                self.place(then);
                self.block(no, plan);
                self.place(join);
            }
            _ => {
                self.put_if(BRANCH, true, Op::Bra(then));
                self.block(no, plan);
                self.put(Op::Bra(join));
                self.place(then);
                self.block(yes, plan);
                self.place(join);
            }
        }
    }

    /// Writes a branch that all lanes of a warp take in the same direction.
    fn same(&mut self, scope: &Scope, plan: &[Item]) {
        let inner = Scope {
            is_block: false,
            depth: scope.depth + 1,
            ..scope.clone()
        };
        match self.below(3) {
            0 => {
                let warp = self.below(self.warps);
                self.compare(Cmp::Eq, BRANCH, WARP, Opd::I(warp));
            }
            1 => self.never(BRANCH),
            _ => self.compare(Cmp::Lt, BRANCH, TID, Opd::I(4096)),
        }
        self.arms(&inner, &inner, plan);
    }

    /// Writes a jump through a table of labels.
    fn switch(&mut self, scope: &Scope, plan: &[Item]) {
        let (Some(all), shift) = (scope.fixed, self.below(4)) else {
            return self.same(scope, plan);
        };
        let ways = self.one_of(&[2, 4]);
        self.bin(Bin::Shr, reg::TEMP[0], LANE, Opd::I(shift));
        self.bin(
            Bin::And,
            reg::TEMP[0],
            Opd::R(reg::TEMP[0]),
            Opd::I(ways - 1),
        );
        let labels: Vec<u16> = (0..ways).map(|_| self.label()).collect();
        let join = self.label();
        self.put(Op::Switch(reg::TEMP[0], labels.clone()));
        self.reserved.extend(plan.iter().flat_map(Item::forms));
        for (way, label) in (0..).zip(labels) {
            let is_there = |lane: &u32| lane >> shift & (ways - 1) == way;
            let lanes = (0..32)
                .filter(is_there)
                .fold(0, |mask, lane| mask | 1 << lane);
            let inner = Scope {
                mask: Opd::I(all & lanes),
                fixed: Some(all & lanes),
                is_block: false,
                depth: scope.depth + 1,
                ..scope.clone()
            };
            self.place(label);
            self.block(&inner, plan);
            self.put(Op::Bra(join));
        }
        self.place(join);
    }

    /// Executes the same operation several times: lanes do some of it in one loop and the rest in
    /// another.
    fn drain(&mut self, scope: &Scope, plan: &[Item]) {
        let Some(&counter) = reg::COUNTERS.get(scope.counters) else {
            return plan.iter().for_each(|item| self.emit(item, None));
        };
        let times = plan.len() as u32;
        let source = self.one_of(&[LANE, Opd::R(reg::DATA[1]), Opd::R(reg::DATA[3])]);
        self.bin(Bin::Add, counter, Opd::I(0), Opd::I(0));
        // The data may change in the loop, so the counter is compared with a constant.
        let Some(&limit) = reg::COUNTERS.get(scope.counters + 1) else {
            return plan.iter().for_each(|item| self.emit(item, None));
        };
        self.bin(Bin::And, limit, source, Opd::I(3));
        self.bin(Bin::Min, limit, Opd::R(limit), Opd::I(times));
        for limit in [Opd::R(limit), Opd::I(times)] {
            let (head, out) = (self.label(), self.label());
            self.place(head);
            self.compare(Cmp::Ge, BRANCH, Opd::R(counter), limit);
            self.put_if(BRANCH, true, Op::Bra(out));
            self.emit(&plan[0], None);
            if self.chance(3) {
                self.wild();
            }
            self.bin(Bin::Add, counter, Opd::R(counter), Opd::I(1));
            self.put(Op::Bra(head));
            self.place(out);
            self.filler();
        }
    }

    /// Writes one operation on two lines, each for the lanes whose guard holds.
    fn both_guards(&mut self, item: &Item) {
        if matches!(item, Item::Handover { .. }) {
            return self.emit(item, None);
        }
        self.often(GUARD);
        self.emit(item, Some((GUARD, true)));
        if self.chance(2) {
            self.filler();
        }
        self.emit(item, Some((GUARD, false)));
    }
}
