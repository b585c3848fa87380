//! Data-flow facts of a function body: basic blocks, live variables and loop depth.
//!
//! The analysis itself is that of [`warploom_ir`]. Each PTX instruction is represented there by a
//! synthetic instruction with the same successors, reads and writes. All variables, predicates
//! included, are represented as registers. Liveness is a property of a single thread, because PTX
//! registers belong to threads.

use crate::body::{Body, Control, Inst, Item, Label};
use fixedbitset::FixedBitSet;
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};
use warploom_base::Pc;
use warploom_ir as ir;
use warploom_ir::cfg::{Block, Cfg};
use warploom_ir::liveness::{Liveness, Universe};

/// The maximum loop depth that is counted, which keeps weights within 64 bits.
const MAX_DEPTH: u32 = 12;

/// The data-flow facts of a function body, indexed by instruction, with the prologue first.
pub(crate) struct Flow {
    cfg: Cfg,
    live: Liveness,
    code: Synthetic,
    /// The loop depth of each instruction.
    pub depth: Vec<u32>,
    /// The blocks of each natural loop.
    pub loops: Vec<FixedBitSet>,
}

/// Synthetic instructions that represent a function body in the analyses of [`warploom_ir`].
struct Synthetic {
    insts: Vec<ir::Inst>,
    extras: Vec<ir::ExtraOperands>,
}

impl Synthetic {
    fn code(&self) -> ir::Code<'_> {
        ir::Code {
            insts: &self.insts,
            extras: &self.extras,
            start: Pc(0),
        }
    }

    /// Adds the synthetic instruction that represents `inst`, with the given reads and writes.
    fn push(&mut self, inst: &Inst, targets: &[u32], reads: Vec<u32>, writes: Vec<u32>) {
        let mut shown = ir::Inst {
            op: ir::Op::Nanosleep,
            // The analyses only require the presence of a guard, which means that writes do not end
            // a live range. The guard's predicate is among the reads.
            guard: None,
            dst: [ir::Dst::None; 2],
            src: [ir::Src::None; 4],
            imm: 0,
            extra: ir::Extra::NONE,
            wide_addr: false,
        };
        let mut extra = ir::ExtraOperands::default();
        match &inst.control {
            Control::Next => {}
            Control::Branch(label) => {
                shown.op = ir::Op::Bra(false);
                shown.imm = targets[label.index()] as i32;
            }
            Control::Table(labels) => {
                shown.op = ir::Op::BrxIdx;
                let pcs = labels.iter().map(|label| Pc(targets[label.index()]));
                extra.targets = pcs.collect();
            }
            Control::Leave => shown.op = ir::Op::Exit,
        }
        for (nth, var) in reads.into_iter().enumerate() {
            let src = ir::Src::Reg(ir::Reg(var as u16));
            match shown.src.get_mut(nth) {
                Some(place) => *place = src,
                None => extra.srcs.push(src),
            }
        }
        for (nth, var) in writes.into_iter().enumerate() {
            let dst = ir::Dst::Reg(ir::Reg(var as u16));
            match shown.dst.get_mut(nth) {
                Some(place) => *place = dst,
                None => extra.dsts.push(dst),
            }
        }
        if inst.ast.guard.is_some() {
            shown.guard = Some(ir::Guard {
                pred: ir::Pred(0),
                negated: false,
                overwrites: false,
            });
        }
        if extra != ir::ExtraOperands::default() {
            shown.extra = ir::Extra(self.extras.len() as u32);
            self.extras.push(extra);
        }
        self.insts.push(shown);
    }
}

/// The maximum number of variables that the analyses can number. One number is reserved.
pub(crate) const MAX_VARS: usize = u16::MAX as usize;

impl Flow {
    /// Computes the facts about the variables of a body.
    pub fn new(body: &Body) -> Self {
        let vars = |inst: &Inst| {
            let reads = inst.reads().map(|v| v.0).collect();
            (reads, inst.writes().map(|v| v.0).collect())
        };
        Self::with(body, body.vars.len(), vars)
    }

    /// Computes the facts about other locations than variables. `touched` returns the locations
    /// that an instruction reads and writes, as numbers below `count`.
    pub fn with(
        body: &Body,
        count: usize,
        touched: impl Fn(&Inst) -> (Vec<u32>, Vec<u32>),
    ) -> Self {
        let targets = label_targets(body);
        let mut code = Synthetic {
            insts: Vec::new(),
            extras: Vec::new(),
        };
        for inst in body.insts() {
            let (reads, writes) = touched(inst);
            code.push(inst, &targets, reads, writes);
        }
        code.insts.push(end());
        let universe = Universe {
            regs: count,
            preds: 1,
        };
        let cfg = Cfg::new(&code.code());
        let live = Liveness::new(&code.code(), &cfg, universe);
        let loops = loops(&cfg);
        let depth = loop_depth(&cfg, &loops, code.insts.len());
        Self {
            cfg,
            live,
            code,
            depth,
            loops,
        }
    }

    /// Returns the variables that are live at function entry, which the function may read before it
    /// writes them.
    pub fn at_entry(&self) -> &FixedBitSet {
        self.live.live_in(0)
    }

    /// Returns the basic blocks, in the order of the code. The last one ends with a synthetic exit.
    pub fn blocks(&self) -> &[Block] {
        &self.cfg.blocks
    }

    /// Returns the variables that are live at the start of a block.
    pub fn live_in(&self, block: usize) -> &FixedBitSet {
        self.live.live_in(block)
    }

    /// Returns the variables that are live after each instruction.
    pub fn live_after(&self) -> Vec<FixedBitSet> {
        let mut after = vec![FixedBitSet::new(); self.code.insts.len()];
        self.for_each(|at, live| after[at].clone_from(live));
        after
    }

    /// Visits every instruction with the set of variables that are live after it. The set may also
    /// contain the predicate that represents all guards, whose number follows that of the last
    /// variable.
    pub fn for_each(&self, visit: impl FnMut(usize, &FixedBitSet)) {
        self.live.for_each(&self.code.code(), &self.cfg, visit);
    }
}

/// Returns the synthetic exit instruction that follows the last instruction of a body.
fn end() -> ir::Inst {
    ir::Inst {
        op: ir::Op::Exit,
        guard: None,
        dst: [ir::Dst::None; 2],
        src: [ir::Src::None; 4],
        imm: 0,
        extra: ir::Extra::NONE,
        wide_addr: false,
    }
}

/// Returns for each label the index of the instruction that follows it.
fn label_targets(body: &Body) -> Vec<u32> {
    let mut targets = vec![0; body.labels as usize];
    let mut at = body.prologue.len() as u32;
    for item in &body.items {
        match item {
            Item::Label(Label(label), _) => targets[*label as usize] = at,
            Item::Inst(_) => at += 1,
            _ => {}
        }
    }
    targets
}

/// Returns the blocks of each natural loop. Loops with the same header are one loop. Cycles with
/// several entries are not natural loops.
fn loops(cfg: &Cfg) -> Vec<FixedBitSet> {
    let blocks = cfg.blocks.len();
    let mut graph: DiGraph<(), ()> = DiGraph::new();
    for _ in 0..blocks {
        graph.add_node(());
    }
    for (index, block) in cfg.blocks.iter().enumerate() {
        for &succ in &block.succs {
            graph.add_edge(NodeIndex::new(index), NodeIndex::new(succ), ());
        }
    }
    let tree = simple_fast(&graph, NodeIndex::new(0));
    let preds = cfg.predecessors();
    let mut loops = Vec::new();
    for head in 0..blocks {
        let closes = |&tail: &usize| {
            let mut above = tree.dominators(NodeIndex::new(tail)).into_iter().flatten();
            above.any(|block| block.index() == head)
        };
        let tails: Vec<usize> = preds[head].iter().copied().filter(closes).collect();
        if tails.is_empty() {
            continue;
        }
        let mut inside = FixedBitSet::with_capacity(blocks);
        inside.insert(head);
        let mut work = tails;
        while let Some(block) = work.pop() {
            if !inside.put(block) {
                work.extend(preds[block].iter().copied());
            }
        }
        loops.push(inside);
    }
    loops
}

/// Returns the number of natural loops around each of `count` instructions.
fn loop_depth(cfg: &Cfg, loops: &[FixedBitSet], count: usize) -> Vec<u32> {
    let mut depth_of_block = vec![0_u32; cfg.blocks.len()];
    for block in loops.iter().flat_map(FixedBitSet::ones) {
        depth_of_block[block] = (depth_of_block[block] + 1).min(MAX_DEPTH);
    }
    let mut depth = vec![0; count];
    for (index, block) in cfg.blocks.iter().enumerate() {
        depth[block.start..block.end].fill(depth_of_block[index]);
    }
    depth
}
