//! Slots of registers in a warp's register file: greedy colouring of the interference graph.
//!
//! Invariants: registers whose values are needed at the same time share no slot. A 64-bit register
//! starts at an even slot. 64-bit and 32-bit registers never share slots: the file keeps the 64-bit
//! values of 32 lanes side by side in two slots, so that one lane's value overlaps other lanes'
//! words of a 32-bit register, which lanes that wait elsewhere may still need. A destination may
//! take over exactly the slots of a source that dies in the same instruction. Destinations and
//! sources do not overlap otherwise, because an operation may write its first slot before it has
//! read everything. A register that is read before it is written keeps its slots from the start of
//! the function. An instruction that names a register or predicate finds no pending result of another
//! in its slots, on any path of a thread. The scoreboard has one entry for each slot. With the last
//! invariant an instruction waits only for results of what it names, as in GPGPU-Sim, whose
//! scoreboard has one entry for each register. `slots/verify.rs` checks an assignment independently.

#[cfg(test)]
mod tests;
mod verify;

pub use verify::{SlotError, verify};

use crate::cfg::Cfg;
use crate::inst::{Pred, Reg};
use crate::liveness::{Liveness, Universe};
use crate::operands::Code;
use crate::pending::Pending;
use fixedbitset::FixedBitSet;

/// Slots of every virtual register and predicate of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// First slot of each virtual register.
    pub regs: Vec<Reg>,
    /// Number of each virtual predicate.
    pub preds: Vec<Pred>,
    /// Number of slots used.
    pub reg_slots: usize,
    /// Number of slots of 64-bit registers, which come first.
    pub wide_slots: usize,
    /// Number of predicates used.
    pub pred_slots: usize,
}

impl Assignment {
    /// Number of slots of 32-bit registers, which follow those of 64-bit ones.
    pub fn narrow_slots(&self) -> usize {
        self.reg_slots - self.wide_slots
    }
}

/// Assigns slots. `wide[r]` says that virtual register `r` has 64 bits; its length is the number of
/// virtual registers.
pub fn assign(code: &Code, cfg: &Cfg, live: &Liveness, wide: &[bool]) -> Assignment {
    let graph = Interference::new(code, cfg, live, wide);
    let mut colours = vec![None; live.universe.len()];
    let (wide_vars, others): (Vec<_>, Vec<_>) = order_of_appearance(code, live.universe)
        .into_iter()
        .partition(|var| graph.width(*var) == 2);
    let mut wide_end = 0;
    for var in wide_vars {
        let place = graph.first_fit(var, 2, 0, &colours);
        colours[var] = Some(place);
        wide_end = wide_end.max(usize::from(place) + 2);
    }
    for var in others {
        let start = if var < live.universe.regs {
            wide_end
        } else {
            0
        };
        colours[var] = Some(graph.first_fit(var, 1, start, &colours));
    }
    let place = |var: usize| colours[var].unwrap_or(0);
    let extent = |vars: std::ops::Range<usize>| {
        let used = vars.filter_map(|v| colours[v].map(|c| c as usize + graph.width(v)));
        used.max().unwrap_or(0)
    };
    let Universe { regs, preds } = live.universe;
    Assignment {
        regs: (0..regs).map(|v| Reg(place(v))).collect(),
        preds: (regs..regs + preds).map(|v| Pred(place(v))).collect(),
        reg_slots: extent(0..regs),
        wide_slots: wide_end,
        pred_slots: extent(regs..regs + preds),
    }
}

/// Variables in the order in which the code first mentions them.
fn order_of_appearance(code: &Code, universe: Universe) -> Vec<usize> {
    let mut seen = FixedBitSet::with_capacity(universe.len());
    let mut order = Vec::new();
    for inst in code.insts {
        for var in code.reads(inst).chain(code.writes(inst)) {
            let index = universe.index(var);
            if !seen.put(index) {
                order.push(index);
            }
        }
    }
    order
}

/// Interference graph: variables that may not share a slot. Registers and predicates never
/// interfere.
struct Interference<'a> {
    universe: Universe,
    wide: &'a [bool],
    neighbours: Vec<Vec<u32>>,
}

impl<'a> Interference<'a> {
    fn new(code: &Code, cfg: &Cfg, live: &Liveness, wide: &'a [bool]) -> Self {
        let mut graph = Self {
            universe: live.universe,
            wide,
            neighbours: vec![Vec::new(); live.universe.len()],
        };
        if !cfg.blocks.is_empty() {
            graph.add_unwritten(live.live_in(0));
        }
        live.for_each(code, cfg, |at, after| graph.add_writes(code, at, after));
        let pending = Pending::new(code, cfg, live.universe);
        pending.for_each(code, cfg, |at, before| graph.add_pending(code, at, before));
        for list in &mut graph.neighbours {
            list.sort_unstable();
            list.dedup();
        }
        graph
    }

    /// Adds interference for variables live at the entry, which exist from the start.
    fn add_unwritten(&mut self, entry: &FixedBitSet) {
        for a in entry.ones() {
            for b in entry.ones().take_while(|b| *b < a) {
                self.add_edge(a, b);
            }
        }
    }

    fn add_writes(&mut self, code: &Code, at: usize, after: &FixedBitSet) {
        let inst = &code.insts[at];
        let universe = self.universe;
        let writes: Vec<usize> = code.writes(inst).map(|v| universe.index(v)).collect();
        for (nth, &dst) in writes.iter().enumerate() {
            for other in after.ones().chain(writes[..nth].iter().copied()) {
                self.add_edge(dst, other);
            }
            for src in code.reads(inst).map(|v| universe.index(v)) {
                if writes.len() > 1 || self.width(src) != self.width(dst) {
                    self.add_edge(dst, src);
                }
            }
        }
    }

    /// An instruction waits for the results of the variables that it names, and would for those of
    /// others in the same slots.
    fn add_pending(&mut self, code: &Code, at: usize, before: &FixedBitSet) {
        let inst = &code.insts[at];
        let named = code.reads(inst).chain(code.writes(inst));
        let named: Vec<usize> = named.map(|v| self.universe.index(v)).collect();
        for other in before.ones().filter(|v| !named.contains(v)) {
            for &var in &named {
                self.add_edge(var, other);
            }
        }
    }

    fn add_edge(&mut self, a: usize, b: usize) {
        let regs = self.universe.regs;
        if a != b && (a < regs) == (b < regs) {
            self.neighbours[a].push(b as u32);
            self.neighbours[b].push(a as u32);
        }
    }

    /// Number of slots of a variable.
    fn width(&self, var: usize) -> usize {
        1 + usize::from(var < self.universe.regs && self.wide[var])
    }

    /// Lowest position from `start` on, a multiple of the width, that no coloured neighbour holds.
    fn first_fit(&self, var: usize, width: usize, start: usize, colours: &[Option<u16>]) -> u16 {
        let mut taken = FixedBitSet::with_capacity(self.neighbours[var].len() * 2 + 2);
        for &other in &self.neighbours[var] {
            let other = other as usize;
            if let Some(colour) = colours[other] {
                let start = colour as usize;
                let end = start + self.width(other);
                taken.grow(end);
                taken.insert_range(start..end);
            }
        }
        let free = |start: &usize| (*start..*start + width).all(|slot| !taken.contains(slot));
        let place = (start..).step_by(width).find(free);
        place.expect("slots beyond the taken ones are free") as u16
    }
}
