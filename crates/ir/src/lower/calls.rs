//! Which functions a kernel reaches, in an order that puts callers first; recursion is refused.

use super::error::{Res, unsupported};
use super::module::Symbols;
use rustc_hash::FxHashSet;
use warploom_diag::{Diagnostic, Span};
use warploom_ptx::ast::{
    AddressBase, Body, Constant, Function, Instruction, Operand, Spanned, Statement,
};
use warploom_ptx::tokens::Opcode;

/// Every name that instructions of a body mention.
pub(super) fn names_in<'a>(body: Option<&'a Body>, found: &mut FxHashSet<&'a str>) {
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

/// Names that stand for the function in the calls of a body, with their places.
pub(super) fn calls(function: &Function) -> Vec<&Spanned<Operand>> {
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

/// The operand of `call` that names the function.
pub(super) fn callee(inst: &Instruction) -> Option<&Spanned<Operand>> {
    let mut operands = inst.operands.iter();
    operands.find(|o| matches!(o.node, Operand::Name(_)))
}

pub(super) fn name_of(operand: &Spanned<Operand>) -> Option<&str> {
    match &operand.node {
        Operand::Name(name) => Some(name),
        _ => None,
    }
}

/// Functions that the kernel reaches, callers before the functions that they call.
pub(super) fn call_order(symbols: &Symbols, entry: usize) -> Res<Vec<usize>> {
    let mut search = Search {
        symbols,
        path: Vec::new(),
        done: FxHashSet::default(),
        postorder: Vec::new(),
    };
    search.visit(entry)?;
    search.postorder.reverse();
    Ok(search.postorder)
}

struct Search<'a> {
    symbols: &'a Symbols<'a>,
    path: Vec<usize>,
    done: FxHashSet<usize>,
    postorder: Vec<usize>,
}

impl Search<'_> {
    fn visit(&mut self, function: usize) -> Res<()> {
        self.path.push(function);
        for call in calls(self.symbols.functions[function]) {
            let found = name_of(call).and_then(|name| self.symbols.by_name.get(name).copied());
            let Some(target) = found.flatten() else {
                continue;
            };
            if let Some(from) = self.path.iter().position(|f| *f == target) {
                return Err(self.recursion(from, call.span));
            }
            if !self.done.contains(&target) {
                if self.path.len() >= MAX_CALL_DEPTH {
                    return Err(unsupported(call.span, "calls nested more than 256 deep"));
                }
                self.visit(target)?;
            }
        }
        self.path.pop();
        self.done.insert(function);
        self.postorder.push(function);
        Ok(())
    }

    fn recursion(&self, from: usize, span: Span) -> Box<Diagnostic> {
        let cycle = self.path[from..].iter().chain([&self.path[from]]);
        let names: Vec<&str> = cycle
            .map(|f| self.symbols.functions[*f].name.node.as_str())
            .collect();
        let what = format!("recursion: {}", names.join(" -> "));
        let error = unsupported(span, &what);
        Box::new((*error).help("rewrite the recursion as a loop with a stack in local memory"))
    }
}

/// Deepest nesting of calls: the search for them recurses.
const MAX_CALL_DEPTH: usize = 256;
