//! Construction of new instructions by the allocator.

use crate::body::{Control, Inst, Mention, Purpose, Var};
use smallvec::SmallVec;
use warploom_diag::Span;
use warploom_ptx::access::Access;
use warploom_ptx::ast::{Address, AddressBase, Constant, Instruction, Operand, Spanned};
use warploom_ptx::tokens::{Modifier, Opcode};

/// An instruction under construction. Operands are added from left to right.
pub(crate) struct InstBuilder {
    opcode: Opcode,
    modifiers: Vec<Modifier>,
    operands: Vec<Operand>,
    mentions: SmallVec<[Mention; 4]>,
}

/// Attaches an empty source position to a node of the syntax tree.
pub(crate) fn unspanned<T>(node: T) -> Spanned<T> {
    Spanned {
        node,
        span: Span::default(),
    }
}

impl InstBuilder {
    pub fn new(opcode: Opcode, modifiers: &[Modifier]) -> Self {
        Self {
            opcode,
            modifiers: modifiers.to_vec(),
            operands: Vec::new(),
            mentions: SmallVec::new(),
        }
    }

    fn mention(&mut self, var: Option<Var>, access: Access) {
        self.mentions.push(Mention { var, access });
    }

    pub fn write(mut self, var: Var) -> Self {
        self.mention(Some(var), Access::Write);
        self.operands.push(Operand::Name(String::new()));
        self
    }

    pub fn read(mut self, var: Var) -> Self {
        self.mention(Some(var), Access::Read);
        self.operands.push(Operand::Name(String::new()));
        self
    }

    /// Adds a source operand that names a memory variable or a special register.
    pub fn symbol(mut self, name: &str) -> Self {
        self.mention(None, Access::Read);
        self.operands.push(Operand::Name(name.to_owned()));
        self
    }

    pub fn number(mut self, value: u32) -> Self {
        let constant = Constant::Int(value.into(), false);
        self.operands.push(Operand::Immediate(constant));
        self
    }

    /// Adds an address operand `[base]`. Its offset is set when the spill stack is laid out.
    pub fn address(mut self, base: Var) -> Self {
        self.mention(Some(base), Access::Read);
        self.operands.push(Operand::Address(Address {
            base: unspanned(AddressBase::Name(String::new())),
            offset: 0,
            rest: Vec::new(),
        }));
        self
    }

    /// Adds an address operand `[name]`. Its offset is set when the spill stack is laid out.
    pub fn symbol_address(mut self, name: &str) -> Self {
        self.mention(None, Access::Read);
        self.operands.push(Operand::Address(Address {
            base: unspanned(AddressBase::Name(name.to_owned())),
            offset: 0,
            rest: Vec::new(),
        }));
        self
    }

    pub fn inst(self, purpose: Purpose) -> Inst {
        Inst {
            ast: Instruction {
                guard: None,
                opcode: unspanned(self.opcode),
                modifiers: self.modifiers.into_iter().map(unspanned).collect(),
                operands: self.operands.into_iter().map(unspanned).collect(),
            },
            mentions: self.mentions,
            control: Control::Next,
            purpose,
        }
    }
}

/// Sets the offset of the address operands of an instruction.
pub(crate) fn set_offset(inst: &mut Inst, offset: u32) {
    for operand in &mut inst.ast.operands {
        if let Operand::Address(address) = &mut operand.node {
            address.offset = offset.into();
        }
    }
}
