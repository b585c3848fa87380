//! How many registers each class gets.
//!
//! Classes do not interfere with one another, so each is coloured by itself; what they share is the
//! budget. While the classes together want more than that, the one gives up a register whose loss
//! costs least for every 32-bit register that it frees.

use crate::class::{Class, PerClass};
use crate::graph::{Colouring, Graph, NEVER, colour};

/// Registers of every class, and the colouring with that many.
pub(crate) struct Plan {
    pub registers: PerClass<u32>,
    /// 32-bit registers that would spare all spills.
    pub wanted: u32,
    pub colourings: Vec<Colouring>,
}

/// No division of the budget works.
pub(crate) struct Shortage;

/// Divides `budget` 32-bit registers; without a budget every class gets what it wants.
pub(crate) fn divide(
    graphs: &[Graph],
    costs: &[u64],
    budget: Option<u32>,
) -> Result<Plan, Shortage> {
    let costs: Vec<Vec<u64>> = graphs.iter().map(|graph| node_costs(graph, costs)).collect();
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
    let mut fewer: PerClass<Option<usize>> = PerClass::default();
    let mut tried: Vec<Colouring> = Vec::new();
    while plan.registers.units() > budget {
        let excess = plan.registers.units() - budget;
        let mut best: Option<(u128, Class)> = None;
        for class in Class::ALL.into_iter().filter(|class| class.units() > 0) {
            let (index, now) = (class.index(), plan.registers[class]);
            if now == 0 {
                continue;
            }
            let at = *fewer[class].get_or_insert_with(|| {
                tried.push(colour(&graphs[index], &costs[index], now - 1));
                tried.len() - 1
            });
            let cost = tried[at].cost;
            if cost == NEVER {
                continue;
            }
            let more = cost.saturating_sub(plan.colourings[index].cost);
            // Cost by register freed, of the registers that are wanted; 4 divides evenly.
            let price = u128::from(more) * 4 / u128::from(class.units().min(excess));
            if best.is_none_or(|(lowest, _)| price < lowest) {
                best = Some((price, class));
            }
        }
        let Some((_, class)) = best else {
            return Err(Shortage);
        };
        if let Some(at) = fewer[class].take() {
            plan.colourings[class.index()] = tried[at].clone();
        }
        plan.registers[class] -= 1;
    }
    Ok(plan)
}

fn node_costs(graph: &Graph, costs: &[u64]) -> Vec<u64> {
    graph.vars.iter().map(|var| costs[var.index()]).collect()
}

/// The colouring with the fewest registers that spills nothing.
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
