//! Facts about a body as it stands: basic blocks, live variables, loop depth.
//!
//! The data flow is that of [`warploom_ir`]: every instruction is shown to it as an operation that
//! branches where the instruction branches and touches what it touches. All variables, predicates
//! too, are registers there. Liveness is per thread, because a PTX register is.

use crate::body::{Body, Control, Inst, Item, Label};
use fixedbitset::FixedBitSet;
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};
use warploom_base::Pc;
use warploom_ir as ir;
use warploom_ir::cfg::Cfg;
use warploom_ir::liveness::{Liveness, Universe};

/// Deepest nesting that counts: weights stay within 64 bits.
const MAX_DEPTH: u32 = 12;

/// What is known of a body, by position among its instructions (prologue first).
pub(crate) struct Flow {
    cfg: Cfg,
    live: Liveness,
    code: Synthetic,
    /// Loops around each instruction.
    pub depth: Vec<u32>,
}

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

    /// Shows one instruction to the analyses: `reads` and `writes` are what it touches.
    fn push(&mut self, inst: &Inst, targets: &[u32], reads: Vec<u32>, writes: Vec<u32>) {
        let mut shown = ir::Inst {
            op: ir::Op::Nanosleep,
            // Only that there is one matters: writes then end no life. The predicate is among
            // what is read.
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
            });
        }
        if extra != ir::ExtraOperands::default() {
            shown.extra = ir::Extra(self.extras.len() as u32);
            self.extras.push(extra);
        }
        self.insts.push(shown);
    }
}

/// Most variables that the analyses can number; one is set aside.
pub(crate) const MAX_VARS: usize = u16::MAX as usize;

impl Flow {
    /// Of variables.
    pub fn new(body: &Body) -> Self {
        let vars = |inst: &Inst| {
            let reads = inst.reads().map(|v| v.0).collect();
            (reads, inst.writes().map(|v| v.0).collect())
        };
        Self::with(body, body.vars.len(), vars)
    }

    /// Of whatever `touched` says that an instruction reads and writes, numbered below `count`.
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
        let depth = loop_depth(&cfg, code.insts.len());
        Self {
            cfg,
            live,
            code,
            depth,
        }
    }

    /// Live when the function starts: read, perhaps, before it is written.
    pub fn at_entry(&self) -> &FixedBitSet {
        self.live.live_in(0)
    }

    /// Visits every instruction with what is live behind it. The predicate that stands for all
    /// guards, behind the last variable, may be among it.
    pub fn for_each(&self, visit: impl FnMut(usize, &FixedBitSet)) {
        self.live.for_each(&self.code.code(), &self.cfg, visit);
    }
}

/// The way out behind the last instruction.
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

/// For every label the position of the instruction behind it.
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

/// How many natural loops hold each instruction. Loops with one head count once; cycles that have
/// several entries are no natural loops and count nothing.
fn loop_depth(cfg: &Cfg, count: usize) -> Vec<u32> {
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
    let mut depth_of_block = vec![0_u32; blocks];
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
        for block in inside.ones() {
            depth_of_block[block] = (depth_of_block[block] + 1).min(MAX_DEPTH);
        }
    }
    let mut depth = vec![0; count];
    for (index, block) in cfg.blocks.iter().enumerate() {
        depth[block.start..block.end].fill(depth_of_block[index]);
    }
    depth
}
