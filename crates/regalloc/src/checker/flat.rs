//! A function as one list of instructions, registers and labels told apart by scope.

use rustc_hash::FxHashMap;
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::{Function, Instruction, Operand, Statement, Variable};
use warploom_ptx::tokens::{Opcode, Space};

/// A register of one of the two programs.
pub(super) type Reg = u32;

/// An instruction without the names of its registers.
pub(super) struct FlatInst {
    /// Registers have empty names here: what is left must agree between the two programs.
    pub blank: Instruction,
    /// In the order of [`Accesses::visit`]; what is no register is left out.
    pub regs: Vec<(Reg, Access)>,
    /// Labels that it may branch to, by order in the function.
    pub targets: Vec<usize>,
}

/// One function.
#[derive(Default)]
pub(super) struct Flat {
    pub insts: Vec<FlatInst>,
    /// Name of every label and the number of instructions before it, in order.
    pub labels: Vec<(String, usize)>,
    /// Name and width in bits of every register that is mentioned.
    pub regs: Vec<(String, u32)>,
    /// Declarations and directives that are not about registers.
    pub others: Vec<Statement>,
    /// Registers declared, in 32-bit registers.
    pub declared: u32,
}

/// What a scope declares.
#[derive(Default)]
struct Scope {
    /// Width in bits, by name.
    singles: FxHashMap<String, u32>,
    /// Width in bits and how many, by prefix.
    ranges: FxHashMap<String, (u32, u32)>,
    labels: FxHashMap<String, usize>,
    tables: FxHashMap<String, Vec<String>>,
    known: FxHashMap<String, Reg>,
}

impl Flat {
    /// Flattens a function; `None` if an instruction cannot be read.
    pub fn new(function: &Function, accesses: &Accesses) -> Option<Self> {
        let mut walk = Walk {
            flat: Self::default(),
            scopes: Vec::new(),
            accesses,
            labels_seen: 0,
        };
        let body = function.body.as_ref()?;
        walk.block(&body.statements)?;
        Some(walk.flat)
    }
}

struct Walk<'a> {
    flat: Flat,
    scopes: Vec<Scope>,
    accesses: &'a Accesses,
    /// Labels that have a number: in order of the text.
    labels_seen: usize,
}

impl Walk<'_> {
    fn block(&mut self, statements: &[Statement]) -> Option<()> {
        let mut scope = Scope::default();
        number_labels(statements, self.labels_seen, &mut scope);
        self.scopes.push(scope);
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    self.labels_seen += 1;
                    let at = self.flat.insts.len();
                    self.flat.labels.push((name.node.clone(), at));
                }
                Statement::Variable(variable) if variable.space == Space::Reg => {
                    self.declare(variable);
                }
                Statement::Block(inner) => self.block(&inner.statements)?,
                Statement::Instruction(inst) => self.inst(inst)?,
                other => self.flat.others.push(other.clone()),
            }
        }
        self.scopes.pop();
        Some(())
    }

    /// Registers; vectors go by their names as everything else does.
    fn declare(&mut self, variable: &Variable) {
        let bits = variable.ty.bits();
        let each = if bits == 1 { 0 } else { bits.div_ceil(32) };
        let count = variable.count.unwrap_or(1);
        self.flat.declared += each * variable.vector.max(1) * count;
        let Some(scope) = self.scopes.last_mut() else {
            return;
        };
        let name = variable.name.node.clone();
        match variable.count {
            _ if variable.vector > 1 => {}
            Some(count) => drop(scope.ranges.insert(name, (bits, count))),
            None => drop(scope.singles.insert(name, bits)),
        }
    }

    fn reg(&mut self, name: &str) -> Option<Reg> {
        for scope in self.scopes.iter_mut().rev() {
            if let Some(reg) = scope.known.get(name) {
                return Some(*reg);
            }
            if let Some(bits) = scope.width(name) {
                let reg = self.flat.regs.len() as Reg;
                self.flat.regs.push((name.to_owned(), bits));
                scope.known.insert(name.to_owned(), reg);
                return Some(reg);
            }
        }
        None
    }

    fn inst(&mut self, inst: &Instruction) -> Option<()> {
        let targets = self.targets(inst)?;
        let mut blank = inst.clone();
        let mut regs = Vec::new();
        let accesses = self.accesses;
        let visited = accesses.visit(&mut blank, &mut |name, access| {
            if let Some(reg) = self.reg(name) {
                regs.push((reg, access));
                name.clear();
            }
        });
        visited.ok()?;
        self.flat.insts.push(FlatInst {
            blank,
            regs,
            targets,
        });
        Some(())
    }

    fn targets(&self, inst: &Instruction) -> Option<Vec<usize>> {
        let name = |index: usize| match inst.operands.get(index).map(|o| &o.node) {
            Some(Operand::Name(name)) => Some(name),
            _ => None,
        };
        match inst.opcode.node {
            Opcode::Bra => Some(vec![self.label(name(0)?)?]),
            Opcode::Brx => {
                let table = name(1)?;
                let mut scopes = self.scopes.iter().rev();
                let labels = scopes.find_map(|scope| scope.tables.get(table))?;
                labels.iter().map(|label| self.label(label)).collect()
            }
            _ => Some(Vec::new()),
        }
    }

    fn label(&self, name: &str) -> Option<usize> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.labels.get(name).copied())
    }
}

impl Scope {
    fn width(&self, name: &str) -> Option<u32> {
        if let Some(bits) = self.singles.get(name) {
            return Some(*bits);
        }
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (1..=digits).rev().find_map(|count| {
            let (prefix, number) = name.split_at(name.len() - count);
            let (bits, extent) = self.ranges.get(prefix)?;
            let number = number
                .parse::<u32>()
                .ok()
                .filter(|n| n.to_string() == number)?;
            (number < *extent).then_some(*bits)
        })
    }
}

/// Labels and tables of a block are known throughout it. Labels are numbered in order of the text,
/// those of inner blocks where these stand.
fn number_labels(statements: &[Statement], mut next: usize, scope: &mut Scope) {
    for statement in statements {
        match statement {
            Statement::Label(name) => {
                scope.labels.insert(name.node.clone(), next);
                next += 1;
            }
            Statement::Block(inner) => next += count_labels(&inner.statements),
            Statement::BranchTargets(name, labels) => {
                let labels = labels.iter().map(|label| label.node.clone()).collect();
                scope.tables.insert(name.node.clone(), labels);
            }
            _ => {}
        }
    }
}

fn count_labels(statements: &[Statement]) -> usize {
    let count = |statement: &Statement| match statement {
        Statement::Label(_) => 1,
        Statement::Block(inner) => count_labels(&inner.statements),
        _ => 0,
    };
    statements.iter().map(count).sum()
}
