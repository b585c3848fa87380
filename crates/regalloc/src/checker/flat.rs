//! A function as a flat list of instructions, with registers and labels resolved by scope.

use rustc_hash::FxHashMap;
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::{Function, Instruction, Operand, Statement, Variable};
use warploom_ptx::tokens::{Opcode, Space};

/// A register of one of the two programs, by index.
pub(super) type Reg = u32;

/// An instruction without its register names.
pub(super) struct FlatInst {
    /// The instruction with empty register names. It must be equal in both programs.
    pub blank: Instruction,
    /// The registers in the order of [`Accesses::visit`], without other names.
    pub regs: Vec<(Reg, Access)>,
    /// The labels that the instruction may branch to, by their order in the function.
    pub targets: Vec<usize>,
}

/// A function in the form of a flat list.
#[derive(Default)]
pub(super) struct Flat {
    pub insts: Vec<FlatInst>,
    /// The name of each label, in order, with the number of instructions before it.
    pub labels: Vec<(String, usize)>,
    /// The name and the width in bits of each register that the code mentions.
    pub regs: Vec<(String, u32)>,
    /// Declarations and directives that do not concern registers.
    pub others: Vec<Statement>,
    /// The number of each register and its size, in 32-bit registers, if it belongs to a family
    /// such as `%r<4>`.
    pub places: Vec<Option<(u32, u32)>>,
    /// The number of declared registers, in 32-bit registers.
    pub declared: u32,
    /// The same number if families of different widths share registers: register `n` of a family
    /// of width `w` is the registers from `n * w` to `(n + 1) * w`.
    pub shared: u32,
}

/// The declarations of a scope.
#[derive(Default)]
struct Scope {
    /// The width in bits of each single register, by name.
    singles: FxHashMap<String, u32>,
    /// The width in bits and the count of each register family, by prefix.
    ranges: FxHashMap<String, (u32, u32)>,
    labels: FxHashMap<String, usize>,
    tables: FxHashMap<String, Vec<String>>,
    known: FxHashMap<String, Reg>,
}

impl Flat {
    /// Flattens a function. Returns `None` if the operands of an instruction are unknown or a label
    /// is missing.
    pub fn new(function: &Function, accesses: &Accesses) -> Option<Self> {
        let mut walk = Walk {
            flat: Self::default(),
            scopes: Vec::new(),
            accesses,
            labels_seen: 0,
            families: 0,
        };
        let body = function.body.as_ref()?;
        walk.block(&body.statements)?;
        walk.flat.shared += walk.families;
        Some(walk.flat)
    }
}

/// The flattening of a function in progress.
struct Walk<'a> {
    flat: Flat,
    scopes: Vec<Scope>,
    accesses: &'a Accesses,
    /// The number of labels that have been numbered, in program order.
    labels_seen: usize,
    /// The size of the largest family, in 32-bit registers.
    families: u32,
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

    /// Declares registers. Elements of vectors are not registers of the checker and keep their
    /// names.
    fn declare(&mut self, variable: &Variable) {
        let bits = variable.ty.bits();
        let each = if bits == 1 { 0 } else { bits.div_ceil(32) };
        let count = variable.count.unwrap_or(1);
        let whole = each * variable.vector.max(1) * count;
        self.flat.declared += whole;
        match variable.count {
            Some(_) if variable.vector <= 1 => self.families = self.families.max(whole),
            _ => self.flat.shared += whole,
        }
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

    /// Returns the register with the given name, searched from the innermost scope outwards.
    fn reg(&mut self, name: &str) -> Option<Reg> {
        for scope in self.scopes.iter_mut().rev() {
            if let Some(reg) = scope.known.get(name) {
                return Some(*reg);
            }
            if let Some((bits, number)) = scope.find(name) {
                let reg = self.flat.regs.len() as Reg;
                let size = bits.div_ceil(32);
                let place = number.filter(|_| bits > 1);
                self.flat.places.push(place.map(|number| (number, size)));
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

    /// Returns the labels that an instruction may branch to, or `None` if one is not declared.
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
    /// Returns the width in bits of a register that the scope declares, and its number in a family.
    fn find(&self, name: &str) -> Option<(u32, Option<u32>)> {
        if let Some(bits) = self.singles.get(name) {
            return Some((*bits, None));
        }
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (1..=digits).rev().find_map(|count| {
            let (prefix, number) = name.split_at(name.len() - count);
            let (bits, extent) = self.ranges.get(prefix)?;
            let number = number
                .parse::<u32>()
                .ok()
                .filter(|n| n.to_string() == number)?;
            (number < *extent).then_some((*bits, Some(number)))
        })
    }
}

/// Numbers the labels and records the branch tables of a block, which are visible in the whole
/// block. Labels are numbered in program order, including those of nested blocks.
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
