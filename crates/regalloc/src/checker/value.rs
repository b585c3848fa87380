//! Recomputable values: constants, parameters, indices, and addresses derived from them.

use rustc_hash::FxHashMap;
use warploom_ptx::ast::{Constant, Instruction, Operand};
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// The index of a value. Equal indices mean equal values.
pub(super) type ValueId = u32;

/// The definition of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Value {
    /// The initial value of every register: zero, with the given width in bits.
    Zero(u32),
    /// The address of a variable.
    Address(String),
    /// The result of an instruction, given as text without register names, for the given argument
    /// values.
    Of(String, Vec<ValueId>),
}

/// All values that occurred.
#[derive(Default)]
pub(super) struct Values {
    numbers: FxHashMap<Value, ValueId>,
    /// The instruction and the arguments of each value, for evaluation.
    made: Vec<Option<(Instruction, Vec<ValueId>)>>,
    /// The symbol whose address a value is, for accesses that name it.
    symbols: FxHashMap<ValueId, String>,
}

/// Special registers whose value is constant during the lifetime of a thread.
const STEADY: [&str; 5] = ["%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%laneid"];

/// Operations whose result depends on register and constant operands alone.
const PURE: &[Opcode] = &[
    Opcode::Mov,
    Opcode::Cvta,
    Opcode::Cvt,
    Opcode::Selp,
    Opcode::Add,
    Opcode::Sub,
    Opcode::Mul,
    Opcode::Mad,
    Opcode::Mul24,
    Opcode::Mad24,
    Opcode::Fma,
    Opcode::Min,
    Opcode::Max,
    Opcode::Abs,
    Opcode::Neg,
    Opcode::Not,
    Opcode::And,
    Opcode::Or,
    Opcode::Xor,
    Opcode::Shl,
    Opcode::Shr,
    Opcode::Bfe,
];

impl Values {
    fn number(&mut self, value: Value, made: Option<(Instruction, Vec<ValueId>)>) -> ValueId {
        let next = self.made.len() as ValueId;
        let id = *self.numbers.entry(value).or_insert(next);
        if id == next {
            self.made.push(made);
        }
        id
    }

    /// Returns the initial value of registers of the given width in bits.
    pub fn zero(&mut self, bits: u32) -> ValueId {
        self.number(Value::Zero(bits), None)
    }

    /// Returns the address of a variable.
    pub fn address(&mut self, symbol: &str) -> ValueId {
        let value = self.number(Value::Address(symbol.to_owned()), None);
        self.symbols.insert(value, symbol.to_owned());
        value
    }

    /// Returns the value that an unguarded instruction produces in a register of `bits` bits.
    /// Returns `None` if the value depends on anything other than the arguments. `params` are the
    /// names of the parameters that never change.
    pub fn of(
        &mut self,
        blank: &Instruction,
        args: Option<Vec<ValueId>>,
        bits: u32,
        params: &[String],
        pinned: &[String],
    ) -> Option<ValueId> {
        let args = args?;
        if !is_pure(blank, params, pinned) {
            return None;
        }
        if is_zero(blank) {
            return Some(self.zero(bits));
        }
        let value = Value::Of(blank.to_string(), args.clone());
        Some(self.number(value, Some((blank.clone(), args))))
    }

    /// Returns the symbol whose address a value is.
    pub fn symbol(&self, value: ValueId) -> Option<&str> {
        if let Some(symbol) = self.symbols.get(&value) {
            return Some(symbol);
        }
        let (inst, _) = self.made[value as usize].as_ref()?;
        match (inst.opcode.node, inst.operands.get(1).map(|o| &o.node)) {
            (Opcode::Mov, Some(Operand::Name(name))) if !name.starts_with('%') => Some(name),
            _ => None,
        }
    }

    /// Returns the number that a value is in the thread with index `thread`, relative to the
    /// address of `symbol`.
    pub fn evaluate(&self, value: ValueId, thread: [u32; 3], symbol: &str) -> Option<u32> {
        let Some((inst, args)) = self.made[value as usize].as_ref() else {
            return Some(0);
        };
        let mut args = args.iter();
        let mut numbers = Vec::new();
        for operand in &inst.operands[1..] {
            numbers.push(match &operand.node {
                Operand::Immediate(Constant::Int(number, _)) => u32::try_from(*number).ok()?,
                Operand::Name(name) if name.is_empty() => {
                    self.evaluate(*args.next()?, thread, symbol)?
                }
                Operand::Name(name) if name == symbol => 0,
                Operand::Name(name) => match name.as_str() {
                    "%tid.x" => thread[0],
                    "%tid.y" => thread[1],
                    "%tid.z" => thread[2],
                    _ => return None,
                },
                _ => return None,
            });
        }
        match (inst.opcode.node, &numbers[..]) {
            (Opcode::Mov, [a]) => Some(*a),
            (Opcode::Add, [a, b]) => a.checked_add(*b),
            (Opcode::Mul, [a, b]) => a.checked_mul(*b),
            (Opcode::Mad, [a, b, c]) => a.checked_mul(*b)?.checked_add(*c),
            (Opcode::Shl, [a, b]) => a.checked_mul(1_u32.checked_shl(*b)?),
            _ => None,
        }
    }
}

/// Returns whether an instruction without a guard depends on its operands alone: arithmetic, and
/// the instructions of [`Values::of`]. `params` are the names of the parameters that never change,
/// and `pinned` those of registers that keep their names.
pub(super) fn is_pure(inst: &Instruction, params: &[String], pinned: &[String]) -> bool {
    let odd = |m: &Modifier| matches!(m, Modifier::Cc | Modifier::V2 | Modifier::V4);
    if inst.guard.is_some() || inst.modifiers.iter().any(|m| odd(&m.node)) {
        return false;
    }
    let sources = inst.operands.iter().skip(1).map(|operand| &operand.node);
    match inst.opcode.node {
        Opcode::Ld => is_param_load(inst, params) || is_constant_load(inst),
        opcode if PURE.contains(&opcode) => {
            sources.into_iter().all(|source| is_steady(source, pinned))
        }
        _ => false,
    }
}

/// Returns whether an operand is a register of the checker, whose name is empty, or constant.
fn is_steady(operand: &Operand, pinned: &[String]) -> bool {
    match operand {
        Operand::Immediate(_) => true,
        Operand::Name(name) | Operand::Not(name) | Operand::NameOffset(name, _) => {
            let changes = name.starts_with('%') && !STEADY.iter().any(|s| name.starts_with(s));
            !changes && !pinned.contains(name)
        }
        Operand::Vector(all) => all.iter().all(|one| is_steady(&one.node, pinned)),
        _ => false,
    }
}

/// Returns whether an instruction loads from a parameter that never changes.
fn is_param_load(inst: &Instruction, params: &[String]) -> bool {
    let space = Modifier::Space(Space::Param);
    let Some(Operand::Address(address)) = inst.operands.get(1).map(|o| &o.node) else {
        return false;
    };
    let named = match &address.base.node {
        warploom_ptx::ast::AddressBase::Name(name) => params.contains(name),
        warploom_ptx::ast::AddressBase::Absolute(_) => false,
    };
    named && inst.modifiers.iter().any(|m| m.node == space)
}

/// Returns whether an instruction loads one value from constant memory, which never changes.
fn is_constant_load(inst: &Instruction) -> bool {
    let plain = |m: &Modifier| matches!(m, Modifier::Space(Space::Const) | Modifier::Type(_));
    let constant = Modifier::Space(Space::Const);
    inst.modifiers.iter().all(|m| plain(&m.node))
        && inst.modifiers.iter().any(|m| m.node == constant)
}

/// Returns whether an instruction moves zero into a register.
fn is_zero(inst: &Instruction) -> bool {
    let source = inst.operands.get(1).map(|operand| &operand.node);
    let zero = matches!(source, Some(Operand::Immediate(Constant::Int(0, _))));
    inst.opcode == Opcode::Mov && zero
}
