//! The instructions that a warp executes, in program order, with loops repeated.

use std::collections::HashMap;
use warploom_config::{GpuSpec, OpTiming, TypeTiming, UnitSpecs};
use warploom_ptx::access::{Access, Accesses};
use warploom_ptx::ast::{Body, Function, Instruction, Operand, Statement};
use warploom_ptx::tokens::{Modifier, Opcode, Space};

/// The maximum number of instructions of a stream. Later code is ignored.
const MAX_STEPS: usize = 1 << 12;

/// The kind of an instruction, by the part of the SM that executes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// Arithmetic and everything without a unit of its own.
    Arithmetic(OpTiming),
    /// Operations of the special function units.
    Special(OpTiming),
    /// An access to shared, parameter or constant memory with this latency in cycles.
    Near(u32),
    /// A load from memory outside the SM.
    Load,
    /// A store to memory outside the SM.
    Store,
    /// A barrier of the block.
    Barrier,
}

/// An instruction of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub work: Work,
    /// The registers that the instruction reads or writes. Earlier results in them must have
    /// arrived before it issues.
    pub needs: Vec<usize>,
    /// The registers that it writes.
    pub writes: Vec<usize>,
}

/// The instructions of a warp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stream {
    pub steps: Vec<Step>,
    /// The number of registers.
    pub registers: usize,
    /// The number of units for arithmetic and of special function units.
    pub units: [usize; 2],
}

impl Stream {
    /// Lists the instructions that a warp of a function executes on a GPU. Branches forward are not
    /// taken. A loop, which is a branch back to an earlier label, executes `trips` times.
    pub(super) fn new(function: &Function, trips: u32, gpu: &GpuSpec) -> Self {
        let mut code = Vec::new();
        if let Some(body) = &function.body {
            flatten(body, &mut code);
        }
        let mut reader = Reader::new(gpu);
        let lines: Vec<Line> = code.into_iter().map(|s| reader.line(s)).collect();
        let mut steps = Vec::new();
        repeat(&lines, lines.len(), trips, &mut steps);
        let units = &gpu.sm.units;
        Self {
            steps,
            registers: reader.numbers.len(),
            units: [units.sp.count + units.int.count, units.sfu.count].map(|n| n.max(1) as usize),
        }
    }
}

/// A line of the code.
enum Line {
    Label(String),
    /// An instruction, and the label to which it branches.
    Step(Step, Option<String>),
}

/// Lists the labels and the instructions of a body, with nested blocks in place.
fn flatten<'a>(body: &'a Body, code: &mut Vec<&'a Statement>) {
    for statement in &body.statements {
        match statement {
            Statement::Block(inner) => flatten(inner, code),
            Statement::Label(_) | Statement::Instruction(_) => code.push(statement),
            _ => {}
        }
    }
}

/// Adds the first `end` lines to the steps, and loop bodies for each further iteration.
fn repeat(lines: &[Line], end: usize, trips: u32, steps: &mut Vec<Step>) {
    for at in 0..end {
        let Line::Step(step, target) = &lines[at] else {
            continue;
        };
        steps.push(step.clone());
        let is_target = |line: &Line| matches!((line, target), (Line::Label(a), Some(b)) if a == b);
        let Some(start) = lines[..at].iter().position(is_target) else {
            continue;
        };
        for _ in 1..trips {
            if steps.len() >= MAX_STEPS {
                return;
            }
            repeat(&lines[start..=at], at - start, trips, steps);
            steps.push(step.clone());
        }
    }
}

/// Reads the instructions of a function.
struct Reader<'a> {
    gpu: &'a GpuSpec,
    accesses: Accesses,
    shared_cycles: u32,
    constant_cycles: u32,
    /// The number of each register.
    numbers: HashMap<String, usize>,
}

impl<'a> Reader<'a> {
    fn new(gpu: &'a GpuSpec) -> Self {
        let latencies = gpu.latencies();
        Self {
            gpu,
            accesses: Accesses::new(),
            shared_cycles: latencies.shared,
            constant_cycles: latencies.constant,
            numbers: HashMap::new(),
        }
    }

    fn line(&mut self, statement: &Statement) -> Line {
        match statement {
            Statement::Label(name) => Line::Label(name.node.clone()),
            Statement::Instruction(inst) => Line::Step(self.step(inst), target(inst)),
            _ => unreachable!("only labels and instructions are listed"),
        }
    }

    fn step(&mut self, inst: &Instruction) -> Step {
        let (mut needs, mut writes) = (Vec::new(), Vec::new());
        let numbers = &mut self.numbers;
        let mut visit = |name: &mut String, access| {
            let next = numbers.len();
            let number = *numbers.entry(name.clone()).or_insert(next);
            needs.push(number);
            if access == Access::Write {
                writes.push(number);
            }
        };
        // The operands of an unknown instruction are left out.
        let _ = self.accesses.visit(&mut inst.clone(), &mut visit);
        Step {
            work: self.work(inst),
            needs,
            writes,
        }
    }

    fn work(&self, inst: &Instruction) -> Work {
        let opcode = inst.opcode.node;
        let space = |space: Space| {
            inst.modifiers
                .iter()
                .any(|m| m.node == Modifier::Space(space))
        };
        let is_near = [Space::Shared, Space::Param, Space::Const]
            .into_iter()
            .any(space);
        match opcode {
            Opcode::Bar | Opcode::Barrier => Work::Barrier,
            Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red if is_near => {
                let is_shared = space(Space::Shared);
                Work::Near([self.constant_cycles, self.shared_cycles][usize::from(is_shared)])
            }
            Opcode::Ld | Opcode::Ldu | Opcode::Tex | Opcode::Atom => Work::Load,
            Opcode::St | Opcode::Red => Work::Store,
            _ => self.compute(inst),
        }
    }

    /// Returns the timing of an instruction that computes. Its latency is the time until an
    /// instruction that needs the result issues, with all stages of the pipeline.
    fn compute(&self, inst: &Instruction) -> Work {
        let unit = timing(inst, &self.gpu.sm.units);
        let stages = self.gpu.arithmetic(unit.latency_cycles.max(1));
        let of_result = OpTiming {
            latency_cycles: u32::try_from(self.gpu.walk(&stages, 0)).unwrap_or(u32::MAX),
            ..unit
        };
        match inst.opcode.node {
            opcode if is_special(opcode) => Work::Special(of_result),
            _ => Work::Arithmetic(of_result),
        }
    }
}

/// Returns the label to which an instruction branches.
fn target(inst: &Instruction) -> Option<String> {
    let first = inst
        .operands
        .first()
        .filter(|_| inst.opcode == Opcode::Bra)?;
    match &first.node {
        Operand::Name(target) => Some(target.clone()),
        _ => None,
    }
}

/// Returns whether special function units execute an instruction.
fn is_special(opcode: Opcode) -> bool {
    use Opcode::{Cos, Div, Ex2, Lg2, Rcp, Rem, Rsqrt, Sin, Sqrt};
    matches!(
        opcode,
        Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Div | Rem
    )
}

/// Returns the latency of an instruction's unit and its issue interval, which depend on operation
/// and type (docs/model/sm.md, Instruction classes).
fn timing(inst: &Instruction, units: &UnitSpecs) -> OpTiming {
    const SIMPLE: OpTiming = OpTiming {
        latency_cycles: 1,
        interval_cycles: 1,
    };
    let of_type = |pick: fn(&TypeTiming) -> OpTiming| {
        let mut types = inst.modifiers.iter().filter_map(|m| match m.node {
            Modifier::Type(ty) => Some(ty),
            _ => None,
        });
        pick(match types.next_back() {
            Some(ty) if ty.is_float() && ty.bits() == 64 => &units.f64_timing,
            Some(ty) if ty.is_float() => &units.f32_timing,
            _ => &units.int_timing,
        })
    };
    match inst.opcode.node {
        Opcode::Add | Opcode::Sub | Opcode::Addc | Opcode::Subc => of_type(|t| t.add),
        Opcode::Min | Opcode::Max => of_type(|t| t.minmax),
        Opcode::Mul | Opcode::Mul24 => of_type(|t| t.mul),
        Opcode::Mad | Opcode::Fma | Opcode::Mad24 | Opcode::Madc => of_type(|t| t.mad),
        Opcode::Div | Opcode::Rem => of_type(|t| t.div),
        opcode if is_special(opcode) => units.sfu_timing,
        _ => SIMPLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warploom_config::preset;
    use warploom_diag::Source;
    use warploom_ptx::ast::Item;

    fn stream(body: &str, trips: u32) -> Stream {
        let text = format!(
            ".version 7.0\n.target sm_20\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
             .reg .f32 %f<3>; .reg .f64 %d<3>; .reg .b32 %r<3>; .reg .b64 %rd<2>;\n\
             .reg .pred %q; .shared .b32 s;\n{body}\nret; }}\n"
        );
        let (module, _) = warploom_ptx::load(&Source::new("k.ptx", text)).unwrap();
        let mut items = module.items.iter();
        let function = items.find_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        });
        Stream::new(function.unwrap(), trips, &preset("fermi-crat").unwrap())
    }

    fn works(body: &str) -> Vec<Work> {
        stream(body, 3).steps.iter().map(|step| step.work).collect()
    }

    /// The latencies of results are those that `warploom microbench --gpu fermi-crat` measures.
    #[test]
    fn results_take_the_whole_pipeline() {
        let cycles = |line: &str| match works(line)[0] {
            Work::Arithmetic(timing) | Work::Special(timing) => timing.latency_cycles,
            Work::Near(cycles) => cycles,
            other => panic!("{other:?}"),
        };
        assert_eq!(cycles("add.s32 %r1, %r1, %r1;"), 10);
        assert_eq!(cycles("fma.rn.f32 %f1, %f1, %f1, %f1;"), 11);
        assert_eq!(cycles("fma.rn.f64 %d1, %d1, %d1, %d1;"), 14);
        assert_eq!(cycles("sqrt.approx.f32 %f1, %f1;"), 14);
        assert_eq!(cycles("ld.shared.u32 %r1, [s];"), 8);
        assert_eq!(cycles("ld.param.u64 %rd1, [p];"), 4);
    }

    #[test]
    fn instructions_go_to_their_units() {
        let is = |line: &str, of: fn(&Work) -> bool| of(&works(line)[0]);
        let special = |work: &Work| matches!(work, Work::Special(t) if t.interval_cycles == 8);
        assert!(is("sin.approx.f32 %f1, %f2;", special));
        assert!(is("div.u32 %r1, %r1, %r2;", special));
        let twice = |work: &Work| matches!(work, Work::Arithmetic(t) if t.interval_cycles == 2);
        assert!(is("mul.lo.s32 %r1, %r1, %r2;", twice));
        assert!(is("ld.global.u32 %r1, [%rd1];", |w| *w == Work::Load));
        assert!(is("ld.local.u32 %r1, [%rd1];", |w| *w == Work::Load));
        assert!(is("st.global.u32 [%rd1], %r1;", |w| *w == Work::Store));
        assert!(is("bar.sync 0;", |w| *w == Work::Barrier));
    }

    #[test]
    fn a_step_needs_what_it_reads_and_overwrites() {
        let steps = stream("mov.u32 %r1, %r2; add.u32 %r2, %r1, %r0;", 3).steps;
        assert_eq!(steps[0].writes.len(), 1);
        assert!(steps[1].needs.contains(&steps[0].writes[0]));
        assert!(steps[0].needs.contains(&steps[1].writes[0]));
    }

    #[test]
    fn loops_run_their_trips_and_end_at_the_limit() {
        let inner = "a: add.u32 %r1, %r1, 1; setp.lt.u32 %q, %r1, 9; @%q bra a;";
        assert_eq!(works(inner).len(), 3 * 3 + 1);
        let nested = format!("b: {inner} @%q bra b;");
        assert_eq!(works(&nested).len(), 3 * (3 * 3 + 1) + 1);
        let endless = stream(inner, u32::MAX).steps.len();
        assert!((MAX_STEPS..MAX_STEPS + 10).contains(&endless), "{endless}");
    }
}
