//! Kernels from PTX, and their assembled forms as text.

use warploom_assemble::{Machine, Passes, Timing, assemble};
use warploom_diag::Source;
use warploom_ir::{InstClass, Program};

/// Passes that fold only.
pub const FOLD: Passes = Passes {
    fold: true,
    order: false,
};
/// Passes that reorder only.
pub const ORDER: Passes = Passes {
    fold: false,
    order: true,
};

/// Both passes, as machines of today have them.
pub const ALL: Passes = Passes {
    fold: true,
    order: true,
};

/// A machine on which loads take 30 cycles, products of matrices 20 and occupy their unit for 4,
/// and everything else takes 4.
fn timing(class: InstClass) -> Timing {
    let (unit, latency, interval) = match class {
        InstClass::Load(_) | InstClass::Store(_) | InstClass::Atomic(_) => (1, 30, 1),
        InstClass::Tensor(_) => (2, 20, 4),
        _ => (0, 4, 1),
    };
    Timing {
        unit,
        latency,
        interval,
    }
}

/// The machine of [`timing`], on which what a predicate guards waits 13 cycles.
pub const MACHINE: Machine = Machine {
    timing: &timing,
    guard_latency: 13,
};

/// As [`MACHINE`], with loads that take 300 cycles.
pub const FAR_MEMORY: Machine = Machine {
    timing: &|class| match class {
        InstClass::Load(_) => Timing {
            latency: 300,
            ..timing(class)
        },
        _ => timing(class),
    },
    guard_latency: 13,
};

/// The kernel `k` with these parameters and this body.
pub fn kernel(params: &str, body: &str) -> Program {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k({params}) {{\n{body}\nret;\n}}\n"
    );
    let source = Source::new("k.ptx", text);
    let (ir, _) = warploom_lower::compile(&source).expect("the file is PTX");
    assert!(ir.refused.is_empty(), "{:?}", ir.refused);
    ir.kernels.into_iter().next().expect("it has a kernel")
}

/// The instructions of a program, one a line, without numbers.
pub fn listing(program: &Program) -> String {
    let text = program.to_string();
    let lines = text.lines().filter_map(|line| {
        let (number, inst) = line.trim_start().split_once(": ")?;
        number.parse::<u32>().ok()?;
        Some(inst.to_owned())
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The text's lines of the assembled form, in its order, of a thread with `registers`.
pub fn lines(program: &Program, passes: Passes, registers: u32) -> Vec<u32> {
    lines_on(&MACHINE, program, passes, registers)
}

/// As [`lines`], on a machine.
pub fn lines_on(machine: &Machine, program: &Program, passes: Passes, registers: u32) -> Vec<u32> {
    let assembled = assemble(program, passes, registers, machine).expect("one function");
    let first = program.facts.first().map_or(0, |facts| facts.pos.line);
    let lines = assembled.facts.iter().map(|facts| facts.pos.line - first);
    lines.collect()
}

/// The listing of the folded form.
pub fn folded(program: &Program) -> String {
    listing(&assemble(program, FOLD, 32, &MACHINE).expect("one function"))
}

/// Declarations of the registers of a kernel.
pub const PREAMBLE: &str = ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;";

/// The folded form of a kernel with the parameters `out` and `n`.
pub fn folded_body(body: &str) -> String {
    folded(&kernel(".param .u64 out, .param .u32 n", body))
}

/// Checks the folded form of a kernel with this body.
pub fn check_folded(body: &str, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(folded_body(body), expected.join("\n"));
}
