//! Scheduling of instructions before allocation, so that fewer values are in use at a time: loads
//! move down to their uses, and uses move up to the last of their operands.
//!
//! Instructions move within a *region* only: a sequence without labels, branches, barriers,
//! atomics, volatile accesses and other instructions with effects beyond registers and plain
//! memory. Within a region every instruction stays behind the writes of its operands, and accesses
//! of one memory stay in order unless both are loads. A region is scheduled from its end, always by
//! the instruction that leaves fewest values in use before it (list scheduling for register
//! pressure; Goodman and Hsu, 1988).

use crate::body::{Body, Control, Inst, Item, Var};
use crate::flow::Flow;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use std::ops::Range;
use warploom_ptx::ast::Operand;
use warploom_ptx::special;
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// Reorders the regions of a body in which more than `limit` registers are in use at a time, if
/// that makes them fewer. Returns whether any order has changed.
pub(crate) fn schedule(body: &mut Body, limit: u32) -> bool {
    let flow = Flow::new(body);
    let after = flow.live_after();
    let prologue = body.prologue.len();
    let mut changed = false;
    for region in regions(&body.items) {
        let insts: Vec<&Inst> = body.items[region.items.clone()]
            .iter()
            .filter_map(|item| match item {
                Item::Inst(inst) => Some(&**inst),
                _ => None,
            })
            .collect();
        let last = prologue + region.first + insts.len() - 1;
        let best = best_order(body, &insts, &after[last], limit);
        if let Some(order) = best {
            let mut items: Vec<Option<Item>> = body.items[region.items.clone()]
                .iter()
                .cloned()
                .map(Some)
                .collect();
            for (place, from) in order.into_iter().enumerate() {
                if let Some(item) = items[from].take() {
                    body.items[region.items.start + place] = item;
                }
            }
            changed = true;
        }
    }
    changed
}

/// A sequence of items that are instructions.
struct Region {
    items: Range<usize>,
    /// The number of instructions before it.
    first: usize,
}

/// Returns the regions of two or more instructions.
fn regions(items: &[Item]) -> Vec<Region> {
    let mut found = Vec::new();
    let (mut start, mut first, mut count) = (0, 0, 0);
    for (at, item) in items.iter().enumerate() {
        let moves = matches!(item, Item::Inst(inst) if can_move(inst));
        if !moves {
            found.push((start..at, first));
            start = at + 1;
        }
        count += usize::from(matches!(item, Item::Inst(_)));
        if !moves {
            first = count;
        }
    }
    found.push((start..items.len(), first));
    let regions = found.into_iter().filter(|(items, _)| items.len() > 1);
    regions
        .map(|(items, first)| Region { items, first })
        .collect()
}

/// Returns an order of a region in which fewer registers are in use at a time than in program
/// order, or `None` if they are at most `limit` already or no such order is found.
fn best_order(
    body: &Body,
    insts: &[&Inst],
    live_after: &FixedBitSet,
    limit: u32,
) -> Option<Vec<usize>> {
    let size = |var: Var| match body.vars[var.index()].class {
        crate::class::Class::Pred => 0,
        class => class.units(),
    };
    let program: Vec<usize> = (0..insts.len()).collect();
    let peak = |order: &[usize]| peak(insts, order, live_after, &size);
    let lowest = peak(&program);
    if lowest <= limit {
        return None;
    }
    let dependences = Dependences::new(insts);
    let orders = [Ties::Latest, Ties::Newest].map(|ties| {
        let scheduler = Scheduler::new(insts, &dependences, live_after, ties);
        scheduler.run(&size)
    });
    let orders = orders.into_iter().map(|order| (peak(&order), order));
    let (best, order) = orders.min_by_key(|(peak, _)| *peak)?;
    (best < lowest).then_some(order)
}

/// Returns the largest number of registers in use at a time.
fn peak(
    insts: &[&Inst],
    order: &[usize],
    live_after: &FixedBitSet,
    size: &impl Fn(Var) -> u32,
) -> u32 {
    let mut live = Live::new(live_after, size);
    let mut highest = live.registers;
    for &at in order.iter().rev() {
        highest = highest.max(live.registers + live.dead(insts[at], size));
        live.step(insts[at], size);
        highest = highest.max(live.registers);
    }
    highest
}

/// The variables in use at a point of a schedule.
struct Live {
    vars: FixedBitSet,
    registers: u32,
}

impl Live {
    fn new(vars: &FixedBitSet, size: &impl Fn(Var) -> u32) -> Self {
        let mut live = Self {
            vars: vars.clone(),
            registers: 0,
        };
        // The last number of the set stands for all guards.
        let count = vars.len().saturating_sub(1);
        let vars = vars.ones().take_while(|var| *var < count);
        live.registers = vars.map(|var| size(Var::new(var))).sum();
        live
    }

    /// Returns the registers of results that are not in use after an instruction.
    fn dead(&self, inst: &Inst, size: &impl Fn(Var) -> u32) -> u32 {
        let dead = inst.writes().filter(|var| !self.vars.contains(var.index()));
        dead.map(size).sum()
    }

    /// Returns the change of the number of registers when an instruction is placed before the
    /// point.
    fn change(&self, inst: &Inst, size: &impl Fn(Var) -> u32) -> i64 {
        let mut change = 0;
        let whole = inst.ast.guard.is_none();
        for var in inst.writes().filter(|_| whole) {
            if self.vars.contains(var.index()) {
                change -= i64::from(size(var));
            }
        }
        let mut seen: Vec<Var> = Vec::new();
        for var in inst.reads() {
            let killed = whole && inst.writes().any(|written| written == var);
            let new = !self.vars.contains(var.index()) || killed;
            if new && !seen.contains(&var) {
                change += i64::from(size(var));
                seen.push(var);
            }
        }
        change
    }

    /// Moves the point before an instruction.
    fn step(&mut self, inst: &Inst, size: &impl Fn(Var) -> u32) {
        let change = self.change(inst, size);
        self.registers = (i64::from(self.registers) + change) as u32;
        if inst.ast.guard.is_none() {
            inst.writes()
                .for_each(|var| self.vars.set(var.index(), false));
        }
        inst.reads().for_each(|var| self.vars.insert(var.index()));
    }
}

/// Returns whether an instruction may be reordered: arithmetic, and plain loads and stores.
fn can_move(inst: &Inst) -> bool {
    if inst.control != Control::Next || inst.ast.modifiers.iter().any(|m| m.node == Modifier::Cc) {
        return false;
    }
    match inst.ast.opcode.node {
        Opcode::Ld | Opcode::St => inst.ast.modifiers.iter().all(|m| is_plain(&m.node)),
        Opcode::Tex | Opcode::Tld4 => true,
        Opcode::Mov => inst
            .ast
            .operands
            .iter()
            .all(|operand| is_steady(&operand.node)),
        opcode => ARITHMETIC.contains(&opcode),
    }
}

/// Returns whether a modifier of a load or store leaves it free of order among threads.
fn is_plain(modifier: &Modifier) -> bool {
    matches!(
        modifier,
        Modifier::Space(_)
            | Modifier::Type(_)
            | Modifier::V2
            | Modifier::V4
            | Modifier::Nc
            | Modifier::Ca
            | Modifier::Cg
            | Modifier::Cs
    )
}

/// Returns whether an operand of a `mov` does not change with time, as `%clock` does.
fn is_steady(operand: &Operand) -> bool {
    const CONSTANT: [&str; 5] = ["%tid", "%ntid", "%ctaid", "%nctaid", "%laneid"];
    match operand {
        Operand::Name(name) => {
            let stem = name.split('.').next().unwrap_or(name);
            special::lookup(name).is_none() || CONSTANT.contains(&stem)
        }
        _ => true,
    }
}

/// Operations that only compute.
const ARITHMETIC: &[Opcode] = &[
    Opcode::Abs,
    Opcode::Add,
    Opcode::And,
    Opcode::Bfe,
    Opcode::Bfi,
    Opcode::Bfind,
    Opcode::Bmsk,
    Opcode::Brev,
    Opcode::Clz,
    Opcode::Cnot,
    Opcode::Copysign,
    Opcode::Cos,
    Opcode::Cvt,
    Opcode::Cvta,
    Opcode::Div,
    Opcode::Dp2a,
    Opcode::Dp4a,
    Opcode::Ex2,
    Opcode::Fma,
    Opcode::Lg2,
    Opcode::Lop3,
    Opcode::Mad,
    Opcode::Mad24,
    Opcode::Max,
    Opcode::Min,
    Opcode::Mul,
    Opcode::Mul24,
    Opcode::Neg,
    Opcode::Not,
    Opcode::Or,
    Opcode::Popc,
    Opcode::Prmt,
    Opcode::Rcp,
    Opcode::Rem,
    Opcode::Rsqrt,
    Opcode::Sad,
    Opcode::Selp,
    Opcode::Set,
    Opcode::Setp,
    Opcode::Shf,
    Opcode::Shl,
    Opcode::Shr,
    Opcode::Sin,
    Opcode::Slct,
    Opcode::Sqrt,
    Opcode::Sub,
    Opcode::Szext,
    Opcode::Tanh,
    Opcode::Testp,
    Opcode::Xor,
];

/// The memory that an instruction accesses: its state space, or `None` for a generic address, which
/// may be in any of them. The second part is true for a store.
fn memory(inst: &Inst) -> Option<(Option<Space>, bool)> {
    let store = match inst.ast.opcode.node {
        Opcode::Ld => false,
        Opcode::St => true,
        Opcode::Tex | Opcode::Tld4 => return Some((Some(Space::Global), false)),
        _ => return None,
    };
    let space = inst.ast.modifiers.iter().find_map(|m| match m.node {
        Modifier::Space(space) => Some(space),
        _ => None,
    });
    Some((space, store))
}

/// Returns whether two accesses must stay in order.
fn conflict(a: &Inst, b: &Inst) -> bool {
    match (memory(a), memory(b)) {
        (Some((space_a, store_a)), Some((space_b, store_b))) => {
            let same = space_a.is_none() || space_b.is_none() || space_a == space_b;
            same && (store_a || store_b)
        }
        _ => false,
    }
}

/// The instructions of a region that must stay before each instruction.
struct Dependences {
    before: Vec<Vec<u32>>,
}

impl Dependences {
    fn new(insts: &[&Inst]) -> Self {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); insts.len()];
        let mut written: FxHashMap<Var, u32> = FxHashMap::default();
        let mut read: FxHashMap<Var, Vec<u32>> = FxHashMap::default();
        let mut accesses: Vec<u32> = Vec::new();
        for (at, inst) in insts.iter().enumerate() {
            let here = at as u32;
            for var in inst.reads() {
                before[at].extend(written.get(&var));
            }
            for var in inst.writes() {
                before[at].extend(written.get(&var));
                before[at].extend(read.get(&var).into_iter().flatten());
            }
            for var in inst.writes() {
                written.insert(var, here);
                read.remove(&var);
            }
            for var in inst.reads() {
                read.entry(var).or_default().push(here);
            }
            if memory(inst).is_some() {
                let earlier = accesses
                    .iter()
                    .filter(|other| conflict(insts[**other as usize], inst));
                before[at].extend(earlier);
                accesses.push(here);
            }
            before[at].retain(|other| *other != here);
            before[at].sort_unstable();
            before[at].dedup();
        }
        Self { before }
    }
}

/// The choice among instructions that leave equally many values in use.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ties {
    /// The last one in program order.
    Latest,
    /// The one whose result came into use last.
    Newest,
}

/// A schedule under construction, from the end of the region.
struct Scheduler<'a> {
    insts: &'a [&'a Inst],
    dependences: &'a Dependences,
    live: FixedBitSet,
    ties: Ties,
    /// The number of instructions that must be placed before (that is, later in the program than)
    /// each instruction.
    waiting: Vec<u32>,
    /// The step at which the result of each instruction came into use.
    used_at: Vec<usize>,
}

impl<'a> Scheduler<'a> {
    fn new(
        insts: &'a [&'a Inst],
        dependences: &'a Dependences,
        live: &FixedBitSet,
        ties: Ties,
    ) -> Self {
        let mut waiting = vec![0; insts.len()];
        for other in dependences.before.iter().flatten() {
            waiting[*other as usize] += 1;
        }
        Self {
            insts,
            dependences,
            live: live.clone(),
            ties,
            waiting,
            used_at: vec![0; insts.len()],
        }
    }

    /// Returns the order of the region.
    fn run(mut self, size: &impl Fn(Var) -> u32) -> Vec<usize> {
        let mut live = Live::new(&self.live, size);
        let count = self.insts.len();
        let mut ready: Vec<usize> = (0..count).filter(|at| self.waiting[*at] == 0).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(place) = self.choose(&ready, &live, size) {
            let at = ready.swap_remove(place);
            live.step(self.insts[at], size);
            order.push(at);
            for &other in &self.dependences.before[at] {
                let other = other as usize;
                self.waiting[other] -= 1;
                self.used_at[other] = order.len();
                if self.waiting[other] == 0 {
                    ready.push(other);
                }
            }
        }
        self.live.clear();
        order.reverse();
        order
    }

    /// Returns the place in `ready` of the next instruction.
    fn choose(&self, ready: &[usize], live: &Live, size: &impl Fn(Var) -> u32) -> Option<usize> {
        let key = |place: &usize| {
            let at = ready[*place];
            let inst = self.insts[at];
            // A result that nothing uses takes a register for a moment at any place.
            let change = live.change(inst, size);
            let newest = match self.ties {
                Ties::Latest => 0,
                Ties::Newest => self.used_at[at],
            };
            (change, std::cmp::Reverse((newest, at)))
        };
        (0..ready.len()).min_by_key(key)
    }
}
