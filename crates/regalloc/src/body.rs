//! The allocator's representation of a function body: a flat list in which registers are resolved
//! to variables.
//!
//! Scopes and labels remain in the list, so that the body can be reassembled. Each declared
//! register that the code mentions becomes a variable.
//!
//! Invariants: the list of mentions of an instruction has one entry for each name that
//! [`Accesses::visit`] visits, in the same order, and the original instructions keep their order.

use crate::class::{Class, Typing};
use crate::names::{Resolver, Symbol};
use smallvec::SmallVec;
use warploom_base::define_id;
use warploom_diag::{Diagnostic, Diagnostics, Span};
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::{self, Function, Instruction, Name, Operand, Statement};
use warploom_ptx::tokens::{Opcode, ScalarType, Space};

define_id! {
    /// A variable that needs a register: a register of the program, or a temporary of the
    /// allocator.
    Var(u32) = "v";
    /// A branch target of a function body.
    Label(u32) = "label";
    /// A slot of the spill stack.
    Slot(u32) = "slot";
}

/// The properties of a variable.
#[derive(Clone, Debug)]
pub(crate) struct VarInfo {
    /// The name of the register in the input.
    pub name: String,
    /// The slot that holds the value wherever the variable holds it, if there is one.
    pub slot: Option<Slot>,
    pub ty: ScalarType,
    pub class: Class,
    /// Whether the variable must not be spilled, because it lives for one instruction only or holds
    /// an address of the spill stack.
    pub unspillable: bool,
}

/// The reason for which an instruction is in the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// An instruction of the input, with its index among the instructions of the input.
    Original(u32),
    /// A load of a spilled value.
    Load(Slot),
    /// A store of a spilled value.
    Store(Slot),
    /// An instruction that recomputes a value.
    Rematerialize,
    /// An instruction that computes an address of the spill stack.
    Address,
    /// An initialization of a spilled variable that the program may read before it writes it.
    Clear,
}

/// The successors of an instruction in the control flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Control {
    Next,
    Branch(Label),
    Table(Vec<Label>),
    Leave,
}

/// A name among the operands of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mention {
    /// The variable, or `None` if the name is not a register under the allocator's control.
    pub var: Option<Var>,
    pub access: Access,
}

/// An instruction with its resolved variables.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub ast: Instruction,
    pub mentions: SmallVec<[Mention; 4]>,
    pub control: Control,
    pub purpose: Purpose,
}

impl Inst {
    pub fn vars(&self, access: Access) -> impl Iterator<Item = Var> + '_ {
        let wanted = move |m: &&Mention| m.access == access;
        self.mentions.iter().filter(wanted).filter_map(|m| m.var)
    }

    pub fn reads(&self) -> impl Iterator<Item = Var> + '_ {
        self.vars(Access::Read)
    }

    pub fn writes(&self) -> impl Iterator<Item = Var> + '_ {
        self.vars(Access::Write)
    }

    /// Returns destination and source if the instruction is an unguarded `mov` between registers of
    /// the same class.
    pub fn copy(&self, vars: &[VarInfo]) -> Option<(Var, Var)> {
        if self.ast.opcode != Opcode::Mov || self.ast.guard.is_some() {
            return None;
        }
        let [
            Mention { var: Some(to), .. },
            Mention {
                var: Some(from), ..
            },
        ] = self.mentions[..]
        else {
            return None;
        };
        let plain = |operand: &ast::Spanned<Operand>| matches!(operand.node, Operand::Name(_));
        let same = vars[to.index()].class == vars[from.index()].class;
        (same && self.ast.operands.iter().all(plain)).then_some((to, from))
    }
}

/// An element of the flat list that represents a function body.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Enter,
    Leave,
    Label(Label, Name),
    /// A statement that is copied unchanged: a declaration other than of registers, a table, or a
    /// directive.
    Kept(Statement),
    Inst(Box<Inst>),
    /// A deleted instruction of the input, by its index among the instructions of the input.
    Deleted(u32),
}

/// A function body in the form of a flat list.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// The rule by which types share registers.
    pub typing: Typing,
    pub items: Vec<Item>,
    /// Instructions that run before all others and compute addresses of the spill stack.
    pub prologue: Vec<Inst>,
    pub vars: Vec<VarInfo>,
    pub labels: u32,
    pub slots: Vec<crate::spill::SlotInfo>,
    /// Register variables whose declarations remain unchanged: parameters of functions, and
    /// vectors.
    pub pinned: Vec<ast::Variable>,
}

impl Body {
    /// Flattens a function that has a body.
    ///
    /// # Errors
    /// Returns a diagnostic for an instruction whose written operands are unknown, and for a branch
    /// target that is not declared.
    pub fn new(
        function: &Function,
        typing: Typing,
        accesses: &Accesses,
    ) -> Result<Self, Diagnostics> {
        let mut reader = Reader {
            accesses,
            typing,
            resolver: Resolver::default(),
            body: Self {
                typing,
                items: Vec::new(),
                prologue: Vec::new(),
                vars: Vec::new(),
                labels: 0,
                slots: Vec::new(),
                pinned: Vec::new(),
            },
            count: 0,
            errors: Diagnostics::new(),
        };
        reader.resolver.enter();
        for parameter in function.returns.iter().chain(&function.params) {
            reader.parameter(parameter);
        }
        if let Some(body) = &function.body {
            reader.statements(body);
        }
        if reader.errors.has_errors() {
            Err(reader.errors)
        } else {
            Ok(reader.body)
        }
    }

    pub fn insts(&self) -> impl Iterator<Item = &Inst> {
        let main = self.items.iter().filter_map(|item| match item {
            Item::Inst(inst) => Some(&**inst),
            _ => None,
        });
        self.prologue.iter().chain(main)
    }

    pub fn insts_mut(&mut self) -> impl Iterator<Item = &mut Inst> {
        let main = self.items.iter_mut().filter_map(|item| match item {
            Item::Inst(inst) => Some(&mut **inst),
            _ => None,
        });
        self.prologue.iter_mut().chain(main)
    }

    pub fn new_var(&mut self, info: VarInfo) -> Var {
        self.vars.push(info);
        Var::new(self.vars.len() - 1)
    }

    /// Returns the index of the item before which the prologue runs: the first label or
    /// instruction.
    pub fn start(&self) -> usize {
        let code = |item: &Item| matches!(item, Item::Label(..) | Item::Inst(_));
        self.items.iter().position(code).unwrap_or(self.items.len())
    }
}

/// Conversion of a parsed function body to a flat list.
struct Reader<'a> {
    accesses: &'a Accesses,
    typing: Typing,
    resolver: Resolver,
    body: Body,
    count: u32,
    errors: Diagnostics,
}

impl Reader<'_> {
    fn parameter(&mut self, parameter: &ast::Variable) {
        if parameter.space == Space::Reg {
            self.body.pinned.push(parameter.clone());
        }
        self.resolver.declare(&parameter.name.node, Symbol::Other);
    }

    fn statements(&mut self, body: &ast::Body) {
        for statement in &body.statements {
            match statement {
                Statement::Label(name) => {
                    let label = Label(self.body.labels);
                    self.body.labels += 1;
                    self.resolver.declare(&name.node, Symbol::Label(label));
                }
                Statement::BranchTargets(name, labels) => {
                    let labels = labels.iter().map(|label| label.node.clone()).collect();
                    self.resolver.declare(&name.node, Symbol::Table(labels));
                }
                _ => {}
            }
        }
        for statement in &body.statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Label(name) => {
                if let Some(Symbol::Label(label)) = self.resolver.find(&name.node) {
                    self.body.items.push(Item::Label(label, name.clone()));
                }
            }
            Statement::Variable(variable) if variable.space == Space::Reg => {
                self.registers(variable);
            }
            Statement::Variable(variable) => {
                self.resolver.declare(&variable.name.node, Symbol::Other);
                self.body.items.push(Item::Kept(statement.clone()));
            }
            Statement::Block(inner) => {
                self.resolver.enter();
                self.body.items.push(Item::Enter);
                self.statements(inner);
                self.body.items.push(Item::Leave);
                self.resolver.leave();
            }
            Statement::Instruction(instruction) => self.instruction(instruction),
            _ => self.body.items.push(Item::Kept(statement.clone())),
        }
    }

    /// Declares the registers of a declaration. Vectors and arrays keep their declarations, because
    /// the allocator cannot rename their elements.
    fn registers(&mut self, variable: &ast::Variable) {
        if variable.vector > 1 || !variable.dims.is_empty() {
            self.body.pinned.push(variable.clone());
            self.body
                .items
                .push(Item::Kept(Statement::Variable(variable.clone())));
            self.resolver.declare(&variable.name.node, Symbol::Other);
            return;
        }
        let (name, ty) = (&variable.name.node, variable.ty);
        match variable.count {
            Some(count) => self.resolver.declare_family(name, ty, count),
            None => self.resolver.declare(name, Symbol::Register(ty)),
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let mut ast = instruction.clone();
        let mut mentions = SmallVec::new();
        let mut visit = |name: &mut String, access| {
            let var = self.resolver.variable(name, |name, ty| {
                self.body.vars.push(VarInfo {
                    name: name.to_owned(),
                    slot: None,
                    ty,
                    class: Class::of(ty, self.typing),
                    unspillable: false,
                });
                Var::new(self.body.vars.len() - 1)
            });
            mentions.push(Mention { var, access });
        };
        if self.accesses.visit(&mut ast, &mut visit).is_err() {
            let (opcode, span) = (ast.opcode.node, ast.opcode.span);
            let message = format!("`{opcode}` is not known to the register allocator");
            let label = "which operands this form writes is not known";
            let help = "allocate another kernel of the file, or write the operation differently";
            self.error(
                Diagnostic::error("unsupported", span, message)
                    .label(label)
                    .help(help),
            );
            return;
        }
        let control = self.control(&ast);
        let purpose = Purpose::Original(self.count);
        self.count += 1;
        self.body.items.push(Item::Inst(Box::new(Inst {
            ast,
            mentions,
            control,
            purpose,
        })));
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.errors.push(diagnostic);
    }

    fn control(&mut self, inst: &Instruction) -> Control {
        let operand = |index: usize| inst.operands.get(index);
        match inst.opcode.node {
            Opcode::Ret | Opcode::Exit | Opcode::Trap => Control::Leave,
            Opcode::Bra => self
                .label(operand(0))
                .map_or(Control::Leave, Control::Branch),
            Opcode::Brx => match operand(1).map(|o| (&o.node, o.span)) {
                Some((Operand::Name(table), span)) => self.table(table, span),
                _ => Control::Leave,
            },
            _ => Control::Next,
        }
    }

    fn label(&mut self, operand: Option<&ast::Spanned<Operand>>) -> Option<Label> {
        let operand = operand?;
        match &operand.node {
            Operand::Name(name) => self.label_named(name, operand.span),
            _ => self.label_named("this operand", operand.span),
        }
    }

    fn label_named(&mut self, name: &str, span: Span) -> Option<Label> {
        if let Some(Symbol::Label(label)) = self.resolver.find(name) {
            return Some(label);
        }
        let message = format!("`{name}` is no label in this function");
        let help = "branch to a label of the same block or of one around it";
        self.error(Diagnostic::error("undefined-label", span, message).help(help));
        None
    }

    fn table(&mut self, name: &str, span: Span) -> Control {
        let Some(Symbol::Table(labels)) = self.resolver.find(name) else {
            let message = format!("`{name}` is no list of branch targets");
            let help = "declare it with `.branchtargets`";
            self.error(Diagnostic::error("undefined-name", span, message).help(help));
            return Control::Leave;
        };
        let found = labels
            .iter()
            .filter_map(|label| self.label_named(label, span));
        Control::Table(found.collect())
    }
}
