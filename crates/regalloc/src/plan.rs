//! Division of the register budget among the register files.
//!
//! Variables of different files do not interfere with one another, so each file is coloured
//! separately, but the files share the budget. While they together need more than the budget, the
//! file whose loss of registers costs least per freed 32-bit register gives up some. The steps are
//! large at first and end with single registers. If the classes share one file, it receives the
//! whole budget.

use crate::allocate::{Method, Task};
use crate::class::Typing;
use crate::graph::{Colouring, Graph, NEVER, colour};

/// The number of registers of each file, and the resulting colourings.
pub(crate) struct Plan {
    pub registers: Vec<u32>,
    /// The number of 32-bit registers that would require no spills.
    pub wanted: u32,
    pub colourings: Vec<Colouring>,
}

/// The error that no division of the budget yields a valid colouring.
pub(crate) struct Shortage;

impl Plan {
    /// Returns the number of 32-bit registers that the files contain together.
    fn units(&self, typing: Typing) -> u32 {
        let files = self.registers.iter().enumerate();
        files.map(|(file, count)| count * typing.units(file)).sum()
    }

    /// Returns the number of 32-bit registers in use.
    pub fn used(&self, graphs: &[Graph], typing: Typing) -> u32 {
        let files = self.colourings.iter().zip(graphs).enumerate();
        files
            .map(|(file, (colouring, graph))| colouring.used(graph) * typing.units(file))
            .sum()
    }
}

/// Divides the budget of the task among the files. Without a budget every file receives enough
/// registers to avoid spills.
pub(crate) fn divide(graphs: &[Graph], costs: &[u64], task: &Task) -> Result<Plan, Shortage> {
    let (typing, budget) = (task.typing, task.budget);
    let costs: Vec<Vec<u64>> = graphs
        .iter()
        .map(|graph| node_costs(graph, costs))
        .collect();
    let mut plan = Plan {
        registers: Vec::with_capacity(graphs.len()),
        wanted: 0,
        colourings: Vec::with_capacity(graphs.len()),
    };
    for (graph, costs) in graphs.iter().zip(&costs) {
        let colouring = without_spills(graph, costs);
        plan.registers.push(colouring.used(graph));
        plan.colourings.push(colouring);
    }
    plan.wanted = plan.units(typing);
    match (budget, typing) {
        (None, _) => Ok(plan),
        (Some(budget), _) if plan.wanted <= budget => Ok(plan),
        (Some(budget), Typing::Bits) => {
            plan.registers[SHARED] = budget;
            // Values are spilled first where more are in use than the budget, except by this
            // method.
            let plain = task.method == Method::ChaitinBriggs;
            if plain || graphs[SHARED].pressure <= budget {
                plan.colourings[SHARED] = colour(&graphs[SHARED], &costs[SHARED], budget);
            }
            Ok(plan)
        }
        (Some(budget), Typing::Kinds) => shrink(graphs, &costs, typing, budget, plan),
    }
}

/// The file of [`Typing::Bits`] that all classes except predicates share.
const SHARED: usize = 1;

/// Takes registers from files until they are within the budget.
fn shrink(
    graphs: &[Graph],
    costs: &[Vec<u64>],
    typing: Typing,
    budget: u32,
    mut plan: Plan,
) -> Result<Plan, Shortage> {
    let mut offers: Vec<Option<Offer>> = graphs.iter().map(|_| None).collect();
    while plan.units(typing) > budget {
        let excess = plan.units(typing) - budget;
        let mut best: Option<(f64, usize)> = None;
        for file in shrinkable(&plan, typing) {
            let units = typing.units(file);
            let step = (excess / units / STEPS).clamp(1, plan.registers[file]);
            let stale = |offer: &Offer| offer.fewer != step;
            if offers[file].as_ref().is_none_or(stale) {
                let registers = plan.registers[file] - step;
                offers[file] = Some(Offer {
                    fewer: step,
                    colouring: colour(&graphs[file], &costs[file], registers),
                });
            }
            let Some(offer) = offers[file].as_ref().filter(|o| o.colouring.cost < NEVER) else {
                continue;
            };
            let before = plan.colourings[file].cost;
            let more = offer.colouring.cost.saturating_sub(before);
            let price = more as f64 / f64::from((units * step).min(excess));
            if best.is_none_or(|(lowest, _)| price < lowest) {
                best = Some((price, file));
            }
        }
        let offer = best.and_then(|(_, file)| Some((file, offers[file].take()?)));
        match offer {
            Some((file, offer)) => {
                plan.registers[file] -= offer.fewer;
                plan.colourings[file] = offer.colouring;
            }
            // No file can give up a step of this size, and the step size depends on the excess
            // alone.
            None => return one_by_one(graphs, costs, typing, budget, plan),
        }
    }
    Ok(plan)
}

/// Returns the files that count and have registers.
fn shrinkable(plan: &Plan, typing: Typing) -> Vec<usize> {
    let files = 0..plan.registers.len();
    files
        .filter(|file| typing.units(*file) > 0 && plan.registers[*file] > 0)
        .collect()
}

/// The divisor of the excess that gives the size of one step.
const STEPS: u32 = 6;

/// A possible reduction of a file, with the resulting colouring.
struct Offer {
    fewer: u32,
    colouring: Colouring,
}

/// Removes single registers from the files, each time from the file with the cheapest resulting
/// colouring.
fn one_by_one(
    graphs: &[Graph],
    costs: &[Vec<u64>],
    typing: Typing,
    budget: u32,
    mut plan: Plan,
) -> Result<Plan, Shortage> {
    while plan.units(typing) > budget {
        let mut best: Option<(u64, usize, Colouring)> = None;
        for file in shrinkable(&plan, typing) {
            let registers = plan.registers[file] - 1;
            let colouring = colour(&graphs[file], &costs[file], registers);
            let lowest = best.as_ref().map_or(NEVER, |(cost, ..)| *cost);
            if colouring.cost < lowest {
                best = Some((colouring.cost, file, colouring));
            }
        }
        let Some((_, file, colouring)) = best else {
            return Err(Shortage);
        };
        plan.registers[file] -= 1;
        plan.colourings[file] = colouring;
    }
    Ok(plan)
}

fn node_costs(graph: &Graph, costs: &[u64]) -> Vec<u64> {
    graph.vars.iter().map(|var| costs[var.index()]).collect()
}

/// Returns the colouring with the fewest registers that requires no spills.
fn without_spills(graph: &Graph, costs: &[u64]) -> Colouring {
    let mut registers = graph.pressure;
    loop {
        let colouring = colour(graph, costs, registers);
        if colouring.failed.is_empty() {
            return colouring;
        }
        registers += 1;
    }
}
