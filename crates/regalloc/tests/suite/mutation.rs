//! The checker must reject incorrect allocations: fifty corruptions of correct allocations, chosen
//! by seeds.

use warploom_base::Rng;
use warploom_diag::Source;
use warploom_ptx::ast::{
    AddressBase, Body, Constant, Instruction, Item, Module, Operand, Statement,
};
use warploom_ptx::tokens::{Modifier, Opcode};
use warploom_regalloc::checker::{Claim, check};
use warploom_regalloc::{Options, SharedSpills, Step, Typing, allocate_kernel, demand};

const SEEDS: u64 = 50;
const BLOCK: [u32; 3] = [16, 16, 1];

const HOTSPOT: &str = include_str!("../../../workloads/src/hotspot/kernel.ptx");
const SPMV: &str = include_str!("../../../workloads/src/spmv/kernel.ptx");
const MATRIXMUL: &str = include_str!("../../../workloads/src/matrixmul/kernel.ptx");
const BFS: &str = include_str!("../../../workloads/src/bfs/kernel.ptx");
const SUBJECTS: [(&str, &str); 4] = [
    (HOTSPOT, "calculate_temp"),
    (SPMV, "spmv_jds"),
    (MATRIXMUL, "matrixmul_16"),
    (BFS, "kernel"),
];

/// A correct allocation of registers.
struct Right {
    original: Module,
    allocated: Module,
    kernel: &'static str,
    steps: Vec<Step>,
    limit: u32,
}

fn module(text: &str) -> Module {
    let source = Source::new("kernel.ptx", text);
    warploom_ptx::load(&source).expect("a right program").0
}

impl Right {
    /// Allocates with few registers, so that spills occur. Odd seeds spill to shared memory.
    fn new(seed: u64, rng: &mut Rng) -> Self {
        let (text, kernel) = SUBJECTS[(seed / 2) as usize % SUBJECTS.len()];
        let original = module(text);
        let demand = demand(&original, kernel, &Options::default()).expect("a known kernel");
        let limit = demand.min_registers + 1 + rng.below(4);
        let shared = SharedSpills {
            block: BLOCK,
            spare_bytes: 40 << 10,
            weigh_loops: false,
        };
        let options = Options {
            registers: Some(limit),
            shared: Some(shared).filter(|_| seed % 2 == 1),
            ..Options::default()
        };
        let mut allocation = allocate_kernel(&original, kernel, &options).expect("enough");
        let (_, steps) = allocation.steps.pop().expect("the kernel's");
        Self {
            original,
            allocated: allocation.module,
            kernel,
            steps,
            limit,
        }
    }

    fn check(&self) -> Result<(), String> {
        let claim = Claim {
            original: &self.original,
            allocated: &self.allocated,
            function: self.kernel,
            steps: &self.steps,
            block: BLOCK,
            limit: Some(self.limit),
            typing: Typing::Bits,
        };
        check(&claim).map_err(|refusal| refusal.to_string())
    }

    fn body(&mut self) -> &mut Body {
        let functions = self
            .allocated
            .items
            .iter_mut()
            .filter_map(|item| match item {
                Item::Function(f) if f.name.node == self.kernel => f.body.as_mut(),
                _ => None,
            });
        functions.into_iter().next().expect("a body")
    }

    /// Returns the indices among the statements of the instructions that `wanted` accepts, each
    /// with the index of its step.
    fn places(&mut self, wanted: impl Fn(&Instruction, Step) -> bool) -> Vec<(usize, usize)> {
        let steps = self.steps.clone();
        let with_code = |step: &(usize, Step)| !matches!(step.1, Step::Deleted(_));
        let mut steps = steps.into_iter().enumerate().filter(with_code);
        let mut found = Vec::new();
        for (at, statement) in self.body().statements.iter().enumerate() {
            if let Statement::Instruction(inst) = statement {
                let (step, kind) = steps.next().expect("a step for every instruction");
                if wanted(inst, kind) {
                    found.push((at, step));
                }
            }
        }
        found
    }

    fn inst(&mut self, at: usize) -> &mut Instruction {
        match &mut self.body().statements[at] {
            Statement::Instruction(inst) => inst,
            other => panic!("no instruction: {other:?}"),
        }
    }

    /// Returns the number of registers declared with a prefix.
    fn declared(&mut self, prefix: &str) -> u32 {
        let count = |statement: &Statement| match statement {
            Statement::Variable(v) if v.name.node == prefix => v.count,
            _ => None,
        };
        self.body().statements.iter().find_map(count).unwrap_or(0)
    }

    /// Returns the name of another register of the same class.
    fn other(&mut self, name: &str, rng: &mut Rng) -> Option<String> {
        let prefix = name
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned();
        let number: u32 = name[prefix.len()..].parse().ok()?;
        let count = self.declared(&prefix);
        let step = (count > 1).then(|| 1 + rng.below(count - 1))?;
        Some(format!("{prefix}{}", (number + step) % count))
    }

    /// Replaces the register of an operand by another. Returns whether a replacement was possible.
    fn rename(&mut self, at: usize, operand: usize, rng: &mut Rng) -> bool {
        let mut node = self.inst(at).operands[operand].node.clone();
        let name = match &mut node {
            Operand::Name(name) => name,
            Operand::Address(address) => match &mut address.base.node {
                AddressBase::Name(name) => name,
                AddressBase::Absolute(_) => return false,
            },
            _ => return false,
        };
        let Some(other) = self.other(&name.clone(), rng) else {
            return false;
        };
        *name = other;
        self.inst(at).operands[operand].node = node;
        true
    }
}

fn is_register(operand: &Operand) -> bool {
    matches!(operand, Operand::Name(name) if name.starts_with("%r") && !name.contains('.'))
}

fn kept(step: Step) -> bool {
    matches!(step, Step::Kept(_))
}

/// The name of a corruption and the function that applies it. The function returns false if the
/// allocation has nothing to corrupt.
type Corruption = (&'static str, fn(&mut Right, &mut Rng) -> bool);

const CORRUPTIONS: [Corruption; 12] = [
    ("reads another register", |right, rng| {
        let binary = |inst: &Instruction, step| {
            kept(step) && inst.operands.len() >= 3 && is_register(&inst.operands[2].node)
        };
        let places = right.places(binary);
        pick(&places, rng).is_some_and(|(at, _)| right.rename(at, 2, rng))
    }),
    ("writes another register", |right, rng| {
        let arithmetic = |inst: &Instruction, step| {
            let op = inst.opcode.node;
            kept(step) && matches!(op, Opcode::Mad | Opcode::Add | Opcode::Fma | Opcode::Mul)
        };
        let places = right.places(arithmetic);
        pick(&places, rng).is_some_and(|(at, _)| right.rename(at, 0, rng))
    }),
    // A fetch into another register may be harmless, because the first one may hold the value
    // still.
    ("fetches a constant", |right, rng| {
        let places = right.places(|inst, step| step == Step::Inserted && inst.opcode == Opcode::Ld);
        let Some((at, _)) = pick(&places, rng) else {
            return false;
        };
        let inst = right.inst(at);
        inst.opcode.node = Opcode::Mov;
        inst.modifiers
            .retain(|m| matches!(m.node, Modifier::Type(_)));
        inst.operands[1].node = Operand::Immediate(Constant::Int(12_345, false));
        true
    }),
    ("puts away another register", |right, rng| {
        let places = right.places(|inst, step| step == Step::Inserted && inst.opcode == Opcode::St);
        pick(&places, rng).is_some_and(|(at, _)| right.rename(at, 1, rng))
    }),
    ("fetches from another place", |right, rng| {
        let places = right.places(|inst, step| step == Step::Inserted && is_spill_load(inst));
        pick(&places, rng).is_some_and(|(at, _)| shift(right.inst(at), 1, 8))
    }),
    ("puts away at another place", |right, rng| {
        let places = right.places(|inst, step| step == Step::Inserted && inst.opcode == Opcode::St);
        pick(&places, rng).is_some_and(|(at, _)| shift(right.inst(at), 0, 16))
    }),
    ("forgets an instruction of its own", |right, rng| {
        let places = right.places(|_, step| step == Step::Inserted);
        let Some((at, step)) = pick(&places, rng) else {
            return false;
        };
        right.body().statements.remove(at);
        right.steps.remove(step);
        true
    }),
    ("forgets an instruction of the program", |right, rng| {
        let needed = |inst: &Instruction, step| {
            kept(step) && matches!(inst.opcode.node, Opcode::Add | Opcode::Mad | Opcode::St)
        };
        let places = right.places(needed);
        let Some((at, step)) = pick(&places, rng) else {
            return false;
        };
        right.body().statements.remove(at);
        if let Step::Kept(number) = right.steps[step] {
            right.steps[step] = Step::Deleted(number);
        }
        true
    }),
    ("changes a constant", |right, rng| {
        let constant = |inst: &Instruction, _| last_number(inst).is_some();
        let places = right.places(constant);
        let Some((at, _)) = pick(&places, rng) else {
            return false;
        };
        let last = right.inst(at).operands.len() - 1;
        let number = last_number(right.inst(at)).unwrap_or(0).wrapping_add(1);
        right.inst(at).operands[last].node = Operand::Immediate(Constant::Int(number, false));
        true
    }),
    ("branches elsewhere", |right, rng| {
        let labels: Vec<String> = right.body().statements.iter().filter_map(label).collect();
        let places = right.places(|inst, _| inst.opcode == Opcode::Bra);
        let Some((at, _)) = pick(&places, rng) else {
            return false;
        };
        let target = &mut right.inst(at).operands[0].node;
        let elsewhere = labels
            .iter()
            .find(|label| Operand::Name((*label).clone()) != *target);
        let Some(elsewhere) = elsewhere else {
            return false;
        };
        *target = Operand::Name(elsewhere.clone());
        true
    }),
    ("turns a guard round", |right, rng| {
        let places = right.places(|inst, _| inst.guard.is_some());
        let Some((at, _)) = pick(&places, rng) else {
            return false;
        };
        if let Some(guard) = &mut right.inst(at).guard {
            guard.negated = !guard.negated;
        }
        true
    }),
    // The label moves past an original instruction, because a move past an added instruction may be
    // harmless.
    ("moves a label", |right, rng| {
        let labels = right.body().statements.iter().enumerate();
        let labels: Vec<usize> = labels
            .filter(|(_, s)| label(s).is_some())
            .map(|(at, _)| at)
            .collect();
        let at = labels[rng.below(labels.len() as u32) as usize];
        let places = right.places(|_, step| kept(step));
        let Some((next, _)) = places.into_iter().find(|(place, _)| *place > at) else {
            return false;
        };
        let statements = &mut right.body().statements;
        let moved = statements.remove(at);
        statements.insert(next, moved);
        true
    }),
];

fn label(statement: &Statement) -> Option<String> {
    match statement {
        Statement::Label(name) => Some(name.node.clone()),
        _ => None,
    }
}

fn is_spill_load(inst: &Instruction) -> bool {
    let text = inst.to_string();
    text.starts_with("ld.local") || text.starts_with("ld.shared")
}

fn last_number(inst: &Instruction) -> Option<u64> {
    match inst.operands.last().map(|operand| &operand.node) {
        Some(Operand::Immediate(Constant::Int(number, _))) => Some(*number),
        _ => None,
    }
}

fn shift(inst: &mut Instruction, operand: usize, bytes: i64) -> bool {
    match &mut inst.operands[operand].node {
        Operand::Address(address) => {
            address.offset += bytes;
            true
        }
        _ => false,
    }
}

fn pick(places: &[(usize, usize)], rng: &mut Rng) -> Option<(usize, usize)> {
    (!places.is_empty()).then(|| places[rng.below(places.len() as u32) as usize])
}

#[test]
fn every_corruption_is_refused() {
    let mut done = 0;
    let mut seed = 0;
    while done < SEEDS {
        let mut rng = Rng::new(seed);
        let mut right = Right::new(seed, &mut rng);
        assert_eq!(right.check(), Ok(()), "seed {seed}: before it is corrupted");
        let (name, corrupt) = CORRUPTIONS[done as usize % CORRUPTIONS.len()];
        seed += 1;
        if !corrupt(&mut right, &mut rng) {
            assert!(seed < 4 * SEEDS, "nothing to corrupt: {name}");
            continue;
        }
        let refused = right.check().is_err();
        assert!(refused, "seed {}: one that {name} is accepted", seed - 1);
        done += 1;
    }
}
