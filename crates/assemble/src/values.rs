//! Values of a program: its slots are split into one register for each group of definitions that
//! reach a common use. Registers that share a slot, and later uses of a register for another value,
//! get names of their own, so that nothing but the flow of values restricts their order.

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use warploom_base::Pc;
use warploom_ir::cfg::{Block, Cfg};
use warploom_ir::liveness::{Liveness, Universe};
use warploom_ir::{Code, Dst, Extra, ExtraOperands, Inst, Op, Pred, Program, Reg, Src};

/// Instructions of a program whose registers and predicates are values.
pub(crate) struct Values {
    pub insts: Vec<Inst>,
    pub extras: Vec<ExtraOperands>,
    /// True for each register of 64 bits.
    pub wide: Vec<bool>,
    /// Number of predicate values.
    pub preds: usize,
    /// Registers and then predicates that may be read before they are written.
    pub unwritten: FixedBitSet,
}

/// Most names of values: registers have numbers of 16 bits.
const MOST: usize = u16::MAX as usize;

impl Values {
    /// Splits the slots of a program of one function; `None` if there are too many values.
    pub fn of(program: &Program) -> Option<Self> {
        let code = Code {
            insts: &program.insts,
            extras: &program.extras,
            start: Pc(0),
        };
        let universe = Universe {
            regs: usize::from(program.reg_slots),
            preds: usize::from(program.preds),
        };
        let cfg = Cfg::new(&code);
        let live = Liveness::new(&code, &cfg, universe);
        let mut webs = Webs::new(&code, &cfg, &live);
        for (index, block) in cfg.blocks.iter().enumerate() {
            webs.follow(index, block);
        }
        let names = Names::new(webs, program);
        let in_range = names.regs.len() <= MOST && names.preds <= MOST;
        in_range.then(|| names.rename(program, &code))
    }
}

/// Groups of definitions, as a forest whose nodes are definitions and values at starts of blocks.
struct Webs<'a> {
    code: &'a Code<'a>,
    universe: Universe,
    parents: Vec<u32>,
    /// Slot or predicate of each node.
    vars: Vec<u32>,
    /// By block: node of each variable that is live at its start.
    at_start: Vec<FxHashMap<u32, u32>>,
    /// Nodes of the operands of each instruction: guard and sources, then destinations.
    operands: Vec<u32>,
}

impl<'a> Webs<'a> {
    fn new(code: &'a Code<'a>, cfg: &Cfg, live: &Liveness) -> Self {
        let mut webs = Self {
            code,
            universe: live.universe,
            parents: Vec::new(),
            vars: Vec::new(),
            at_start: Vec::new(),
            operands: Vec::new(),
        };
        for block in 0..cfg.blocks.len() {
            let vars = live.live_in(block).ones();
            let nodes = vars.map(|var| (var as u32, webs.node(var as u32)));
            let nodes = nodes.collect();
            webs.at_start.push(nodes);
        }
        webs
    }

    fn node(&mut self, var: u32) -> u32 {
        self.vars.push(var);
        self.parents.push(self.parents.len() as u32);
        self.parents.len() as u32 - 1
    }

    fn find(&mut self, node: u32) -> u32 {
        let mut root = node;
        while self.parents[root as usize] != root {
            let parent = self.parents[root as usize];
            self.parents[root as usize] = self.parents[parent as usize];
            root = self.parents[root as usize];
        }
        root
    }

    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        // The older node is the root, so that the result does not depend on the order.
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// Notes the nodes of a block's operands, and joins its values with those of its successors.
    fn follow(&mut self, index: usize, block: &Block) {
        let mut current = self.at_start[index].clone();
        for inst in &self.code.insts[block.start..block.end] {
            self.operands_of(inst, &mut current);
        }
        for &succ in &block.succs {
            let joins: Vec<(u32, u32)> = (self.at_start[succ].iter())
                .map(|(var, node)| (*node, current[var]))
                .collect();
            joins.into_iter().for_each(|(a, b)| self.union(a, b));
        }
    }

    /// Notes the nodes of an instruction's operands. `current` has the node of each variable.
    fn operands_of(&mut self, inst: &'a Inst, current: &mut FxHashMap<u32, u32>) {
        let (code, universe) = (self.code, self.universe);
        let reads = code.reads(inst).map(|var| universe.index(var) as u32);
        let read: Vec<u32> = reads.map(|var| current[&var]).collect();
        self.operands.extend(&read);
        let mut written = Vec::new();
        for var in code.writes(inst) {
            let var = universe.index(var) as u32;
            let node = self.node(var);
            // Lanes in which the guard is false keep the value that was there.
            if let (Some(_), Some(old)) = (inst.guard, current.get(&var)) {
                self.union(node, *old);
            }
            written.push(node);
            self.operands.push(node);
            current.insert(var, node);
        }
        if matches!(inst.op, Op::WarpGroupMma(_)) {
            // The accumulators are updated in place.
            let pairs = written.iter().rev().zip(read.iter().rev());
            pairs.for_each(|(d, c)| self.union(*d, *c));
        }
    }
}

/// Names of the values: for each operand in order, the number of its register or predicate.
struct Names {
    operands: Vec<u16>,
    /// True for each register of 64 bits.
    regs: Vec<bool>,
    preds: usize,
    /// Nodes of the entry that have names: registers and predicates.
    unwritten: (Vec<usize>, Vec<usize>),
}

impl Names {
    /// Numbers the groups in the order in which the code mentions them. Numbers beyond 16 bits are
    /// wrong, which the caller notices by their count.
    fn new(mut webs: Webs, program: &Program) -> Self {
        let slots = webs.universe.regs as u32;
        let mut named: FxHashMap<u32, usize> = FxHashMap::default();
        let mut names = Self {
            operands: Vec::with_capacity(webs.operands.len()),
            regs: Vec::new(),
            preds: 0,
            unwritten: (Vec::new(), Vec::new()),
        };
        for node in std::mem::take(&mut webs.operands) {
            let root = webs.find(node);
            let var = webs.vars[root as usize];
            let name = *named.entry(root).or_insert_with(|| {
                if var < slots {
                    names.regs.push(var < u32::from(program.wide_slots));
                    names.regs.len() - 1
                } else {
                    names.preds += 1;
                    names.preds - 1
                }
            });
            names.operands.push(name as u16);
        }
        let entry: Vec<u32> = webs
            .at_start
            .first()
            .into_iter()
            .flat_map(FxHashMap::values)
            .copied()
            .collect();
        for node in entry {
            let root = webs.find(node);
            let Some(&name) = named.get(&root) else {
                continue;
            };
            match webs.vars[root as usize] < slots {
                true => names.unwritten.0.push(name),
                false => names.unwritten.1.push(name),
            }
        }
        names
    }

    fn rename(self, program: &Program, code: &Code) -> Values {
        let mut operands = self.operands.iter().copied();
        let mut next = || operands.next().unwrap_or(0);
        let mut values = Values {
            insts: Vec::with_capacity(program.insts.len()),
            extras: Vec::new(),
            unwritten: FixedBitSet::with_capacity(self.regs.len() + self.preds),
            preds: self.preds,
            wide: self.regs,
        };
        for inst in &program.insts {
            let mut renamed = *inst;
            let mut extra = code.extra(inst).cloned().unwrap_or_default();
            if let Some(guard) = &mut renamed.guard {
                guard.pred = Pred(next());
            }
            let sources = renamed.src.iter_mut().chain(&mut extra.srcs);
            for src in sources {
                match src {
                    Src::Reg(reg) => *reg = Reg(next()),
                    Src::Pred(pred, _) => *pred = Pred(next()),
                    Src::None | Src::Const(_) | Src::Special(_) => {}
                }
            }
            for dst in renamed.dst.iter_mut().chain(&mut extra.dsts) {
                match dst {
                    Dst::Reg(reg) => *reg = Reg(next()),
                    Dst::Pred(pred) => *pred = Pred(next()),
                    Dst::None => {}
                }
            }
            if inst.extra != Extra::NONE {
                renamed.extra = Extra(values.extras.len() as u32);
                values.extras.push(extra);
            }
            values.insts.push(renamed);
        }
        let (regs, preds) = self.unwritten;
        values.unwritten.extend(regs);
        let base = values.wide.len();
        values
            .unwritten
            .extend(preds.into_iter().map(|pred| base + pred));
        values
    }
}
