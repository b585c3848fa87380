//! One instruction form as a kernel: thread i reads tuple i, computes, and stores the results.

use std::fmt::Write as _;

use warploom_ptx::tokens::ScalarType;

use super::accuracy::Bound;

/// Threads of a block.
pub const BLOCK: usize = 256;
/// Tuples of a form, one a thread.
pub const TUPLES: usize = 2048;
/// Bytes from one operand, or one result, to the next.
pub const COLUMN: usize = 8 * TUPLES;

/// What kind of instruction it is: the rows of the table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Integers, extended precision among them.
    Integer,
    /// Logic, shifts and fields of bits.
    Bits,
    /// f32 and f64.
    Float,
    /// f16, bf16 and pairs of them.
    Half,
    /// Functions for which NVIDIA gives bounds.
    Approximate,
    /// Comparison and selection.
    Compare,
    /// Conversions.
    Convert,
    /// Video instructions.
    Video,
    /// What lanes of a warp tell each other.
    Warp,
    /// Products of matrices, and what moves them.
    Matrix,
    /// Atomics on places of which each has one thread.
    Atomic,
}

impl Family {
    /// All, in the order in which they are reported.
    pub const ALL: &[Self] = &[
        Self::Integer,
        Self::Bits,
        Self::Float,
        Self::Half,
        Self::Approximate,
        Self::Compare,
        Self::Convert,
        Self::Video,
        Self::Warp,
        Self::Matrix,
        Self::Atomic,
    ];

    /// What the table calls it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Integer => "integer arithmetic",
            Self::Bits => "logic, shifts, bits",
            Self::Float => "f32 and f64",
            Self::Half => "f16 and bf16",
            Self::Approximate => "approximate functions",
            Self::Compare => "comparison and selection",
            Self::Convert => "conversion",
            Self::Video => "video",
            Self::Warp => "warp-wide",
            Self::Matrix => "matrices",
            Self::Atomic => "atomics",
        }
    }
}

/// Which values an operand takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Any of the type.
    Value(ScalarType),
    /// Integers from -8 to 8, in a floating-point type.
    Small(ScalarType),
    /// Shift counts, places and lengths of fields: mostly small, now and then huge.
    Count,
    /// 0 to 31.
    Lane,
    /// 0 to 15.
    HalfLane,
    /// -40 to 40.
    Offset,
    /// 0 or 1, in a predicate.
    Predicate,
    /// 0 or 1, in a register.
    Bit,
    /// A predicate that is the same in all lanes of every second warp.
    Vote,
    /// Few different values a warp.
    Few(ScalarType),
    /// The operand of `shfl` that bounds segments.
    Clamp,
    /// The same, of segments that lie within half a warp.
    HalfClamp,
}

impl Given {
    /// The type of the register that holds it.
    pub const fn ty(self) -> ScalarType {
        match self {
            Self::Value(ty) | Self::Few(ty) | Self::Small(ty) => ty,
            Self::Predicate | Self::Vote => ScalarType::Pred,
            _ => ScalarType::B32,
        }
    }
}

/// How exactly a result is specified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// To the bit.
    Exact,
    /// Within a bound.
    Within(Bound),
}

/// One instruction form and what it is run on.
#[derive(Clone, Debug)]
pub struct Case {
    /// Opcode and modifiers, and which variant of the operands if there are several.
    pub name: String,
    pub family: Family,
    pub accuracy: Accuracy,
    /// First architecture that has it.
    pub since: u32,
    /// Operand k is in register `a{k}`.
    pub inputs: Vec<Given>,
    /// Result k is in register `d{k}`.
    pub outputs: Vec<ScalarType>,
    /// What is between loads and stores, a line each.
    pub code: Vec<String>,
}

/// The word for a register of a type.
pub const fn register_type(ty: ScalarType) -> &'static str {
    match ty.bits() {
        1 => "pred",
        16 => "b16",
        64 => "b64",
        _ => "b32",
    }
}

impl Case {
    /// Bytes of all results.
    pub fn output_bytes(&self) -> usize {
        self.outputs.len() * COLUMN
    }

    /// The kernel of this number.
    fn entry(&self, number: usize) -> String {
        let mut text = format!(".visible .entry k{number}(.param .u64 in, .param .u64 out)\n{{\n");
        text += ".reg .b32 block, thread, size, lane, scratch;\n";
        text += ".reg .b64 from, to, offset;\n.reg .pred group;\n.reg .b8 byte;\n";
        text += "mov.u32 block, %ctaid.x;\nmov.u32 size, %ntid.x;\nmov.u32 thread, %tid.x;\n";
        text += "mov.u32 lane, %laneid;\nmad.lo.u32 thread, block, size, thread;\n";
        text += "mul.wide.u32 offset, thread, 8;\n";
        text += "ld.param.u64 from, [in];\nadd.u64 from, from, offset;\n";
        text += "ld.param.u64 to, [out];\nadd.u64 to, to, offset;\n";
        for (k, given) in self.inputs.iter().enumerate() {
            text += &load(k, given.ty());
        }
        for (k, &ty) in self.outputs.iter().enumerate() {
            writeln!(text, ".reg .{} d{k};", register_type(ty)).expect("a string takes all");
        }
        for line in &self.code {
            text += line;
            text += "\n";
        }
        for (k, &ty) in self.outputs.iter().enumerate() {
            text += &store(k, ty);
        }
        text + "ret;\n}\n"
    }
}

fn load(k: usize, ty: ScalarType) -> String {
    let (register, at) = (register_type(ty), k * COLUMN);
    if ty == ScalarType::Pred {
        return format!(
            ".reg .pred a{k};\nld.global.b32 scratch, [from+{at}];\n\
             setp.ne.u32 a{k}, scratch, 0;\n"
        );
    }
    format!(".reg .{register} a{k};\nld.global.{register} a{k}, [from+{at}];\n")
}

fn store(k: usize, ty: ScalarType) -> String {
    let (register, at) = (register_type(ty), k * COLUMN);
    if ty == ScalarType::Pred {
        return format!("selp.u32 scratch, 1, 0, d{k};\nst.global.b32 [to+{at}], scratch;\n");
    }
    format!("st.global.{register} [to+{at}], d{k};\n")
}

/// A module with a kernel `k0`, `k1` ... for each case, and the line at which each begins.
pub fn module(cases: &[&Case], version: &str) -> (String, Vec<usize>) {
    let mut text = format!(".version {version}\n.target sm_90\n.address_size 64\n");
    let mut starts = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        starts.push(text.lines().count() + 1);
        text += &case.entry(number);
    }
    (text, starts)
}
