//! Reaching definitions: a forward data-flow analysis over basic blocks.
//!
//! A definition is a write of one variable by one instruction. Each variable also has a definition
//! at function entry, because registers are initially zero. A guarded write does not end the reach
//! of other definitions.

use fixedbitset::FixedBitSet;
use warploom_ir::cfg::Cfg;
use warploom_ir::liveness::Universe;
use warploom_ir::{Code, Inst, Var};

/// A definition, by index. The definitions of instructions precede those at function entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Def(pub u32);

impl Def {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All definitions of one function.
pub(crate) struct Defs {
    universe: Universe,
    /// The instruction and the variable of each definition that an instruction makes.
    sites: Vec<(usize, Var)>,
    /// The index of the first definition of each instruction, followed by the number of such
    /// definitions.
    first: Vec<u32>,
    /// The set of definitions of each variable.
    of_var: Vec<FixedBitSet>,
}

impl Defs {
    pub fn new(code: &Code) -> Self {
        let universe = Universe::of(code);
        let mut sites = Vec::new();
        let mut first = Vec::with_capacity(code.insts.len() + 1);
        for (at, inst) in code.insts.iter().enumerate() {
            first.push(sites.len() as u32);
            sites.extend(code.writes(inst).map(|var| (at, var)));
        }
        first.push(sites.len() as u32);
        let count = sites.len() + universe.len();
        let mut of_var = vec![FixedBitSet::with_capacity(count); universe.len()];
        for (def, (_, var)) in sites.iter().enumerate() {
            of_var[universe.index(*var)].insert(def);
        }
        for (var, set) in of_var.iter_mut().enumerate() {
            set.insert(sites.len() + var);
        }
        Self {
            universe,
            sites,
            first,
            of_var,
        }
    }

    /// Returns the number of definitions, including those at function entry.
    pub fn len(&self) -> usize {
        self.sites.len() + self.universe.len()
    }

    /// Returns the instruction that makes a definition, or `None` for a definition at function
    /// entry.
    pub fn site(&self, def: Def) -> Option<usize> {
        self.sites.get(def.index()).map(|(at, _)| *at)
    }

    /// Returns the definitions that an instruction makes, with their variables.
    pub fn of_inst(&self, at: usize) -> impl Iterator<Item = (Def, Var)> + '_ {
        (self.first[at]..self.first[at + 1]).map(|def| (Def(def), self.sites[def as usize].1))
    }

    /// Returns the definitions at function entry.
    fn at_entry(&self) -> FixedBitSet {
        let mut set = FixedBitSet::with_capacity(self.len());
        set.insert_range(self.sites.len()..);
        set
    }

    /// Updates the reaching definitions across an instruction.
    fn apply(&self, at: usize, inst: &Inst, reaching: &mut FixedBitSet) {
        for (def, var) in self.of_inst(at) {
            if inst.guard.is_none() {
                reaching.difference_with(&self.of_var[self.universe.index(var)]);
            }
            reaching.insert(def.index());
        }
    }
}

/// A variable that an instruction reads, with the definitions that reach the read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    pub var: Var,
    /// The definitions in ascending order. The list is empty in unreachable code.
    pub defs: Vec<Def>,
}

/// The uses of every instruction. Each variable occurs once per instruction, in operand order.
pub(crate) struct Uses {
    of: Vec<Vec<Use>>,
    /// The definitions that reach the start of each block.
    block_in: Vec<FixedBitSet>,
}

impl Uses {
    /// Computes the uses for the control-flow graph `cfg`, which may lack edges of the code.
    pub fn new(code: &Code, cfg: &Cfg, defs: &Defs) -> Self {
        let block_in = reaching(code, cfg, defs);
        let mut of = vec![Vec::new(); code.insts.len()];
        for (index, block) in cfg.blocks.iter().enumerate() {
            let mut set = block_in[index].clone();
            let places = (block.start..).zip(&mut of[block.start..block.end]);
            for (at, uses) in places {
                *uses = uses_of(code, defs, at, &set);
                defs.apply(at, &code.insts[at], &mut set);
            }
        }
        Self { of, block_in }
    }

    pub fn of(&self, at: usize) -> &[Use] {
        &self.of[at]
    }

    pub fn of_var(&self, at: usize, var: Var) -> Option<&Use> {
        self.of[at].iter().find(|used| used.var == var)
    }

    /// Returns whether a definition reaches the start of a block.
    pub fn reaches(&self, def: Def, block: usize) -> bool {
        self.block_in[block].contains(def.index())
    }
}

/// Returns the definitions that reach the start of each block.
fn reaching(code: &Code, cfg: &Cfg, defs: &Defs) -> Vec<FixedBitSet> {
    let empty = FixedBitSet::with_capacity(defs.len());
    let mut block_in = vec![empty; cfg.blocks.len()];
    if let Some(entry) = block_in.first_mut() {
        *entry = defs.at_entry();
    }
    let mut visited = FixedBitSet::with_capacity(cfg.blocks.len());
    let mut work = vec![0];
    while let Some(index) = work.pop() {
        visited.insert(index);
        let block = &cfg.blocks[index];
        let mut out = block_in[index].clone();
        for at in block.start..block.end {
            defs.apply(at, &code.insts[at], &mut out);
        }
        for &succ in &block.succs {
            let grows = !out.is_subset(&block_in[succ]);
            block_in[succ].union_with(&out);
            if grows || !visited.contains(succ) {
                work.push(succ);
            }
        }
    }
    block_in
}

/// Returns the uses of an instruction, given the definitions that reach it.
fn uses_of(code: &Code, defs: &Defs, at: usize, reaching: &FixedBitSet) -> Vec<Use> {
    let mut uses: Vec<Use> = Vec::new();
    for var in code.reads(&code.insts[at]) {
        if uses.iter().all(|used| used.var != var) {
            let of_var = &defs.of_var[defs.universe.index(var)];
            let found = of_var.intersection(reaching).map(|def| Def(def as u32));
            uses.push(Use {
                var,
                defs: found.collect(),
            });
        }
    }
    uses
}
