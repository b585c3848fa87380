//! Dependences between the instructions of a basic block.

use crate::Machine;
use crate::effects::{Effect, effect};
use rustc_hash::FxHashMap;
use std::ops::Range;
use warploom_ir::{Code, Inst, MemSpace, Src, Var, class, contains_branch};

/// Successor of an instruction, with the cycles after which it may issue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// Position in the block.
    pub to: usize,
    pub cycles: u32,
}

/// Dependences of a block; instructions are numbered from its start.
pub(crate) struct Dependences {
    /// Instructions that each one must precede.
    pub after: Vec<Vec<Edge>>,
    /// Number of instructions that precede each one.
    pub before: Vec<u32>,
    /// Cycles from the issue of each instruction to the end of the longest chain that it begins.
    pub height: Vec<u32>,
}

impl Dependences {
    /// Finds the dependences of a block.
    pub fn new(code: &Code, block: Range<usize>, machine: &Machine) -> Self {
        let insts = &code.insts[block];
        let mut found = Self {
            after: vec![Vec::new(); insts.len()],
            before: vec![0; insts.len()],
            height: vec![0; insts.len()],
        };
        let latency: Vec<u32> = (insts.iter())
            .map(|inst| (machine.timing)(class(inst.op)).latency)
            .collect();
        let mut written: FxHashMap<Var, usize> = FxHashMap::default();
        let mut read: FxHashMap<Var, Vec<usize>> = FxHashMap::default();
        let mut effects = Effects::default();
        for (at, inst) in insts.iter().enumerate() {
            let address = match inst.src[0] {
                Src::Reg(reg) => written.get(&Var::Reg(reg)).copied(),
                _ => None,
            };
            for var in code.reads(inst) {
                if let Some(&def) = written.get(&var) {
                    let guard = if guards(var, inst) {
                        machine.guard_latency
                    } else {
                        0
                    };
                    found.add(def, at, latency[def].max(guard));
                }
            }
            for var in code.writes(inst) {
                if let Some(&def) = written.get(&var) {
                    found.add(def, at, latency[def]);
                }
                for reader in read.remove(&var).unwrap_or_default() {
                    found.add(reader, at, 1);
                }
                written.insert(var, at);
            }
            for var in code.reads(inst) {
                if written.get(&var) != Some(&at) {
                    read.entry(var).or_default().push(at);
                }
            }
            let effect = match contains_branch(inst.op) {
                true => Effect::Fence,
                false => effect(code, inst, address),
            };
            effects.enter(at, effect, &mut found);
        }
        for at in (0..insts.len()).rev() {
            let later = found.after[at].iter();
            let longest = later.map(|edge| edge.cycles + found.height[edge.to]).max();
            found.height[at] = longest.unwrap_or(latency[at]);
        }
        found
    }

    fn add(&mut self, from: usize, to: usize, cycles: u32) {
        if from != to {
            self.after[from].push(Edge { to, cycles });
            self.before[to] += 1;
        }
    }
}

/// True if a variable is the guard of an instruction.
fn guards(var: Var, inst: &Inst) -> bool {
    inst.guard.is_some_and(|guard| var == Var::Pred(guard.pred))
}

/// Effects that are kept apart. Beyond that an access counts as one anywhere in its space, which
/// stands for the earlier ones, so that the time for a block does not grow with their square.
const MOST_EFFECTS: usize = 256;

/// Instructions with effects that later ones may have to follow.
#[derive(Default)]
struct Effects {
    /// Last instruction that nothing passes.
    fence: Option<usize>,
    /// Instructions with effects since then, but for those for which a later one stands.
    since: Vec<(usize, Effect)>,
    /// Stores with their addresses since the last action that all accesses follow.
    stores: Vec<(usize, Src)>,
    /// Position after the last fence.
    start: usize,
}

impl Effects {
    fn enter(&mut self, at: usize, effect: Effect, found: &mut Dependences) {
        if let Some(fence) = self.fence {
            found.add(fence, at, 1);
        }
        if effect == Effect::Fence {
            (self.start..at).for_each(|earlier| found.add(earlier, at, 1));
            (self.fence, self.start) = (Some(at), at + 1);
            self.since.clear();
            self.stores.clear();
            return;
        }
        if matches!(effect, Effect::None | Effect::Constant) {
            return;
        }
        let effect = match self.since.len() < MOST_EFFECTS {
            true => effect,
            false => effect.anywhere(),
        };
        for &(earlier, other) in &self.since {
            if conflict(other, effect) {
                found.add(earlier, at, 1);
            }
        }
        match effect {
            Effect::ReadOnly(address) => {
                let same = self.stores.iter().filter(|(_, stored)| *stored == address);
                same.for_each(|(earlier, _)| found.add(*earlier, at, 1));
            }
            Effect::Store(_, _, address) => self.stores.push((at, address)),
            Effect::Ordered => self.stores.clear(),
            _ => {}
        }
        self.since.retain(|(_, old)| !stands_for(effect, *old));
        self.since.push((at, effect));
    }
}

/// True if an instruction that conflicts with an old one also conflicts with a new one, which
/// follows the old one: it then follows both. Without this, blocks with many effects would have as
/// many dependences as pairs of instructions.
fn stands_for(new: Effect, old: Effect) -> bool {
    use Effect::{Carry, Copy, Exchange, Load, Ordered, ReadOnly, Store};
    match (new, old) {
        (Carry, Carry) | (Exchange, Exchange) | (Copy, Copy) => true,
        (Ordered, old) => old != Carry,
        (Store(a, at, _), Load(b, other) | Store(b, other, _)) => {
            (a == b || a.is_none()) && at.covers(other)
        }
        (ReadOnly(a), ReadOnly(b)) => a == b,
        _ => false,
    }
}

/// True if two instructions must keep their order for their effects.
fn conflict(a: Effect, b: Effect) -> bool {
    use Effect::{
        Carry, Constant, Copy, Exchange, Fence, Load, None as Nothing, Ordered, ReadOnly, Store,
    };
    match (a, b) {
        (Nothing | Constant, _) | (_, Nothing | Constant) => false,
        (Carry, Carry) | (Exchange, Exchange) | (Copy, Copy) => true,
        (Carry, _) | (_, Carry) => false,
        (Ordered | Fence, _) | (_, Ordered | Fence) => true,
        (Exchange, _) | (_, Exchange) | (Load(..), Load(..)) => false,
        // A store through the same address shows that the memory is not only read. Loads behind
        // such stores are found by the stores' addresses.
        (ReadOnly(a), Store(_, _, b)) => a == b,
        (ReadOnly(_), _) | (_, ReadOnly(_)) => false,
        (Copy, Load(space, _)) | (Load(space, _), Copy) => meet(space, Some(MemSpace::Shared)),
        (Copy, Store(space, ..)) | (Store(space, ..), Copy) => {
            meet(space, Some(MemSpace::Shared)) || meet(space, Some(MemSpace::Global))
        }
        (Load(a, at) | Store(a, at, _), Load(b, other) | Store(b, other, _)) => {
            meet(a, b) && at.meets(other)
        }
    }
}

/// True if two spaces may have a place in common; `None` is any space.
fn meet(a: Option<MemSpace>, b: Option<MemSpace>) -> bool {
    a.is_none() || b.is_none() || a == b
}
