//! What an allocation did, in figures and for people to read.

use crate::allocate::{Outcome, slot_of};
use crate::body::{Inst, Purpose, Var};
use crate::class::{Class, PerClass};
use crate::kernel::Options;
use crate::knapsack;
use crate::spill::Place;
use warploom_diag::Span;
use warploom_ptx::tokens::ScalarType;

/// An amount as it stands in the code, and weighted by loops.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// Instructions in the code.
    pub count: u64,
    /// The same, each multiplied for every loop around it.
    pub weighted: u64,
}

impl Amount {
    fn add(&mut self, weight: u64) {
        self.count += 1;
        self.weighted = self.weighted.saturating_add(weight);
    }
}

/// Instructions that an allocation added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// Accesses of spilled values in local memory.
    pub local: Amount,
    /// Accesses of spilled values in shared memory.
    pub shared: Amount,
    /// Addresses of the spill stack, and values made again.
    pub others: Amount,
    /// Bytes that the stores move, as `ptxas -v` counts them: once for each in the code.
    pub store_bytes: u64,
    /// Bytes that the loads move.
    pub load_bytes: u64,
}

/// Where a value went that got no register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// Nowhere: it is made again for every use.
    Remade,
    /// Local memory, at this offset of the spill stack.
    Local(u32),
    /// Shared memory, at this offset from a thread's base.
    Shared(u32),
}

/// A register of the program that was spilled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spilled {
    /// Its name in the input.
    pub name: String,
    /// Its type.
    pub ty: ScalarType,
    /// Where its value is now.
    pub home: Home,
    /// Loads, or instructions that make it again.
    pub loads: Amount,
    /// Stores.
    pub stores: Amount,
    /// What spilling it was expected to cost, weighted by loops.
    pub cost: u64,
    /// Values of its class that are in use while it is.
    pub neighbours: u32,
    /// Where it is first stored, or made again; empty if nowhere.
    pub place: Span,
}

/// What an allocation did to a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The kernel.
    pub kernel: String,
    /// Registers that were allowed.
    pub limit: Option<u32>,
    /// 32-bit registers of a thread, those of called functions included.
    pub registers: u32,
    /// Of these, registers of called functions and such as keep their declarations.
    pub reserved: u32,
    /// Registers that the kernel declares, by class.
    pub classes: PerClass<u32>,
    /// Registers that would spare all spills.
    pub wanted: u32,
    /// Most registers in use at one place of the input.
    pub pressure: u32,
    /// Bytes of spilled values in local memory, of a thread.
    pub local_bytes: u32,
    /// Bytes of spilled values in shared memory, of a block.
    pub shared_bytes: u32,
    /// What was added.
    pub added: Added,
    /// Instructions of the input that are gone: copies, and values that are made again elsewhere.
    pub removed: u32,
    /// The input's instructions that remain, weighted by loops.
    pub kept: Amount,
    /// Values without a register, in the order in which they were given up.
    pub spilled: Vec<Spilled>,
    /// Times that the allocator went around.
    pub rounds: u32,
}

fn weights(outcome: &Outcome, options: &Options) -> Vec<u64> {
    let weight = |depth: &u32| u64::from(options.loop_weight).saturating_pow(*depth);
    outcome.depth.iter().map(weight).collect()
}

/// Draws up the report.
pub(crate) fn report(
    kernel: &str,
    limit: Option<u32>,
    reserved: u32,
    outcome: &Outcome,
    options: &Options,
) -> Report {
    let weights = weights(outcome, options);
    let insts: Vec<(&Inst, u64)> = outcome.body.insts().zip(weights.iter().copied()).collect();
    let mut kept = Amount::default();
    for (_, weight) in insts
        .iter()
        .filter(|(i, _)| matches!(i.purpose, Purpose::Original(_)))
    {
        kept.add(*weight);
    }
    let deleted = outcome.body.items.iter();
    let removed = deleted
        .filter(|item| matches!(item, crate::body::Item::Deleted(_)))
        .count();
    Report {
        kernel: kernel.to_owned(),
        limit,
        registers: outcome.used.units() + reserved,
        reserved,
        classes: outcome.used,
        wanted: outcome.wanted + reserved,
        pressure: outcome.pressure + reserved,
        local_bytes: outcome.extent.local,
        shared_bytes: outcome.extent.shared,
        added: added(outcome, &insts),
        removed: removed as u32,
        kept,
        spilled: spilled(outcome, &insts),
        rounds: outcome.rounds,
    }
}

fn added(outcome: &Outcome, insts: &[(&Inst, u64)]) -> Added {
    let mut added = Added::default();
    for (inst, weight) in insts {
        match slot_of(inst, &outcome.body) {
            Some((class, place, load)) => {
                match place {
                    Place::Local => added.local.add(*weight),
                    Place::Shared => added.shared.add(*weight),
                }
                let bytes = u64::from(class.bytes());
                match load {
                    true => added.load_bytes += bytes,
                    false => added.store_bytes += bytes,
                }
            }
            None if matches!(inst.purpose, Purpose::Original(_)) => {}
            None => added.others.add(*weight),
        }
    }
    added
}

fn spilled(outcome: &Outcome, insts: &[(&Inst, u64)]) -> Vec<Spilled> {
    let body = &outcome.body;
    let mut rows = Vec::new();
    for spill in &outcome.spilled {
        let info = &body.vars[spill.var.index()];
        let slot = body.slots.iter().position(|slot| slot.var == spill.var);
        let home = match slot.filter(|_| !spill.remade) {
            None => Home::Remade,
            Some(slot) => match body.slots[slot].place {
                Place::Local => Home::Local(body.slots[slot].offset),
                Place::Shared => Home::Shared(body.slots[slot].offset),
            },
        };
        let mut row = Spilled {
            name: info.name.clone(),
            ty: info.ty,
            home,
            loads: Amount::default(),
            stores: Amount::default(),
            cost: spill.cost,
            neighbours: spill.neighbours,
            place: Span::default(),
        };
        count_accesses(&mut row, outcome, insts, spill.var, slot);
        rows.push(row);
    }
    rows
}

fn count_accesses(
    row: &mut Spilled,
    outcome: &Outcome,
    insts: &[(&Inst, u64)],
    var: Var,
    slot: Option<usize>,
) {
    let name = &outcome.body.vars[var.index()].name;
    for (nth, (inst, weight)) in insts.iter().enumerate() {
        let remade = || {
            let made = inst
                .writes()
                .next()
                .map(|made| &outcome.body.vars[made.index()].name);
            row.home == Home::Remade && made == Some(name)
        };
        match inst.purpose {
            Purpose::Load(at) if Some(at.index()) == slot => row.loads.add(*weight),
            Purpose::Store(at) if Some(at.index()) == slot => {
                if row.stores.count == 0 && nth > 0 {
                    row.place = insts[nth - 1].0.ast.opcode.span;
                }
                row.stores.add(*weight);
            }
            Purpose::Remake if remade() => {
                if row.loads.count == 0 {
                    row.place = inst.ast.opcode.span;
                }
                row.loads.add(*weight);
            }
            _ => {}
        }
    }
}

/// The knapsack's items, one for each class: its sub-stack's bytes in a block and its accesses.
pub(crate) fn gains(
    outcome: &Outcome,
    threads: u32,
    weigh_loops: bool,
    loop_weight: u32,
) -> Vec<knapsack::Item> {
    let mut gains: PerClass<u64> = PerClass::default();
    for (inst, depth) in outcome.body.insts().zip(&outcome.depth) {
        if let Some((class, ..)) = slot_of(inst, &outcome.body) {
            let weight = u64::from(loop_weight).saturating_pow(*depth);
            gains[class] += if weigh_loops { weight } else { 1 };
        }
    }
    let item = |class: Class| knapsack::Item {
        bytes: outcome.extent.stacks[class].saturating_mul(threads),
        gain: gains[class],
    };
    Class::ALL.into_iter().map(item).collect()
}
