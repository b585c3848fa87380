//! Registers in use in the course of a basic block, for any order that keeps its dependences.

use crate::body::Body;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A value between a write and its last read: writes of one register make several.
#[derive(Clone, Copy, Debug)]
struct Life {
    /// Number of 32-bit registers.
    size: u32,
    /// Number of instructions that read it.
    uses: u32,
    /// True if it is needed after the block.
    stays: bool,
}

/// Lives of a block: those that each instruction begins, and those that it reads.
#[derive(Clone)]
pub(crate) struct Lives {
    lives: Vec<Life>,
    begins: Vec<Vec<usize>>,
    reads: Vec<Vec<usize>>,
    /// Registers in use at the start.
    at_start: u32,
}

impl Lives {
    /// Finds the lives of a block from the sets live at its start and end.
    pub fn new(body: &Body, block: Range<usize>, [start, end]: [&FixedBitSet; 2]) -> Self {
        let (code, universe) = (body.code(), body.universe());
        let size = |var: usize| body.wide.get(var).map_or(0, |wide| 1 + u32::from(*wide));
        let mut found = Self {
            lives: Vec::new(),
            begins: Vec::new(),
            reads: Vec::new(),
            at_start: start.ones().map(size).sum(),
        };
        let mut current: FxHashMap<usize, usize> = FxHashMap::default();
        for var in start.ones() {
            current.insert(var, found.begin(size(var)));
        }
        for inst in &code.insts[block] {
            let writes: Vec<usize> = code.writes(inst).map(|var| universe.index(var)).collect();
            let kept = writes.iter().filter(|_| inst.guard.is_some()).copied();
            let read = code.reads(inst).map(|var| universe.index(var)).chain(kept);
            let mut reads: Vec<usize> = read.filter_map(|var| current.get(&var).copied()).collect();
            reads.sort_unstable();
            reads.dedup();
            reads.iter().for_each(|life| found.lives[*life].uses += 1);
            found.reads.push(reads);
            let begins = writes.iter().map(|var| {
                let life = found.begin(size(*var));
                current.insert(*var, life);
                life
            });
            let begins = begins.collect();
            found.begins.push(begins);
        }
        for var in end.ones() {
            if let Some(&life) = current.get(&var) {
                found.lives[life].stays = true;
            }
        }
        found
    }

    fn begin(&mut self, size: u32) -> usize {
        self.lives.push(Life {
            size,
            uses: 0,
            stays: false,
        });
        self.lives.len() - 1
    }

    /// Largest number of registers in use in an order of the block.
    pub fn peak(&self, order: impl Iterator<Item = usize>) -> u32 {
        let mut now = InUse::new(self);
        let mut peak = now.registers;
        for at in order {
            peak = peak.max(now.issue(at));
        }
        peak
    }
}

/// Registers in use at a point of an order.
pub(crate) struct InUse<'a> {
    of: &'a Lives,
    left: Vec<u32>,
    /// Number of 32-bit registers now.
    pub registers: u32,
}

impl<'a> InUse<'a> {
    /// The point before the block.
    pub fn new(of: &'a Lives) -> Self {
        Self {
            of,
            left: of.lives.iter().map(|life| life.uses).collect(),
            registers: of.at_start,
        }
    }

    /// Registers that an instruction would free and those that it would begin to use.
    fn change(&self, at: usize) -> (u32, u32) {
        let lives = &self.of.lives;
        let last = |life: &&usize| self.left[**life] == 1 && !lives[**life].stays;
        let freed = self.of.reads[at].iter().filter(last);
        let begun = self.of.begins[at].iter();
        (
            freed.map(|life| lives[*life].size).sum(),
            begun.map(|life| lives[*life].size).sum(),
        )
    }

    /// Registers in use during and after an instruction, if that came next.
    pub fn with(&self, at: usize) -> u32 {
        let (freed, begun) = self.change(at);
        self.registers - freed + begun
    }

    /// Passes an instruction; returns the registers in use there.
    pub fn issue(&mut self, at: usize) -> u32 {
        let during = self.with(at);
        for life in &self.of.reads[at] {
            self.left[*life] -= 1;
        }
        let lives = &self.of.lives;
        let unused = |life: &&usize| lives[**life].uses == 0 && !lives[**life].stays;
        let unused = self.of.begins[at].iter().filter(unused);
        self.registers = during - unused.map(|life| lives[*life].size).sum::<u32>();
        during
    }
}
