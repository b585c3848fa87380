//! Operations that are planned for all lanes of a scope: operations of warps, barriers, calls.

use crate::diverged::code::{
    Bar, BarKind, Bin, Cmp, Form, Op, Opd, Redux, Shfl, TOTALS, WarpOp, reg,
};
use crate::diverged::draw::{BRANCH, Draw, LANE, RESULT, Scope, TID, VOTE, WARP};
use std::collections::BTreeSet;

/// Numbers of barriers without and with a number of threads.
const PLAIN_BARRIERS: u32 = 3;
const COUNTED_BARRIERS: u32 = 2;
/// Number of the barrier for handovers.
const HANDOVER: u8 = 8;

/// Groups of lanes that take part in an operation together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    All,
    /// Groups of adjacent lanes, of this size.
    Tile(u32),
    /// All lanes. Each lane names itself and this lane, which names all.
    Hub(u32),
}

/// An operation that all lanes of a scope execute once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    Warp {
        form: Form,
        group: Group,
        mask: Opd,
    },
    Barrier {
        kind: BarKind,
        number: u8,
        threads: Option<u32>,
        /// Region whose words, written by other threads before, are read afterwards.
        region: Option<u8>,
        /// Word whose sum over all threads is read afterwards.
        sum: Option<u8>,
    },
    /// The first warp arrives and continues. The others wait for it and read its words.
    Handover {
        region: u8,
    },
    Call {
        body: u8,
        mask: Opd,
        forms: BTreeSet<Form>,
    },
}

impl Item {
    pub fn forms(&self) -> BTreeSet<Form> {
        match self {
            Self::Warp {
                form: form @ Form::Shfl(_),
                ..
            } => BTreeSet::from([Form::Ballot, *form]),
            Self::Warp { form, .. } => BTreeSet::from([*form]),
            Self::Barrier { .. } | Self::Handover { .. } => BTreeSet::new(),
            Self::Call { forms, .. } => forms.clone(),
        }
    }
}

const FORMS: [Form; 18] = [
    Form::Shfl(Shfl::Up),
    Form::Shfl(Shfl::Down),
    Form::Shfl(Shfl::Bfly),
    Form::Shfl(Shfl::Idx),
    Form::VoteAll,
    Form::VoteAny,
    Form::VoteUni,
    Form::Ballot,
    Form::MatchAny,
    Form::MatchAll,
    Form::Redux(Redux::Add),
    Form::Redux(Redux::MinU),
    Form::Redux(Redux::MaxS),
    Form::Redux(Redux::And),
    Form::Redux(Redux::Or),
    Form::Redux(Redux::Xor),
    Form::Elect,
    Form::WarpSync,
];

impl Draw {
    /// True if lanes of a scope may wait at operations of these forms.
    pub fn may_use(&self, forms: &BTreeSet<Form>) -> bool {
        self.nests || !self.reserved.iter().any(|form| forms.contains(form))
    }

    /// A random item for a scope, if it may be used there.
    pub fn item(&mut self, scope: &Scope) -> Option<Item> {
        let item = match self.below(8) {
            0 if scope.is_block && self.warps > 1 && self.chance(3) => Item::Handover {
                region: self.region(),
            },
            0..=2 if scope.is_block => self.barrier(),
            3 => self.some_call(scope)?,
            _ => Item::Warp {
                form: self.one_of(&FORMS),
                group: self.group(scope),
                mask: scope.mask,
            },
        };
        self.may_use(&item.forms()).then_some(item)
    }

    fn group(&mut self, scope: &Scope) -> Group {
        match self.below(6) {
            0..=1 => Group::Tile(self.one_of(&[4, 8, 16])),
            2 => match scope.fixed {
                Some(lanes) if lanes != 0 => Group::Hub(lanes.trailing_zeros()),
                _ => Group::All,
            },
            _ => Group::All,
        }
    }

    fn barrier(&mut self) -> Item {
        let is_counted = self.chance(4);
        let number = if is_counted {
            PLAIN_BARRIERS + self.below(COUNTED_BARRIERS)
        } else {
            self.below(PLAIN_BARRIERS)
        };
        let kinds = [BarKind::Sync, BarKind::Popc, BarKind::And, BarKind::Or];
        let region = self.chance(3).then(|| self.region());
        let is_plain = region.is_some() || self.chance(2);
        Item::Barrier {
            kind: kinds[if is_plain { 0 } else { self.below(4) as usize }],
            number: number as u8,
            threads: is_counted.then_some(32 * self.warps),
            region,
            sum: self.chance(5).then(|| self.below(TOTALS as u32) as u8),
        }
    }

    pub fn region(&mut self) -> u8 {
        self.regions += 1;
        self.regions - 1
    }

    fn some_call(&mut self, scope: &Scope) -> Option<Item> {
        let fits =
            |function: &&crate::diverged::draw::Function| scope.is_block || !function.has_barriers;
        let all: Vec<_> = self.functions.iter().filter(fits).cloned().collect();
        if all.is_empty() {
            return None;
        }
        let function = &all[self.below(all.len() as u32) as usize];
        Some(Item::Call {
            body: function.body,
            mask: scope.mask,
            forms: function.forms.clone(),
        })
    }

    /// Writes the code of an item, under an optional guard.
    pub fn emit(&mut self, item: &Item, guard: Option<(u8, bool)>) {
        self.used.extend(item.forms());
        match item {
            Item::Warp { form, group, mask } => self.emit_warp(*form, *group, *mask, guard),
            Item::Call { body, mask, .. } => self.guarded(guard, Op::Call(*body, *mask)),
            Item::Barrier { .. } => self.emit_barrier(item, guard),
            Item::Handover { region } => self.emit_handover(*region),
        }
    }

    fn guarded(&mut self, guard: Option<(u8, bool)>, op: Op) {
        self.code.push(crate::diverged::code::Ins { guard, op });
    }

    /// Writes code for the member mask of each lane.
    fn mask(&mut self, group: Group, mask: Opd) -> Opd {
        let (first, own) = (reg::TEMP[0], reg::TEMP[1]);
        match group {
            Group::All => return mask,
            Group::Tile(size) => {
                self.bin(Bin::And, first, LANE, Opd::I(!(size - 1)));
                self.bin(Bin::Shl, own, Opd::I((1 << size) - 1), Opd::R(first));
                self.bin(Bin::And, own, Opd::R(own), mask);
            }
            Group::Hub(lane) => {
                self.compare(Cmp::Eq, BRANCH, LANE, Opd::I(lane));
                self.bin(Bin::Shl, own, Opd::I(1), LANE);
                self.bin(Bin::Or, own, Opd::R(own), Opd::I(1 << lane));
                self.put(Op::Select(own, mask, Opd::R(own), BRANCH));
            }
        }
        Opd::R(own)
    }

    fn emit_warp(&mut self, form: Form, group: Group, mask: Opd, guard: Option<(u8, bool)>) {
        let mask = self.mask(group, mask);
        let (d, a) = (reg::TEMP[3], self.data());
        let mut a = Opd::R(a);
        if matches!(form, Form::MatchAny | Form::MatchAll) && !self.chance(4) {
            self.bin(Bin::And, reg::TEMP[2], a, Opd::I(3));
            a = Opd::R(reg::TEMP[2]);
        }
        self.vote(a);
        let q = (VOTE, self.chance(2));
        let op = WarpOp {
            form,
            d,
            p: RESULT,
            a,
            q,
            b: Opd::I(self.below(32)),
            c: 31,
            mask,
        };
        match form {
            Form::Shfl(how) => self.shuffle(how, op, guard),
            _ => self.guarded(guard, Op::Warp(op)),
        }
        self.take(form, guard);
    }

    /// Sets the predicate that a vote reads.
    fn vote(&mut self, a: Opd) {
        match self.below(3) {
            0 => self.compare(Cmp::Lt, VOTE, TID, Opd::I(1 << 20)),
            1 => {
                let value = self.below(32);
                self.compare(Cmp::Lt, VOTE, LANE, Opd::I(value));
            }
            _ => {
                let bit = 1 << self.below(5);
                self.bin(Bin::And, reg::TEMP[3], a, Opd::I(bit));
                self.compare(Cmp::Ne, VOTE, Opd::R(reg::TEMP[3]), Opd::I(0));
            }
        }
    }

    /// Writes a shuffle after a vote of all lanes that take part. Values from other lanes are not
    /// used.
    fn shuffle(&mut self, how: Shfl, op: WarpOp, guard: Option<(u8, bool)>) {
        let live = reg::TEMP[2];
        self.compare(Cmp::Lt, VOTE, TID, Opd::I(1 << 20));
        let ballot = WarpOp {
            form: Form::Ballot,
            d: live,
            q: (VOTE, false),
            ..op
        };
        self.guarded(guard, Op::Warp(ballot));
        let c = if how == Shfl::Up { 0 } else { 31 };
        self.guarded(guard, Op::Warp(WarpOp { c, ..op }));
        let from = reg::TEMP[0];
        match how {
            Shfl::Up => self.bin(Bin::Sub, from, LANE, op.b),
            Shfl::Down => self.bin(Bin::Add, from, LANE, op.b),
            Shfl::Bfly => self.bin(Bin::Xor, from, LANE, op.b),
            Shfl::Idx => self.bin(Bin::Add, from, op.b, Opd::I(0)),
        }
        self.bin(Bin::Shr, live, Opd::R(live), Opd::R(from));
        self.bin(Bin::And, live, Opd::R(live), Opd::I(1));
        self.bin(Bin::Mul, op.d, Opd::R(op.d), Opd::R(live));
    }

    /// Adds the result of an operation to the hash.
    fn take(&mut self, form: Form, guard: Option<(u8, bool)>) {
        let has_pred = matches!(
            form,
            Form::Shfl(_)
                | Form::VoteAll
                | Form::VoteAny
                | Form::VoteUni
                | Form::MatchAll
                | Form::Elect
        );
        let has_word = !matches!(
            form,
            Form::VoteAll | Form::VoteAny | Form::VoteUni | Form::WarpSync
        );
        if has_word {
            self.fold(Opd::R(reg::TEMP[3]));
        }
        if has_pred {
            self.put(Op::Select(reg::TEMP[2], Opd::I(7), Opd::I(2), RESULT));
            self.fold(Opd::R(reg::TEMP[2]));
        }
        if has_word && guard.is_none() && self.chance(3) {
            let data = self.data();
            self.bin(Bin::Xor, data, Opd::R(data), Opd::R(reg::TEMP[3]));
        }
    }

    fn emit_barrier(&mut self, item: &Item, guard: Option<(u8, bool)>) {
        let Item::Barrier {
            kind,
            number,
            threads,
            region,
            sum,
        } = *item
        else {
            return;
        };
        let data = Opd::R(self.data());
        let bar = Bar {
            kind,
            number,
            threads,
            d: reg::TEMP[3],
            p: RESULT,
            q: (VOTE, self.chance(2)),
        };
        let plain = Op::Bar(Bar {
            kind: BarKind::Sync,
            ..bar
        });
        if let Some(region) = region {
            self.guarded(guard, Op::Store(region, data));
        }
        if let Some(word) = sum {
            self.guarded(guard, Op::SharedTotal(word, data));
        }
        self.vote(data);
        self.guarded(guard, Op::Bar(bar));
        match kind {
            BarKind::Popc => self.fold(Opd::R(reg::TEMP[3])),
            BarKind::And | BarKind::Or => {
                self.put(Op::Select(reg::TEMP[2], Opd::I(7), Opd::I(2), RESULT));
                self.fold(Opd::R(reg::TEMP[2]));
            }
            _ => {}
        }
        if let Some(region) = region {
            let other = 1 + self.below(127);
            self.bin(Bin::Xor, reg::TEMP[0], TID, Opd::I(other));
            self.guarded(guard, Op::Fetch(reg::TEMP[2], region, Opd::R(reg::TEMP[0])));
            self.fold(Opd::R(reg::TEMP[2]));
        }
        if let Some(word) = sum {
            self.guarded(guard, Op::FetchTotal(reg::TEMP[2], word));
            self.fold(Opd::R(reg::TEMP[2]));
        }
        if region.is_some() || sum.is_some() {
            self.guarded(guard, plain);
        }
    }

    /// Writes a handover, and a barrier that separates it from the next one.
    fn emit_handover(&mut self, region: u8) {
        let data = Opd::R(self.data());
        self.put(Op::Store(region, data));
        self.compare(Cmp::Eq, BRANCH, WARP, Opd::I(0));
        let bar = |kind, number, threads| {
            Op::Bar(Bar {
                kind,
                number,
                threads,
                d: reg::TEMP[3],
                p: RESULT,
                q: (VOTE, false),
            })
        };
        let threads = Some(32 * self.warps);
        self.put_if(BRANCH, true, bar(BarKind::Arrive, HANDOVER, threads));
        if self.chance(2) {
            self.filler();
        }
        self.put_if(BRANCH, false, bar(BarKind::Sync, HANDOVER, threads));
        self.put_if(BRANCH, false, Op::Fetch(reg::TEMP[2], region, LANE));
        self.put(Op::Select(
            reg::TEMP[2],
            Opd::I(5),
            Opd::R(reg::TEMP[2]),
            BRANCH,
        ));
        self.fold(Opd::R(reg::TEMP[2]));
        self.put(bar(BarKind::Sync, 0, None));
    }
}
