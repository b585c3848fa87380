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
}

/// Special registers whose value is constant during the lifetime of a thread.
const STEADY: [&str; 5] = ["%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%laneid"];

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

    /// Returns the value that an unguarded instruction produces in a register of `bits` bits.
    /// Returns `None` if the value depends on anything other than the arguments. `params` are the
    /// names of the parameters that never change.
    pub fn of(
        &mut self,
        blank: &Instruction,
        args: Option<Vec<ValueId>>,
        bits: u32,
        params: &[String],
    ) -> Option<ValueId> {
        let args = args?;
        let steady = match blank.opcode.node {
            Opcode::Mov => is_steady_move(blank, &args),
            Opcode::Cvta => true,
            Opcode::Ld => is_param_load(blank, &args, params),
            Opcode::Add | Opcode::Mul | Opcode::Mad | Opcode::Shl => is_plain(blank),
            _ => false,
        };
        if !steady {
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

/// Returns whether a `mov` produces the same value throughout the lifetime of a thread.
fn is_steady_move(inst: &Instruction, args: &[ValueId]) -> bool {
    match inst.operands.get(1).map(|operand| &operand.node) {
        Some(Operand::Immediate(_) | Operand::NameOffset(..)) => true,
        Some(Operand::Name(name)) if name.is_empty() => args.len() == 1,
        Some(Operand::Name(name)) if name.starts_with('%') => {
            STEADY.iter().any(|steady| name.starts_with(steady))
        }
        Some(Operand::Name(_)) => true,
        _ => false,
    }
}

/// Returns whether an instruction loads from a parameter that never changes.
fn is_param_load(inst: &Instruction, args: &[ValueId], params: &[String]) -> bool {
    let space = Modifier::Space(Space::Param);
    let Some(Operand::Address(address)) = inst.operands.get(1).map(|o| &o.node) else {
        return false;
    };
    let named = match &address.base.node {
        warploom_ptx::ast::AddressBase::Name(name) => params.contains(name),
        warploom_ptx::ast::AddressBase::Absolute(_) => false,
    };
    named && args.is_empty() && inst.modifiers.iter().any(|m| m.node == space)
}

/// Returns whether an instruction is unsigned 32-bit arithmetic that produces the low half without
/// carry.
fn is_plain(inst: &Instruction) -> bool {
    use warploom_ptx::tokens::ScalarType::{B32, U32};
    inst.modifiers
        .iter()
        .all(|modifier| matches!(modifier.node, Modifier::Lo | Modifier::Type(U32 | B32)))
}

/// Returns whether an instruction moves zero into a register.
fn is_zero(inst: &Instruction) -> bool {
    let source = inst.operands.get(1).map(|operand| &operand.node);
    let zero = matches!(source, Some(Operand::Immediate(Constant::Int(0, _))));
    inst.opcode == Opcode::Mov && zero
}
