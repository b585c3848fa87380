//! Functions that a kernel reaches, in an order that puts callers first, except for functions that
//! may call each other recursively.
//!
//! A call through a register may reach the functions that its list names, or every function whose
//! address the file takes anywhere and whose parameters have the sizes that its prototype states.

use crate::error::{Res, unsupported};
use crate::module::{Symbols, extent};
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashSet;
use warploom_diag::Span;
use warploom_ptx::ast::{
    AddressBase, Body, CallPrototype, Constant, Function, Initializer, Instruction, Item, Module,
    Name, Operand, Spanned, Statement, Variable,
};
use warploom_ptx::tokens::Opcode;

/// Collects every name that instructions of a body mention.
pub(crate) fn names_in<'a>(body: Option<&'a Body>, found: &mut FxHashSet<&'a str>) {
    for statement in body.iter().flat_map(|b| &b.statements) {
        match statement {
            Statement::Block(inner) => names_in(Some(inner), found),
            Statement::Instruction(inst) => {
                inst.operands
                    .iter()
                    .for_each(|o| names_in_operand(&o.node, found));
            }
            _ => {}
        }
    }
}

fn names_in_operand<'a>(operand: &'a Operand, found: &mut FxHashSet<&'a str>) {
    match operand {
        Operand::Name(name) | Operand::NameOffset(name, _) => {
            found.insert(name);
        }
        Operand::Immediate(Constant::Symbol { name, .. }) => {
            found.insert(name);
        }
        Operand::Address(address) => {
            if let AddressBase::Name(name) = &address.base.node {
                found.insert(name);
            }
            address
                .rest
                .iter()
                .for_each(|o| names_in_operand(&o.node, found));
        }
        Operand::Vector(list) | Operand::List(list) => {
            list.iter().for_each(|o| names_in_operand(&o.node, found));
        }
        _ => {}
    }
}

/// Names of the functions in the calls of a body, with their places.
pub(crate) fn calls(function: &Function) -> Vec<&Spanned<Operand>> {
    let mut found = Vec::new();
    if let Some(body) = &function.body {
        calls_in(body, &mut found);
    }
    found
}

fn calls_in<'a>(body: &'a Body, found: &mut Vec<&'a Spanned<Operand>>) {
    for statement in &body.statements {
        match statement {
            Statement::Block(inner) => calls_in(inner, found),
            Statement::Instruction(inst) if inst.opcode == Opcode::Call => {
                found.extend(callee(inst));
            }
            _ => {}
        }
    }
}

/// Operand of `call` that names the function.
pub(crate) fn callee(inst: &Instruction) -> Option<&Spanned<Operand>> {
    let mut operands = inst.operands.iter();
    operands.find(|o| matches!(o.node, Operand::Name(_)))
}

pub(crate) fn name_of(operand: &Spanned<Operand>) -> Option<&str> {
    match &operand.node {
        Operand::Name(name) => Some(name),
        _ => None,
    }
}

/// Functions that a call through a register may reach, as a body states them.
enum Reach<'a> {
    Fitting(&'a CallPrototype),
    Named(&'a [Name]),
}

fn reaches<'a>(body: Option<&'a Body>, found: &mut Vec<Reach<'a>>) {
    for statement in body.iter().flat_map(|b| &b.statements) {
        match statement {
            Statement::Block(inner) => reaches(Some(inner), found),
            Statement::CallPrototype(prototype) => found.push(Reach::Fitting(prototype)),
            Statement::CallTargets(_, names) => found.push(Reach::Named(names)),
            _ => {}
        }
    }
}

/// Names whose address the file takes. Calls through a register may reach the functions among them.
pub(crate) fn address_taken(module: &Module) -> FxHashSet<&str> {
    let mut found = FxHashSet::default();
    for item in &module.items {
        match item {
            Item::Variable(variable) => taken_by(variable, &mut found),
            Item::Function(function) => {
                taken_in(function.body.as_ref(), &mut found);
            }
            _ => {}
        }
    }
    found
}

fn taken_by<'a>(variable: &'a Variable, found: &mut FxHashSet<&'a str>) {
    if let Some(initial) = &variable.init {
        taken_by_value(initial, found);
    }
}

fn taken_by_value<'a>(initial: &'a Initializer, found: &mut FxHashSet<&'a str>) {
    match initial {
        Initializer::Value(value) => {
            if let Constant::Symbol { name, .. } | Constant::MaskedSymbol { name, .. } = &value.node
            {
                found.insert(name);
            }
        }
        Initializer::List(list) => list.iter().for_each(|one| taken_by_value(one, found)),
        Initializer::Fields(_) => {}
    }
}

fn taken_in<'a>(body: Option<&'a Body>, found: &mut FxHashSet<&'a str>) {
    for statement in body.iter().flat_map(|b| &b.statements) {
        match statement {
            Statement::Block(inner) => taken_in(Some(inner), found),
            Statement::Variable(variable) => taken_by(variable, found),
            Statement::Instruction(inst) => {
                let called = match inst.opcode.node {
                    Opcode::Call => callee(inst).map(|operand| operand.span),
                    _ => None,
                };
                let others = inst.operands.iter().filter(|o| Some(o.span) != called);
                others.for_each(|o| names_in_operand(&o.node, found));
            }
            _ => {}
        }
    }
}

/// Functions whose address is taken and that match a prototype.
pub(crate) fn fitting(symbols: &Symbols, prototype: &CallPrototype) -> Vec<usize> {
    let alike = |a: &[Variable], b: &[Variable]| {
        let bytes = |v: &Variable| extent(v).map_or(u64::MAX, |(bytes, _)| bytes);
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bytes(a) == bytes(b))
    };
    let taken = symbols.address_taken.iter().copied();
    let fits = taken.filter(|function| {
        let function = symbols.functions[*function];
        alike(&function.params, &prototype.params) && alike(&function.returns, &prototype.returns)
    });
    fits.collect()
}

/// Function with a body that has the given name.
fn defined(symbols: &Symbols, name: &str) -> Option<usize> {
    symbols.by_name.get(name).copied().flatten()
}

/// Functions that a function may call, by position in the file, with a place in the text.
pub(crate) fn callees(symbols: &Symbols, function: usize) -> Vec<(usize, Span)> {
    let function = symbols.functions[function];
    let direct = calls(function).into_iter().filter_map(|call| {
        let target = defined(symbols, name_of(call)?)?;
        Some((target, call.span))
    });
    let mut found: Vec<(usize, Span)> = direct.collect();
    let mut indirect = Vec::new();
    reaches(function.body.as_ref(), &mut indirect);
    for reach in indirect {
        match reach {
            Reach::Fitting(prototype) => {
                let span = prototype.name.span;
                found.extend(fitting(symbols, prototype).into_iter().map(|f| (f, span)));
            }
            Reach::Named(names) => {
                let named = |name: &Name| Some((defined(symbols, &name.node)?, name.span));
                found.extend(names.iter().filter_map(named));
            }
        }
    }
    found
}

/// Functions that the kernel reaches, callers before callees. Among functions that may call each
/// other, each comes after all their other callers.
pub(crate) fn call_order(symbols: &Symbols, entry: usize) -> Res<Vec<usize>> {
    let mut search = Search {
        symbols,
        depth: 0,
        seen: FxHashSet::default(),
        postorder: Vec::new(),
    };
    search.visit(entry)?;
    search.postorder.reverse();
    Ok(search.postorder)
}

struct Search<'a> {
    symbols: &'a Symbols<'a>,
    depth: usize,
    seen: FxHashSet<usize>,
    postorder: Vec<usize>,
}

impl Search<'_> {
    fn visit(&mut self, function: usize) -> Res<()> {
        self.seen.insert(function);
        self.depth += 1;
        for (target, span) in callees(self.symbols, function) {
            if !self.seen.contains(&target) {
                if self.depth >= MAX_CALL_DEPTH {
                    return Err(unsupported(span, "calls nested more than 256 deep"));
                }
                self.visit(target)?;
            }
        }
        self.depth -= 1;
        self.postorder.push(function);
        Ok(())
    }
}

/// Deepest nesting of calls: the search for them is recursive.
const MAX_CALL_DEPTH: usize = 256;

/// Functions that each function of a kernel reaches by calls, by position.
pub(crate) fn reachable(callees: &[Vec<usize>]) -> Vec<FixedBitSet> {
    let count = callees.len();
    let from = |start: usize| {
        let mut reached = FixedBitSet::with_capacity(count);
        let mut work = callees[start].clone();
        while let Some(next) = work.pop() {
            if !reached.put(next) {
                work.extend(&callees[next]);
            }
        }
        reached
    };
    (0..count).map(from).collect()
}

/// True if the function allocates on the stack.
pub(crate) fn takes_room(body: Option<&Body>) -> bool {
    body.iter()
        .flat_map(|b| &b.statements)
        .any(|statement| match statement {
            Statement::Block(inner) => takes_room(Some(inner)),
            Statement::Instruction(inst) => inst.opcode.node == Opcode::Alloca,
            _ => false,
        })
}
