//! Body of one function: scopes, declarations, labels, and instructions in order.

use crate::builder::{Builder, FunctionCode};
use crate::error::{Res, invalid, unsupported};
use crate::form::Form;
use crate::kernel::{Formal, Kernel};
use crate::pools::Pools;
use crate::scope::Symbol;
use crate::{control, instruction};
use warploom_diag::{Diagnostics, Span};
use warploom_ir::{Dst, Op, Src};
use warploom_ptx::ast::{Body, FunctionKind, Instruction, Name, Statement, Variable};
use warploom_ptx::tokens::{Modifier, ScalarType, Space};

/// Lowers one function of a kernel. Errors are added to `errors`.
pub(crate) fn lower(
    kernel: &Kernel,
    nth: usize,
    pools: &mut Pools,
    errors: &mut Diagnostics,
) -> FunctionCode {
    let reached = &kernel.functions[nth];
    let mut lowering = Lowering {
        builder: Builder::new(kernel, nth, pools),
        places: reached.places.iter().copied(),
        errors,
    };
    let builder = &mut lowering.builder;
    builder.scopes.enter();
    builder.span = reached.function.name.span;
    let entry = reached.function.kind == FunctionKind::Entry;
    for formal in reached.returns.iter().chain(&reached.params) {
        lowering.formal(formal, entry);
    }
    let params = control::load_register_params(&mut lowering.builder);
    lowering.note(params);
    if let Some(body) = &reached.function.body {
        lowering.body(body);
    }
    lowering.finish()
}

struct Lowering<'a, 'k, 'e> {
    builder: Builder<'a, 'k>,
    places: std::iter::Copied<std::slice::Iter<'k, Symbol>>,
    errors: &'e mut Diagnostics,
}

impl<'a> Lowering<'a, '_, '_> {
    fn note(&mut self, result: Res<()>) {
        if let Err(error) = result {
            self.errors.push(*error);
        }
    }

    fn formal(&mut self, formal: &Formal<'a>, entry: bool) {
        let variable = formal.variable;
        if variable.space == Space::Reg {
            self.registers(variable);
            return;
        }
        let symbol = match entry {
            true => Symbol::Param(formal.offset),
            false => Symbol::Frame(formal.offset),
        };
        self.declare(&variable.name.node, symbol, variable.name.span);
    }

    fn declare(&mut self, name: &'a str, symbol: Symbol, span: Span) {
        if name != "_" && !self.builder.scopes.declare(name, symbol) {
            let message = format!("`{name}` is declared twice");
            self.errors.push(*invalid("duplicate-name", span, message));
        }
    }

    fn registers(&mut self, variable: &'a Variable) {
        let name = &variable.name;
        if variable.vector > 4 || !variable.dims.is_empty() {
            let error = unsupported(name.span, "arrays of registers");
            self.errors.push(*error);
            return;
        }
        let (ty, vector, count) = (variable.ty, variable.vector.max(1), variable.count);
        let scopes = &mut self.builder.scopes;
        if name.node != "_" && !scopes.declare_registers(&name.node, ty, vector, count) {
            let message = format!("`{}` is declared twice", name.node);
            self.errors
                .push(*invalid("duplicate-name", name.span, message));
        }
    }

    /// Lowers the statements of a scope whose names are already declared.
    fn body(&mut self, body: &'a Body) {
        let tables = self.enter_labels(body);
        let mut tables = tables.into_iter();
        for statement in &body.statements {
            match statement {
                Statement::Label(name) => {
                    let at = self.builder.code.insts.len();
                    if let Some(Symbol::Label(label)) = self.builder.scopes.find(&name.node) {
                        self.builder.labels[label as usize] = Some(at);
                    }
                }
                Statement::Variable(variable) => self.variable(variable),
                Statement::Instruction(inst) => self.instruction(inst),
                Statement::Block(inner) => {
                    self.builder.scopes.enter();
                    self.body(inner);
                    self.builder.scopes.leave();
                }
                Statement::BranchTargets(_, labels) => {
                    if let Some(table) = tables.next() {
                        self.branch_targets(table, labels);
                    }
                }
                Statement::CallTargets(..) | Statement::CallPrototype(_) | Statement::Kept(_) => {}
            }
        }
    }

    /// Declares the labels of a scope first: they may be used before their place.
    fn enter_labels(&mut self, body: &'a Body) -> Vec<u32> {
        let mut tables = Vec::new();
        for statement in &body.statements {
            match statement {
                Statement::Label(name) => {
                    let label = self.builder.new_label();
                    self.declare(&name.node, Symbol::Label(label), name.span);
                }
                Statement::BranchTargets(name, _) => {
                    let table = self.builder.tables.len() as u32;
                    self.builder.tables.push(Vec::new());
                    tables.push(table);
                    self.declare(&name.node, Symbol::Targets(table), name.span);
                }
                Statement::CallTargets(name, names) => {
                    let kernel = self.builder.kernel;
                    let named = names.iter().filter_map(|name| kernel.defined(&name.node));
                    self.call_info(name, named.collect());
                }
                Statement::CallPrototype(prototype) => {
                    let fitting = self.builder.kernel.fitting(prototype);
                    self.call_info(&prototype.name, fitting);
                }
                _ => {}
            }
        }
        tables
    }

    fn call_info(&mut self, name: &'a Name, reached: Vec<usize>) {
        let nth = self.builder.call_infos.len() as u32;
        self.builder.call_infos.push(reached);
        self.declare(&name.node, Symbol::CallInfo(nth), name.span);
    }

    fn branch_targets(&mut self, table: u32, labels: &[Name]) {
        for name in labels {
            match self.builder.scopes.find(&name.node) {
                Some(Symbol::Label(label)) => self.builder.tables[table as usize].push(label),
                _ => {
                    let message = format!("`{}` is no label in this function", name.node);
                    self.errors
                        .push(*invalid("undefined-label", name.span, message));
                }
            }
        }
    }

    fn variable(&mut self, variable: &'a Variable) {
        if variable.space == Space::Reg {
            self.registers(variable);
            return;
        }
        let place = self.places.next();
        let place = place.expect("the layout has a place for every declaration");
        self.declare(&variable.name.node, place, variable.name.span);
    }

    fn instruction(&mut self, inst: &'a Instruction) {
        self.builder.span = inst.opcode.span;
        let guard = match &inst.guard {
            Some(guard) => self.builder.lower_guard(guard).map(Some),
            None => Ok(None),
        };
        let result = guard.and_then(|guard| {
            self.builder.guard = guard;
            instruction::lower(&mut self.builder, inst)
        });
        self.builder.guard = None;
        self.note(result);
    }

    /// Ends code that may run off its end, and fills in branch targets.
    fn finish(mut self) -> FunctionCode {
        self.builder.guard = None;
        let code = &self.builder.code;
        let at_end = self.builder.labels.contains(&Some(code.insts.len()));
        let last = code.insts.last();
        let ends = last.is_some_and(|inst| {
            inst.guard.is_none()
                && matches!(
                    inst.op,
                    Op::Ret | Op::Exit | Op::Bra(_) | Op::BrxIdx | Op::Trap
                )
        });
        if at_end || !ends {
            let result = control::emit_return(&mut self.builder);
            self.note(result);
        }
        let result = self.builder.resolve_branches();
        self.note(result);
        self.builder.code
    }
}

/// Type of a register parameter, for the copies between registers and the frame.
pub(crate) fn scalar_param(formal: &Formal) -> Option<ScalarType> {
    let variable = formal.variable;
    (variable.dims.is_empty() && variable.vector <= 1).then_some(variable.ty)
}

/// Sources and destinations of the usual three-operand instruction.
pub(crate) fn two_to_one(
    builder: &mut Builder,
    form: &Form,
    ty: ScalarType,
) -> Res<(Dst, [Src; 2])> {
    form.finish(3)?;
    let dst = builder.dst(form.operand(0)?, ty)?;
    let a = builder.src(form.operand(1)?, ty)?;
    let b = builder.src(form.operand(2)?, ty)?;
    Ok((dst, [a, b]))
}

/// True for modifiers that state an intent of a barrier or branch without changing its effect.
pub(crate) fn is_assurance(modifier: Modifier) -> bool {
    matches!(modifier, Modifier::Aligned)
}
