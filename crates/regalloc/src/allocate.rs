//! The allocator's rounds: analyse, merge copies, divide the budget, colour; spill what got no
//! colour; again, until everything has a register (Chaitin, 1981; Briggs, 1992).

use crate::body::{Body, Inst, Item, Purpose, Var};
use crate::class::{Class, PerClass, Typing};
use crate::flow::{Flow, MAX_VARS};
use crate::graph::{Graph, build, coalesce};
use crate::layout::{Extent, lay_out};
use crate::plan::{Plan, Shortage, divide};
use crate::remake::{Recipe, recipes};
use crate::spill::{Place, Stack, costs, spill};
use crate::tidy::tidy;
use warploom_diag::nearest;
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::Function;

/// What one function is to be allocated with.
#[derive(Clone)]
pub(crate) struct Task<'a> {
    pub function: &'a Function,
    /// 32-bit registers that there are; `None` for as many as it wants.
    pub budget: Option<u32>,
    pub typing: Typing,
    pub loop_weight: u32,
    pub stack: Stack,
    /// Registers that are kept in memory from the start, and where.
    pub kept: Vec<(String, Place)>,
}

/// A function with a register for every variable.
pub(crate) struct Outcome {
    pub body: Body,
    /// Register of every variable, in its class.
    pub colours: Vec<u32>,
    /// Registers in use.
    pub used: PerClass<u32>,
    pub extent: Extent,
    pub stack: Stack,
    /// 32-bit registers that would spare all spills.
    pub wanted: u32,
    /// Highest demand at any place of the program as it came, in 32-bit registers.
    pub pressure: u32,
    /// Variables that were spilled, in order.
    pub spilled: Vec<Spill>,
    /// Loops around each instruction (prologue first).
    pub depth: Vec<u32>,
    /// Times around.
    pub rounds: u32,
}

/// A variable that got no register.
pub(crate) struct Spill {
    pub var: Var,
    /// It is made again wherever it is used.
    pub remade: bool,
    /// What was expected of it, and of how many others it stood in the way.
    pub cost: u64,
    pub neighbours: u32,
}

/// Why a function cannot be allocated.
pub(crate) enum Failure {
    /// The budget is too small.
    Registers,
    /// More variables than the analyses can number.
    Size,
    /// A register that is to be kept in memory is none of the kernel's.
    NoRegister {
        /// Its name.
        wanted: String,
        /// The nearest name.
        near: Option<String>,
    },
    /// The text itself.
    Program(warploom_diag::Diagnostics),
}

/// Allocates one function.
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
        rounds.keep(&mut body, at, *place);
    }
    rounds.run(body)
}

struct Rounds {
    params: Vec<String>,
    loop_weight: u32,
    budget: Option<u32>,
    stack: Stack,
    spilled: Vec<Spill>,
    wanted: Option<u32>,
    pressure: Option<u32>,
    /// Registers of each class in the round before.
    registers: Option<PerClass<u32>>,
    count: u32,
}

/// What is known at the start of a round.
struct Analysis {
    flow: Flow,
    graphs: Vec<Graph>,
    recipes: Vec<Option<Recipe>>,
    costs: Vec<u64>,
}

impl Rounds {
    fn run(&mut self, mut body: Body) -> Result<Outcome, Failure> {
        loop {
            self.count += 1;
            let (analysis, plan) = self.settle(&mut body)?;
            let victims = victims(&analysis.graphs, &plan);
            if victims.is_empty() {
                return Ok(self.finish(body, &analysis, &plan));
            }
            self.note(&analysis, &victims);
            let (stack, entry) = (&mut self.stack, analysis.flow.at_entry());
            spill(&mut body, stack, &victims, &analysis.recipes, entry);
        }
    }

    /// Spills one register of the input.
    fn keep(&mut self, body: &mut Body, at: usize, place: Place) {
        let mut analysis = self.analyse(body);
        analysis.recipes.fill(None);
        let victims = [Var::new(at)];
        self.note(&analysis, &victims);
        let mut places = PerClass::default();
        for class in Class::ALL {
            places[class] = place;
        }
        let before = std::mem::replace(&mut self.stack.places, places);
        let entry = analysis.flow.at_entry();
        spill(body, &mut self.stack, &victims, &analysis.recipes, entry);
        self.stack.places = before;
    }

    /// Merges copies as long as that is safe, and divides the budget.
    fn settle(&mut self, body: &mut Body) -> Result<(Analysis, Plan), Failure> {
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

    /// About how many registers each class will have: as many as in the round before; at first its
    /// share of the budget, by demand.
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

    fn note(&mut self, analysis: &Analysis, victims: &[Var]) {
        for &var in victims {
            let of_class = |graph: &Graph| {
                let node = graph.vars.iter().position(|other| *other == var)?;
                Some(graph.degree(node))
            };
            self.spilled.push(Spill {
                var,
                remade: analysis.recipes[var.index()].is_some(),
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
        tidy(&mut body, |var| (classes[var], colours[var]));
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

/// Variables without a register, in order.
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

/// Gives the two sides of a copy one variable where that is safe; true if any were merged.
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

/// Accesses of the spill stack by sub-stack, and whether they are in shared memory.
pub(crate) fn slot_of(inst: &Inst, body: &Body) -> Option<(Class, Place, bool)> {
    let (slot, load) = match inst.purpose {
        Purpose::Load(slot) => (slot, true),
        Purpose::Store(slot) => (slot, false),
        _ => return None,
    };
    let info = &body.slots[slot.index()];
    Some((info.stack, info.place, load))
}

/// Fewer registers than this are not enough for the operands of some instruction.
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
