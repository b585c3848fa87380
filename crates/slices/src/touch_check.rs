//! A comparison of rectangles with actual executions: an observer of functional runs that compares
//! the lines in the rectangles of every block with the lines that the block touches, and the
//! overlap of blocks with the lines that they share.
//!
//! Only the accesses from which rectangles follow are compared, which are regular accesses of known
//! arrays. Lines that a block touches by other accesses are counted apart.

use crate::binary::Slices;
use crate::footprint::{Footprints, LINE_BYTES};
use crate::rects::Touched;
use std::collections::BTreeMap;
use std::sync::Arc;
use warploom_base::{LaneMask, Rect, lanes_of};
use warploom_exec::{LaunchContext, Observer, StepOut};
use warploom_ir::Program;

/// The lines that a block shares with another one, summed over all blocks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SharedLines {
    /// The lines that both blocks touch.
    pub touched: u64,
    /// The overlap of the rectangles of both blocks, in lines.
    pub computed: u64,
}

/// The lines of blocks, summed over the blocks of all launches.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TouchTally {
    /// The lines that blocks touch by accesses from which rectangles follow.
    pub touched: u64,
    /// The lines among them that a rectangle of the block contains.
    pub inside: u64,
    /// The lines among them that no rectangle contains and that are touched only in second and
    /// later iterations of loops.
    pub later: u64,
    /// The lines that the rectangles contain.
    pub computed: u64,
    /// The lines that only other accesses touch.
    pub other: u64,
    /// The lines shared with the next block in the order of the grid.
    pub next: SharedLines,
    /// The lines shared with the block one row of the grid below.
    pub below: SharedLines,
}

impl TouchTally {
    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Self) {
        self.touched += other.touched;
        self.inside += other.inside;
        self.later += other.later;
        self.computed += other.computed;
        self.other += other.other;
        for (sum, more) in [(&mut self.next, other.next), (&mut self.below, other.below)] {
            sum.touched += more.touched;
            sum.computed += more.computed;
        }
    }
}

/// An observer that compares all blocks of every launch.
#[derive(Debug)]
pub struct TouchCheck {
    /// The maximum number of arrays of a launch.
    limit: usize,
    slices: Vec<(Arc<Program>, Arc<Slices>)>,
    tally: TouchTally,
    current: Option<Launch>,
}

impl TouchCheck {
    /// Creates an observer that takes up to `limit` arrays of each launch into account.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            slices: Vec::new(),
            tally: TouchTally::default(),
            current: None,
        }
    }

    /// Returns the slices of a kernel.
    fn slices(&mut self, program: &Arc<Program>) -> Arc<Slices> {
        let same = |(known, _): &&(Arc<Program>, Arc<Slices>)| Arc::ptr_eq(known, program);
        if let Some((_, slices)) = self.slices.iter().find(same) {
            return Arc::clone(slices);
        }
        let slices = Arc::new(Slices::new(program));
        self.slices.push((Arc::clone(program), Arc::clone(&slices)));
        slices
    }

    /// Returns the sums over all launches that have ended.
    pub fn tally(&self) -> TouchTally {
        self.tally
    }
}

/// The observation of one launch.
#[derive(Debug)]
struct Launch {
    footprints: Footprints,
    /// The access at each instruction of the kernel.
    access_at: Vec<Option<u32>>,
    running: BTreeMap<u64, Running>,
    ended: BTreeMap<u64, Ended>,
}

/// A block in execution.
#[derive(Default, Debug)]
struct Running {
    /// The lines in columns and rows of their arrays. The last field is false if the line is
    /// touched in the first iteration of a loop, or outside of loops.
    lines: Vec<(usize, i32, i32, bool)>,
    /// The numbers of these lines in memory.
    numbers: Vec<u64>,
    /// The numbers of lines that other accesses touch.
    others: Vec<u64>,
    /// The lanes of each warp that have made an access, by warp and access.
    before: BTreeMap<(u32, u32), LaneMask>,
}

/// A block that has ended.
#[derive(Debug)]
struct Ended {
    numbers: Vec<u64>,
    rects: Vec<Touched>,
}

impl Launch {
    fn step(&mut self, block: u64, warp: u32, out: &StepOut) {
        let Some(access) = self.access_at[out.pc.index()] else {
            return;
        };
        let running = self.running.entry(block).or_default();
        let Some(array) = self.footprints.array_of(access as usize) else {
            let numbers = lanes_of(out.active).map(|lane| out.addrs[lane] / LINE_BYTES);
            running.others.extend(numbers);
            return;
        };
        let before = running.before.entry((warp, access)).or_default();
        for lane in lanes_of(out.active) {
            let line = self.footprints.arrays()[array].line(out.addrs[lane]);
            let is_later = *before >> lane & 1 == 1;
            running.lines.push((array, line.x, line.y, is_later));
            running.numbers.push(out.addrs[lane] / LINE_BYTES);
        }
        *before |= out.active;
    }

    /// Compares the lines of a block with its rectangles.
    fn end_block(&mut self, launch: &LaunchContext, block: u64) -> TouchTally {
        let mut running = self.running.remove(&block).unwrap_or_default();
        let ctaid = launch.block_at(block);
        // The address binary faults where the kernel would fault, and a kernel that completed did
        // not.
        let rects = self.footprints.rects(ctaid).unwrap_or_default();
        sort(&mut running.lines);
        running
            .lines
            .dedup_by_key(|(array, x, y, _)| (*array, *x, *y));
        sort(&mut running.numbers);
        sort(&mut running.others);
        let mut tally = TouchTally {
            touched: running.lines.len() as u64,
            computed: rects.iter().map(|touched| touched.rect.area()).sum(),
            ..TouchTally::default()
        };
        for (array, x, y, is_later) in &running.lines {
            let line = Rect::line(*x, *y);
            let contains = |t: &Touched| t.array == *array && t.rect.contains(&line);
            let is_inside = rects.iter().any(contains);
            tally.inside += u64::from(is_inside);
            tally.later += u64::from(!is_inside && *is_later);
        }
        let is_new = |number: &&u64| running.numbers.binary_search(number).is_err();
        tally.other = running.others.iter().filter(is_new).count() as u64;
        let Running { numbers, .. } = running;
        self.ended.insert(block, Ended { numbers, rects });
        tally
    }

    /// Compares the overlap of blocks that are `distance` apart in the order of the grid.
    fn shared(&self, distance: u64) -> SharedLines {
        let mut sum = SharedLines::default();
        for (rank, block) in &self.ended {
            if let Some(other) = self.ended.get(&(rank + distance)) {
                let both = |number: &&u64| other.numbers.binary_search(number).is_ok();
                sum.touched += block.numbers.iter().filter(both).count() as u64;
                sum.computed += overlap(&block.rects, &other.rects);
            }
        }
        sum
    }
}

fn sort<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}

/// Returns the number of lines that the rectangles of two blocks have in common.
fn overlap(a: &[Touched], b: &[Touched]) -> u64 {
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    pairs
        .filter(|(a, b)| a.array == b.array)
        .map(|(a, b)| a.rect.overlap(&b.rect))
        .sum()
}

impl Observer for TouchCheck {
    fn begin(&mut self, launch: &LaunchContext) {
        let program = launch.program();
        let slices = self.slices(program);
        let mut access_at = vec![None; program.insts.len()];
        for (index, access) in slices.accesses.iter().enumerate() {
            access_at[access.pc.index()] = Some(index as u32);
        }
        let footprints = Footprints::new(slices, launch, self.limit);
        self.current = footprints.ok().map(|footprints| Launch {
            footprints,
            access_at,
            running: BTreeMap::new(),
            ended: BTreeMap::new(),
        });
    }

    fn stepped(&mut self, block: u64, warp: u32, out: &StepOut) {
        if let Some(current) = &mut self.current {
            current.step(block, warp, out);
        }
    }

    fn block_ended(&mut self, launch: &LaunchContext, block: u64) {
        if let Some(current) = &mut self.current {
            self.tally.add(&current.end_block(launch, block));
        }
    }

    fn end(&mut self, launch: &LaunchContext) {
        if let Some(current) = self.current.take() {
            let row = u64::from(launch.grid().x);
            let below = (row > 1).then(|| current.shared(row));
            self.tally.add(&TouchTally {
                next: current.shared(1),
                below: below.unwrap_or_default(),
                ..TouchTally::default()
            });
        }
    }
}
