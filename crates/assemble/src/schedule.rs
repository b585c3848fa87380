//! List scheduling of a basic block (Gibbons and Muchnick, 1986): in every cycle the instruction
//! that begins the longest chain of dependences issues, of those whose operands are there and whose
//! unit is free, and which keep to the bounds.

use crate::Timing;
use crate::dependences::Dependences;
use crate::lives::{InUse, Lives, Room};
use std::cmp::Reverse;

/// Ready instructions that are looked at for the next place, so that the time for a block of many
/// independent instructions does not grow with their square.
const WINDOW: usize = 1024;

/// Bounds of a schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Most registers and predicates in use, as far as the choices allow.
    pub room: Room,
    /// Most instructions by which one may come before the first in the text that has not issued.
    pub ahead: usize,
}

/// Order of a block's instructions, with its length.
pub(crate) struct Schedule {
    /// Cycles from the first issue to the last.
    pub cycles: u32,
    /// The instructions, numbered from the block's start.
    pub order: Vec<usize>,
}

/// Orders a block's instructions within `bounds`. `timings` are those of the instructions.
pub(crate) fn schedule(
    dependences: &Dependences,
    lives: &Lives,
    timings: &[Timing],
    bounds: Bounds,
) -> Schedule {
    let mut list = List::new(dependences, lives, timings, bounds);
    while let Some(place) = list.choose() {
        list.issue(place);
    }
    Schedule {
        cycles: list.now,
        order: list.order,
    }
}

/// A schedule under construction.
struct List<'a> {
    dependences: &'a Dependences,
    timings: &'a [Timing],
    bounds: Bounds,
    in_use: InUse<'a>,
    now: u32,
    /// By instruction: whether it has issued.
    issued: Vec<bool>,
    /// First instruction of the text that has not issued.
    first: usize,
    /// Instructions whose predecessors have issued, those with the longest chains first, then in
    /// the order of what needs them, so that the operands of one instruction come together, then in
    /// that of the text.
    ready: Vec<usize>,
    /// First instruction of the text that needs each one to come before it.
    first_use: Vec<Option<usize>>,
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
        bounds: Bounds,
    ) -> Self {
        let count = timings.len();
        let units = timings.iter().map(|timing| usize::from(timing.unit) + 1);
        let mut list = Self {
            dependences,
            timings,
            bounds,
            in_use: InUse::new(lives),
            now: 0,
            issued: vec![false; count],
            first: 0,
            ready: Vec::new(),
            first_use: (dependences.after.iter())
                .map(|after| after.iter().map(|edge| edge.to).min())
                .collect(),
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
        let key = |at: usize| {
            let height = Reverse(self.dependences.height[at]);
            (height, self.first_use[at], at)
        };
        let place = self.ready.partition_point(|other| key(*other) < key(at));
        self.ready.insert(place, at);
    }

    /// First cycle from now on in which an instruction could issue.
    fn earliest(&self, at: usize) -> u32 {
        let unit = self.units[usize::from(self.timings[at].unit)];
        self.now.max(self.operands[at]).max(unit)
    }

    /// True if an instruction keeps to the bounds, or takes no room of what is beyond them.
    fn fits(&self, at: usize) -> bool {
        let room = self.bounds.room.max(self.in_use.room);
        at - self.first <= self.bounds.ahead && self.in_use.with(at).fits(room)
    }

    /// Place in `ready` of the next instruction; time advances to its issue. It is the first that
    /// can issue earliest within the bounds; where none keeps to them, the first of the text. Only
    /// the first [`WINDOW`] are candidates.
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
        let pressing = |place: &usize| self.ready[*place];
        let chosen = earliest.map(|(_, place)| place);
        let chosen = chosen.or_else(|| (0..self.ready.len().min(WINDOW)).min_by_key(pressing))?;
        self.now = self.earliest(self.ready[chosen]);
        Some(chosen)
    }

    fn issue(&mut self, place: usize) {
        let at = self.ready.remove(place);
        self.order.push(at);
        self.issued[at] = true;
        while self.issued.get(self.first) == Some(&true) {
            self.first += 1;
        }
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
