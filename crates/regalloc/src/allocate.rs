//! The rounds of the allocator (Chaitin, 1981; Briggs, 1992). Each round analyses the body, merges
//! copies, divides the budget among classes, colours, and spills the variables that received no
//! colour. The rounds end when every variable has a register.

use crate::body::{Body, Inst, Item, Purpose, Var};
use crate::class::{Class, PerClass, Typing};
use crate::cleanup::remove_redundant;
use crate::flow::{Flow, MAX_VARS};
use crate::graph::{Graph, build, coalesce};
use crate::layout::{Extent, lay_out};
use crate::plan::{Plan, Shortage, divide};
use crate::rematerialize::{Recipe, recipes};
use crate::spill::{Place, Stack, costs, spill};
use warploom_diag::nearest;
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::Function;

/// The input of the allocation of one function.
#[derive(Clone)]
pub(crate) struct Task<'a> {
    pub function: &'a Function,
    /// The available 32-bit registers, or `None` for as many as the function needs to avoid spills.
    pub budget: Option<u32>,
    pub typing: Typing,
    pub loop_weight: u32,
    pub stack: Stack,
    /// The names of the registers that are always spilled, each with the memory that holds it.
    pub kept: Vec<(String, Place)>,
}

/// The allocation of one function, with a register for every variable.
pub(crate) struct Outcome {
    pub body: Body,
    /// The register number of each variable within its class.
    pub colours: Vec<u32>,
    /// The number of registers of each class in use.
    pub used: PerClass<u32>,
    pub extent: Extent,
    pub stack: Stack,
    /// The number of 32-bit registers that would require no spills.
    pub wanted: u32,
    /// The register pressure of the input, in 32-bit registers.
    pub pressure: u32,
    /// The spilled variables, in order of spilling.
    pub spilled: Vec<Spill>,
    /// The loop depth of each instruction, with the prologue first.
    pub depth: Vec<u32>,
    /// The number of rounds.
    pub rounds: u32,
}

/// A variable that received no register.
pub(crate) struct Spill {
    pub var: Var,
    /// Whether the value is recomputed before every use instead of being kept in memory.
    pub rematerialized: bool,
    /// The estimated cost of the spill, weighted by loop depth.
    pub cost: u64,
    /// The number of variables that interfered with the variable when it was spilled.
    pub neighbours: u32,
}

/// The reason for which a function cannot be allocated.
pub(crate) enum Failure {
    /// The budget of registers is too small.
    Registers,
    /// The function has more variables than the analyses can number.
    Size,
    /// A register that should always be spilled does not exist in the kernel.
    NoRegister {
        /// The requested register name.
        wanted: String,
        /// The most similar name of a register of the kernel.
        near: Option<String>,
    },
    /// The program itself has errors.
    Program(warploom_diag::Diagnostics),
}

/// Allocates the registers of one function.
pub(crate) fn allocate(task: &Task, accesses: &Accesses) -> Result<Outcome, Failure> {
    let mut body = Body::new(task.function, task.typing, accesses).map_err(Failure::Program)?;
    let params = task
        .function
        .params
        .iter()
        .map(|p| p.name.node.clone())
        .collect();
    let mut rounds = Rounds {
        params,
        loop_weight: task.loop_weight,
        budget: task.budget,
        stack: task.stack.clone(),
        spilled: Vec::new(),
        wanted: None,
        pressure: None,
        registers: None,
        count: 0,
    };
    for (name, place) in &task.kept {
        let Some(at) = body.vars.iter().position(|var| var.name == *name) else {
            let names = body.vars.iter().map(|var| var.name.as_str());
            return Err(Failure::NoRegister {
                near: nearest(name, names).map(str::to_owned),
                wanted: name.clone(),
            });
        };
        rounds.spill_register(&mut body, at, *place);
    }
    rounds.run(body)
}

/// The state of the allocator across the rounds of one function.
struct Rounds {
    params: Vec<String>,
    loop_weight: u32,
    budget: Option<u32>,
    stack: Stack,
    spilled: Vec<Spill>,
    wanted: Option<u32>,
    pressure: Option<u32>,
    /// The number of registers that each class received in the previous round.
    registers: Option<PerClass<u32>>,
    count: u32,
}

/// The facts that are computed at the start of a round.
struct Analysis {
    flow: Flow,
    graphs: Vec<Graph>,
    recipes: Vec<Option<Recipe>>,
    costs: Vec<u64>,
}

impl Rounds {
    /// Repeats rounds until every variable has a register.
    fn run(&mut self, mut body: Body) -> Result<Outcome, Failure> {
        loop {
            self.count += 1;
            let (analysis, plan) = self.prepare_round(&mut body)?;
            let victims = victims(&analysis.graphs, &plan);
            if victims.is_empty() {
                return Ok(self.finish(body, &analysis, &plan));
            }
            self.record_spills(&analysis, &victims);
            let (stack, entry) = (&mut self.stack, analysis.flow.at_entry());
            spill(&mut body, stack, &victims, &analysis.recipes, entry);
        }
    }

    /// Spills one register of the input to the memory `place`, before the first round.
    fn spill_register(&mut self, body: &mut Body, at: usize, place: Place) {
        let mut analysis = self.analyse(body);
        analysis.recipes.fill(None);
        let victims = [Var::new(at)];
        self.record_spills(&analysis, &victims);
        let mut places = PerClass::default();
        for class in Class::ALL {
            places[class] = place;
        }
        let before = std::mem::replace(&mut self.stack.places, places);
        let entry = analysis.flow.at_entry();
        spill(body, &mut self.stack, &victims, &analysis.recipes, entry);
        self.stack.places = before;
    }

    /// Merges copies where that is safe, and divides the budget among the classes.
    fn prepare_round(&mut self, body: &mut Body) -> Result<(Analysis, Plan), Failure> {
        if body.vars.len() >= MAX_VARS {
            return Err(Failure::Size);
        }
        let mut analysis = self.analyse(body);
        let registers = self.expected(&analysis.graphs);
        if merge_copies(body, &analysis.graphs, &registers) {
            analysis = self.analyse(body);
        }
        let plan = divide(&analysis.graphs, &analysis.costs, self.budget);
        let plan = plan.map_err(|Shortage| Failure::Registers)?;
        self.wanted.get_or_insert(plan.wanted);
        self.registers = Some(plan.registers);
        Ok((analysis, plan))
    }

    /// Estimates how many registers each class will receive. The estimate is the number of the
    /// previous round. In the first round it is the class's share of the budget, in proportion to
    /// its register pressure.
    fn expected(&self, graphs: &[Graph]) -> PerClass<u32> {
        if let Some(registers) = self.registers {
            return registers;
        }
        let mut registers = PerClass::default();
        for class in Class::ALL {
            registers[class] = graphs[class.index()].pressure;
        }
        let all = registers.units();
        if let Some(budget) = self.budget.filter(|budget| *budget < all) {
            for class in Class::ALL.into_iter().filter(|class| class.units() > 0) {
                registers[class] = registers[class] * budget / all;
            }
        }
        registers
    }

    fn analyse(&mut self, body: &Body) -> Analysis {
        let flow = Flow::new(body);
        let (graphs, highest) = build(body, &flow);
        self.pressure.get_or_insert(highest);
        let recipes = recipes(body, &flow, &self.params);
        let costs = costs(body, &flow, &recipes, self.loop_weight);
        Analysis {
            flow,
            graphs,
            recipes,
            costs,
        }
    }

    /// Records the variables that are about to be spilled.
    fn record_spills(&mut self, analysis: &Analysis, victims: &[Var]) {
        for &var in victims {
            let of_class = |graph: &Graph| {
                let node = graph.vars.iter().position(|other| *other == var)?;
                Some(graph.degree(node))
            };
            self.spilled.push(Spill {
                var,
                rematerialized: analysis.recipes[var.index()].is_some(),
                cost: analysis.costs[var.index()],
                neighbours: analysis.graphs.iter().find_map(of_class).unwrap_or(0),
            });
        }
    }

    fn finish(&mut self, mut body: Body, analysis: &Analysis, plan: &Plan) -> Outcome {
        let mut colours = vec![0; body.vars.len()];
        let mut used = PerClass::default();
        for class in Class::ALL {
            let (graph, colouring) = (
                &analysis.graphs[class.index()],
                &plan.colourings[class.index()],
            );
            used[class] = colouring.used();
            for (var, colour) in graph.vars.iter().zip(&colouring.colours) {
                colours[var.index()] = colour.unwrap_or(0);
            }
        }
        let classes: Vec<usize> = body.vars.iter().map(|info| info.class.index()).collect();
        remove_redundant(&mut body, |var| (classes[var], colours[var]));
        let threads = self.stack.block.iter().product();
        let extent = lay_out(&mut body, threads);
        let depth = Flow::new(&body).depth;
        Outcome {
            body,
            colours,
            used,
            extent,
            stack: self.stack.clone(),
            wanted: self.wanted.unwrap_or(0),
            pressure: self.pressure.unwrap_or(0),
            spilled: std::mem::take(&mut self.spilled),
            depth,
            rounds: self.count,
        }
    }
}

/// Returns the variables without a register, in order of their numbers.
fn victims(graphs: &[Graph], plan: &Plan) -> Vec<Var> {
    let mut victims: Vec<Var> = Vec::new();
    for (graph, colouring) in graphs.iter().zip(&plan.colourings) {
        victims.extend(
            colouring
                .failed
                .iter()
                .map(|node| graph.vars[*node as usize]),
        );
    }
    victims.sort_unstable();
    victims
}

/// Merges the two variables of each copy where that is safe. Returns whether any were merged.
fn merge_copies(body: &mut Body, graphs: &[Graph], registers: &PerClass<u32>) -> bool {
    let mut stands_for: Vec<Var> = (0..body.vars.len()).map(Var::new).collect();
    let mut merged = false;
    for class in Class::ALL {
        let graph = &graphs[class.index()];
        if graph.copies.is_empty() {
            continue;
        }
        let nodes = coalesce(graph, registers[class]);
        for (node, &to) in nodes
            .iter()
            .enumerate()
            .filter(|(node, to)| *node != **to as usize)
        {
            stands_for[graph.vars[node].index()] = graph.vars[to as usize];
            merged = true;
        }
    }
    if !merged {
        return false;
    }
    for mention in body.insts_mut().flat_map(|inst| inst.mentions.iter_mut()) {
        mention.var = mention.var.map(|var| stands_for[var.index()]);
    }
    delete_idle_copies(body);
    true
}

/// Deletes copies whose source and destination have become the same variable.
fn delete_idle_copies(body: &mut Body) {
    let vars = &body.vars;
    for item in &mut body.items {
        let Item::Inst(inst) = item else { continue };
        let idle = inst.copy(vars).is_some_and(|(to, from)| to == from);
        if let (true, Purpose::Original(number)) = (idle, inst.purpose) {
            *item = Item::Deleted(number);
        }
    }
}

/// Returns the sub-stack, the memory and the direction (true for a load) of an access to the spill
/// stack. Returns `None` for other instructions.
pub(crate) fn slot_of(inst: &Inst, body: &Body) -> Option<(Class, Place, bool)> {
    let (slot, load) = match inst.purpose {
        Purpose::Load(slot) => (slot, true),
        Purpose::Store(slot) => (slot, false),
        _ => return None,
    };
    let info = &body.slots[slot.index()];
    Some((info.stack, info.place, load))
}

/// Returns a lower bound of the number of 32-bit registers. For each class, the bound contains the
/// largest number of registers that one instruction reads or writes at once.
pub(crate) fn least(body: &Body) -> u32 {
    let mut most = PerClass::<u32>::default();
    for inst in body.insts() {
        for access in [Access::Read, Access::Write] {
            let mut vars: Vec<Var> = inst.vars(access).collect();
            vars.sort_unstable();
            vars.dedup();
            let mut here = PerClass::<u32>::default();
            for var in vars {
                here[body.vars[var.index()].class] += 1;
            }
            for class in Class::ALL {
                most[class] = most[class].max(here[class]);
            }
        }
    }
    most.units()
}
