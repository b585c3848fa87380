//! A load or store of global memory, and the predictability of its addresses.

use crate::array::Base;
use crate::regular::Cause;
use std::fmt;
use warploom_base::Pc;
use warploom_ir::{Inst, MemSpace, MemTy, Op, Program, SourcePos};

/// The predictability of an access's addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// The address depends only on parameters, constants and indices.
    Regular {
        /// Whether the execution of the access depends on data. The computed address is correct if
        /// the access happens.
        conditional: bool,
        /// Whether the number of iterations of the access's loop depends on data. The address of
        /// the first iteration is correct.
        first_only: bool,
    },
    /// The address depends on data.
    Irregular,
    /// The access is in a function that the kernel calls, which is outside of the analysis.
    InFunction,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regular {
                first_only: true, ..
            } => "regular, first iteration",
            Self::Regular {
                conditional: true, ..
            } => "regular, conditional",
            Self::Regular { .. } => "regular",
            Self::Irregular => "irregular",
            Self::InFunction => "in a function",
        })
    }
}

/// A load from or a store to global memory. Generic addresses are treated as global addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The address of the instruction in the kernel.
    pub pc: Pc,
    /// The source position in the PTX file.
    pub pos: SourcePos,
    /// Whether the access is a store rather than a load.
    pub store: bool,
    /// The size of the access of one thread, in bytes.
    pub bytes: u32,
    /// The predictability of the address.
    pub coverage: Coverage,
    /// The reason for which the address is irregular, if it is.
    pub cause: Option<Cause>,
    /// The origin of the array that a regular access touches, if it is known.
    pub base: Option<Base>,
}

impl Access {
    /// Returns the access that an instruction makes, or `None` if the instruction does not access
    /// global memory.
    pub(crate) fn of(pc: Pc, inst: &Inst, kernel: &Program) -> Option<Self> {
        let of = |ty: MemTy| u32::from(ty.bytes) * u32::from(ty.count);
        let (space, bytes, store) = match inst.op {
            Op::Ld(space, ty, _) => (space, of(ty), false),
            Op::St(space, ty, _) => (space, of(ty), true),
            Op::CopyAsync { bytes, .. } => (MemSpace::Global, bytes.into(), false),
            _ => return None,
        };
        matches!(space, MemSpace::Global | MemSpace::Generic).then(|| Self {
            pc,
            pos: kernel.facts[pc.index()].pos,
            store,
            bytes,
            coverage: Coverage::Irregular,
            cause: None,
            base: None,
        })
    }

    /// Returns whether the address is computed ahead of execution.
    pub fn is_regular(&self) -> bool {
        matches!(self.coverage, Coverage::Regular { .. })
    }
}

/// Returns a description of the reason for which an access of a kernel is irregular, or `None` for
/// a regular access.
pub fn reason(access: &Access, kernel: &Program) -> Option<String> {
    let line = |pc: Pc| kernel.facts[pc.index()].pos.line;
    Some(match access.cause? {
        Cause::Value(pc) => {
            let what = yields(&kernel.insts[pc.index()]);
            format!("the address depends on {what} in line {}", line(pc))
        }
        Cause::Branch(pc) => format!(
            "the address depends on the branch in line {}, which depends on data",
            line(pc)
        ),
        Cause::Paths => "the address depends on the paths taken before it".to_owned(),
        Cause::Narrow => "the address has 32 bits".to_owned(),
    })
}

/// Returns a description of the kind of result that makes an address irregular.
fn yields(inst: &Inst) -> &'static str {
    match inst.op {
        Op::Ld(..) | Op::CopyAsync { .. } | Op::LdMatrix(..) | Op::Surf { .. } => "a load",
        Op::Atom(..) | Op::Mbarrier(..) => "an atomic operation",
        Op::Tex { .. } | Op::Tld4 { .. } | Op::Txq(_) => "a texture operation",
        Op::Call | Op::CallIndirect | Op::System(_) => "a call",
        Op::Barrier(_) => "a barrier reduction",
        Op::Vote(_)
        | Op::Match(..)
        | Op::Shfl(_)
        | Op::Activemask
        | Op::Redux(..)
        | Op::ReduxFloat(_)
        | Op::Elect => "an exchange between lanes",
        Op::AddC { .. } | Op::SubC { .. } | Op::MadC { .. } => "a carry",
        _ => "a special register",
    }
}
