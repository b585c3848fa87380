//! Semantic checks over a module that was read without errors: names, instruction forms, operand
//! kinds and types, declarations, calls, kernels' rules.
//!
//! Source: PTX ISA chapters 5, 6, 9 and 11; where the manual is silent, what NVIDIA's assembler
//! refuses. What a correct module may contain that the simulator cannot run is not decided here
//! but by lowering.
//!
//! Rules checked, by file:
//! - `names`: every name is declared, once, in a scope around its use and before it; labels
//!   anywhere in the block or the blocks around it.
//! - `forms` and `instruction`: an instruction's modifiers and operand count have a form in the
//!   table; the target has it; guards are predicates; branch targets are labels.
//! - `operands`, `memory`, `moves`, `labels`: registers fit the instruction's type (PTX ISA 9.2 and
//!   9.4.1), destinations are registers, addresses are of the right space and width, immediates are
//!   of the right kind and in range.
//! - `variables`: alignment, sizes, initial values, what each state space allows.
//! - `functions`: kernels' parameters and limits, declarations against definitions, calls against
//!   signatures.

mod functions;
mod instruction;
mod labels;
mod memory;
mod moves;
mod names;
mod operands;
mod variables;

use crate::ast::{Body, Function, FunctionKind, Item, Module, Statement};
use crate::forms::Forms;
use crate::problems::Problems;
use crate::tokens::{NEWEST, Opcode};
use names::{Scopes, Symbol};
use warploom_diag::{Diagnostic, Diagnostics};

/// Checks a module that was parsed without errors.
pub fn check(module: &Module) -> Diagnostics {
    let mut problems = Problems::default();
    check_apart(module, &mut problems);
    problems.together()
}

/// Checks a module and adds to its problems. Functions that have problems already are skipped.
pub(crate) fn check_apart(module: &Module, problems: &mut Problems) {
    let used = used_opcodes(module);
    let forms = Forms::of_opcodes(|opcode| used[opcode as usize]);
    let mut checker = Checker {
        forms: &forms,
        address_bits: module.address_bits,
        architecture: module.architecture(),
        is_newer: module.version > NEWEST,
        scopes: Scopes::default(),
        kind: FunctionKind::Entry,
        diagnostics: Diagnostics::new(),
        found: 0,
    };
    checker.module(module, problems);
    checker.diagnostics.sort();
    problems.file.append(checker.diagnostics);
}

/// For each opcode, whether some instruction of the module has it.
fn used_opcodes(module: &Module) -> Vec<bool> {
    let functions = module.items.iter().filter_map(|item| match item {
        Item::Function(function) => function.body.as_ref(),
        _ => None,
    });
    let mut used = vec![false; Opcode::ALL.len()];
    functions.for_each(|body| note_opcodes(body, &mut used));
    used
}

fn note_opcodes(body: &Body, used: &mut [bool]) {
    for statement in &body.statements {
        match statement {
            Statement::Instruction(instruction) => used[instruction.opcode.node as usize] = true,
            Statement::Block(block) => note_opcodes(block, used),
            _ => {}
        }
    }
}

struct Checker<'m> {
    forms: &'m Forms,
    address_bits: u32,
    architecture: Option<u32>,
    /// True if the file's version of PTX is later than the table of forms.
    is_newer: bool,
    scopes: Scopes<'m>,
    /// Kind of the function whose body is being checked.
    kind: FunctionKind,
    diagnostics: Diagnostics,
    /// Number of problems that were reported in all functions.
    found: usize,
}

impl<'m> Checker<'m> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.found += 1;
        self.diagnostics.push(diagnostic);
    }

    /// True after a number of problems at which the search for hints only costs time: it is
    /// quadratic in the length of a file with errors everywhere.
    fn is_full(&self) -> bool {
        self.found >= Diagnostics::LIMIT
    }

    fn module(&mut self, module: &'m Module, problems: &mut Problems) {
        self.scopes.enter();
        // Functions may be called before their definition; variables are declared before use.
        for item in &module.items {
            if let Item::Function(function) = item {
                self.declare_function(function);
            }
        }
        for (at, item) in module.items.iter().enumerate() {
            match item {
                Item::Variable(variable) => self.file_variable(variable),
                Item::Function(_) if problems.is_broken(at) => {}
                Item::Function(function) => {
                    let outside = std::mem::take(&mut self.diagnostics);
                    self.function(function);
                    let mut own = std::mem::replace(&mut self.diagnostics, outside);
                    own.sort();
                    problems.add(at, own);
                }
                Item::Alias(alias, aliasee) => self.alias(alias, aliasee),
                Item::Kept(_) => {}
            }
        }
        self.scopes.leave();
    }

    fn function(&mut self, function: &'m Function) {
        self.kind = function.kind;
        self.function_header(function);
        let Some(body) = &function.body else { return };
        self.scopes.enter();
        for parameter in function.returns.iter().chain(&function.params) {
            self.declare(&parameter.name, Symbol::of_variable(parameter));
        }
        self.body(body);
        self.scopes.leave();
    }

    /// Checks a block. Its labels are known throughout, its other names from their declaration on.
    fn body(&mut self, body: &'m Body) {
        self.scopes.enter();
        for statement in &body.statements {
            self.declare_label(statement);
        }
        for statement in &body.statements {
            match statement {
                Statement::Variable(variable) => self.local_variable(variable),
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Block(block) => self.body(block),
                Statement::BranchTargets(_, labels) => {
                    labels
                        .iter()
                        .for_each(|label| self.label(&label.node, label.span));
                }
                Statement::CallTargets(_, functions) => {
                    functions
                        .iter()
                        .for_each(|name| self.function_name(&name.node, name.span));
                }
                Statement::CallPrototype(prototype) => self.prototype(prototype),
                Statement::Label(_) | Statement::Kept(_) => {}
            }
        }
        self.scopes.leave();
    }

    fn declare_label(&mut self, statement: &'m Statement) {
        match statement {
            Statement::Label(name) => self.declare(name, Symbol::Label),
            Statement::BranchTargets(name, _) => self.declare(name, Symbol::BranchTable),
            Statement::CallTargets(name, _) => self.declare(name, Symbol::CallTable),
            Statement::CallPrototype(prototype) => {
                self.declare(&prototype.name, Symbol::Prototype(prototype));
            }
            _ => {}
        }
    }
}
