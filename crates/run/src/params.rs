//! Layout of a launch's parameter buffer, with arguments checked against the kernel's declaration.

use crate::host::Arg;
use warploom_ir::{Param, ParamKind, Program};

/// Reason why arguments do not fit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgError {
    /// The number of arguments is wrong.
    #[error(
        "kernel `{kernel}` takes {expected} arguments, {given} were given; it declares: {declared}"
    )]
    Count {
        /// Name of the kernel.
        kernel: String,
        /// Number of declared parameters.
        expected: usize,
        /// Number of given arguments.
        given: usize,
        /// Text of the declaration.
        declared: String,
    },
    /// An argument has the wrong type.
    #[error(
        "argument {index} of kernel `{kernel}` is {given}, but parameter `{param}` is {expected}; \
         give a value of that type"
    )]
    Type {
        /// Name of the kernel.
        kernel: String,
        /// Position of the argument, from 1.
        index: usize,
        /// Name of the parameter.
        param: String,
        /// Declared type of the parameter.
        expected: String,
        /// Type of the given argument.
        given: &'static str,
    },
    /// A buffer's address does not fit 32 bits.
    #[error(
        "argument {index} of kernel `{kernel}` is a buffer at {address:#x}, and parameter `{param}` \
         holds addresses below 4 GiB: global memory begins at 3 GiB, so allocate 1 GiB at most"
    )]
    Above {
        /// Name of the kernel.
        kernel: String,
        /// Position of the argument, from 1.
        index: usize,
        /// Name of the parameter.
        param: String,
        /// Address of the buffer.
        address: u64,
    },
}

/// Lays arguments out as the kernel declares its parameters.
pub fn lay_out(program: &Program, args: &[Arg]) -> Result<Vec<u8>, ArgError> {
    if args.len() != program.params.len() {
        return Err(ArgError::Count {
            kernel: program.name.clone(),
            expected: program.params.len(),
            given: args.len(),
            declared: declaration(program),
        });
    }
    let mut buffer = vec![0; program.param_bytes as usize];
    for (index, (param, arg)) in program.params.iter().zip(args).enumerate() {
        let bytes = encode(param, arg).ok_or_else(|| misfit(program, index, arg))?;
        buffer[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    Ok(buffer)
}

/// Error for the argument at this position, counted from 0.
fn misfit(program: &Program, index: usize, arg: &Arg) -> ArgError {
    let param = &program.params[index];
    let (kernel, name) = (program.name.clone(), param.name.clone());
    match (param.kind, arg) {
        (ParamKind::Int { bytes: 4, .. }, Arg::Pointer(pointer)) => ArgError::Above {
            kernel,
            index: index + 1,
            param: name,
            address: pointer.0,
        },
        _ => ArgError::Type {
            kernel,
            index: index + 1,
            param: name,
            expected: describe(param),
            given: arg.type_name(),
        },
    }
}

/// Text of a kernel's parameters.
pub fn declaration(program: &Program) -> String {
    if program.params.is_empty() {
        return "nothing".to_owned();
    }
    // The names that NVIDIA's compilers give say no more than the order, which numbers say shorter.
    let is_numbered = |p: &Param| {
        let rest = p.name.strip_prefix(&*program.name);
        rest.is_some_and(|rest| rest.starts_with("_param_"))
    };
    let each = program.params.iter().enumerate();
    let each = each.map(|(n, p)| match is_numbered(p) {
        true => format!("{}: {}", n + 1, describe(p)),
        false => format!("{} ({})", p.name, describe(p)),
    });
    each.collect::<Vec<_>>().join(", ")
}

fn describe(param: &Param) -> String {
    match param.kind {
        ParamKind::Int {
            bytes,
            signed: true,
        } => format!("a signed {}-bit integer", bytes * 8),
        ParamKind::Int {
            bytes,
            signed: false,
        } => format!("a {}-bit integer or address", bytes * 8),
        ParamKind::F16 => "an f16".to_owned(),
        ParamKind::F32 => "an f32".to_owned(),
        ParamKind::F64 => "an f64".to_owned(),
        ParamKind::Bytes => format!("a value of {} bytes", param.bytes),
    }
}

/// Bytes of an argument, if it fits the parameter's type. PTX does not reliably distinguish signed
/// from unsigned integers or addresses from integers, so only width and float or integer are
/// compared.
fn encode(param: &Param, arg: &Arg) -> Option<Vec<u8>> {
    let bytes = match arg {
        Arg::U32(v) => v.to_le_bytes().to_vec(),
        Arg::I32(v) => v.to_le_bytes().to_vec(),
        Arg::U64(v) => v.to_le_bytes().to_vec(),
        Arg::I64(v) => v.to_le_bytes().to_vec(),
        Arg::F32(v) => v.to_le_bytes().to_vec(),
        Arg::F64(v) => v.to_le_bytes().to_vec(),
        Arg::Bytes(v) => v.clone(),
        Arg::Pointer(p) if param.bytes == 4 => u32::try_from(p.0).ok()?.to_le_bytes().to_vec(),
        Arg::Pointer(p) => p.0.to_le_bytes().to_vec(),
    };
    let float = matches!(arg, Arg::F32(_) | Arg::F64(_));
    let fits = match param.kind {
        ParamKind::Int { .. } => !float,
        ParamKind::F32 | ParamKind::F64 => float,
        ParamKind::F16 | ParamKind::Bytes => matches!(arg, Arg::Bytes(_)),
    };
    // NVRTC and clang declare some floats as `.b32`; a float is then accepted by its width.
    let untyped = matches!(param.kind, ParamKind::Int { .. }) && float;
    ((fits || untyped || matches!(arg, Arg::Bytes(_))) && bytes.len() == param.bytes as usize)
        .then_some(bytes)
}

impl Arg {
    /// Name of the argument's type.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::U32(_) => "a u32",
            Self::I32(_) => "an i32",
            Self::U64(_) => "a u64",
            Self::I64(_) => "an i64",
            Self::F32(_) => "an f32",
            Self::F64(_) => "an f64",
            Self::Pointer(_) => "a buffer",
            Self::Bytes(_) => "bytes of another length",
        }
    }
}
