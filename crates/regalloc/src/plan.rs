//! Division of the register budget among the register classes.
//!
//! Classes do not interfere with one another, so each is coloured separately, but they share the
//! budget. While the classes together need more than the budget, the class whose loss of registers
//! costs least per freed 32-bit register gives up some. The steps are large at first and end with
//! single registers.

use crate::class::{Class, PerClass};
use crate::graph::{Colouring, Graph, NEVER, colour};

/// The number of registers of each class, and the resulting colourings.
pub(crate) struct Plan {
    pub registers: PerClass<u32>,
    /// The number of 32-bit registers that would require no spills.
    pub wanted: u32,
    pub colourings: Vec<Colouring>,
}

/// The error that no division of the budget yields a valid colouring.
pub(crate) struct Shortage;

/// Divides `budget` 32-bit registers among the classes. Without a budget every class receives
/// enough registers to avoid spills.
pub(crate) fn divide(
    graphs: &[Graph],
    costs: &[u64],
    budget: Option<u32>,
) -> Result<Plan, Shortage> {
    let costs: Vec<Vec<u64>> = graphs
        .iter()
        .map(|graph| node_costs(graph, costs))
        .collect();
    let mut plan = Plan {
        registers: PerClass::default(),
        wanted: 0,
        colourings: Vec::with_capacity(graphs.len()),
    };
    for class in Class::ALL {
        let index = class.index();
        let colouring = without_spills(&graphs[index], &costs[index]);
        plan.registers[class] = colouring.used();
        plan.colourings.push(colouring);
    }
    plan.wanted = plan.registers.units();
    let Some(budget) = budget else {
        return Ok(plan);
    };
    let mut offers: Vec<Option<Offer>> = graphs.iter().map(|_| None).collect();
    while plan.registers.units() > budget {
        let excess = plan.registers.units() - budget;
        let mut best: Option<(f64, Class)> = None;
        for class in Class::ALL
            .into_iter()
            .filter(|c| c.units() > 0 && plan.registers[*c] > 0)
        {
            let index = class.index();
            let step = (excess / class.units() / STEPS).clamp(1, plan.registers[class]);
            let stale = |offer: &Offer| offer.fewer != step;
            if offers[index].as_ref().is_none_or(stale) {
                let registers = plan.registers[class] - step;
                offers[index] = Some(Offer {
                    fewer: step,
                    colouring: colour(&graphs[index], &costs[index], registers),
                });
            }
            let Some(offer) = offers[index].as_ref().filter(|o| o.colouring.cost < NEVER) else {
                continue;
            };
            let more = offer
                .colouring
                .cost
                .saturating_sub(plan.colourings[index].cost);
            let freed = (class.units() * step).min(excess);
            let price = more as f64 / f64::from(freed);
            if best.is_none_or(|(lowest, _)| price < lowest) {
                best = Some((price, class));
            }
        }
        let offer = best.and_then(|(_, class)| Some((class, offers[class.index()].take()?)));
        match offer {
            Some((class, offer)) => {
                plan.registers[class] -= offer.fewer;
                plan.colourings[class.index()] = offer.colouring;
            }
            // No class can give up a step of this size, and the step size depends on the excess
            // alone.
            None => return one_by_one(graphs, &costs, budget, plan),
        }
    }
    Ok(plan)
}

/// The divisor of the excess that gives the size of one step.
const STEPS: u32 = 6;

/// A possible reduction of a class, with the resulting colouring.
struct Offer {
    fewer: u32,
    colouring: Colouring,
}

/// Removes single registers from the classes, each time from the class with the cheapest resulting
/// colouring.
fn one_by_one(
    graphs: &[Graph],
    costs: &[Vec<u64>],
    budget: u32,
    mut plan: Plan,
) -> Result<Plan, Shortage> {
    while plan.registers.units() > budget {
        let mut best: Option<(u64, Class, Colouring)> = None;
        for class in Class::ALL
            .into_iter()
            .filter(|c| c.units() > 0 && plan.registers[*c] > 0)
        {
            let index = class.index();
            let registers = plan.registers[class] - 1;
            let colouring = colour(&graphs[index], &costs[index], registers);
            let lowest = best.as_ref().map_or(NEVER, |(cost, ..)| *cost);
            if colouring.cost < lowest {
                best = Some((colouring.cost, class, colouring));
            }
        }
        let Some((_, class, colouring)) = best else {
            return Err(Shortage);
        };
        plan.registers[class] -= 1;
        plan.colourings[class.index()] = colouring;
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
