//! Copies that disappear: source and destination of a copy become one value if neither is written
//! while the other is still needed (Chaitin, 1982). This also covers the copies at the end of a
//! loop, which a compiler makes for the values of the next iteration.

use crate::body::Body;
use fixedbitset::FixedBitSet;
use std::collections::{BTreeMap, BTreeSet};
use warploom_ir::liveness::Universe;
use warploom_ir::{Dst, Inst, Op, Src, Var, Width};

/// Joins the values of copies, and removes these.
pub(crate) fn coalesce(body: &mut Body) {
    let universe = body.universe();
    let copies: Vec<(u32, u32)> = (body.insts.iter())
        .filter_map(|inst| copy(inst, body, universe))
        .collect();
    let mut joined = Joined::new(body, &copies);
    for (to, from) in copies {
        joined.join(to, from);
    }
    let names: Vec<u32> = (0..universe.len() as u32)
        .map(|value| joined.find(value))
        .collect();
    body.rename(&names);
    let mut kept = FixedBitSet::with_capacity(body.insts.len());
    for (at, inst) in body.insts.iter().enumerate() {
        let same = copy(inst, body, universe).is_some_and(|(to, from)| to == from);
        kept.set(at, !same);
    }
    body.keep(&kept);
}

/// Destination and source of a copy between registers or predicates.
fn copy(inst: &Inst, body: &Body, universe: Universe) -> Option<(u32, u32)> {
    if inst.guard.is_some() {
        return None;
    }
    let (to, from) = match (inst.op, inst.dst[0], inst.src[0]) {
        (Op::Mov(width), Dst::Reg(to), Src::Reg(from)) => {
            let wide = |reg: u16| body.wide[usize::from(reg)];
            let whole = width == Width::B64 || width == Width::B32;
            let fits = wide(to.0) == wide(from.0) && wide(to.0) == (width == Width::B64);
            (whole && fits).then_some((Var::Reg(to), Var::Reg(from)))?
        }
        (Op::MovPred, Dst::Pred(to), Src::Pred(from, false)) => (Var::Pred(to), Var::Pred(from)),
        _ => return None,
    };
    Some((universe.index(to) as u32, universe.index(from) as u32))
}

/// Values that became one, with those that they must stay apart from.
struct Joined {
    parents: Vec<u32>,
    /// Values that are needed at the same time, of those that take part in copies.
    apart: BTreeMap<u32, BTreeSet<u32>>,
}

impl Joined {
    fn new(body: &Body, copies: &[(u32, u32)]) -> Self {
        let universe = body.universe();
        let mut takes_part = FixedBitSet::with_capacity(universe.len());
        for (to, from) in copies {
            takes_part.insert(*to as usize);
            takes_part.insert(*from as usize);
        }
        let mut joined = Self {
            parents: (0..universe.len() as u32).collect(),
            apart: BTreeMap::new(),
        };
        let (cfg, live) = body.flow();
        let code = body.code();
        if !cfg.blocks.is_empty() {
            let entry: Vec<usize> = live.live_in(0).ones().collect();
            for (nth, a) in entry.iter().enumerate() {
                for b in &entry[..nth] {
                    joined.keep_apart(*a as u32, *b as u32);
                }
            }
        }
        live.for_each(&code, &cfg, |at, after| {
            let inst = &code.insts[at];
            let source = copy(inst, body, universe).map(|(_, from)| from as usize);
            let writes: Vec<usize> = code.writes(inst).map(|var| universe.index(var)).collect();
            for (nth, &dst) in writes.iter().enumerate() {
                if !takes_part.contains(dst) {
                    continue;
                }
                let others = takes_part.intersection(after);
                for other in others.chain(writes[..nth].iter().copied()) {
                    if other != dst && Some(other) != source {
                        joined.keep_apart(dst as u32, other as u32);
                    }
                }
            }
        });
        joined
    }

    fn keep_apart(&mut self, a: u32, b: u32) {
        self.apart.entry(a).or_default().insert(b);
        self.apart.entry(b).or_default().insert(a);
    }

    fn find(&self, value: u32) -> u32 {
        let mut root = value;
        while self.parents[root as usize] != root {
            root = self.parents[root as usize];
        }
        root
    }

    /// Joins two values unless they are needed at the same time.
    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        let kept_apart = |others: &BTreeSet<u32>| others.contains(&b);
        if a == b || self.apart.get(&a).is_some_and(kept_apart) {
            return;
        }
        let (root, child) = (a.min(b), a.max(b));
        self.parents[child as usize] = root;
        for other in self.apart.remove(&child).unwrap_or_default() {
            if let Some(others) = self.apart.get_mut(&other) {
                others.remove(&child);
            }
            self.keep_apart(root, other);
        }
    }
}
