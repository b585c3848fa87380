//! Barriers of a block in the reference.

use crate::diverged::block::Block;
use crate::diverged::clocks::Clock;
use crate::diverged::code::{Bar, BarKind};
use crate::diverged::lane::{Lane, State};

/// Number of threads for which a warp counts at a barrier, however many are left.
const WARP: usize = 32;

/// Arrivals at a barrier since it last opened.
#[derive(Clone, Debug, Default)]
pub struct Barrier {
    /// Warps in the order of their arrival.
    warps: Vec<usize>,
    /// Knowledge of threads that arrived without waiting.
    clocks: Vec<Clock>,
    /// Number of threads that the first arrival specified.
    threads: Option<u32>,
}

impl Block<'_> {
    /// Lets a warp arrive at a barrier once all of its lanes that have not exited are there.
    pub fn arrive(&mut self, warp: usize) -> bool {
        let left = self
            .of_warp(warp)
            .filter(|&lane| !self.lanes[lane].is_exited());
        let left: Vec<usize> = left.collect();
        let at = |&lane: &usize| match self.lanes[lane].state {
            State::Gathers(bar) => Some((bar.kind, bar.number, bar.threads)),
            _ => None,
        };
        let Some(first) = left.first().and_then(at) else {
            return false;
        };
        if left.iter().any(|lane| at(lane) != Some(first)) {
            return false;
        }
        let (kind, number, threads) = first;
        let barrier = &mut self.barriers[usize::from(number)];
        if barrier.warps.is_empty() {
            barrier.threads = threads;
        }
        barrier.warps.push(warp);
        for lane in left {
            self.wait(lane, kind);
        }
        true
    }

    /// Makes a lane whose warp arrives wait, unless it only arrives.
    fn wait(&mut self, lane: usize, kind: BarKind) {
        let State::Gathers(bar) = self.lanes[lane].state else {
            return;
        };
        self.lanes[lane].state = State::Arrived(bar);
        if kind == BarKind::Arrive {
            let clock = self.lanes[lane].clock.clone();
            self.barriers[usize::from(bar.number)].clocks.push(clock);
            self.pass(lane);
        }
    }

    /// Opens a barrier with enough arrivals.
    pub fn open(&mut self, number: usize) -> bool {
        let barrier = &self.barriers[number];
        if barrier.warps.is_empty() {
            return false;
        }
        let is_there = |warp: usize| {
            barrier.warps.contains(&warp) || self.of_warp(warp).all(|l| self.lanes[l].is_exited())
        };
        let is_complete = match barrier.threads {
            Some(threads) => barrier.warps.len() * WARP >= threads as usize,
            None => self.warps().all(is_there),
        };
        if !is_complete {
            return false;
        }
        let barrier = std::mem::take(&mut self.barriers[number]);
        let waiting: Vec<(usize, Bar)> =
            self.lanes.iter().filter_map(|l| waits(l, number)).collect();
        let values: Vec<bool> = waiting
            .iter()
            .map(|&(lane, bar)| self.votes(lane, &bar))
            .collect();
        let known = self.known_behind(&barrier, &waiting);
        for (lane, bar) in waiting {
            self.release(lane, &bar, &values);
            if let Some(known) = &known {
                self.lanes[lane].clock.join(known);
            }
            self.pass(lane);
        }
        true
    }

    /// Knowledge of the threads that continue: of all threads that arrived, and of those of their
    /// warps that exited before (of all warps for a barrier without a number of threads).
    fn known_behind(&self, barrier: &Barrier, waiting: &[(usize, Bar)]) -> Option<Clock> {
        let counts =
            |lane: usize| barrier.threads.is_none() || barrier.warps.contains(&(lane / WARP));
        let gone = (0..self.lanes.len()).filter(|&l| self.lanes[l].is_exited() && counts(l));
        let lanes = gone.chain(waiting.iter().map(|(lane, _)| *lane));
        let clocks = lanes.map(|lane| &self.lanes[lane].clock);
        let mut all = clocks.chain(&barrier.clocks);
        let mut known = all.next()?.clone();
        all.for_each(|clock| known.join(clock));
        Some(known)
    }

    fn votes(&mut self, lane: usize, bar: &Bar) -> bool {
        self.lanes[lane].frame().pred(bar.q)
    }

    fn release(&mut self, lane: usize, bar: &Bar, values: &[bool]) {
        let frame = self.lanes[lane].frame();
        match bar.kind {
            BarKind::Sync | BarKind::Arrive => {}
            BarKind::Popc => frame.set(bar.d, values.iter().filter(|value| **value).count() as u32),
            BarKind::And => frame.set_pred(bar.p, values.iter().all(|value| *value)),
            BarKind::Or => frame.set_pred(bar.p, values.iter().any(|value| *value)),
        }
    }
}

fn waits(lane: &Lane, number: usize) -> Option<(usize, Bar)> {
    match lane.state {
        State::Arrived(bar) if usize::from(bar.number) == number => {
            Some((lane.thread as usize, bar))
        }
        _ => None,
    }
}
