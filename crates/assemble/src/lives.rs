//! Registers and predicates in use in the course of a basic block, for any order that keeps its
//! dependences.

use crate::body::Body;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Numbers of 32-bit registers and of predicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Room {
    pub registers: u32,
    pub predicates: u32,
}

impl Room {
    /// The larger number of each kind.
    pub fn max(self, other: Self) -> Self {
        Self {
            registers: self.registers.max(other.registers),
            predicates: self.predicates.max(other.predicates),
        }
    }

    /// The room with `spare` registers less.
    pub fn less(self, spare: u32) -> Self {
        Self {
            registers: self.registers.saturating_sub(spare),
            ..self
        }
    }

    /// True if both numbers are at most those of `limit`.
    pub fn fits(self, limit: Self) -> bool {
        self.registers <= limit.registers && self.predicates <= limit.predicates
    }

    fn plus(self, other: Self) -> Self {
        Self {
            registers: self.registers + other.registers,
            predicates: self.predicates + other.predicates,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            registers: self.registers - other.registers,
            predicates: self.predicates - other.predicates,
        }
    }

    fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), Self::plus)
    }
}

/// A value between a write and its last read: writes of one register make several.
#[derive(Clone, Copy, Debug)]
struct Life {
    size: Room,
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
    /// Room in use at the start.
    at_start: Room,
}

impl Lives {
    /// Finds the lives of a block from the sets live at its start and end, and the room of each
    /// value.
    pub fn new(
        body: &Body,
        sizes: &[Room],
        block: Range<usize>,
        [start, end]: [&FixedBitSet; 2],
    ) -> Self {
        let (code, universe) = (body.code(), body.universe());
        let size = |var: usize| sizes[var];
        let mut found = Self {
            lives: Vec::new(),
            begins: Vec::new(),
            reads: Vec::new(),
            at_start: Room::sum(start.ones().map(size)),
        };
        let mut current: FxHashMap<usize, usize> = FxHashMap::default();
        for var in start.ones() {
            current.insert(var, found.begin(size(var)));
        }
        for inst in &code.insts[block] {
            let writes: Vec<usize> = code.writes(inst).map(|var| universe.index(var)).collect();
            let keeps = inst.guard.is_some_and(|guard| !guard.overwrites);
            let kept = writes.iter().filter(|_| keeps).copied();
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

    fn begin(&mut self, size: Room) -> usize {
        self.lives.push(Life {
            size,
            uses: 0,
            stays: false,
        });
        self.lives.len() - 1
    }

    /// Most registers and most predicates in use in an order of the block.
    pub fn peak(&self, order: impl Iterator<Item = usize>) -> Room {
        let mut now = InUse::new(self);
        let mut peak = now.room;
        for at in order {
            peak = peak.max(now.issue(at));
        }
        peak
    }
}

/// Room in use at a point of an order.
pub(crate) struct InUse<'a> {
    of: &'a Lives,
    left: Vec<u32>,
    /// Room in use now, at this point.
    pub room: Room,
}

impl<'a> InUse<'a> {
    /// The point before the block.
    pub fn new(of: &'a Lives) -> Self {
        Self {
            of,
            left: of.lives.iter().map(|life| life.uses).collect(),
            room: of.at_start,
        }
    }

    /// Room that an instruction would free, and room that it would begin to use.
    fn change(&self, at: usize) -> (Room, Room) {
        let lives = &self.of.lives;
        let last = |life: &&usize| self.left[**life] == 1 && !lives[**life].stays;
        let freed = self.of.reads[at].iter().filter(last);
        let begun = self.of.begins[at].iter();
        (
            Room::sum(freed.map(|life| lives[*life].size)),
            Room::sum(begun.map(|life| lives[*life].size)),
        )
    }

    /// Room in use during and after an instruction, if that came next.
    pub fn with(&self, at: usize) -> Room {
        let (freed, begun) = self.change(at);
        self.room.minus(freed).plus(begun)
    }

    /// Passes an instruction; returns the room in use there.
    pub fn issue(&mut self, at: usize) -> Room {
        let during = self.with(at);
        for life in &self.of.reads[at] {
            self.left[*life] -= 1;
        }
        let lives = &self.of.lives;
        let unused = |life: &&usize| lives[**life].uses == 0 && !lives[**life].stays;
        let unused = self.of.begins[at].iter().filter(unused);
        self.room = during.minus(Room::sum(unused.map(|life| lives[*life].size)));
        during
    }
}
