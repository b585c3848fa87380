//! An instruction form as a kernel: thread i reads tuple i, computes, and stores the results.

use std::fmt::Write as _;

use warploom_ptx::tokens::ScalarType;

use super::accuracy::Bound;

/// Number of threads in a block.
pub const BLOCK: usize = 256;
/// Number of tuples of a form, one per thread.
pub const TUPLES: usize = 2048;
/// Bytes between the columns of two operands or of two results.
pub const COLUMN: usize = 8 * TUPLES;

/// Families of instructions, which are the rows of the table of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Integer arithmetic, including extended precision.
    Integer,
    /// Logic, shifts and bit fields.
    Bits,
    /// Arithmetic of f32 and f64.
    Float,
    /// Arithmetic of f16, bf16 and pairs of them.
    Half,
    /// Functions for which NVIDIA gives bounds.
    Approximate,
    /// Comparison and selection of values.
    Compare,
    /// Conversions between two types.
    Convert,
    /// Video instructions (SIMD within a register).
    Video,
    /// Exchange between lanes of a warp.
    Warp,
    /// Products of matrices, and moves of their elements.
    Matrix,
    /// Atomics, each at an address of its own.
    Atomic,
}

impl Family {
    /// All families, in the order of the report.
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

    /// Title of the family's row.
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

/// Kind of values for an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// Any value of the type.
    Value(ScalarType),
    /// Integers from -8 to 8, in a floating-point type.
    Small(ScalarType),
    /// Shift counts, positions and lengths of fields: mostly small, some very large.
    Count,
    /// Lane numbers from 0 to 31.
    Lane,
    /// Lane numbers from 0 to 15.
    HalfLane,
    /// Offsets from -40 to 40.
    Offset,
    /// The value 0 or 1, in a predicate.
    Predicate,
    /// The value 0 or 1, in a register.
    Bit,
    /// A predicate that is equal in all lanes of every second warp.
    Vote,
    /// Values of which few are different in a warp.
    Few(ScalarType),
    /// The operand of `shfl` that limits segments.
    Clamp,
    /// The operand of `shfl` that limits segments, for segments within half a warp.
    HalfClamp,
}

impl Given {
    /// Type of the register for such a value.
    pub const fn ty(self) -> ScalarType {
        match self {
            Self::Value(ty) | Self::Few(ty) | Self::Small(ty) => ty,
            Self::Predicate | Self::Vote => ScalarType::Pred,
            _ => ScalarType::B32,
        }
    }
}

/// Specified accuracy of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// Exact in every bit.
    Exact,
    /// Within a documented bound.
    Within(Bound),
}

/// An instruction form with its operands.
#[derive(Clone, Debug)]
pub struct Case {
    /// Opcode and modifiers, and the variant of the operands if there are several.
    pub name: String,
    pub family: Family,
    pub accuracy: Accuracy,
    /// First architecture that supports the form.
    pub since: u32,
    /// Kinds of operands. Operand k is in register `a{k}`.
    pub inputs: Vec<Given>,
    /// Types of results. Result k is in register `d{k}`.
    pub outputs: Vec<ScalarType>,
    /// Lines of code between loads and stores.
    pub code: Vec<String>,
}

/// Type name for a register of a type.
pub const fn register_type(ty: ScalarType) -> &'static str {
    match ty.bits() {
        1 => "pred",
        16 => "b16",
        64 => "b64",
        _ => "b32",
    }
}

impl Case {
    /// Size of all results in bytes.
    pub fn output_bytes(&self) -> usize {
        self.outputs.len() * COLUMN
    }

    /// Text of the kernel with this number.
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

/// Text of a module with a kernel `k0`, `k1` ... for each case, and the first line of each kernel.
pub fn module(cases: &[&Case], version: &str) -> (String, Vec<usize>) {
    let mut text = format!(".version {version}\n.target sm_90\n.address_size 64\n");
    let mut starts = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        starts.push(text.lines().count() + 1);
        text += &case.entry(number);
    }
    (text, starts)
}
