//! Control flow inside one function: basic blocks, edges, immediate post-dominators.
//!
//! Conventions of GPGPU-Sim: every end of the function leads to one virtual exit. A guarded `exit`
//! or `ret` leads to the exit and to the next instruction. Lanes that diverge reconverge at the
//! start of the immediate post-dominator. Code that can never leave (an endless loop) gets an edge
//! to the exit from its last block, so that branches inside it still have a reconvergence point.
//!
//! In contrast to GPGPU-Sim, threads that end early do not keep the others diverged
//! ([`Cfg::reconvergence`]).

use crate::inst::Inst;
use crate::op::Op;
use crate::operands::Code;
use fixedbitset::FixedBitSet;
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};
use smallvec::SmallVec;
use warploom_base::Pc;

/// Basic block: consecutive instructions, by position in the function (not absolute).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Position of the first instruction.
    pub start: usize,
    /// Position after the last instruction.
    pub end: usize,
    /// Blocks that may follow, without repeats, in ascending order.
    pub succs: SmallVec<[usize; 2]>,
    /// True if the function may be left here.
    pub leaves: bool,
}

/// Blocks of one function in the order of the code; block 0 is the entry.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// Blocks in the order of the code.
    pub blocks: Vec<Block>,
    start: Pc,
    block_of: Vec<u32>,
}

/// Possible successors of an instruction.
struct Flow {
    targets: SmallVec<[usize; 2]>,
    falls: bool,
    leaves: bool,
}

fn flow(code: &Code, inst: &Inst) -> Flow {
    let local = |pc: u32| (pc - code.start.0) as usize;
    let guarded = inst.guard.is_some();
    let (targets, ends, leaves) = match inst.op {
        Op::Bra(_) => (SmallVec::from_slice(&[local(inst.imm as u32)]), true, false),
        Op::BrxIdx => {
            let table = code.extra(inst).map_or(&[][..], |e| &e.targets);
            (table.iter().map(|pc| local(pc.0)).collect(), true, false)
        }
        Op::Ret | Op::Exit | Op::Trap => (SmallVec::new(), true, true),
        _ => (SmallVec::new(), false, false),
    };
    Flow {
        targets,
        falls: guarded || !ends,
        leaves,
    }
}

/// True if the instruction may send lanes to different places.
pub fn may_diverge(inst: &Inst) -> bool {
    match inst.op {
        Op::Bra(_) => inst.guard.is_some(),
        Op::BrxIdx => true,
        _ => false,
    }
}

fn ends_block(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::Bra(_) | Op::BrxIdx | Op::Ret | Op::Exit | Op::Trap
    )
}

impl Cfg {
    /// Finds the blocks of a function. Branch targets must lie inside `code`.
    pub fn new(code: &Code) -> Self {
        let count = code.insts.len();
        let leaders = find_leaders(code);
        let starts: Vec<usize> = leaders.ones().collect();
        let mut block_of = vec![0; count];
        let mut blocks = Vec::with_capacity(starts.len());
        for (index, &start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(count);
            block_of[start..end].fill(index as u32);
            blocks.push(Block {
                start,
                end,
                succs: SmallVec::new(),
                leaves: false,
            });
        }
        let mut cfg = Self {
            blocks,
            start: code.start,
            block_of,
        };
        cfg.connect(code);
        cfg
    }

    fn connect(&mut self, code: &Code) {
        let count = code.insts.len();
        for block in &mut self.blocks {
            let flow = flow(code, &code.insts[block.end - 1]);
            let next = (flow.falls && block.end < count).then_some(block.end);
            let mut succs: SmallVec<[usize; 2]> = flow
                .targets
                .iter()
                .copied()
                .chain(next)
                .map(|at| self.block_of[at] as usize)
                .collect();
            succs.sort_unstable();
            succs.dedup();
            block.succs = succs;
            block.leaves = flow.leaves || (flow.falls && block.end == count);
        }
    }

    /// Block that contains an instruction, by the instruction's position in the function.
    pub fn block_of(&self, at: usize) -> usize {
        self.block_of[at] as usize
    }

    /// Immediate post-dominator of every block; `None` if it is the virtual exit.
    pub fn post_dominators(&self) -> Vec<Option<usize>> {
        let mut found = self.post_dominators_with(&FixedBitSet::new());
        let endless = self.endless_exits();
        if !endless.is_clear() {
            let with_exits = self.post_dominators_with(&endless);
            let stuck = self.leaving().zeroes().collect::<Vec<_>>();
            stuck.into_iter().for_each(|b| found[b] = with_exits[b]);
        }
        found
    }

    /// Immediate post-dominators with additional edges from the blocks `extra` to the exit.
    fn post_dominators_with(&self, extra: &FixedBitSet) -> Vec<Option<usize>> {
        let exit = NodeIndex::new(self.blocks.len());
        let mut reversed: DiGraph<(), ()> = DiGraph::new();
        for _ in 0..=self.blocks.len() {
            reversed.add_node(());
        }
        for (index, block) in self.blocks.iter().enumerate() {
            let node = NodeIndex::new(index);
            for &succ in &block.succs {
                reversed.add_edge(NodeIndex::new(succ), node, ());
            }
            if block.leaves || extra.contains(index) {
                reversed.add_edge(exit, node, ());
            }
        }
        let tree = simple_fast(&reversed, exit);
        (0..self.blocks.len())
            .map(|block| tree.immediate_dominator(NodeIndex::new(block)))
            .map(|idom| idom.filter(|node| *node != exit).map(NodeIndex::index))
            .collect()
    }

    /// Blocks from which the function can be left.
    fn leaving(&self) -> FixedBitSet {
        let mut leaving = FixedBitSet::with_capacity(self.blocks.len());
        let work = (0..self.blocks.len()).filter(|b| self.blocks[*b].leaves);
        self.reach_back(work.collect(), &mut leaving);
        leaving
    }

    /// Adds every block from which a block of `work` can be reached.
    fn reach_back(&self, mut work: Vec<usize>, reached: &mut FixedBitSet) {
        let preds = self.predecessors();
        while let Some(block) = work.pop() {
            if !reached.put(block) {
                work.extend(preds[block].iter().copied());
            }
        }
    }

    /// Blocks that get an edge to the exit because no later block leaves: the last in the code of
    /// every group from which the exit cannot be reached.
    fn endless_exits(&self) -> FixedBitSet {
        let mut leaving = self.leaving();
        let mut chosen = FixedBitSet::with_capacity(self.blocks.len());
        while let Some(last) = (0..self.blocks.len()).rev().find(|b| !leaving.contains(*b)) {
            chosen.insert(last);
            self.reach_back(vec![last], &mut leaving);
        }
        chosen
    }

    /// Predecessors of every block in the order of the code.
    pub fn predecessors(&self) -> Vec<SmallVec<[usize; 2]>> {
        let mut preds = vec![SmallVec::new(); self.blocks.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            for &succ in &block.succs {
                preds[succ].push(index);
            }
        }
        preds
    }

    /// Reconvergence point of every instruction at which lanes may diverge.
    ///
    /// The point is the start of the immediate post-dominator, unless a thread may end inside a
    /// loop or in an arm of another branch. Waiting for the exit would then keep lanes diverged
    /// that the ISA has meet at the next barrier or shuffle, which wait only for threads that have
    /// not exited. In such a function branches to a mere `ret` or `exit`, and guarded ones of
    /// these, do not count. `returns_end` says that `ret` ends the thread, as in a kernel.
    pub fn reconvergence(&self, code: &Code, returns_end: bool) -> Vec<Option<Pc>> {
        let ipdom = self.meeting_blocks(code, returns_end);
        let meet = |at: usize| {
            let block = ipdom[self.block_of(at)]?;
            Some(Pc(self.start.0 + self.blocks[block].start as u32))
        };
        (code.insts.iter().enumerate())
            .map(|(at, inst)| may_diverge(inst).then(|| meet(at)).flatten())
            .collect()
    }
}

impl Cfg {
    fn meeting_blocks(&self, code: &Code, returns_end: bool) -> Vec<Option<usize>> {
        let all = self.post_dominators();
        let going_on = self.without_early_ends(code, returns_end);
        let meets = going_on.post_dominators();
        let is_kept_apart = |block: usize| {
            let loses_none = self.blocks[block].succs == going_on.blocks[block].succs;
            let parts = may_diverge(&code.insts[self.blocks[block].end - 1]);
            parts && loses_none && all[block] != meets[block]
        };
        match (0..self.blocks.len()).any(is_kept_apart) {
            true => meets,
            false => all,
        }
    }

    /// The same blocks without the edges that threads take only to end while others go on.
    fn without_early_ends(&self, code: &Code, returns_end: bool) -> Self {
        let ends = |block: usize| {
            let Block {
                start, end, succs, ..
            } = &self.blocks[block];
            succs.is_empty() && end - start == 1 && ends_thread(&code.insts[*start], returns_end)
        };
        let mut rest = self.clone();
        for block in &mut rest.blocks {
            let last = &code.insts[block.end - 1];
            block.leaves &= block.succs.is_empty() || !ends_thread(last, returns_end);
            if block.succs.iter().any(|succ| !ends(*succ)) {
                block.succs.retain(|succ| !ends(*succ));
            }
        }
        rest
    }
}

fn ends_thread(inst: &Inst, returns_end: bool) -> bool {
    match inst.op {
        Op::Exit | Op::Trap => true,
        Op::Ret => returns_end,
        _ => false,
    }
}

fn find_leaders(code: &Code) -> FixedBitSet {
    let count = code.insts.len();
    let mut leaders = FixedBitSet::with_capacity(count);
    if count > 0 {
        leaders.insert(0);
    }
    for (at, inst) in code.insts.iter().enumerate() {
        for target in flow(code, inst).targets {
            leaders.insert(target);
        }
        if ends_block(inst) && at + 1 < count {
            leaders.insert(at + 1);
        }
    }
    leaders
}

#[cfg(test)]
mod tests;
