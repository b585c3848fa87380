//! The library's entry points: allocation and register demand of a kernel and the functions it
//! calls.

use crate::allocate::{Failure, Method, Outcome, Task, allocate};
use crate::body::Body;
use crate::class::{Class, PerClass, Typing};
use crate::emit::{Array, Step, emit};
use crate::flow::MAX_VARS;
use crate::knapsack;
use crate::report::{Report, gains, report};
use crate::spill::{Place, Stack};
use rustc_hash::FxHashSet;
use warploom_diag::{Diagnostic, Diagnostics, nearest};
use warploom_ptx::access::Accesses;
use warploom_ptx::ast::{Function, FunctionKind, Item, Module, Operand, Statement};
use warploom_ptx::tokens::{Opcode, Space};

/// Settings of the register allocator.
#[derive(Clone, Debug)]
pub struct Options {
    /// The limit of registers per thread, in 32-bit registers. With `None` the limit is the lowest
    /// that requires no spills.
    pub registers: Option<u32>,
    /// The rule by which values are spilled.
    pub method: Method,
    /// The rule by which types of the same width share registers.
    pub typing: Typing,
    /// The factor by which each enclosing loop multiplies the estimated execution count of an
    /// instruction.
    pub loop_weight: u32,
    /// The shared memory that is available for spilled values. With `None` all spilled values go to
    /// local memory.
    pub shared: Option<SharedSpills>,
    /// Registers of the kernel, by their names in the input, that are always spilled, each with the
    /// memory that holds it.
    pub kept: Vec<(String, Place)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            registers: None,
            method: Method::Full,
            typing: Typing::Bits,
            loop_weight: 10,
            shared: None,
            kept: Vec::new(),
        }
    }
}

/// The shared memory that spilled values may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedSpills {
    /// The size of a thread block, in threads along x, y and z, on which the memory layout depends.
    pub block: [u32; 3],
    /// The available size in bytes for each thread block.
    pub spare_bytes: u32,
    /// Whether the benefit of a sub-stack weights each access by loop depth. Without it, every
    /// access in the program text counts once, as in CRAT.
    pub weigh_loops: bool,
}

/// The result of register allocation for one kernel.
#[derive(Clone, Debug)]
pub struct Allocation {
    /// The complete module, in which the kernel and the functions that it calls are rewritten.
    pub module: Module,
    /// A summary of the registers and spills of the kernel.
    pub report: Report,
    /// The names of the rewritten functions, each with the correspondence between its original and
    /// its new instructions.
    pub steps: Vec<(String, Vec<Step>)>,
}

/// The register demand of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The register pressure: the maximum number of 32-bit registers that are live at one
    /// instruction, over all classes.
    pub pressure: u32,
    /// The lowest number of 32-bit registers for which colouring requires no spills (MaxReg in
    /// CRAT).
    pub max_registers: u32,
    /// The lowest number of 32-bit registers for which allocation succeeds with spills to local
    /// memory.
    pub min_registers: u32,
    /// The number of predicate registers.
    pub predicates: u32,
}

/// Allocates the registers of one kernel and of the functions that it calls.
///
/// Called functions receive as many registers as they need to avoid spills. The kernel receives the
/// remainder of the limit after the chain of calls that needs most registers.
///
/// # Errors
/// Returns a diagnostic if the module has no such kernel, if the limit is too low (the diagnostic
/// names the lowest limit that works), or if the kernel contains an instruction whose operands are
/// unknown to the allocator.
pub fn allocate_kernel(
    module: &Module,
    kernel: &str,
    options: &Options,
) -> Result<Allocation, Diagnostics> {
    let allocation = KernelAllocation::new(module, kernel, options)?;
    allocation.allocate()
}

/// Measures the register demand of a kernel.
///
/// # Errors
/// Returns the errors of [`allocate_kernel`], except for those about the limit.
pub fn demand(module: &Module, kernel: &str, options: &Options) -> Result<Demand, Diagnostics> {
    let allocation = KernelAllocation::new(module, kernel, options)?;
    let outcome = allocation.run(None, &PerClass::default())?;
    let below = allocation.reserved;
    let max_registers = outcome.registers + below;
    Ok(Demand {
        pressure: outcome.pressure + below,
        max_registers,
        min_registers: allocation.fewest(1),
        predicates: outcome.used[Class::Pred],
    })
}

/// Returns the lowest number of 32-bit registers, at least `least`, for which allocation succeeds
/// with spills to local memory. The result is never higher than the number that requires no spills.
///
/// # Errors
/// Returns the errors of [`demand`].
pub fn fewest_registers(
    module: &Module,
    kernel: &str,
    options: &Options,
    least: u32,
) -> Result<u32, Diagnostics> {
    Ok(KernelAllocation::new(module, kernel, options)?.fewest(least))
}

/// Returns the lowest number of 32-bit registers that requires no spills (MaxReg in CRAT).
///
/// # Errors
/// Returns the errors of [`demand`].
pub fn max_registers(module: &Module, kernel: &str, options: &Options) -> Result<u32, Diagnostics> {
    let allocation = KernelAllocation::new(module, kernel, options)?;
    let outcome = allocation.run(None, &PerClass::default())?;
    Ok(outcome.registers + allocation.reserved)
}

/// Returns the names of the kernels of a module, in order of definition.
pub fn kernels(module: &Module) -> Vec<&str> {
    let entries = functions(module).filter(|f| f.kind == FunctionKind::Entry && f.body.is_some());
    entries
        .map(|function| function.name.node.as_str())
        .collect()
}

fn functions(module: &Module) -> impl Iterator<Item = &Function> {
    module.items.iter().filter_map(|item| match item {
        Item::Function(function) => Some(function),
        _ => None,
    })
}

/// The allocation of one kernel in progress.
struct KernelAllocation<'a> {
    module: &'a Module,
    function: &'a Function,
    options: &'a Options,
    accesses: Accesses,
    names: [String; 2],
    /// The number of 32-bit registers that the called functions and the pinned registers need.
    reserved: u32,
    /// The allocation results of the called functions, by name.
    callees: Vec<(String, Outcome)>,
}

impl<'a> KernelAllocation<'a> {
    fn new(module: &'a Module, kernel: &str, options: &'a Options) -> Result<Self, Diagnostics> {
        let function = find_kernel(module, kernel)?;
        let mut allocation = Self {
            module,
            function,
            options,
            accesses: Accesses::new(),
            names: stack_names(module, function),
            reserved: 0,
            callees: Vec::new(),
        };
        let mut open = vec![function.name.node.clone()];
        allocation.reserved =
            allocation.deepest_chain(function, &mut open)? + allocation.pinned(function)?;
        Ok(allocation)
    }

    /// Returns the number of 32-bit registers that the pinned variables of a function occupy.
    fn pinned(&self, function: &Function) -> Result<u32, Diagnostics> {
        let body = Body::new(function, self.options.typing, &self.accesses)?;
        let units = |v: &warploom_ptx::ast::Variable| {
            let each = Class::of(v.ty, self.options.typing).units() * v.vector.max(1);
            each * v.count.unwrap_or(1).min(MAX_VARS as u32)
        };
        Ok(body.pinned.iter().map(units).sum())
    }

    /// Returns the number of 32-bit registers needed by the most demanding chain of calls that
    /// starts in `function`, and allocates the called functions on the way. The names in `open` are
    /// the functions on the current call chain, which stops recursion.
    fn deepest_chain(
        &mut self,
        function: &Function,
        open: &mut Vec<String>,
    ) -> Result<u32, Diagnostics> {
        let module = self.module;
        let mut deepest = 0;
        for name in called(function) {
            let mut defined = functions(module).filter(|f| f.body.is_some());
            let Some(callee) = defined.find(|f| f.name.node == name) else {
                continue;
            };
            if open.contains(&name) {
                continue;
            }
            open.push(name.clone());
            let below = self.deepest_chain(callee, open)? + self.pinned(callee)?;
            open.pop();
            let outcome = self.outcome(&self.task(callee, None, &PerClass::default()))?;
            deepest = deepest.max(outcome.registers + below);
            if self.callees.iter().all(|(done, _)| *done != name) {
                self.callees.push((name, outcome));
            }
        }
        Ok(deepest)
    }

    fn task<'f>(
        &self,
        function: &'f Function,
        budget: Option<u32>,
        places: &PerClass<Place>,
    ) -> Task<'f> {
        let mut stack = Stack::new(self.names.clone());
        stack.places = *places;
        if let Some(shared) = &self.options.shared {
            stack.block = shared.block;
        }
        Task {
            function,
            budget,
            method: self.options.method,
            typing: self.options.typing,
            loop_weight: self.options.loop_weight,
            stack,
            // Functions may declare registers with the names of the kernel's registers, so the
            // setting applies to the kernel alone.
            kept: if std::ptr::eq(function, self.function) {
                self.options.kept.clone()
            } else {
                Vec::new()
            },
        }
    }

    fn outcome(&self, task: &Task) -> Result<Outcome, Diagnostics> {
        allocate(task, &self.accesses).map_err(|failure| self.explain(failure))
    }

    /// Allocates the kernel itself, with the spilled values of each class in the memory that
    /// `places` names.
    fn run(
        &self,
        registers: Option<u32>,
        places: &PerClass<Place>,
    ) -> Result<Outcome, Diagnostics> {
        let Some(registers) = registers else {
            return self.outcome(&self.task(self.function, None, places));
        };
        match registers.checked_sub(self.reserved) {
            Some(budget) => self.outcome(&self.task(self.function, Some(budget), places)),
            None => Err(self.explain(Failure::Registers)),
        }
    }

    /// Returns whether the kernel can be allocated within the limit, with spills to local memory.
    fn fits(&self, registers: u32) -> bool {
        let Some(budget) = registers.checked_sub(self.reserved) else {
            return false;
        };
        let task = self.task(self.function, Some(budget), &PerClass::default());
        allocate(&task, &self.accesses).is_ok()
    }

    /// Returns the lowest number of 32-bit registers, at least `least`, with which the kernel can
    /// be allocated.
    fn fewest(&self, least: u32) -> u32 {
        let wanted = self.run(None, &PerClass::default());
        let most = wanted.map_or(0, |outcome| outcome.registers + self.reserved);
        let body = Body::new(self.function, self.options.typing, &self.accesses);
        let operands = body.map_or(0, |body| crate::allocate::least(&body) + self.reserved);
        (least.max(operands)..most)
            .find(|registers| self.fits(*registers))
            .unwrap_or(most)
    }

    fn explain(&self, failure: Failure) -> Diagnostics {
        let name = &self.function.name;
        let diagnostic = match failure {
            Failure::Program(diagnostics) => return diagnostics,
            Failure::Size => {
                let message = format!("kernel `{}` has more than {MAX_VARS} registers", name.node);
                let help = "split the kernel, or compile it with fewer unrolled loops";
                Diagnostic::error("too-large", name.span, message).help(help)
            }
            Failure::NoRegister { wanted, near } => {
                let message = format!("kernel `{}` has no register `{wanted}`", name.node);
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "write it as the kernel declares it, such as `%r1`".to_owned(),
                };
                Diagnostic::error("unknown-register", name.span, message).help(help)
            }
            Failure::Registers => {
                let limit = self.options.registers.unwrap_or(0);
                let fewest = self.fewest(limit.saturating_add(1));
                let message = format!("{limit} registers are too few for kernel `{}`", name.node);
                Diagnostic::error("register-limit", name.span, message)
                    .label(format!("needs at least {fewest}"))
                    .help(format!("allow {fewest} registers or more"))
            }
        };
        Diagnostics::from_iter([diagnostic])
    }

    fn allocate(&self) -> Result<Allocation, Diagnostics> {
        let outcome = self.place_spills()?;
        let mut module = self.module.clone();
        let mut steps = Vec::new();
        for (name, callee) in &self.callees {
            steps.push((name.clone(), self.rewrite(&mut module, name, callee)));
        }
        let name = &self.function.name.node;
        steps.push((name.clone(), self.rewrite(&mut module, name, &outcome)));
        let report = report(
            name,
            self.options.registers,
            self.reserved,
            &outcome,
            self.options,
        );
        Ok(Allocation {
            module,
            report,
            steps,
        })
    }

    /// Allocates the kernel with all spills in local memory, and then moves the sub-stacks that the
    /// knapsack optimization selects to shared memory. The addresses of these sub-stacks occupy
    /// registers themselves, so that the second allocation may spill more. A sub-stack that no
    /// longer fits remains in local memory.
    fn place_spills(&self) -> Result<Outcome, Diagnostics> {
        let registers = self.options.registers;
        let local = self.run(registers, &PerClass::default())?;
        let Some(shared) = &self.options.shared else {
            return Ok(local);
        };
        let threads: u32 = shared.block.iter().product();
        let items = gains(
            &local,
            threads,
            shared.weigh_loops,
            self.options.loop_weight,
        );
        let mut chosen = knapsack::choose(&items, shared.spare_bytes);
        while chosen.contains(&true) {
            let mut places = PerClass::default();
            for class in Class::ALL.into_iter().filter(|class| chosen[class.index()]) {
                places[class] = Place::Shared;
            }
            if let Ok(outcome) = self.run(registers, &places)
                && outcome.extent.shared <= shared.spare_bytes
            {
                return Ok(outcome);
            }
            let taken = (0..items.len()).filter(|item| chosen[*item]);
            if let Some(least) = taken.min_by_key(|item| items[*item].gain) {
                chosen[least] = false;
            }
        }
        Ok(local)
    }

    fn rewrite(&self, module: &mut Module, name: &str, outcome: &Outcome) -> Vec<Step> {
        let arrays = [
            Array {
                name: &outcome.stack.local,
                space: Space::Local,
                bytes: outcome.extent.local,
            },
            Array {
                name: &outcome.stack.shared,
                space: Space::Shared,
                bytes: outcome.extent.shared,
            },
        ];
        let (body, steps) = emit(
            &outcome.body,
            &outcome.colours,
            &outcome.used,
            &arrays,
            &self.accesses,
        );
        for item in &mut module.items {
            match item {
                Item::Function(f) if f.name.node == name && f.body.is_some() => {
                    f.body = Some(body);
                    return steps;
                }
                _ => {}
            }
        }
        steps
    }
}

fn find_kernel<'a>(module: &'a Module, kernel: &str) -> Result<&'a Function, Diagnostics> {
    let entries = functions(module).filter(|f| f.kind == FunctionKind::Entry && f.body.is_some());
    let mut entries = entries.filter(|function| function.name.node == kernel);
    entries.next().ok_or_else(|| {
        let names = kernels(module);
        let help = match nearest(kernel, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "the file has none".to_owned(),
            None => format!("the file has {}", names.join(", ")),
        };
        let message = format!("there is no kernel `{kernel}`");
        let start = warploom_diag::Span::default();
        Diagnostics::from_iter([Diagnostic::error("unknown-kernel", start, message).help(help)])
    })
}

/// Returns the names of the functions that a function calls directly, without duplicates, in order
/// of first call.
fn called(function: &Function) -> Vec<String> {
    let mut names = Vec::new();
    if let Some(body) = &function.body {
        add_called(&body.statements, &mut names);
    }
    names
}

fn add_called(statements: &[Statement], names: &mut Vec<String>) {
    for statement in statements {
        match statement {
            Statement::Block(inner) => add_called(&inner.statements, names),
            Statement::Instruction(inst) if inst.opcode == Opcode::Call => {
                let operands = inst.operands.iter().map(|operand| &operand.node);
                for operand in operands {
                    if let Operand::Name(name) = operand
                        && !names.contains(name)
                    {
                        names.push(name.clone());
                    }
                }
            }
            Statement::CallTargets(_, targets) => {
                for target in targets {
                    if !names.contains(&target.node) {
                        names.push(target.node.clone());
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns names for the spill arrays in local and in shared memory that do not clash with any name
/// of the file.
fn stack_names(module: &Module, function: &Function) -> [String; 2] {
    let mut taken = FxHashSet::default();
    for item in &module.items {
        match item {
            Item::Variable(variable) => taken.insert(variable.name.node.clone()),
            Item::Function(function) => taken.insert(function.name.node.clone()),
            Item::Alias(alias, _) => taken.insert(alias.node.clone()),
            Item::Kept(_) => false,
        };
    }
    taken.extend(function.params.iter().map(|p| p.name.node.clone()));
    if let Some(body) = &function.body {
        add_names(&body.statements, &mut taken);
    }
    ["SpillStack", "SpillShared"].map(|name| {
        let mut name = name.to_owned();
        while taken.contains(&name) {
            name.push('_');
        }
        name
    })
}

fn add_names(statements: &[Statement], names: &mut FxHashSet<String>) {
    for statement in statements {
        match statement {
            Statement::Block(inner) => add_names(&inner.statements, names),
            Statement::Variable(variable) => {
                names.insert(variable.name.node.clone());
            }
            Statement::Label(name) => {
                names.insert(name.node.clone());
            }
            _ => {}
        }
    }
}
