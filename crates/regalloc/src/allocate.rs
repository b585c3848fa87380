//! The rounds of the allocator (Chaitin, 1981; Briggs, 1992). Each round analyses the body, merges
//! copies, divides the budget among classes, colours, and spills the variables that received no
//! colour. The rounds end when every variable has a register.

use crate::body::{Body, Inst, Item, Purpose, Var, VarInfo};
use crate::class::{Class, PerClass, Typing};
use crate::cleanup::{Register, drop_unused, remove_redundant};
use crate::evict::{
    ACCESS_COST, Eviction, Facts, Stuck, evict, evict_all, live_before, pressures, weights,
};
use crate::flow::{Flow, MAX_VARS};
use crate::gaps::Gaps;
use crate::graph::{Graph, build, coalesce};
use crate::layout::{Extent, lay_out};
use crate::plan::{Plan, Shortage, divide};
use crate::rematerialize::{LONGEST, Recipes};
use crate::rewrite::spill;
use crate::schedule::schedule;
use crate::spill::{Place, Stack, costs, unspillable};
use fixedbitset::FixedBitSet;
use warploom_diag::nearest;
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::{Function, FunctionKind};

/// The rule by which values without a register are chosen and spilled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// Values are spilled for parts of their lives, or recomputed, in program order or in an order
    /// with fewer values in use.
    #[default]
    Full,
    /// The allocator of Chaitin (1981) and Briggs (1992) alone, as section 5.1 of CRAT (Xie et al.,
    /// MICRO 2015) describes it: the order is the program's, and a variable that receives no
    /// register is stored after every definition and loaded before every use.
    ChaitinBriggs,
}

/// The input of the allocation of one function.
#[derive(Clone)]
pub(crate) struct Task<'a> {
    pub function: &'a Function,
    /// The available 32-bit registers, or `None` for as many as the function needs to avoid spills.
    pub budget: Option<u32>,
    pub method: Method,
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
    /// The number of registers that each class declares.
    pub used: PerClass<u32>,
    /// The number of 32-bit registers in use.
    pub registers: u32,
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

/// Allocates the registers of one function, in program order or, if that needs more registers or
/// more spill code, scheduled for fewer values in use.
pub(crate) fn allocate(task: &Task, accesses: &Accesses) -> Result<Outcome, Failure> {
    let body = Body::new(task.function, task.typing, accesses).map_err(Failure::Program)?;
    let program = in_order(task, &body);
    let unspilled = |outcome: &Outcome| task.budget.is_some() && outcome.spilled.is_empty();
    if task.method == Method::ChaitinBriggs || program.as_ref().is_ok_and(unspilled) {
        return program;
    }
    let mut scheduled = body;
    if !schedule(&mut scheduled, task.budget.unwrap_or(0)) {
        return program;
    }
    match (program, in_order(task, &scheduled)) {
        (Ok(program), Ok(scheduled)) => {
            let better = scheduled.effort(task) < program.effort(task);
            Ok(if better { scheduled } else { program })
        }
        (Err(Failure::Registers), scheduled) => scheduled,
        (program, _) => program,
    }
}

/// Allocates the registers of one function without changing the order of its instructions.
///
/// Recomputing a value may need more registers than loading it. Where the registers are too few,
/// fewer values are recomputed.
fn in_order(task: &Task, body: &Body) -> Result<Outcome, Failure> {
    let attempt = |longest| {
        let mut body = body.clone();
        let mut rounds = Rounds::new(task, longest);
        rounds.spill_kept(&mut body)?;
        rounds.run(body)
    };
    let mut outcome = Err(Failure::Registers);
    for longest in task.method.recomputed() {
        if matches!(outcome, Err(Failure::Registers)) {
            outcome = attempt(*longest);
        }
    }
    match (outcome, task.budget) {
        // An allocation within a smaller budget is within this one, too.
        (Err(Failure::Registers), Some(budget)) if budget > least(body) => {
            let less = Task {
                budget: Some(budget - 1),
                ..task.clone()
            };
            in_order(&less, body)
        }
        (outcome, _) => outcome,
    }
}

impl Method {
    /// Returns the limits of instructions that recompute a value, in the order in which they are
    /// tried.
    const fn recomputed(self) -> &'static [u32] {
        match self {
            Self::Full => &[LONGEST, 1, 0],
            Self::ChaitinBriggs => &[0],
        }
    }
}

impl Outcome {
    /// Returns what is to be minimized: the registers without a budget, and the spill code within
    /// one.
    fn effort(&self, task: &Task) -> u64 {
        if task.budget.is_none() {
            return self.registers.into();
        }
        let weight = |depth: &u32| u64::from(task.loop_weight).saturating_pow(*depth);
        let insts = self.body.insts().zip(&self.depth);
        let costs = insts.map(|(inst, depth)| {
            let each = match inst.purpose {
                Purpose::Original(_) => 0,
                Purpose::Load(_) | Purpose::Store(_) => ACCESS_COST,
                Purpose::Rematerialize | Purpose::Address | Purpose::Clear => 1,
            };
            weight(depth).saturating_mul(each)
        });
        costs.fold(0, u64::saturating_add)
    }
}

/// The state of the allocator across the rounds of one function.
struct Rounds<'a> {
    task: &'a Task<'a>,
    params: Vec<String>,
    /// The maximum number of instructions that recompute a value.
    longest: u32,
    stack: Stack,
    spilled: Vec<Spill>,
    wanted: Option<u32>,
    pressure: Option<u32>,
    /// The number of registers of each file in the previous round.
    registers: Option<Vec<u32>>,
    /// The number of registers by which pressure stays below the budget, because wide registers
    /// cannot use every free pair.
    slack: u32,
    count: u32,
}

/// The facts that are computed at the start of a round.
struct Analysis {
    flow: Flow,
    graphs: Vec<Graph>,
    recipes: Recipes,
    costs: Vec<u64>,
    weights: Vec<u64>,
}

/// The maximum number of rounds; a function that needs more has too few registers.
const MOST_ROUNDS: u32 = 60;

impl<'a> Rounds<'a> {
    fn new(task: &'a Task<'a>, longest: u32) -> Self {
        let kernel = task.function.kind == FunctionKind::Entry;
        let params = task.function.params.iter().filter(|_| kernel);
        Self {
            task,
            params: params.map(|p| p.name.node.clone()).collect(),
            longest,
            stack: task.stack.clone(),
            spilled: Vec::new(),
            wanted: None,
            pressure: None,
            registers: None,
            slack: 0,
            count: 0,
        }
    }

    /// Spills the registers that are always spilled, before the first round.
    fn spill_kept(&mut self, body: &mut Body) -> Result<(), Failure> {
        for (name, place) in &self.task.kept {
            let Some(at) = body.vars.iter().position(|var| var.name == *name) else {
                let names = body.vars.iter().map(|var| var.name.as_str());
                return Err(Failure::NoRegister {
                    near: nearest(name, names).map(str::to_owned),
                    wanted: name.clone(),
                });
            };
            let longest = std::mem::replace(&mut self.longest, 0);
            let analysis = self.analyse(body);
            let before = std::mem::replace(&mut self.stack.places, everywhere(*place));
            self.spill_all(body, &analysis, &[Var::new(at)]);
            self.stack.places = before;
            self.longest = longest;
        }
        Ok(())
    }

    /// Repeats rounds until every variable has a register.
    fn run(&mut self, mut body: Body) -> Result<Outcome, Failure> {
        while self.count < MOST_ROUNDS {
            self.count += 1;
            let (analysis, plan) = self.prepare_round(&mut body)?;
            let full = self.task.method == Method::Full;
            if full && self.evict_excess(&mut body, &analysis, &plan)? {
                continue;
            }
            let mut victims = victims(&analysis.graphs, &plan);
            if victims.is_empty() {
                return Ok(self.finish(body, &analysis, &plan));
            }
            let fixed = unspillable(&body);
            if full && victims.iter().any(|var| fixed.contains(var.index())) {
                self.slack += 1;
                continue;
            }
            victims.retain(|var| !fixed.contains(var.index()));
            if victims.is_empty() {
                return Err(Failure::Registers);
            }
            self.spill_all(&mut body, &analysis, &victims);
        }
        Err(Failure::Registers)
    }

    /// Spills gaps of variables in a file in which more registers are in use at a time than it has.
    /// Returns whether there is such a file.
    fn evict_excess(
        &mut self,
        body: &mut Body,
        analysis: &Analysis,
        plan: &Plan,
    ) -> Result<bool, Failure> {
        for (file, registers) in plan.registers.iter().enumerate() {
            let limit = registers.saturating_sub(self.slack);
            let free = self.task.budget.is_none() || body.typing.units(file) == 0;
            if free || analysis.graphs[file].pressure <= limit {
                continue;
            }
            let after = analysis.flow.live_after();
            let before = live_before(body, &after);
            let pressures = pressures(body, file, &before, &after);
            let eligible = eligible(body, file);
            let gaps = Gaps::new(body, &analysis.flow, &after, &eligible);
            let (sizes, stored) = (sizes(body), stored(body));
            let facts = analysis.facts(&gaps, &before, &sizes, &stored);
            let eviction = evict(&facts, pressures, limit);
            let eviction = eviction.map_err(|Stuck| Failure::Registers)?;
            self.apply(body, analysis, &facts, &eviction);
            return Ok(true);
        }
        Ok(false)
    }

    /// Spills all gaps of some variables.
    fn spill_all(&mut self, body: &mut Body, analysis: &Analysis, vars: &[Var]) {
        let after = analysis.flow.live_after();
        let before = live_before(body, &after);
        let mut eligible = FixedBitSet::with_capacity(body.vars.len());
        vars.iter().for_each(|var| eligible.insert(var.index()));
        let gaps = Gaps::new(body, &analysis.flow, &after, &eligible);
        let (sizes, stored) = (sizes(body), stored(body));
        let facts = analysis.facts(&gaps, &before, &sizes, &stored);
        let eviction = evict_all(&facts, vars);
        self.apply(body, analysis, &facts, &eviction);
    }

    /// Rewrites the body, and records the variables that were spilled.
    fn apply(&mut self, body: &mut Body, analysis: &Analysis, facts: &Facts, eviction: &Eviction) {
        let mut vars: Vec<Var> = eviction.stores.keys().copied().collect();
        vars.sort_unstable();
        for var in vars {
            let of_file = |graph: &Graph| {
                let node = graph.vars.iter().position(|other| *other == var)?;
                Some(graph.degree(node))
            };
            if body.vars[var.index()].slot.is_none() {
                self.spilled.push(Spill {
                    var,
                    rematerialized: !eviction.loads(facts.gaps, var),
                    cost: eviction.costs.get(&var).copied().unwrap_or(0),
                    neighbours: analysis.graphs.iter().find_map(of_file).unwrap_or(0),
                });
            }
        }
        spill(body, &mut self.stack, facts, eviction);
        drop_unused(body);
    }

    /// Merges copies where that is safe, and divides the budget among the files.
    fn prepare_round(&mut self, body: &mut Body) -> Result<(Analysis, Plan), Failure> {
        if body.vars.len() >= MAX_VARS {
            return Err(Failure::Size);
        }
        let mut analysis = self.analyse(body);
        let registers = self.expected(&analysis.graphs);
        // Spill code adds no copies, so few can be merged later.
        if self.count <= 2 && merge_copies(body, &analysis.graphs, &registers) {
            analysis = self.analyse(body);
        }
        let plan = divide(&analysis.graphs, &analysis.costs, self.task);
        let plan = plan.map_err(|Shortage| Failure::Registers)?;
        self.wanted.get_or_insert(plan.wanted);
        self.registers = Some(plan.registers.clone());
        Ok((analysis, plan))
    }

    /// Estimates how many registers each file will receive. The estimate is the number of the
    /// previous round. In the first round it is the file's share of the budget, in proportion to
    /// its register pressure.
    fn expected(&self, graphs: &[Graph]) -> Vec<u32> {
        if let Some(registers) = &self.registers {
            return registers.clone();
        }
        let typing = self.task.typing;
        let mut registers: Vec<u32> = graphs.iter().map(|graph| graph.pressure).collect();
        let counts = registers.iter().enumerate();
        let all: u32 = counts.map(|(file, count)| count * typing.units(file)).sum();
        if let Some(budget) = self.task.budget.filter(|budget| *budget < all) {
            for (file, count) in registers.iter_mut().enumerate() {
                if typing.units(file) > 0 {
                    *count = *count * budget / all;
                }
            }
        }
        registers
    }

    fn analyse(&mut self, body: &Body) -> Analysis {
        let flow = Flow::new(body);
        let (graphs, highest) = build(body, &flow);
        self.pressure.get_or_insert(highest);
        let recipes = Recipes::new(body, &flow, &self.params, self.longest);
        let weights = weights(&flow, self.task.loop_weight);
        let costs = costs(body, &weights, &recipes);
        Analysis {
            flow,
            graphs,
            recipes,
            costs,
            weights,
        }
    }

    fn finish(&mut self, mut body: Body, analysis: &Analysis, plan: &Plan) -> Outcome {
        let typing = body.typing;
        let mut colours = vec![0; body.vars.len()];
        let mut used = PerClass::<u32>::default();
        for (graph, colouring) in analysis.graphs.iter().zip(&plan.colourings) {
            for (var, colour) in graph.vars.iter().zip(&colouring.colours) {
                let class = body.vars[var.index()].class;
                let number = colour.unwrap_or(0) / typing.size(class);
                colours[var.index()] = number;
                used[class] = used[class].max(number + 1);
            }
        }
        let registers = plan.used(&analysis.graphs, typing);
        let classes: Vec<Class> = body.vars.iter().map(|info| info.class).collect();
        remove_redundant(&mut body, |var| Register {
            file: typing.file(classes[var]),
            first: colours[var] * typing.size(classes[var]),
            size: typing.size(classes[var]),
        });
        let threads = self.stack.block.iter().product();
        let extent = lay_out(&mut body, threads);
        let depth = Flow::new(&body).depth;
        Outcome {
            body,
            colours,
            used,
            registers,
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

impl Analysis {
    fn facts<'a>(
        &'a self,
        gaps: &'a Gaps,
        live_before: &'a [FixedBitSet],
        sizes: &'a [u32],
        stored: &'a FixedBitSet,
    ) -> Facts<'a> {
        Facts {
            sizes,
            stored,
            gaps,
            recipes: &self.recipes,
            live_before,
            weights: &self.weights,
        }
    }
}

/// Returns a table with the same memory for values of every class.
fn everywhere(place: Place) -> PerClass<Place> {
    let mut places = PerClass::default();
    for class in Class::ALL {
        places[class] = place;
    }
    places
}

/// Returns the number of registers of its file that each variable takes.
fn sizes(body: &Body) -> Vec<u32> {
    let size = |info: &VarInfo| body.typing.size(info.class);
    body.vars.iter().map(size).collect()
}

/// Returns the variables whose value is in a slot of the spill stack.
fn stored(body: &Body) -> FixedBitSet {
    let vars = body.vars.iter().enumerate();
    let stored = vars.filter(|(_, info)| info.slot.is_some());
    stored.map(|(var, _)| var).collect()
}

/// Returns the variables of a file that can be spilled.
fn eligible(body: &Body, file: usize) -> FixedBitSet {
    let mut eligible = unspillable(body);
    eligible.grow(body.vars.len());
    eligible.toggle_range(..);
    for (var, info) in body.vars.iter().enumerate() {
        let of_file = body.typing.file(info.class) == file;
        eligible.set(var, eligible.contains(var) && of_file);
    }
    eligible
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
fn merge_copies(body: &mut Body, graphs: &[Graph], registers: &[u32]) -> bool {
    let mut stands_for: Vec<Var> = (0..body.vars.len()).map(Var::new).collect();
    let mut merged = false;
    for (graph, registers) in graphs.iter().zip(registers) {
        if graph.copies.is_empty() {
            continue;
        }
        let nodes = coalesce(graph, *registers);
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

/// Returns a lower bound of the number of 32-bit registers: the largest number that one instruction
/// reads or writes at once. If classes have registers of their own, it is the sum of their numbers.
pub(crate) fn least(body: &Body) -> u32 {
    let mut most = vec![0; body.typing.files()];
    for inst in body.insts() {
        for access in [Access::Read, Access::Write] {
            let mut vars: Vec<Var> = inst.vars(access).collect();
            vars.sort_unstable();
            vars.dedup();
            let mut here = vec![0; most.len()];
            for var in vars {
                let class = body.vars[var.index()].class;
                here[body.typing.file(class)] += body.typing.size(class);
            }
            for (most, here) in most.iter_mut().zip(here) {
                *most = here.max(*most);
            }
        }
    }
    let files = most.iter().enumerate();
    files
        .map(|(file, count)| count * body.typing.units(file))
        .sum()
}
