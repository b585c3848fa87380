//! List scheduling of a basic block (Gibbons and Muchnick, 1986): in every cycle the instruction
//! that begins the longest chain of dependences issues, of those whose operands are there and whose
//! unit is free, and which need no more registers and predicates than the limit allows.

use crate::Timing;
use crate::dependences::Dependences;
use crate::lives::{InUse, Lives, Room};
use std::cmp::Reverse;

/// Ready instructions that are looked at for the next place, so that the time for a block of many
/// independent instructions does not grow with their square.
const WINDOW: usize = 1024;

/// Order of a block's instructions, numbered from its start, that needs at most the registers and
/// predicates of `limit` as far as the choices allow. `timings` are those of the instructions.
pub(crate) fn schedule(
    dependences: &Dependences,
    lives: &Lives,
    timings: &[Timing],
    limit: Room,
) -> Vec<usize> {
    let mut list = List::new(dependences, lives, timings, limit);
    while let Some(place) = list.choose() {
        list.issue(place);
    }
    list.order
}

/// A schedule under construction.
struct List<'a> {
    dependences: &'a Dependences,
    timings: &'a [Timing],
    limit: Room,
    in_use: InUse<'a>,
    now: u32,
    /// Instructions whose predecessors have issued, those with the longest chains first, then in
    /// the order of the text.
    ready: Vec<usize>,
    /// Predecessors that have not issued, by instruction.
    waiting: Vec<u32>,
    /// Cycle in which the operands of each instruction are there.
    operands: Vec<u32>,
    /// Cycle in which each unit is free.
    units: Vec<u32>,
    order: Vec<usize>,
}

impl<'a> List<'a> {
    fn new(
        dependences: &'a Dependences,
        lives: &'a Lives,
        timings: &'a [Timing],
        limit: Room,
    ) -> Self {
        let count = timings.len();
        let units = timings.iter().map(|timing| usize::from(timing.unit) + 1);
        let mut list = Self {
            dependences,
            timings,
            limit,
            in_use: InUse::new(lives),
            now: 0,
            ready: Vec::new(),
            waiting: dependences.before.clone(),
            operands: vec![0; count],
            units: vec![0; units.max().unwrap_or(0)],
            order: Vec::with_capacity(count),
        };
        let first = (0..count).filter(|at| dependences.before[*at] == 0);
        first.for_each(|at| list.make_ready(at));
        list
    }

    fn make_ready(&mut self, at: usize) {
        let key = |at: usize| (Reverse(self.dependences.height[at]), at);
        let place = self.ready.partition_point(|other| key(*other) < key(at));
        self.ready.insert(place, at);
    }

    /// First cycle from now on in which an instruction could issue.
    fn earliest(&self, at: usize) -> u32 {
        let unit = self.units[usize::from(self.timings[at].unit)];
        self.now.max(self.operands[at]).max(unit)
    }

    /// True if an instruction keeps to the limit, or takes nothing of what is beyond it.
    fn fits(&self, at: usize) -> bool {
        self.in_use.with(at).fits(self.limit.max(self.in_use.room))
    }

    /// Place in `ready` of the next instruction; time advances to its issue. It is the first that
    /// can issue earliest within the limit; where none keeps to that, one that needs fewest
    /// registers. Only the first [`WINDOW`] are candidates.
    fn choose(&mut self) -> Option<usize> {
        let mut earliest: Option<(u32, usize)> = None;
        for (place, &at) in self.ready.iter().enumerate().take(WINDOW) {
            let when = self.earliest(at);
            let sooner = earliest.is_none_or(|(best, _)| when < best);
            if sooner && self.fits(at) {
                earliest = Some((when, place));
                if when == self.now {
                    break;
                }
            }
        }
        let pressing = |place: &usize| (self.in_use.with(self.ready[*place]), self.ready[*place]);
        let chosen = earliest.map(|(_, place)| place);
        let chosen = chosen.or_else(|| (0..self.ready.len().min(WINDOW)).min_by_key(pressing))?;
        self.now = self.earliest(self.ready[chosen]);
        Some(chosen)
    }

    fn issue(&mut self, place: usize) {
        let at = self.ready.remove(place);
        self.order.push(at);
        self.in_use.issue(at);
        let timing = self.timings[at];
        self.units[usize::from(timing.unit)] = self.now + timing.interval;
        for edge in &self.dependences.after[at] {
            self.operands[edge.to] = self.operands[edge.to].max(self.now + edge.cycles);
            self.waiting[edge.to] -= 1;
            if self.waiting[edge.to] == 0 {
                self.make_ready(edge.to);
            }
        }
        self.now += 1;
    }
}
