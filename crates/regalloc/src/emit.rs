//! Conversion of an allocated function body back to PTX.

use crate::body::{Body, Inst, Item, Purpose};
use crate::class::{Class, PerClass};
use crate::inst_builder::unspanned;
use crate::layout::ALIGNMENT;
use warploom_ptx::access::Accesses;
use warploom_ptx::ast::{self, Linkage, Statement, Variable};
use warploom_ptx::tokens::{ScalarType, Space};

/// The correspondence between original and new instructions, in the order of the new code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The next new instruction is the original instruction with this index.
    Kept(u32),
    /// The original instruction with this index is absent from the new code.
    Deleted(u32),
    /// The next new instruction was added by the allocator.
    Inserted,
}

/// An array that the new code declares for spilled values.
pub(crate) struct Array<'a> {
    pub name: &'a str,
    pub space: Space,
    pub bytes: u32,
}

/// Assembles the new function body. `colours` holds the register number of each variable within its
/// class.
pub(crate) fn emit(
    body: &Body,
    colours: &[u32],
    used: &PerClass<u32>,
    arrays: &[Array],
    accesses: &Accesses,
) -> (ast::Body, Vec<Step>) {
    let mut writer = Writer {
        body,
        colours,
        prefixes: prefixes(body),
        accesses,
        open: vec![ast::Body::default()],
        steps: Vec::new(),
    };
    writer.declarations(used, arrays);
    let start = body.start();
    for (index, item) in body.items.iter().enumerate() {
        if index == start {
            writer.prologue();
        }
        writer.item(item);
    }
    if start == body.items.len() {
        writer.prologue();
    }
    let whole = writer.open.swap_remove(0);
    (whole, writer.steps)
}

/// Returns the prefix of the register names of each class. The prefixes follow the convention of
/// NVIDIA's compilers, with underscores added where they would clash with another name.
fn prefixes(body: &Body) -> Vec<String> {
    let mut others: Vec<&str> = body.pinned.iter().map(|v| v.name.node.as_str()).collect();
    for item in &body.items {
        match item {
            Item::Label(_, name) => others.push(&name.node),
            Item::Kept(Statement::Variable(variable)) => others.push(&variable.name.node),
            _ => {}
        }
    }
    let clashes = |prefix: &str| {
        others.iter().any(|name| {
            let rest = name.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
        })
    };
    let prefix = |class: Class| {
        let mut prefix = class.prefix().to_owned();
        while clashes(&prefix) {
            prefix.push('_');
        }
        prefix
    };
    Class::ALL.into_iter().map(prefix).collect()
}

/// The new function body under construction.
struct Writer<'a> {
    body: &'a Body,
    colours: &'a [u32],
    prefixes: Vec<String>,
    accesses: &'a Accesses,
    /// The open scopes, from the outermost to the innermost.
    open: Vec<ast::Body>,
    steps: Vec<Step>,
}

impl Writer<'_> {
    fn push(&mut self, statement: Statement) {
        if let Some(body) = self.open.last_mut() {
            body.statements.push(statement);
        }
    }

    fn declarations(&mut self, used: &PerClass<u32>, arrays: &[Array]) {
        for class in Class::ALL.into_iter().filter(|class| used[*class] > 0) {
            let mut registers = variable(Space::Reg, class.ty(), &self.prefixes[class.index()]);
            registers.count = Some(used[class]);
            self.push(Statement::Variable(registers));
        }
        for array in arrays.iter().filter(|array| array.bytes > 0) {
            let mut stack = variable(array.space, ScalarType::B8, array.name);
            stack.align = Some(ALIGNMENT);
            stack.dims = vec![Some(array.bytes.into())];
            self.push(Statement::Variable(stack));
        }
    }

    fn prologue(&mut self) {
        let body = self.body;
        body.prologue.iter().for_each(|inst| self.inst(inst));
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Enter => self.open.push(ast::Body::default()),
            Item::Leave => {
                if let Some(inner) = self.open.pop() {
                    self.push(Statement::Block(inner));
                }
            }
            Item::Label(_, name) => self.push(Statement::Label(name.clone())),
            Item::Kept(statement) => self.push(statement.clone()),
            Item::Deleted(number) => self.steps.push(Step::Deleted(*number)),
            Item::Inst(inst) => self.inst(inst),
        }
    }

    fn inst(&mut self, inst: &Inst) {
        if self.is_idle(inst) {
            if let Purpose::Original(number) = inst.purpose {
                self.steps.push(Step::Deleted(number));
            }
            return;
        }
        self.steps.push(match inst.purpose {
            Purpose::Original(number) => Step::Kept(number),
            _ => Step::Inserted,
        });
        let mut ast = inst.ast.clone();
        let mut mentions = inst.mentions.iter();
        let mut rename = |name: &mut String, _| {
            if let Some(var) = mentions.next().and_then(|mention| mention.var) {
                *name = self.name(var.index());
            }
        };
        let known = self.accesses.visit(&mut ast, &mut rename);
        debug_assert!(known.is_ok(), "it was visited when it was read or made");
        self.push(Statement::Instruction(ast));
    }

    /// Returns whether an instruction copies a register to itself.
    fn is_idle(&self, inst: &Inst) -> bool {
        let copy = inst.copy(&self.body.vars);
        copy.is_some_and(|(to, from)| self.colours[to.index()] == self.colours[from.index()])
    }

    /// Returns the register name of a variable.
    fn name(&self, var: usize) -> String {
        let class = self.body.vars[var].class;
        format!("{}{}", self.prefixes[class.index()], self.colours[var])
    }
}

/// Returns a declaration with default properties.
fn variable(space: Space, ty: ScalarType, name: &str) -> Variable {
    Variable {
        linkage: Linkage::Internal,
        space,
        align: None,
        vector: 1,
        ty,
        opaque: None,
        name: unspanned(name.to_owned()),
        count: None,
        dims: Vec::new(),
        pointer: None,
        attributes: None,
        init: None,
    }
}
