//! Conversion of old PTX: defaults of older versions and targets are written out, so that checks
//! and lowering know one language only.
//!
//! Source: PTX ISA, the notes on PTX and targets of single instructions, and the code that NVIDIA's
//! assembler generates. Targets `sm_1x` flush subnormal numbers in every `.f32` operation. Their
//! `mad.f32` has no rounding: on devices of sm_20 or later, which are simulated, it is
//! `fma.rn.ftz.f32` (PTX ISA, "mad", floating point). Before version 1.4, approximate functions
//! need no `.approx`, and a kernel's parameters are declared in its body.

use crate::ast::{
    Body, Function, FunctionKind, Instruction, Item, Module, Spanned, Statement, Variable,
};
use crate::tokens::{Modifier, Opcode, ScalarType, Space};

/// Version and target of a file.
#[derive(Clone, Copy)]
struct Era {
    version: (u32, u32),
    architecture: u32,
}

/// Writes out the defaults of an old version or target.
pub(crate) fn modernise(module: &mut Module) {
    let era = Era {
        version: module.version,
        architecture: module.architecture().unwrap_or(u32::MAX),
    };
    if era.version > (3, 1) && era.architecture >= 20 {
        return;
    }
    for item in &mut module.items {
        if let Item::Function(function) = item {
            era.function(function);
        }
    }
}

impl Era {
    fn function(self, function: &mut Function) {
        let Some(body) = &mut function.body else {
            return;
        };
        if self.version < (1, 4) && function.kind == FunctionKind::Entry {
            function.params.extend(take_parameters(body));
        }
        self.body(body);
    }

    fn body(self, body: &mut Body) {
        for statement in &mut body.statements {
            match statement {
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Block(inner) => self.body(inner),
                _ => {}
            }
        }
    }

    fn instruction(self, instruction: &mut Instruction) {
        if let Some(rounding) = self.rounding(instruction) {
            add(instruction, rounding);
        }
        if self.architecture < 20 && flushes(instruction) && !has(instruction, Modifier::Ftz) {
            add(instruction, Modifier::Ftz);
        }
    }

    /// Default rounding, or `.approx`, of an instruction that states none.
    fn rounding(self, instruction: &Instruction) -> Option<Modifier> {
        use Modifier::{Approx, Full, Rm, Rn, Rp, Rz};
        let given = [Approx, Full, Rm, Rn, Rp, Rz];
        let ty = last_type(instruction).filter(|ty| ty.is_float())?;
        if given.iter().any(|modifier| has(instruction, *modifier)) {
            return None;
        }
        let single = ty == ScalarType::F32;
        match instruction.opcode.node {
            Opcode::Mad if single => Some(Rn),
            _ if self.version >= (1, 4) => None,
            Opcode::Div | Opcode::Rcp | Opcode::Sqrt if single => Some(Approx),
            Opcode::Div | Opcode::Rcp | Opcode::Sqrt => Some(Rn),
            Opcode::Rsqrt | Opcode::Sin | Opcode::Cos | Opcode::Lg2 | Opcode::Ex2 => Some(Approx),
            _ => None,
        }
    }
}

/// Moves the declarations of parameters out of a kernel's body.
fn take_parameters(body: &mut Body) -> Vec<Variable> {
    let mut parameters = Vec::new();
    body.statements.retain(|statement| match statement {
        Statement::Variable(variable) if variable.space == Space::Param => {
            parameters.push(variable.clone());
            false
        }
        _ => true,
    });
    parameters
}

/// True if the instruction has `.ftz` on targets that always flush. Conversions from and to 64 bits
/// do not flush (PTX ISA, "cvt").
fn flushes(instruction: &Instruction) -> bool {
    let single = last_type(instruction) == Some(ScalarType::F32);
    match instruction.opcode.node {
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Div
        | Opcode::Abs
        | Opcode::Neg
        | Opcode::Min
        | Opcode::Max
        | Opcode::Rcp
        | Opcode::Sqrt
        | Opcode::Rsqrt
        | Opcode::Sin
        | Opcode::Cos
        | Opcode::Lg2
        | Opcode::Ex2
        | Opcode::Set
        | Opcode::Setp
        | Opcode::Slct => single,
        Opcode::Cvt => {
            let mut types = crate::access::types(instruction);
            let wide = crate::access::types(instruction).any(|ty| ty.bits() == 64);
            types.any(|ty| ty == ScalarType::F32) && !wide
        }
        _ => false,
    }
}

fn last_type(instruction: &Instruction) -> Option<ScalarType> {
    crate::access::types(instruction).last()
}

fn has(instruction: &Instruction, wanted: Modifier) -> bool {
    instruction.modifiers.iter().any(|m| m.node == wanted)
}

/// Inserts a modifier before all others.
fn add(instruction: &mut Instruction, node: Modifier) {
    let span = instruction.opcode.span;
    instruction.modifiers.insert(0, Spanned { node, span });
}

#[cfg(test)]
mod tests {
    use super::modernise;
    use crate::{check, parse, print};
    use warploom_diag::Source;

    /// Returns the body of a kernel of an old file with its defaults written out.
    fn check_text(version: &str, target: &str, body: &str, expected: &str) {
        let text = format!(
            ".version {version}\n.target {target}\n.entry k {{ .reg .f32 f; .reg .f64 d; .reg .s32 i; {body} }}"
        );
        let (mut module, problems) = parse(&Source::new("old", text.as_str()));
        assert!(problems.is_empty(), "{text}");
        modernise(&mut module);
        assert!(check(&module).is_empty(), "{text}: {:?}", check(&module));
        let printed = print(&module).replace(" \t", " ");
        assert!(printed.contains(expected), "{text}: {printed}");
    }

    /// Expected: the code that `ptxas` 13.5 generates, `FFMA.FTZ`, `FADD.FTZ`, `MUFU.RCP` and so
    /// on.
    #[test]
    fn what_old_targets_leave_out_is_written_out() {
        let mad = "mad.f32 f, f, f, f;";
        check_text("1.4", "sm_13", mad, "mad.ftz.rn.f32 f, f, f, f;");
        check_text("2.3", "sm_10", mad, "mad.ftz.rn.f32 f, f, f, f;");
        check_text("3.0", "sm_20", mad, "mad.rn.f32 f, f, f, f;");
        check_text(
            "1.4",
            "sm_13",
            "mad.rn.f64 d, d, d, d;",
            "mad.rn.f64 d, d, d, d;",
        );
        check_text("1.4", "sm_13", "add.f32 f, f, f;", "add.ftz.f32 f, f, f;");
        check_text(
            "1.4",
            "sm_13",
            "cvt.rn.f32.s32 f, i;",
            "cvt.ftz.rn.f32.s32 f, i;",
        );
        check_text(
            "1.4",
            "sm_13",
            "cvt.rn.f32.f64 f, d;",
            "cvt.rn.f32.f64 f, d;",
        );
        check_text(
            "1.3",
            "sm_13",
            "div.f32 f, f, f;",
            "div.ftz.approx.f32 f, f, f;",
        );
        check_text("1.3", "sm_13", "div.f64 d, d, d;", "div.rn.f64 d, d, d;");
        check_text("1.0", "sm_10", "sin.f32 f, f;", "sin.ftz.approx.f32 f, f;");
        check_text("1.0", "sm_10", "add.s32 i, i, i;", "add.s32 i, i, i;");
    }

    #[test]
    fn parameters_in_a_body_become_the_kernels() {
        let body = ".param .u32 p; ld.param.u32 i, [p];";
        check_text("1.3", "sm_10", body, "k(\n");
    }
}
