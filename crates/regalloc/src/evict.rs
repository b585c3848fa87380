//! Choice of the gaps in which values rest in memory, so that at no stage more registers are needed
//! than there are.
//!
//! Each step evicts the gap with the lowest cost per register that it frees at overfull stages. The
//! cost is the number of instructions that it adds, weighted by loop depth. Gaps that other
//! evictions made superfluous return to registers at the end.

use crate::body::{Body, Var};
use crate::flow::Flow;
use crate::gaps::{Gaps, Kind, Site};
use crate::rematerialize::Recipes;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The cost of one access to the spill stack, relative to an instruction that recomputes a value.
pub(crate) const ACCESS_COST: u64 = 4;

/// The way in which a value returns to a register after a gap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Return {
    /// A load from the spill stack.
    Load,
    /// Instructions that recompute it.
    Recompute,
}

/// The instructions after which a value is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Stores {
    /// No instruction, because the value is never loaded.
    #[default]
    None,
    /// No instruction, because the value is in its slot already.
    Done,
    /// Every instruction that writes it.
    Writes,
    /// The touches where an evicted gap begins.
    Gaps,
}

/// The choice of gaps and of their stores.
pub(crate) struct Eviction {
    /// The evicted gaps, each with the way in which the value returns.
    pub gaps: Vec<Option<Return>>,
    /// The stores of each variable with evicted gaps.
    pub stores: FxHashMap<Var, Stores>,
    /// The cost of the evictions of each variable.
    pub costs: FxHashMap<Var, u64>,
}

impl Eviction {
    /// Returns whether a variable is loaded anywhere.
    pub fn loads(&self, gaps: &Gaps, var: Var) -> bool {
        let mut both = gaps.gaps.iter().zip(&self.gaps);
        both.any(|(gap, how)| gap.var == Some(var) && *how == Some(Return::Load))
    }
}

/// The facts about a body from which gaps are chosen.
pub(crate) struct Facts<'a> {
    /// The number of registers that each variable takes.
    pub sizes: &'a [u32],
    /// The variables whose value is in a slot of the spill stack already.
    pub stored: &'a FixedBitSet,
    pub gaps: &'a Gaps,
    pub recipes: &'a Recipes,
    pub live_before: &'a [FixedBitSet],
    /// The weight of each instruction by loop depth.
    pub weights: &'a [u64],
}

/// The error that the registers are too few for some instruction.
pub(crate) struct Stuck;

impl Facts<'_> {
    pub(crate) fn weight(&self, site: Site) -> u64 {
        self.weights[site.inst().min(self.weights.len() - 1)]
    }

    /// Returns the number of instructions that recompute a variable at a place.
    fn length(&self, var: Var, site: Site) -> Option<u64> {
        self.recipes
            .length(var, &self.live_before[site.point()])
            .map(u64::from)
    }

    /// Returns the cost of all stores after the writes of a variable.
    fn writes(&self, touches: &[usize]) -> u64 {
        let writes = touches.iter().map(|touch| &self.gaps.touches[*touch]);
        let writes = writes.filter(|touch| touch.kind.writes() || touch.kind == Kind::Entry);
        writes
            .map(|touch| ACCESS_COST * self.weight(touch.site))
            .sum()
    }
}

/// Returns the weight of each instruction: `loop_weight` to the power of its loop depth.
pub(crate) fn weights(flow: &Flow, loop_weight: u32) -> Vec<u64> {
    let weight = |depth: &u32| u64::from(loop_weight).saturating_pow(*depth).min(1 << 40);
    flow.depth.iter().map(weight).collect()
}

/// Returns the variables that are live before each instruction.
pub(crate) fn live_before(body: &Body, live_after: &[FixedBitSet]) -> Vec<FixedBitSet> {
    let mut before = live_after.to_vec();
    for (at, inst) in body.insts().enumerate() {
        if inst.ast.guard.is_none() {
            inst.writes()
                .for_each(|var| before[at].set(var.index(), false));
        }
        inst.reads().for_each(|var| before[at].insert(var.index()));
    }
    before
}

/// Returns the number of registers of a file that are in use at each stage.
pub(crate) fn pressures(
    body: &Body,
    file: usize,
    live_before: &[FixedBitSet],
    live_after: &[FixedBitSet],
) -> Vec<u32> {
    let size = |var: usize| {
        let class = body.vars[var].class;
        match body.typing.file(class) == file {
            true => body.typing.size(class),
            false => 0,
        }
    };
    let sizes: Vec<u32> = (0..body.vars.len()).map(size).collect();
    let of = |set: &FixedBitSet| -> u32 {
        let vars = set.ones().take_while(|var| *var < sizes.len());
        vars.map(|var| sizes[var]).sum()
    };
    let mut pressures = Vec::with_capacity(2 * live_after.len());
    for (at, inst) in body.insts().enumerate() {
        pressures.push(of(&live_before[at]));
        let mut dead: Vec<Var> = inst.writes().collect();
        dead.retain(|var| !live_after[at].contains(var.index()));
        let dead = dead.iter().map(|var| sizes[var.index()]).sum::<u32>();
        pressures.push(of(&live_after[at]) + dead);
    }
    pressures
}

/// Chooses gaps until every stage needs at most `limit` registers.
pub(crate) fn evict(facts: &Facts, pressures: Vec<u32>, limit: u32) -> Result<Eviction, Stuck> {
    let mut chooser = Chooser::new(facts, pressures, limit);
    chooser.run()?;
    chooser.restore();
    Ok(chooser.eviction)
}

/// Evicts all gaps of some variables.
pub(crate) fn evict_all(facts: &Facts, vars: &[Var]) -> Eviction {
    let mut chooser = Chooser::new(facts, Vec::new(), 0);
    for gap in 0..facts.gaps.gaps.len() {
        let info = &facts.gaps.gaps[gap];
        if !info.fixed && info.var.is_some_and(|var| vars.contains(&var)) {
            chooser.take(gap);
        }
    }
    chooser.eviction
}

/// A gap with its cost per freed register at the time at which it was offered.
#[derive(Clone, Copy, Debug)]
struct Offer {
    price: f64,
    gap: usize,
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_price = self.price.total_cmp(&other.price);
        by_price.then(self.gap.cmp(&other.gap))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Offer {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Offer {}

/// The choice in progress.
struct Chooser<'a> {
    facts: &'a Facts<'a>,
    pressures: Vec<u32>,
    limit: u32,
    eviction: Eviction,
    /// The touches of each variable.
    touches: FxHashMap<Var, Vec<usize>>,
    /// The gaps of each variable.
    gaps_of: FxHashMap<Var, Vec<usize>>,
}

impl<'a> Chooser<'a> {
    fn new(facts: &'a Facts<'a>, pressures: Vec<u32>, limit: u32) -> Self {
        let mut touches: FxHashMap<Var, Vec<usize>> = FxHashMap::default();
        for (number, touch) in facts.gaps.touches.iter().enumerate() {
            touches.entry(touch.var).or_default().push(number);
        }
        let mut gaps_of: FxHashMap<Var, Vec<usize>> = FxHashMap::default();
        for (number, gap) in facts.gaps.gaps.iter().enumerate() {
            if let Some(var) = gap.var {
                gaps_of.entry(var).or_default().push(number);
            }
        }
        Self {
            facts,
            pressures,
            limit,
            eviction: Eviction {
                gaps: vec![None; facts.gaps.gaps.len()],
                stores: FxHashMap::default(),
                costs: FxHashMap::default(),
            },
            touches,
            gaps_of,
        }
    }

    fn run(&mut self) -> Result<(), Stuck> {
        let mut heap: BinaryHeap<Reverse<Offer>> = BinaryHeap::new();
        let all = 0..self.facts.gaps.gaps.len();
        heap.extend(all.filter_map(|gap| self.offer(gap)).map(Reverse));
        while self.pressures.iter().any(|pressure| *pressure > self.limit) {
            let Reverse(cheapest) = heap.pop().ok_or(Stuck)?;
            let Some(now) = self.offer(cheapest.gap) else {
                continue;
            };
            if now.price > cheapest.price {
                heap.push(Reverse(now));
                continue;
            }
            self.take(now.gap);
            // The other gaps of the variable may have become cheaper.
            let var = self.facts.gaps.gaps[now.gap].var;
            let others = var
                .and_then(|var| self.gaps_of.get(&var))
                .into_iter()
                .flatten();
            heap.extend(others.filter_map(|gap| self.offer(*gap)).map(Reverse));
        }
        Ok(())
    }

    /// Returns the offer of a gap that frees registers at overfull stages.
    fn offer(&self, gap: usize) -> Option<Offer> {
        let var = self.facts.gaps.gaps[gap].var?;
        if self.eviction.gaps[gap].is_some() || self.facts.gaps.gaps[gap].fixed {
            return None;
        }
        let size = self.size(var);
        let stages = self.facts.gaps.gaps[gap].stages.iter().cloned().flatten();
        let excess = |stage: usize| self.pressures[stage].saturating_sub(self.limit).min(size);
        let freed: u32 = stages.map(excess).sum();
        let (cost, ..) = self.cost(gap, var);
        (freed > 0).then(|| Offer {
            price: cost as f64 / f64::from(freed),
            gap,
        })
    }

    fn size(&self, var: Var) -> u32 {
        self.facts.sizes[var.index()]
    }

    /// Returns the cost of an eviction, the way in which the value returns, and its stores.
    fn cost(&self, gap: usize, var: Var) -> (u64, Return, Stores) {
        let (stores, store_cost) = self.store_cost(gap, var);
        let load = self.return_cost(gap, |_| Some(ACCESS_COST)).unwrap_or(0) + store_cost;
        let recompute = self.return_cost(gap, |site| self.facts.length(var, site));
        match recompute.filter(|cost| *cost <= load) {
            Some(cost) => (cost, Return::Recompute, Stores::None),
            None => (load, Return::Load, stores),
        }
    }

    /// Returns the cost of the returns to registers at the ends of a gap. Where the gap before it
    /// is evicted too, a return is no longer needed at its beginning.
    fn return_cost(&self, gap: usize, each: impl Fn(Site) -> Option<u64>) -> Option<u64> {
        let facts = self.facts;
        let is_evicted =
            |gap: Option<usize>| gap.is_some_and(|gap| self.eviction.gaps[gap].is_some());
        let mut cost: u64 = 0;
        for &end in &facts.gaps.gaps[gap].ends {
            let touch = &facts.gaps.touches[end];
            let idle = touch.kind == Kind::Boundary && is_evicted(touch.after);
            let one = each(touch.site)?.saturating_mul(facts.weight(touch.site));
            if touch.kind != Kind::Write && !idle {
                cost += one;
            }
        }
        for &start in &facts.gaps.gaps[gap].starts {
            let touch = &facts.gaps.touches[start];
            if touch.kind == Kind::Boundary && is_evicted(touch.before) {
                let saved = each(touch.site).unwrap_or(0) * facts.weight(touch.site);
                cost = cost.saturating_sub(saved);
            }
        }
        Some(cost)
    }

    /// Returns the stores that an eviction with loads requires, and the cost of further ones.
    fn store_cost(&self, gap: usize, var: Var) -> (Stores, u64) {
        let facts = self.facts;
        if facts.stored.contains(var.index()) {
            return (Stores::Done, 0);
        }
        let starts = facts.gaps.gaps[gap].starts.iter();
        let starts = starts.map(|touch| facts.weight(facts.gaps.touches[*touch].site));
        let starts = starts.map(|weight| ACCESS_COST * weight).sum();
        match self.eviction.stores.get(&var) {
            Some(Stores::Writes) => (Stores::Writes, 0),
            Some(Stores::Gaps) => (Stores::Gaps, starts),
            _ => {
                let writes = facts.writes(&self.touches[&var]);
                match writes <= starts {
                    true => (Stores::Writes, writes),
                    false => (Stores::Gaps, starts),
                }
            }
        }
    }

    /// Evicts a gap and records its cost.
    fn take(&mut self, gap: usize) {
        let Some(var) = self.facts.gaps.gaps[gap].var else {
            return;
        };
        let (cost, how, stores) = self.cost(gap, var);
        self.eviction.gaps[gap] = Some(how);
        let old = self.eviction.stores.entry(var).or_default();
        if how == Return::Load && *old == Stores::None {
            *old = stores;
        }
        let total = self.eviction.costs.entry(var).or_default();
        *total = total.saturating_add(cost);
        self.add(gap, var, false);
    }

    /// Counts a gap's variable at its stages again, or no longer.
    fn add(&mut self, gap: usize, var: Var, more: bool) {
        let size = self.size(var);
        for stage in self.facts.gaps.gaps[gap].stages.iter().cloned().flatten() {
            if let Some(pressure) = self.pressures.get_mut(stage) {
                match more {
                    true => *pressure += size,
                    false => *pressure -= size,
                }
            }
        }
    }

    /// Returns gaps to registers where there is space for them, the most expensive first.
    fn restore(&mut self) {
        let gaps = &self.facts.gaps.gaps;
        let mut taken: Vec<(Reverse<u64>, usize, Var)> = Vec::new();
        for (gap, info) in gaps.iter().enumerate() {
            if let (Some(_), Some(var)) = (self.eviction.gaps[gap], info.var) {
                let cost = self.return_cost(gap, |_| Some(ACCESS_COST));
                taken.push((Reverse(cost.unwrap_or(0)), gap, var));
            }
        }
        taken.sort_unstable();
        for (_, gap, var) in taken {
            let room = self.limit.saturating_sub(self.size(var));
            let mut stages = gaps[gap].stages.iter().cloned().flatten();
            let fits = stages.all(|stage| self.pressures[stage] <= room);
            let how = self.eviction.gaps[gap].take();
            let saves = self
                .return_cost(gap, |_| Some(1))
                .is_some_and(|cost| cost > 0);
            if fits && saves {
                self.add(gap, var, true);
            } else {
                self.eviction.gaps[gap] = how;
            }
        }
    }
}
