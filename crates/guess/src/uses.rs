//! Uses of a kernel's parameters and indices, from its syntax tree.
//!
//! An address is a parameter as wide as the module's addresses that reaches an access to memory
//! through copies, conversions of address spaces, additions and subtractions. The order of
//! instructions does not matter: names are followed until nothing changes.

use std::collections::{BTreeMap, BTreeSet};
use warploom_ptx::access::types;
use warploom_ptx::ast::{
    AddressBase, Body, Function, FunctionDirective, Instruction, Item, Module, Operand, Statement,
    Variable,
};
use warploom_ptx::tokens::{Opcode, ScalarType, Space};

/// Uses of a kernel's parameters and indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelUses {
    /// Parameters in order of declaration.
    pub parameters: Vec<Parameter>,
    /// Dimensions in which threads and blocks have an index that the kernel reads.
    pub axes: Axes,
    /// Threads of a block that the kernel requires (`.reqntid`).
    pub required_block: Option<[u32; 3]>,
    /// Most threads of a block (`.maxntid`).
    pub most_threads: Option<u32>,
    /// Size of the largest shared array in elements of four bytes; `None` without such an array.
    pub shared_words: Option<u64>,
    /// True if the size of shared memory comes with the launch.
    pub dynamic_shared: bool,
}

/// Highest dimension of which an index is read: 1 for x, 2 for y, 3 for z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// Highest dimension of a thread's index in its block.
    pub thread: u8,
    /// Highest dimension of a block's index in the grid.
    pub block: u8,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Address of data in global memory.
    Buffer(Buffer),
    /// An integer of this number of bits.
    Integer(u32),
    /// A floating-point number of any width.
    Float,
    /// A structure or an array by value, of this size in bytes.
    Aggregate(u64),
    /// A texture, surface or sampler.
    Opaque,
}

/// Data that a kernel accesses through a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Type of an element.
    pub element: ScalarType,
    /// True if the kernel reads it before or without writing.
    pub is_read: bool,
    /// True if all accesses are vectors of elements.
    pub is_vector: bool,
}

/// Set of parameters: bit n stands for parameter n.
type Parameters = u64;

/// Finds the uses of a kernel's parameters and indices.
pub fn uses(module: &Module, kernel: &Function) -> KernelUses {
    let mut scan = Scan::new(kernel, module.address_bits);
    scan.follow();
    let accesses = scan.accesses();
    let parameters = kernel.params.iter().enumerate();
    let parameters = parameters
        .map(|(n, param)| parameter(param, module.address_bits, accesses.get(&n).copied()));
    let block = kernel.directives.iter();
    KernelUses {
        parameters: parameters.collect(),
        axes: scan.axes(),
        required_block: block.clone().find_map(|directive| match directive {
            FunctionDirective::RequiredThreads(extents) => Some(*extents),
            _ => None,
        }),
        most_threads: block.clone().find_map(|directive| match directive {
            FunctionDirective::MaxThreads(extents) => Some(extents.iter().product()),
            _ => None,
        }),
        shared_words: shared(module, &scan).filter_map(words).max(),
        dynamic_shared: shared(module, &scan).any(|variable| variable.dims == [None]),
    }
}

fn parameter(param: &Variable, address_bits: u32, access: Option<Buffer>) -> Parameter {
    if param.opaque.is_some() || !matches!(param.ty.bits(), 8..=64) {
        return Parameter::Opaque;
    }
    if !param.dims.is_empty() || param.vector > 1 {
        let elements: u64 = param.dims.iter().map(|n| n.unwrap_or(0)).product();
        let bytes = elements * u64::from(param.vector) * u64::from(param.ty.bytes());
        return Parameter::Aggregate(bytes);
    }
    let unused = Buffer {
        element: ScalarType::F32,
        is_read: false,
        is_vector: false,
    };
    let declared = param.pointer.filter(|_| param.ty.bits() == address_bits);
    match access.or_else(|| declared.map(|_| unused)) {
        Some(buffer) => Parameter::Buffer(buffer),
        None if param.ty.is_float() => Parameter::Float,
        None => Parameter::Integer(param.ty.bits()),
    }
}

/// Shared variables of the file and of the kernel.
fn shared<'a>(module: &'a Module, scan: &Scan<'a>) -> impl Iterator<Item = &'a Variable> {
    let names = scan.names.clone();
    let of_file = module.items.iter().filter_map(|item| match item {
        Item::Variable(variable) => Some(variable),
        _ => None,
    });
    let used = move |variable: &&Variable| names.contains(variable.name.node.as_str());
    let of_file = of_file.filter(used);
    let all = of_file.chain(scan.variables.clone());
    all.filter(|variable| variable.space == Space::Shared)
}

/// Size of an array in elements of four bytes, or of eight where its elements have eight.
fn words(variable: &Variable) -> Option<u64> {
    let elements: Option<u64> = variable.dims.iter().copied().product();
    let bytes = elements.filter(|_| !variable.dims.is_empty())? * u64::from(variable.ty.bytes());
    let unit = u64::from(variable.align.unwrap_or(4)).clamp(4, 8);
    Some(bytes / unit).filter(|words| *words > 0)
}

/// Instructions of a kernel, and what is known of its registers.
struct Scan<'a> {
    instructions: Vec<&'a Instruction>,
    variables: Vec<&'a Variable>,
    /// Names of registers and variables in operands.
    names: BTreeSet<&'a str>,
    /// Parameters whose address a register may hold.
    holds: BTreeMap<&'a str, Parameters>,
    /// Registers of floating-point numbers, with the type.
    floats: BTreeMap<&'a str, ScalarType>,
    /// Parameters of the kernel that are as wide as an address.
    addresses: BTreeMap<&'a str, Parameters>,
    /// Parameters that are certainly addresses.
    certain: Parameters,
}

impl<'a> Scan<'a> {
    fn new(kernel: &'a Function, address_bits: u32) -> Self {
        let params = kernel.params.iter().enumerate().take(64);
        let wide = params.filter(|(_, param)| {
            param.ty.bits() == address_bits && param.dims.is_empty() && !param.ty.is_float()
        });
        let mut scan = Self {
            instructions: Vec::new(),
            variables: Vec::new(),
            names: BTreeSet::new(),
            holds: BTreeMap::new(),
            floats: BTreeMap::new(),
            addresses: wide
                .map(|(n, param)| (param.name.node.as_str(), 1 << n))
                .collect(),
            certain: 0,
        };
        if let Some(body) = &kernel.body {
            scan.collect(body);
        }
        scan
    }

    fn collect(&mut self, body: &'a Body) {
        for statement in &body.statements {
            match statement {
                Statement::Instruction(instruction) => {
                    for operand in &instruction.operands {
                        self.names.extend(operand_names(&operand.node));
                    }
                    self.instructions.push(instruction);
                }
                Statement::Variable(variable) => self.variables.push(variable),
                Statement::Block(inner) => self.collect(inner),
                _ => {}
            }
        }
    }

    /// Follows addresses and floating-point numbers until nothing changes.
    fn follow(&mut self) {
        for at in 0..self.instructions.len() {
            self.note_floats(self.instructions[at]);
        }
        self.note_shared();
        loop {
            let before = (self.holds.clone(), self.floats.len(), self.certain);
            for at in 0..self.instructions.len() {
                self.note_address(self.instructions[at]);
                self.note_copy(self.instructions[at]);
            }
            if before == (self.holds.clone(), self.floats.len(), self.certain) {
                return;
            }
        }
    }

    /// Notes the registers that an instruction uses as floating-point numbers.
    fn note_floats(&mut self, instruction: &'a Instruction) {
        if matches!(instruction.opcode.node, Opcode::Ld | Opcode::St) {
            return;
        }
        let types: Vec<_> = types(instruction).collect();
        let is_conversion = instruction.opcode == Opcode::Cvt || instruction.opcode == Opcode::Set;
        for (n, operand) in instruction.operands.iter().enumerate() {
            let ty = match is_conversion {
                true => types.get(n.min(1)),
                false => types.first(),
            };
            let float = ty.filter(|ty| ty.is_float());
            if let (Operand::Name(name), Some(ty)) = (&operand.node, float) {
                self.floats.insert(name, *ty);
            }
        }
    }

    /// Notes the registers that are stored to shared memory as numbers of the type that all loads
    /// from there with their width have, if that is a floating-point type: compilers copy floats
    /// as integers.
    fn note_shared(&mut self) {
        let is_shared = |i: &&Instruction| {
            let mut spaces = i.modifiers.iter().filter_map(|m| m.node.space());
            spaces.any(|space| space == Space::Shared)
        };
        let of = |opcode: Opcode| {
            let all = self.instructions.iter().copied().filter(is_shared);
            all.filter(move |i| i.opcode.node == opcode)
        };
        let mut stored = Vec::new();
        for store in of(Opcode::St) {
            let Some(width) = types(store).next().map(ScalarType::bits) else {
                continue;
            };
            let same = of(Opcode::Ld).map(|load| self.buffer(load).element);
            let mut same = same.filter(|ty| ty.bits() == width);
            let Some(float) = same.next().filter(|ty| ty.is_float()) else {
                continue;
            };
            if same.all(|ty| ty == float)
                && let Some(value) = store.operands.get(1)
            {
                let names = operand_names(&value.node);
                stored.extend(names.into_iter().map(|name| (name, float)));
            }
        }
        for (name, float) in stored {
            self.floats.entry(name).or_insert(float);
        }
    }

    /// Passes the type of a floating-point number through a copy, in both directions.
    fn note_copy(&mut self, instruction: &'a Instruction) {
        if !matches!(instruction.opcode.node, Opcode::Mov | Opcode::Selp) {
            return;
        }
        let names: Vec<&str> = instruction
            .operands
            .iter()
            .take(3)
            .filter_map(name)
            .collect();
        if let Some(ty) = names.iter().find_map(|name| self.floats.get(name).copied()) {
            self.floats.extend(names.into_iter().map(|name| (name, ty)));
        }
    }

    /// Passes addresses from the operands of an instruction to its result.
    fn note_address(&mut self, instruction: &'a Instruction) {
        let operands = &instruction.operands;
        let sources: &[_] = match instruction.opcode.node {
            Opcode::Ld => {
                let source = operands.get(1).and_then(|operand| base(&operand.node));
                let held = source.and_then(|name| self.addresses.get(name)).copied();
                self.hold(operands.first().and_then(name), held.unwrap_or(0));
                return;
            }
            Opcode::Mov | Opcode::Cvta => operands.get(1..2).unwrap_or_default(),
            Opcode::Add | Opcode::Sub | Opcode::Selp => operands.get(1..3).unwrap_or_default(),
            Opcode::Mad => operands.get(3..4).unwrap_or_default(),
            _ => return,
        };
        let held = sources.iter().filter_map(name);
        let held = held.filter_map(|name| self.holds.get(name));
        let held: Parameters = held.fold(0, |all, parameters| all | parameters);
        if instruction.opcode == Opcode::Cvta && held.count_ones() == 1 {
            self.certain |= held;
        }
        self.hold(operands.first().and_then(name), held);
    }

    fn hold(&mut self, register: Option<&'a str>, held: Parameters) {
        if let (Some(register), true) = (register, held != 0) {
            *self.holds.entry(register).or_default() |= held;
        }
    }

    /// Data that is accessed through each parameter.
    fn accesses(&self) -> BTreeMap<usize, Buffer> {
        let mut accessed: Vec<(Parameters, Buffer)> = Vec::new();
        for instruction in &self.instructions {
            let spaces = instruction.modifiers.iter().filter_map(|m| m.node.space());
            if spaces.clone().any(|space| space != Space::Global) {
                continue;
            }
            let bases = instruction
                .operands
                .iter()
                .filter_map(|operand| base(&operand.node));
            let held: Parameters = bases
                .filter_map(|name| self.holds.get(name))
                .fold(0, |all, held| all | held);
            if held != 0 {
                accessed.push((held, self.buffer(instruction)));
            }
        }
        let alone = accessed.iter().map(|(held, _)| *held);
        let alone = alone.filter(|held| held.count_ones() == 1);
        let certain = alone.fold(self.certain, |all, held| all | held);
        let mut buffers: BTreeMap<usize, Buffer> = BTreeMap::new();
        for (held, buffer) in accessed {
            let meant = if held & certain == 0 {
                held
            } else {
                held & certain
            };
            for n in (0..64).filter(|n| meant & (1 << n) != 0) {
                let known = buffers.entry(n).or_insert(buffer);
                known.is_read |= buffer.is_read;
                known.is_vector &= buffer.is_vector;
                // A float that is stored as a constant is stored as an integer of its width.
                let (old, new) = (known.element, buffer.element);
                let is_same_float = new.is_float() && !old.is_float() && new.bits() == old.bits();
                if old.is_bits() || is_same_float {
                    known.element = new;
                }
            }
        }
        buffers
    }

    /// Data of one access.
    fn buffer(&self, instruction: &Instruction) -> Buffer {
        let ty = types(instruction).next().unwrap_or(ScalarType::B32);
        let values = instruction
            .operands
            .iter()
            .flat_map(|o| operand_names(&o.node));
        let mut floats = values.filter_map(|name| self.floats.get(name));
        let float = floats.find(|float| float.bits() == ty.bits());
        let is_stored = matches!(
            instruction.opcode.node,
            Opcode::St | Opcode::Atom | Opcode::Red
        );
        Buffer {
            element: match float {
                Some(float) if !ty.is_float() => *float,
                _ => ty,
            },
            is_read: !is_stored,
            is_vector: instruction
                .modifiers
                .iter()
                .any(|modifier| modifier.node.vector_len().is_some()),
        }
    }

    fn axes(&self) -> Axes {
        let highest = |vector: &str| {
            let axis = |axis: &str| self.names.contains(format!("{vector}.{axis}").as_str());
            match (axis("z"), axis("y")) {
                (true, _) => 3,
                (false, true) => 2,
                (false, false) => 1,
            }
        };
        Axes {
            thread: highest("%tid"),
            block: highest("%ctaid"),
        }
    }
}

/// Name that an operand consists of.
fn name(operand: &warploom_ptx::ast::Spanned<Operand>) -> Option<&str> {
    match &operand.node {
        Operand::Name(name) | Operand::NameOffset(name, _) => Some(name),
        _ => None,
    }
}

/// Register or variable in the square brackets of an operand.
fn base(operand: &Operand) -> Option<&str> {
    match operand {
        Operand::Address(address) => match &address.base.node {
            AddressBase::Name(name) => Some(name),
            AddressBase::Absolute(_) => None,
        },
        _ => None,
    }
}

/// Names in an operand, those in vectors and brackets included.
fn operand_names(operand: &Operand) -> Vec<&str> {
    match operand {
        Operand::Name(name) | Operand::NameOffset(name, _) => vec![name],
        Operand::Vector(parts) | Operand::List(parts) => {
            let names = parts.iter().flat_map(|part| operand_names(&part.node));
            names.collect()
        }
        other => base(other).into_iter().collect(),
    }
}
