//! The report of an allocation: numbers of registers, of spills and of added instructions.

use crate::allocate::{Outcome, slot_of};
use crate::body::{Inst, Purpose, Var};
use crate::class::{Class, PerClass};
use crate::kernel::Options;
use crate::knapsack;
use crate::spill::Place;
use warploom_diag::Span;
use warploom_ptx::tokens::ScalarType;

/// A number of instructions, both static and weighted by loop depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// The number of instructions in the code.
    pub count: u64,
    /// The sum of the instructions' weights, each the loop weight to the power of the loop depth.
    pub weighted: u64,
}

impl Amount {
    fn add(&mut self, weight: u64) {
        self.count += 1;
        self.weighted = self.weighted.saturating_add(weight);
    }
}

/// The instructions that an allocation added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// Accesses to spilled values in local memory.
    pub local: Amount,
    /// Accesses to spilled values in shared memory.
    pub shared: Amount,
    /// Address computations for the spill stack, and instructions that recompute values.
    pub others: Amount,
    /// The total size in bytes of the values stored, with each store in the code counted once, as
    /// in the output of `ptxas -v`.
    pub store_bytes: u64,
    /// The total size in bytes of the values loaded, with each load in the code counted once.
    pub load_bytes: u64,
}

/// The location of a value that received no register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// No location: the value is recomputed before every use.
    Rematerialized,
    /// Local memory, at this offset in bytes from the base of the spill stack.
    Local(u32),
    /// Shared memory, at this offset in bytes from the thread's base address.
    Shared(u32),
}

/// A register of the program that was spilled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spilled {
    /// The name of the register in the input.
    pub name: String,
    /// The declared type of the register.
    pub ty: ScalarType,
    /// The location of the spilled value.
    pub home: Home,
    /// The loads of the value, or the instructions that recompute it.
    pub loads: Amount,
    /// The stores of the value.
    pub stores: Amount,
    /// The cost that the allocator estimated for the spill, weighted by loop depth.
    pub cost: u64,
    /// The number of variables of the same class that interfere with the variable.
    pub neighbours: u32,
    /// The source position of the first store or of the first recomputation, or an empty position.
    pub place: Span,
}

/// A summary of the registers and spills of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// The name of the kernel.
    pub kernel: String,
    /// The limit of 32-bit registers per thread, if there is one.
    pub limit: Option<u32>,
    /// The number of 32-bit registers per thread, including those of called functions.
    pub registers: u32,
    /// The part of `registers` that belongs to called functions and to declarations that remain
    /// unchanged.
    pub reserved: u32,
    /// The number of registers that the kernel declares in each class.
    pub classes: PerClass<u32>,
    /// The number of 32-bit registers that would require no spills.
    pub wanted: u32,
    /// The register pressure of the input: the maximum number of 32-bit registers live at one
    /// instruction.
    pub pressure: u32,
    /// The size per thread of the spilled values in local memory, in bytes.
    pub local_bytes: u32,
    /// The size per block of the spilled values in shared memory, in bytes.
    pub shared_bytes: u32,
    /// The instructions that the allocator added.
    pub added: Added,
    /// The number of removed original instructions: copies, and definitions of values that are
    /// recomputed elsewhere.
    pub removed: u32,
    /// The original instructions that remain.
    pub kept: Amount,
    /// The variables that received no register, in order of spilling.
    pub spilled: Vec<Spilled>,
    /// The number of rounds of the allocator.
    pub rounds: u32,
}

/// Returns the weight of each instruction, the loop weight to the power of its loop depth.
fn weights(outcome: &Outcome, options: &Options) -> Vec<u64> {
    let weight = |depth: &u32| u64::from(options.loop_weight).saturating_pow(*depth);
    outcome.depth.iter().map(weight).collect()
}

/// Creates the report of an allocation.
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
        registers: outcome.registers + reserved,
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

/// Counts the instructions that the allocator added.
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
                if load {
                    added.load_bytes += bytes
                } else {
                    added.store_bytes += bytes
                }
            }
            None if matches!(inst.purpose, Purpose::Original(_)) => {}
            None => added.others.add(*weight),
        }
    }
    added
}

/// Describes each spilled variable.
fn spilled(outcome: &Outcome, insts: &[(&Inst, u64)]) -> Vec<Spilled> {
    let body = &outcome.body;
    let mut rows = Vec::new();
    for spill in &outcome.spilled {
        let info = &body.vars[spill.var.index()];
        let slot = body.slots.iter().position(|slot| slot.var == spill.var);
        let home = match slot.filter(|_| !spill.rematerialized) {
            None => Home::Rematerialized,
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

/// Counts the loads, stores and recomputations of one spilled variable.
fn count_accesses(
    row: &mut Spilled,
    outcome: &Outcome,
    insts: &[(&Inst, u64)],
    var: Var,
    slot: Option<usize>,
) {
    let name = &outcome.body.vars[var.index()].name;
    for (nth, (inst, weight)) in insts.iter().enumerate() {
        let rematerialized = || {
            let made = inst
                .writes()
                .next()
                .map(|made| &outcome.body.vars[made.index()].name);
            row.home == Home::Rematerialized && made == Some(name)
        };
        match inst.purpose {
            Purpose::Load(at) if Some(at.index()) == slot => row.loads.add(*weight),
            Purpose::Store(at) if Some(at.index()) == slot => {
                if row.stores.count == 0 && nth > 0 {
                    row.place = insts[nth - 1].0.ast.opcode.span;
                }
                row.stores.add(*weight);
            }
            Purpose::Rematerialize if rematerialized() => {
                if row.loads.count == 0 {
                    row.place = inst.ast.opcode.span;
                }
                row.loads.add(*weight);
            }
            _ => {}
        }
    }
}

/// Returns the items of the knapsack optimization, one for each class: the size per block and the
/// number of accesses of its sub-stack.
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
